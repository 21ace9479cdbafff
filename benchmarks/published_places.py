"""How many places of published tables are real? Welch's tests and sets of places from the printed means.

``python benchmarks/published_places.py`` reads the published tables that the package keeps (mean, spread, runs),
compares the models of every task as `graphnetz report` does with a leaderboard, and writes
`results/published_places.json` and the block of `docs/findings.md`. Seconds; nothing is trained.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import t as student

from graphnetz.analysis.summaries import Summary, SummaryAnalysis, analyse_summaries
from graphnetz.metrics import METRICS

HERE = Path(__file__).parent
RINGS_RUNS = 100  # "across 100 runs", caption of Figure 3
Key = tuple[str, str, str]


def _table(paper: str) -> pd.DataFrame:
    with resources.files("graphnetz.papers").joinpath(paper, "published.csv").open(encoding="utf-8") as stream:
        return pd.read_csv(stream, dtype={"table": str}, keep_default_na=False)


def groups() -> Iterator[tuple[str, Key, str, list[Summary]]]:
    """Paper, (table, task, budget), metric and rows of every list of models that a paper compares."""
    found: dict[tuple[str, Key, str], list[Summary]] = defaultdict(list)
    for row in _table("graphnetz").to_dict("records"):
        n = int(row["n"])
        sd = row["half_width"] / student.ppf(0.975, n - 1) * n**0.5
        found["GraphNetz", (row["table"], row["task"], ""), row["metric"]].append(
            Summary("", row["model"], row["mean"], sd, n)
        )
    for row in _table("benchmarking_gnns").to_dict("records"):
        if row["mean"] == "":  # diverged or out of memory: no score to compare
            continue
        model = f"{row['model'].removeprefix('bgnn.')}, {row['layers']} layers"
        key = (row["table"], row["task"], str(row["budget"]))
        found["Benchmarking GNNs", key, row["metric"]].append(
            Summary("", model, float(row["mean"]), float(row["sd"]), int(row["n"]))
        )
    rings = _table("rings")
    for row in rings[rings["table"].isin(["6", "7"]) & (rings["mode"] == "o")].to_dict("records"):
        found["RINGS", (row["table"], row["task"], ""), row["metric"]].append(
            Summary("", row["model"], float(row["mean"]), float(row["sd"]), RINGS_RUNS)
        )
    for (paper, key, metric), rows in found.items():
        if len(rows) > 1:
            yield paper, key, metric, rows


def places(found: SummaryAnalysis) -> list[dict[str, Any]]:
    """Models in the order of their means, each with the places that Holm's decisions leave it."""
    ahead: dict[tuple[str, str], str] = {}
    for pair in found.pairs:
        ahead[pair.model_a, pair.model_b] = pair.verdict
        ahead[pair.model_b, pair.model_a] = {"better": "worse", "worse": "better"}.get(pair.verdict, pair.verdict)
    order = sorted(found.rows, key=lambda row: -row.mean if found.greater_is_better else row.mean)
    out = []
    for place, row in enumerate(order):
        others = [ahead[row.model, other.model] for other in order if other is not row]
        following = ahead[row.model, order[place + 1].model] if place + 1 < len(order) else ""
        out.append({
            "model": row.model, "mean": row.mean, "first": 1 + others.count("worse"),
            "last": len(order) - others.count("better"), "next": following,
        })  # fmt: skip
    return out


def audit() -> list[dict[str, Any]]:
    """One entry per list of models."""
    out = []
    for paper, (table, task, budget), metric, rows in groups():
        known = METRICS[metric]
        found = analyse_summaries(rows, metric=metric, greater_is_better=known.greater_is_better)
        ranked = places(found)
        decided = [line["next"] for line in ranked[:-1]]
        out.append({
            "paper": paper, "table": table, "task": task, "budget": budget, "metric": metric,
            "runs": min(row.n for row in rows), "models": len(ranked), "adjacent": len(decided),
            "shown": decided.count("better"), "untested": decided.count("untested"),
            "pairs": len(found.pairs), "pairs_shown": sum(p.verdict in ("better", "worse") for p in found.pairs),
            "first_alone": ranked[0]["last"] == 1, "may_be_first": sum(line["first"] == 1 for line in ranked),
            "places": ranked,
        })  # fmt: skip
    return out


def _count(entries: list[Mapping[str, Any]]) -> str:
    adjacent, shown = sum(e["adjacent"] for e in entries), sum(e["shown"] for e in entries)
    pairs, pairs_shown = sum(e["pairs"] for e in entries), sum(e["pairs_shown"] for e in entries)
    alone = sum(e["first_alone"] for e in entries)
    runs = sorted({e["runs"] for e in entries})
    return (
        f"{len(entries)} | {'–'.join(map(str, (runs[0], runs[-1]))) if len(runs) > 1 else runs[0]} | "
        f"{shown} of {adjacent} ({shown / adjacent:.0%}) | {pairs_shown} of {pairs} ({pairs_shown / pairs:.0%}) | "
        f"{alone} of {len(entries)}"
    )


def page(entries: list[dict[str, Any]]) -> str:
    """The tables of the findings page."""
    lines = [
        "| paper | lists of models | runs | adjacent places shown | pairs shown | lists with one clear first |",
        "|---|---|---|---|---|---|",
    ]
    papers = list(dict.fromkeys(e["paper"] for e in entries))
    lines += [f"| {paper} | {_count([e for e in entries if e['paper'] == paper])} |" for paper in papers]
    lines += [f"| **all** | {_count(entries)} |", ""]
    lines += [
        "Every list of at least four models (all of them, with the places of every model: "
        "`benchmarks/results/published_places.json`):",
        "",
        "| paper | table | task | budget | models | runs | adjacent places shown | may be first |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for e in sorted(entries, key=lambda e: (-e["models"], e["paper"], e["table"], e["task"])):
        if e["models"] >= 4:
            lines.append(
                f"| {e['paper']} | {e['table']} | {e['task']} | {e['budget']} | {e['models']} | {e['runs']} | "
                f"{e['shown']} of {e['adjacent']} | {e['may_be_first']} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Write the results and the page."""
    entries = audit()
    (HERE / "results" / "published_places.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    target = HERE.parent / "docs" / "findings.md"
    text = target.read_text(encoding="utf-8")
    start, end = "<!-- places: benchmarks/published_places.py -->", "<!-- /places -->"
    before, after = text.split(start)[0], text.split(end)[1]
    target.write_text(f"{before}{start}\n{page(entries)}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
