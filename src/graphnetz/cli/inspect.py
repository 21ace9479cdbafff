"""`graphnetz report`, `status`, `list` and `doctor`."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import sys
import tomllib
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.registry import PluginWarning, Registry
from graphnetz._core.text import clean, names
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, put, say


@app.command()
def report(
    source: Annotated[
        Path,
        typer.Argument(
            help="A run folder, a results.json, a CSV of scores, predictions or means, or what a tracker keeps."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Where to write the files; default: the run folder.")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="Also write tables, figures and words for a paper.")] = False,
    figures: Annotated[bool, typer.Option(help="Write figures as PDF and PNG; the page has its own.")] = True,
    size: Annotated[str, typer.Option(help="Paper of the figures: column, page or slide.")] = "page",
    replication: Annotated[
        str | None, typer.Option(help="For a table: what a seed varies (init, resplit, fold or regenerate).")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="For a table: which column is what, such as task=dataset,score=test_acc; n==10 for all rows."
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="For a table: what the scores are, such as acc; acc% where they are percentages.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
) -> int:
    """Write the report files again, or make them from scores trained elsewhere."""
    from graphnetz.cli.load import from_table, load_report, load_table
    from graphnetz.cli.show import print_report
    from graphnetz.report.write import write_report

    folder = out or _beside(source)
    table = load_table(source, columns=columns or (), metric=metric) if source.exists() else None
    if table is None and (replication or columns or metric):
        option = "--replication" if replication else "--columns" if columns else "--metric"
        raise UsageError(
            f"{source.name!r} says itself what was measured and what a seed varies: {option} is for tables."
        )
    if table is not None and table.kind == "summary":
        return _report_means(table, folder, replication, as_json=as_json)
    made = from_table(table, source.name, replication=replication, told=say) if table else load_report(source)
    write_report(made, folder, figures=figures, size=size)
    if paper:
        from graphnetz.report.files import link_files
        from graphnetz.report.paper import write_paper

        write_paper(made, folder / "paper", datasets=_cited(made.scores.tasks))
        link_files(folder)
    answer(as_json, lambda: json.loads(made.to_json()), lambda: print_report(made, folder))
    return FAILED_CELLS if any(not result.ok for result in made.results) else OK


def _beside(source: Path) -> Path:
    """Where files go when nobody says it: into a run folder, beside a table or a tracker's folder under its name."""
    if source.is_dir():
        known = any((source / name).exists() for name in ("results.json", "store.sqlite"))
        return source if known else source.with_name(f"{source.resolve().name}-report")
    return source.parent if source.suffix == ".json" else source.with_suffix("")


def _report_means(table: Any, folder: Path, replication: str | None, *, as_json: bool) -> int:
    """Compare models of which mean, spread and number of runs are known, and say what that leaves open."""
    from graphnetz.report.from_summaries import parse_summaries, write_summaries
    from graphnetz.report.jsonio import jsonable

    found = parse_summaries(table.frame, replication)
    for line in table.notes:
        say(line)
    write_summaries(found, folder)
    return answer(as_json, lambda: jsonable(found.as_dict()), lambda: _print_means(found, folder))


def _print_means(found: Any, folder: Path) -> None:
    from graphnetz.cli.show import console_of, print_table
    from graphnetz.report.from_summaries import COLUMNS, summary_rows

    console = console_of(160)
    print_table(console, COLUMNS, summary_rows(found))
    for line in found.verdicts():
        console.print(f"- {line.about}: {line}")
    console.print("What a table of means cannot say:")
    for text in found.unsaid:
        console.print(f"- {text}")
    console.print(f"\nWritten: {folder / 'welch.md'}, welch.csv and welch.json.")


