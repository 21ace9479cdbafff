"""Write ``docs/rings-datasets.md`` and its pictures from the kept evaluations: ``python benchmarks/rings_pages.py``.

One taxonomy of all datasets, and for each one verdict, evidence, means, and what agrees with the paper.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from scipy.stats import ttest_rel

from graphnetz.papers.rings import JUDGEMENTS, paper_name, published_judgements, published_scores
from graphnetz.rings import assess
from graphnetz.rings.decisions import Part, Rule, decide_modes
from graphnetz.rings.rules import beats, parse_relation
from graphnetz.rings.taxonomy_table import score_words, taxonomy_figure
from graphnetz.tasktypes import known_task_type

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks" / "results" / "rings"
PAGE = ROOT / "docs" / "rings-datasets.md"
PICTURE = ROOT / "docs" / "images" / "rings-taxonomy.png"
PARTS: tuple[Part, ...] = ("structure", "features")
LABELS = {"acc": "accuracy", "auc": "AUROC", "mae": "MAE", "ap": "average precision", "mrr": "MRR"}
NEEDS = {
    "informative": "needed",
    "uninformative": "not needed",
    "(un)informative": "needed by one metric",
    "undecided": "undecided",
}
WORDS = json.loads((ROOT / "benchmarks" / "results" / "rings_words.json").read_text(encoding="utf-8"))
"""What experiments say about differences from the paper, by dataset."""
READINGS = {"MUTAG": json.loads((ROOT / "benchmarks" / "results" / "rings_redrawn.json").read_text(encoding="utf-8"))}
"""Scores of other readings of a perturbation (`rings_redrawn.py`), by dataset and mode; the first one is ours."""


def kept() -> list[dict[str, Any]]:
    """Every kept evaluation, the paper's datasets first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(KEPT.glob("*.json"))]
    return sorted(found, key=lambda body: printed_name(body) is None)


def printed_name(body: Mapping[str, Any]) -> str | None:
    """Name of a dataset in the paper."""
    return paper_name(body["facts"]["dataset"], width=body["facts"]["width"])


def relation_agreement(ours: str, theirs: str) -> str:
    """Say how many pairs of modes two relations order alike, leave open in one of them, or order against each other."""
    places = [
        {mode: rank for rank, group in enumerate(parse_relation(text)) for mode in group} for text in (ours, theirs)
    ]
    pairs = list(combinations(sorted(set(places[0]) & set(places[1])), 2))
    signs = [[(place[a] > place[b]) - (place[a] < place[b]) for place in places] for a, b in pairs]
    alike = sum(x == y for x, y in signs)
    against = sum(x * y < 0 for x, y in signs)
    return f"{alike} of {len(pairs)} pairs alike, {len(pairs) - alike - against} ordered by one only, {against} against"


