"""`graphnetz report`, `status`, `list` and `doctor`."""

from __future__ import annotations

import inspect
import json
import shlex
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
from graphnetz._core.text import clean
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, put, say


@app.command()
def report(
    source: Annotated[Path, typer.Argument(help="A run folder, a results.json, or a CSV of scores or predictions.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the files; default: the run folder.")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="Also write tables, figures and words for a paper.")] = False,
    figures: Annotated[bool, typer.Option(help="Write figures as PDF and PNG; the page has its own.")] = True,
    replication: Annotated[
        str | None, typer.Option(help="For a CSV: what a seed varies (init, resplit, fold or regenerate).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
) -> int:
    """Write the report files again, or make them from scores trained elsewhere."""
    from graphnetz.cli.load import load_report
    from graphnetz.cli.show import print_report
    from graphnetz.report.write import write_report

    made = load_report(source, replication=replication)
    folder = out or (
        source if source.is_dir() else source.with_suffix("") if source.suffix == ".csv" else source.parent
    )
    write_report(made, folder, figures=figures)
    if paper:
        from graphnetz.report.paper import write_paper

        write_paper(made, folder / "paper", datasets=_cited(made.scores.tasks))
    answer(as_json, lambda: json.loads(made.to_json()), lambda: print_report(made, folder))
    return FAILED_CELLS if any(not result.ok for result in made.results) else OK


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
    from graphnetz._core.paths import refuse_links
    from graphnetz._core.readers import from_others
    from graphnetz.cli.load import DAMAGED
    from graphnetz.engine.progress import Estimator, clock
    from graphnetz.engine.store import Store

    refuse_links(folder)
    with from_others(f"The store of {str(folder)!r}", DAMAGED), Store.open(folder, readonly=True) as store:
        counts = {str(name): count for name, count in store.counts().items()}
        running = store.running()
        recorded = {pair: (count, mean) for pair, (count, mean, _) in store.durations().items()}
        every = list(store.cells())
        missing = set(store.missing([cell.key for cell in every]))
    left = Estimator([cell for cell in every if cell.key in missing], recorded).seconds(max(len(running), 1))
    if as_json:
        put(
            json.dumps(
                {"counts": counts, "running": len(running), "seconds_left": None if left != left else round(left, 1)}
            )
        )
        return OK
    put(", ".join(f"{count} {clean(name)}" for name, count in sorted(counts.items())) or "no cells planned")
    for task, model, seed, _owner, _lease in running:
        put(f"running: {clean(task)} / {clean(model)} / seed {seed}")
    if missing:
        put(
            f"about {clock(left)} left"
            if running
            else f"not running; go on with: graphnetz resume {shlex.quote(str(folder))}"
        )
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
        return {"tasks": len(entry()), "what": entry.title, "sizes": ", ".join(entry.sizes)}
    title = getattr(entry, "title", "") or getattr(entry, "label", "")
    return {"what": title or (inspect.getdoc(getattr(entry, "compute", entry)) or "").partition("\n")[0]}


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
        names, registry = [row["from"] for row in _entries(what)], _registry(what)
        rows.append(
            {
                "list": what, "of": registry.kind, "entries": len(names), "broken": len(registry.broken),
                "from plug-ins": len(names) - names.count("graphnetz"), "entry points": registry.group,
            }
        )  # fmt: skip
    return rows


def _tasks() -> list[dict[str, Any]]:
    from graphnetz.datasets import iter_benchmark_tasks

    return [
        {"name": t.name, "task_type": t.task_type, "category": t.category, "epochs": t.epochs}
        for t in iter_benchmark_tasks()
    ]


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
    from graphnetz.cli.show import SafeConsole, print_table

    columns, table = list(rows[0]) if rows else [], [list(row.values()) for row in rows]
    return answer(as_json, lambda: rows, lambda: print_table(SafeConsole(), columns, table))


@app.command()
def doctor(
    names: Annotated[list[str] | None, typer.Argument(help="With --datasets: these datasets only.")] = None,
    datasets: Annotated[
        bool, typer.Option("--datasets", help="Load datasets and compare them with their cards.")
    ] = False,
    task: Annotated[
        list[str] | None, typer.Option(help="Look for leaks in this task before training on it; repeat for several.")
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