def _cited(tasks: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Name and citation of the dataset behind each task that has a card."""
    from graphnetz.datasets import CARDS, iter_benchmark_tasks

    cards = {task.name: task.card for task in iter_benchmark_tasks() if task.card}
    cards |= {name: card for name, card in CARDS.items() if name not in cards}
    return {task: (cards[task].name, cards[task].citation) for task in tasks if task in cards}


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(help="A run folder, also one that is being filled.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Show how far a run is, from another terminal."""
    from graphnetz.cli.live import Live
    from graphnetz.engine.progress import clock

    found = Live(folder).status()  # as the page of 'graphnetz serve' says it: a killed run is not running
    if as_json:
        left = found["seconds_left"]
        put(json.dumps({"counts": found["counts"], "running": len(found["running"]), "seconds_left": left}))
        return OK
    # What a killed run left in work is pending again when it is resumed.
    counts = dict(found["counts"])
    if lost := counts.pop("running", 0) - len(found["running"]):
        counts["pending"] = counts.get("pending", 0) + lost
    counts |= {"running": len(found["running"])} if found["running"] else {}
    put(", ".join(f"{count} {clean(name)}" for name, count in sorted(counts.items())) or "no cells planned")
    for line in found["running"]:
        put(f"running: {clean(line)}")
    if found["state"] == "running":
        put(
            f"about {clock(found['seconds_left'])} left"
            if found["seconds_left"] is not None
            else "time left: not known yet"
        )
    elif found["state"] == "stopped":
        put(f"not running; go on with: graphnetz resume {shlex.quote(str(folder))}")
    return OK


REGISTRIES = tomllib.loads(Path(__file__).with_name("registries.toml").read_text(encoding="utf-8"))
"""Where each registry stands: as text, so that one list imports no other's packages."""


def _registry(what: str) -> Registry[Any]:
    module, _, name = REGISTRIES[what].partition(":")
    found: Registry[Any] = getattr(import_module(module), name)
    return found


def _facts(what: str, entry: Any) -> dict[str, Any]:
    """Say of one entry what its kind is chosen by."""
    if what == "models":
        types = "all" if entry.task_types == {"*"} else ", ".join(sorted(entry.task_types))
        return {"kind": entry.kind, "task_types": types}
    if what == "datasets":
        return {
            "category": entry.category, "task_types": ", ".join(entry.serves),
            "data": "simulated" if entry.simulated else "real", "offline": "yes" if entry.offline else "no",
            "source": entry.source,
        }  # fmt: skip
    if what == "metrics":
        return {"label": entry.label, "better": "higher" if entry.greater_is_better else "lower"}
    if what == "suites":
        return {"tasks": len(entry()), "what": entry.title.removeprefix("Return "), "sizes": ", ".join(entry.sizes)}
    title = getattr(entry, "title", "") or getattr(entry, "label", "")
    if isinstance(entry, tuple):
        return {"what": names(entry, most=4)}
    entry = getattr(entry, "compute", entry)
    doc = inspect.getdoc(getattr(entry, "func", entry)) or ""  # a partial function has the words of what it calls
    words = title or doc.partition("\n")[0]
    return {"what": words.removeprefix("Return ")}


def _entries(*lists: str) -> list[dict[str, Any]]:
    """Rows of one or more registries; plug-ins that fail are named on standard error, here and not by a warning."""
    rows = []
    for what in lists:
        registry = _registry(what)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PluginWarning)
            broken = registry.broken
        for sentence in broken.values():
            say(sentence)
        kind = {"kind": registry.kind} if len(lists) > 1 else {}
        rows += [
            {"name": name, **kind, **_facts(what, entry), "from": registry.source(name) or "graphnetz"}
            for name, entry in registry.items()
        ]
    return rows


def _overview() -> list[dict[str, Any]]:
    rows = []
    for what in REGISTRIES:
        origins, registry = [row["from"] for row in _entries(what)], _registry(what)
        rows.append(
            {
                "list": what, "of": registry.kind, "entries": len(origins), "broken": len(registry.broken),
                "from plug-ins": len(origins) - origins.count("graphnetz"), "entry points": registry.group or "",
            }
        )  # fmt: skip
    return rows