def agreement(body: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rows what, ours, paper, agreement."""
    facts, name = body["facts"], printed_name(body)
    if name is None:
        return []
    theirs = assess(JUDGEMENTS[name].relations)
    rows = [
        ("verdict", facts["verdict"], JUDGEMENTS[name].verdict or "none"),
        ("structure", facts["structure"], theirs.structure),
        ("features", facts["features"], theirs.features),
    ]
    out = [(*row, "open" if row[1] == "undecided" else "agrees" if row[1] == row[2] else "differs") for row in rows]
    for metric, text in JUDGEMENTS[name].relations.items():
        ours = facts["relations"].get(metric, "")
        out.append((f"relation on {LABELS[metric]}", ours, text, relation_agreement(ours, text) if ours else ""))
    return out


def explained(body: Mapping[str, Any]) -> list[str]:
    """Return a sentence per metric and part where our word is not the paper's, with what makes the difference.

    The same runs are judged again, without a margin and by the paper's rule.
    """
    facts, name = body["facts"], printed_name(body)
    if name is None:
        return []
    out = []
    for metric, best in facts["best"].items():
        bare = decide_modes(runs_of(body, metric, best), metric, rule=rule_of(body, margin=0.0))
        for part in PARTS:
            ours = next(d["outcome"] for d in facts["decisions"] if (d["metric"], d["part"]) == (metric, part))
            theirs = word_of(JUDGEMENTS[name].relations[metric], part)
            if ours == theirs:
                continue
            tried = {"no margin": bare[part].outcome, "the paper's rule": word_of(facts["relations"][metric], part)}
            makes = [rule for rule, word in tried.items() if word == theirs]
            said = ", ".join(f"with {rule} {word}" for rule, word in tried.items())
            cause = f"{' and '.join(makes)} would give the paper's word" if makes else "neither rule explains it"
            where = f"{part} on {LABELS[metric]}: {ours} with us, {theirs} in the paper"
            out.append(f"{where}; the same runs judged {said}: {cause}.")
    return out


MODELS = json.loads((ROOT / "benchmarks" / "results" / "rings_models.json").read_text(encoding="utf-8"))
"""Scores of several architectures trained side by side (`rings_evidence.py models`), by dataset."""


def by_model(scores: Mapping[str, Any]) -> list[str]:
    """Return a table of what each architecture alone shows, and what the best on validation of every mode do."""
    first = next(iter(scores.values()))["test"]
    modes = list(next(iter(first.values())))
    rows: list[tuple[Any, ...]] = [("model", "metric", "structure", "features", *modes)]
    for metric, parts in scores.items():
        tests, chosen = dict(parts["test"]), {}
        for mode in modes:
            best = max(tests, key=lambda model: statistics.fmean(parts["val"][model][mode]))
            chosen[mode] = tests[best][mode]
        for name, runs in (tests | {"best on validation": chosen}).items():
            found = decide_modes(runs, metric)
            means = (f"{statistics.fmean(runs[mode]):.3f}" for mode in modes)
            rows.append((name, LABELS[metric], found["structure"].outcome, found["features"].outcome, *means))
    return pipes(rows)


FIRST = (6, 8, 10, 12, 15)
"""First runs after which the stated number of runs is asked for."""


def stated(bodies: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Rows: how often the runs that the first ones asked for decided the question, where so many were trained."""
    rows: list[tuple[Any, ...]] = []
    for body in bodies:
        tried = decided = beyond = 0
        for metric, best in body["facts"]["best"].items():
            runs = runs_of(body, metric, best)
            most = min(sum(value == value for value in row) for row in runs.values())
            if facts_splits(body):
                continue  # more runs are no more splits, of which the number is stated
            for first in (count for count in FIRST if count < most):
                found = decide_modes({mode: row[:first] for mode, row in runs.items()}, metric)
                for part, item in found.items():
                    if item.outcome != "undecided":
                        continue
                    if not item.needed or item.needed > most:
                        beyond += 1
                        continue
                    later = decide_modes({mode: row[: item.needed] for mode, row in runs.items()}, metric)
                    tried += 1
                    decided += later[part].outcome != "undecided"
        if tried or beyond:
            rows.append((name_of(body), tried, decided, beyond))
    return [*rows, ("all", *(sum(row[i] for row in rows) for i in (1, 2, 3)))]


def facts_splits(body: Mapping[str, Any]) -> int:
    """Fixed splits that the runs took in turn, 0 where each had its own."""
    return int(body["facts"].get("splits", 0))


def rule_of(body: Mapping[str, Any], **changes: Any) -> Rule:
    """Return the rule that the kept runs were judged by."""
    return Rule(splits=facts_splits(body), looks=tuple(body["facts"].get("looks", ())), **changes)


def name_of(body: Mapping[str, Any]) -> str:
    """Return the title of a dataset, with the task where it is not the classification of graphs."""
    title, kind = body.get("title", body["facts"]["dataset"]), body.get("task_type", "graph_cls")
    return str(title) if kind == "graph_cls" else f"{title}, {known_task_type(kind).label}"


def runs_of(body: Mapping[str, Any], metric: str, best: Mapping[str, str]) -> dict[str, list[float]]:
    """Return the test scores of the chosen models, NaN where a run is missing."""
    tests = body["scores"][metric]["test"]
    return {mode: [math.nan if v is None else v for v in tests[mode][model]] for mode, model in best.items()}


def word_of(relation: str, part: Part) -> str:
    """Return what the paper's rule says of a relation on one metric."""
    return "informative" if beats(relation, part) else "uninformative"


def pipes(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return Markdown lines of a table whose first row is the head."""
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def models_of(body: Mapping[str, Any]) -> str:
    """Return the architectures, with the fewest runs per mode of each."""
    modes = next(iter(body["scores"].values()))["test"]
    models = sorted({model for row in modes.values() for model in row})
    counts = {m: min(sum(v is not None for v in row[m]) for row in modes.values() if m in row) for m in models}
    return ", ".join(f"{model} {count} runs" for model, count in counts.items())


def taxonomy(bodies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of all datasets."""
    rows: list[tuple[Any, ...]] = [
        ("dataset", "task", "verdict", "structure", "features", "score", "structural diversity", "paper", "agreement")
    ]
    for body in bodies:
        facts, found = body["facts"], agreement(body)
        name = printed_name(body)
        score = f"{JUDGEMENTS[name].verdict} ({assess(JUDGEMENTS[name].relations).score:g})" if name else ""
        words = ", ".join(f"{what} {how}" for what, _, _, how in found[:3])
        rows.append((
            body.get("title", facts["dataset"]), body.get("task_type", "graph_cls"), facts["verdict"],
            facts["structure"], facts["features"], score_words(facts), f"{facts['diversity']['structural']:.2f}",
            score, words,
        ))  # fmt: skip
    return pipes(rows)


def needs(bodies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lists of the tasks by what was found about their graph."""
    out = []
    for word, how in NEEDS.items():
        names = [name_of(body) for body in bodies if body["facts"]["structure"] == word]
        if names:
            out += [f"- The graph is **{how}** ({len(names)}): {'; '.join(names)}."]
    return out


def section(body: Mapping[str, Any]) -> list[str]:
    """Return what is known about one dataset."""
    facts = body["facts"]
    lines = [
        f"## {name_of(body)}",
        "",
        f"**{facts['verdict']}**: {facts['reason']}. {models_of(body)}; preset {body['preset']}.",
    ]
    missing = [mode for mode in ("cg", "cf") if mode not in facts["best"][next(iter(facts["best"]))]]
    if missing:
        lines.append(
            f"Left out: {' and '.join(missing)}, too large on this dataset; the words rest on the other modes."
        )
    lines += ["", *(f"- {sentence}" for sentence in body["evidence"][:-1]), ""]
    found = agreement(body)
    if found:
        lines += [*pipes([("", "ours", "paper", "agreement"), *found]), ""]
        lines += [*(f"- {sentence}" for sentence in explained(body)), ""]
    lines += [*pipes(means(body)), ""]
    if facts["dataset"] in WORDS:
        lines += [WORDS[facts["dataset"]], ""]
    if facts["dataset"] in MODELS:
        runs = len(next(iter(next(iter(MODELS[facts["dataset"]].values()))["test"].values()))["o"])
        lines += [f"The preset trains three architectures. {runs} runs of each, trained apart from those above:", ""]
        lines += [*by_model(MODELS[facts["dataset"]]), ""]
    for mode, rows in READINGS.get(facts["dataset"], {}).items():
        lines += [*readings(mode, rows), ""]
    return lines


def means(body: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Rows of mean test scores by metric, with the paper's best architecture beside."""
    facts = body["facts"]
    printed = published_scores(facts["dataset"], width=facts["width"])
    printed = printed[printed["table"].isin((6, 7))]
    modes = list(next(iter(facts["means"].values())))
    rows: list[tuple[Any, ...]] = [("mean of the best model", *modes)]
    for metric, values in facts["means"].items():
        rows.append((f"{LABELS.get(metric, metric)}, ours", *(f"{values[mode]:.3f}" for mode in modes)))
        theirs = printed[printed["metric"] == metric].groupby("mode")["mean"].max()
        if len(theirs):
            rows.append(
                (f"{LABELS[metric]}, the paper's best", *(f"{theirs.get(mode, float('nan')):.3f}" for mode in modes))
            )
        trained = {model for row in body["scores"][metric]["test"].values() for model in row}
        same = printed[(printed["metric"] == metric) & printed["model"].isin(trained)]
        if 0 < same["model"].nunique() < printed["model"].nunique():
            best = same.groupby("mode")["mean"].max()
            name = f"{LABELS[metric]}, the paper's {' and '.join(sorted(set(same['model'])))}"
            rows.append((name, *(f"{best.get(mode, float('nan')):.3f}" for mode in modes)))
    return rows


def readings(mode: str, rows: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    """Return a table of readings of one perturbation: mean scores, and paired differences from ours."""
    base = next(iter(rows.values()))
    out: list[tuple[Any, ...]] = [(f"`{mode}`, {len(base['acc'])} paired runs", "accuracy", "", "AUROC", "")]
    for name, scores in rows.items():
        cells = [name]
        for metric in ("acc", "auc"):
            cells += [f"{statistics.fmean(scores[metric]):.3f}", ""]
            if scores is not base:
                low, high = ttest_rel(scores[metric], base[metric]).confidence_interval()
                cells[-1] = f"{(low + high) / 2:+.3f} ({low:+.3f} to {high:+.3f})"
        out.append(tuple(cells))
    return pipes(out)


def page() -> str:
    """Return the page."""
    bodies = kept()
    ours = [body for body in bodies if printed_name(body) is not None]
    same = [sum(agreement(body)[row][3] == "agrees" for body in ours) for row in range(3)]
    lines = [
        "# What RINGS found",
        "",
        "<!-- made by benchmarks/rings_pages.py from benchmarks/results/rings; do not edit by hand -->",
        "",
        f"{len(bodies)} tasks, {len(ours)} of them in the paper (Coupette et al. 2025), evaluated by the rules of",
        f"[Dataset fitness](rings.md). Of those {len(ours)} the verdict agrees with the paper's on {same[0]}, the word",
        f"on structure on {same[1]}, that on features on {same[2]}. The others are tasks of the catalogue; where their",
        "data carry splits of their own, fresh ones of the same sizes were drawn, because runs that share a split are",
        "one witness. What is said is said of the models that were trained. All scores are kept under",
        "`benchmarks/results/rings/`; tests make the decisions, and this page, again from them.",
        "",
        "![Performance separability against structural diversity](images/rings-taxonomy.png)",
        "",
        "The datasets of the paper. *Published score*: that of the paper. An undecided score of ours stands in the",
        "middle of what it can still be.",
        "",
        *taxonomy(bodies),
        "",
        *needs(bodies),
        "",
        "Agreement of a relation counts pairs of modes: ordered (or not) alike, ordered by one of the two only,",
        "ordered against each other. Fewer runs leave more pairs without an order.",
        "",
    ]
    lines += [
        "## The stated number of runs, tried",
        "",
        f"After the first {', '.join(map(str, FIRST))} runs each open question states how many would decide it, for a",
        "chance of 0.8. Where that many were trained, they were taken, and the question asked again.",
        "",
        *pipes([("dataset", "tried", "then decided", "more than were trained"), *stated(bodies)]),
        "",
    ]
    for body in bodies:
        lines += section(body)
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> int:
    """Write page and picture."""
    from graphnetz.report.plots import draw_figure

    facts = [body["facts"] for body in kept() if printed_name(body) is not None]  # all of them would hide each other
    figure = taxonomy_figure(facts, published=published_judgements(facts))
    drawn, _ = draw_figure(figure.kind, figure.data)
    drawn.savefig(PICTURE, dpi=110)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
