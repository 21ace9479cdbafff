"""What the page of the field shows beside its cells: published tables, tuning, and what would be recommended.

``python benchmarks/field_more.py published`` counts `results/published_places.json` (`published_places.py`);
``... recommended ROOT`` asks `graphnetz select` about the graph of every task of the stored bundles that has one, with
the bank that ships, and reads datasets below ROOT; ``... tuned`` says what tuning changed in the bundles of
``results/field/tuned/``, with every run of them, default and tuned, by task. Nothing is trained. Each writes a file of
``results/field/more/``, which ``make site`` hands to ``graphnetz leaderboard --findings --more``.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from graphnetz._core.plain import jsonable
from graphnetz.analysis.field import share
from graphnetz.records.findings import CARRY, TUNING

RESULTS = Path(__file__).resolve().parent / "results"
FIELD = RESULTS / "field"
MORE = FIELD / "more"
QUESTION = "What do published tables show?"
TOP = 3


def published() -> dict[str, Any]:
    """How many places of published tables are shown, as findings with the lists that they count."""
    entries = json.loads((RESULTS / "published_places.json").read_text(encoding="utf-8"))
    papers = list(dict.fromkeys(entry["paper"] for entry in entries))
    adjacent, shown = sum(e["adjacent"] for e in entries), sum(e["shown"] for e in entries)
    alone = sum(e["first_alone"] for e in entries)
    columns = ["Paper", "Table", "Task", "Budget", "Runs", "Models", "Neighbours", "Shown", "May be first"]
    keys = ["paper", "table", "task", "budget", "runs", "models", "adjacent", "shown", "may_be_first"]
    table = {
        "columns": columns,
        "rows": [[entry[key] for key in keys] for entry in entries],
        "caption": "Lists of models as published, compared by Welch's test on printed means, spreads and runs, with "
        "Holm's correction in each list; runs of unknown pairing, which shows less than paired tests.",
    }
    text = f"In {len(entries)} published lists of models ({', '.join(papers)}) the order of neighbours is shown in "
    text += f"{shown} of {adjacent} cases ({share(shown, adjacent)})."
    first = {
        "name": "published", "question": QUESTION, "text": text, "table": table, "claims": ["better-summary"],
        "tally": [["order shown", shown], ["not shown", adjacent - shown]],
    }  # fmt: skip
    text = f"One model is clearly first in {alone} of these {len(entries)} lists; in the others several may be."
    second = first | {"name": "published-first", "text": text}
    second["tally"] = [["one clear first", alone], ["several may be first", len(entries) - alone]]
    return {"findings": [first, second], "tasks": {}}


def tuned() -> dict[str, Any]:
    """Findings of the tuned bundles, and all of their runs in tables of tasks."""
    from contextlib import ExitStack

    from graphnetz.analysis.findings import findings
    from graphnetz.cli.field import generated
    from graphnetz.engine.bundle import opened
    from graphnetz.report import BenchmarkReport
    from graphnetz.report.compare_runs import merge_reports

    paths = sorted((FIELD / "tuned").glob("*.zip"))
    with ExitStack() as stack:
        folders = [stack.enter_context(opened(path))[0] for path in paths]
        reports = [BenchmarkReport.from_json(folder / "results.json") for folder in folders]
        merged = merge_reports(reports, names=[path.stem for path in paths])
        made = generated(merged.scores.tasks)
        every = findings(merged.analysis, generated=made)
        told = [found.as_dict() for found in every if found.question == TUNING]
    tables: dict[str, list[list[Any]]] = {}
    for path, report in zip(paths, reports, strict=True):
        rows: dict[str, list[list[Any]]] = {}
        for cell in report.results:
            if cell.ok and len(cell.trace) > 1:
                rows.setdefault(cell.task, []).append(tuned_row(cell))
        for task, mine in rows.items():
            columns = ["Model", "Seed", "Default", "Tuned", "Settings tried", "Chosen by validation"]
            caption = f"Test metric of every run, from the bundle tuned/{path.name}."
            table = {"columns": columns, "rows": mine, "caption": caption}
            tables[task] = [["Default and tuned settings, run by run", table]]
    return {"findings": told, "tasks": tables}


def tuned_row(cell: Any) -> list[Any]:
    """One run: its test metric with default and with chosen settings, and which were chosen."""
    key = f"val_{cell.metric.removeprefix('test_')}"
    tried = [row for row in cell.trace if isinstance(row.get(key), int | float)]
    default = next(row for row in cell.trace if row.get("default") is True)[cell.metric]
    best = (max if cell.greater_is_better else min)(tried, key=lambda row: row[key])  # the first of equal ones
    left_out = {key, cell.metric, "default", "error"}
    chosen = {name.removeprefix("model."): value for name, value in best.items() if name not in left_out}
    words = ", ".join(f"{name} {value}" for name, value in chosen.items()) or "the default ones"
    return [cell.model, cell.seed, round(default, 6), round(cell.value, 6), len(cell.trace), words]


def tasks_of_bundles() -> dict[str, str]:
    """Tasks of the stored bundles, with their types."""
    out = {}
    for path in sorted(FIELD.glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            raw = json.loads(archive.read("results.json"))
        out |= {task["name"]: task["task_type"] for task in raw["tasks"]}
    return out


def recommended(root: str) -> dict[str, Any]:
    """The shortlist for the graph of every task that has one graph, as tables of tasks."""
    from graphnetz._core.errors import GraphnetzError
    from graphnetz.datasets import find_task
    from graphnetz.selection import recommend
    from graphnetz.selection.example import named_graph

    kept = MORE / "recommended.json"
    out: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))["tasks"] if kept.exists() else {}
    for name, kind in tasks_of_bundles().items():
        if name in out:  # remove the file where the bank has changed
            continue
        card = find_task(name).card
        if kind not in ("link_pred", "node_cls") or card is None or name.startswith("algo_"):
            continue
        try:
            found = recommend(named_graph(card.name, root=root), kind, top=TOP)
        except (GraphnetzError, AttributeError, IndexError) as error:
            print(f"{name}: {error}", flush=True)
            continue
        out[name] = [["What 'graphnetz select' would try first, before any training", _shortlist(found)]]
        print(f"{name}: {found.choices[0].name}", flush=True)
    return {"findings": agreement(out), "tasks": out}


def agreement(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """How often the method that is recommended first is among those that may be best in the stored runs."""
    from graphnetz.engine.bundle import opened
    from graphnetz.report import BenchmarkReport

    rows = []
    for path in sorted(FIELD.glob("*.zip")):
        with opened(path) as (folder, _):
            places = BenchmarkReport.from_json(folder / "results.json").analysis.places
        for task in dict.fromkeys(place.task for place in places if place.task in tables):
            method = tables[task][0][1]["rows"][0][1].split("-")[0]
            there = {place.model: place for place in places if place.task == task}
            if method in there:
                first = "yes" if there[method].first == 1 else "no"
                rows.append([task, method, f"{there[method].text} of {len(there)}", first])
    hits = sum(row[-1] == "yes" for row in rows)
    text = (
        f"On {hits} of {len(rows)} tasks no model is shown to be better than the method that 'graphnetz select' names "
    )
    text += f"first without training; on {len(tables) - len(rows)} more what it names is not among these models."
    table = {
        "columns": ["Task", "Named first", "Its place in these runs", "Nothing shown better"], "rows": rows,
        "caption": "Its settings may differ from those of these runs, and the bank that it asks may know the graph.",
    }  # fmt: skip
    tally = [["nothing shown better", hits], ["something shown better", len(rows) - hits]]
    return [{"name": "recommended", "question": CARRY, "text": text, "table": table, "tally": tally, "claims": []}]


def _shortlist(found: Any) -> dict[str, Any]:
    rows = [[c.rank, c.name, round(c.score, 4), round(c.low, 4), round(c.high, 4)] for c in found.choices]
    near = ", ".join(f"{name} ({distance:.2f})" for name, distance in found.nearest[:3])
    caption = f"Predicted {found.metric} on splits of the bank's own, with {found.level:.0%} intervals, from "
    caption += f"{found.known_graphs} known graphs, of which nearest (distance): {near}. {found.warning}"
    columns = ["Rank", "Configuration", f"Predicted {found.metric}", "Low", "High"]
    return {"columns": columns, "rows": rows, "caption": caption.strip()}


def main() -> None:
    MORE.mkdir(parents=True, exist_ok=True)
    ways = {"published": published, "tuned": tuned, "recommended": lambda: recommended(sys.argv[2])}
    made = ways[sys.argv[1]]()
    text = json.dumps(jsonable(made), ensure_ascii=False, indent=None, separators=(",", ":"))
    # One task or finding on a line.
    text = text.replace('},{"name":', '},\n{"name":').replace(']]}]],"', ']]}]],\n"').replace('"}]],"', '"}]],\n"')
    (MORE / f"{sys.argv[1]}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