def _tasks() -> list[dict[str, Any]]:
    """Curated tasks and those that only suites use, with the suites they are in."""
    from graphnetz.datasets import SUITES, iter_benchmark_tasks

    used: dict[str, list[str]] = {}
    found = {task.name: task for task in iter_benchmark_tasks()}
    for name, suite in SUITES.items():
        for task in suite():
            found.setdefault(task.name, task)
            used.setdefault(task.name, []).append(name)
    return [
        {
            "name": t.name, "task_type": t.task_type, "category": t.category, "epochs": t.epochs,
            "suites": ", ".join(used.get(t.name, ())),
        }
        for t in found.values()
    ]  # fmt: skip


def _categories() -> list[dict[str, Any]]:
    from graphnetz.datasets import CATEGORIES

    return [{"name": name, "what": what} for name, what in CATEGORIES.items()]


LISTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    **{name: partial(_entries, name) for name in REGISTRIES},
    "tasks": _tasks,
    "categories": _categories,
    "tests": partial(_entries, "paired_tests", "intervals", "corrections"),
}


@app.command("list")
def list_(
    what: Annotated[str | None, typer.Argument(help=f"One of: {', '.join(LISTS)}; left out: how many of each.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """List what there is, plug-ins included."""
    chosen = (what or "").replace("-", "_")
    if what and chosen not in LISTS:
        raise unknown_name("list", what, LISTS)
    rows = LISTS[chosen]() if what else _overview()
    return answer(as_json, lambda: rows, lambda: _print_list(rows))


def _needs(rows: list[dict[str, Any]], columns: list[str]) -> int:
    """How wide a terminal must be so that no word of a table is broken."""
    words = (max(len(word) for row in rows for word in (column, *str(row[column]).split())) for column in columns)
    return sum(words) + 2 * len(columns)


def _print_list(rows: list[dict[str, Any]]) -> None:
    """Print a list so that names stay whole; columns that say the same of every row, and long sources, are for JSON."""
    from graphnetz.cli.show import SafeConsole, print_table

    every = {"from": "graphnetz", "sizes": "", "broken": 0, "from plug-ins": 0}
    columns = [c for c in (rows[0] if rows else {}) if c not in ("source", "of")]
    columns = [c for c in columns if c not in every or any(row[c] != every[c] for row in rows)]
    console = SafeConsole() if sys.stdout.isatty() or "COLUMNS" in os.environ else SafeConsole(width=80)
    for later in ("epochs", "category"):
        if "suites" in columns and later in columns and _needs(rows, columns) > console.width:
            columns.remove(later)
    print_table(console, columns, [[row[c] for c in columns] for row in rows], whole=1)


@app.command()
def doctor(
    names: Annotated[list[str] | None, typer.Argument(help="With --datasets: these datasets only.")] = None,
    datasets: Annotated[
        bool, typer.Option("--datasets", help="Load datasets and compare them with their cards.")
    ] = False,
    task: Annotated[
        list[str] | None,
        typer.Option(help="Look for leaks in this task, or graph folder, before training on it; repeat for several."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --task: a run folder whose report shall show it.")] = None,
    mirror: Annotated[str | None, typer.Option(help="Folder or URL asked before the network.")] = None,
    root: Annotated[str, typer.Option(help="Where datasets are kept.")] = "data/benchmark",
    download: Annotated[
        bool, typer.Option("--download", help="With --datasets and no name: ask the network too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Check this machine (versions, cores, memory, extras, writable folders), the datasets at hand, or a task."""
    if task:
        from graphnetz.cli.decide import audit_tasks

        return audit_tasks(task, root=root, mirror=mirror, out=out, as_json=as_json)
    if datasets:
        from graphnetz.cli.data import check_cards

        return check_cards(names or [], mirror=mirror, root=root, download=download, as_json=as_json)
    if names:
        raise UsageError(f"Without --datasets there is nothing to do with {names[0]!r}. Add --datasets to check it.")
    from graphnetz.engine.doctor import checks

    found = checks()
    lines = [f"[{row['state']}] {row['what']}: {row['detail']}" for row in found]
    answer(as_json, lambda: found, lambda: put("\n".join(lines)))
    return OK if all(row["state"] != "fail" for row in found) else FAILED_CELLS
