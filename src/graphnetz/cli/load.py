"""A report from a run folder: from its files, or from a store that is still being filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import UsageError
from graphnetz._core.paths import refuse_links
from graphnetz._core.readers import from_others, read_json

if TYPE_CHECKING:
    import pandas as pd

    from graphnetz.report import BenchmarkReport
    from graphnetz.report.reshape import Shaped

MAX_BYTES = 64 << 20
MOST_ROWS = 1_000_000
"""Rows of a table in Parquet that a report is made of."""
DAMAGED = "The file is damaged or not ours: restore it from a copy."


def load_report(source: Path) -> BenchmarkReport:
    """Return the report of a run folder, a ``results.json``, a baseline, or scores or predictions from elsewhere."""
    from graphnetz.report import BenchmarkReport
    from graphnetz.report.jsonio import WHERE_NOT_WHAT
    from graphnetz.report.sections import combine, read_sections

    if not source.exists():
        raise UsageError(f"There is no {str(source)!r}. Give a run folder, a results.json or a CSV of scores.")
    if (table := load_table(source)) is not None:
        return from_table(table, source.name)
    if not source.is_dir():
        from graphnetz.report.baseline import is_baseline, read_baseline

        return read_baseline(source) if is_baseline(source) else BenchmarkReport.from_json(source)
    refuse_links(source)
    results, store = source / "results.json", source / "store.sqlite"
    if not results.exists():
        if store.exists():
            return live_report(source)
        raise UsageError(
            f"There is no run in {str(source)!r}: neither results.json nor store.sqlite. Give a run folder."
        )
    report = BenchmarkReport.from_json(results)
    report.provenance = read_provenance(source / "provenance.json")
    config = report.provenance.pop("config", None)
    if isinstance(config, dict):  # results.json leaves out the settings that cannot change a value; no others are taken
        merged = report.config | {key: value for key, value in config.items() if key in WHERE_NOT_WHAT}
        # In the order in which the run wrote them, so that writing again gives the same bytes.
        report.config = {key: merged[key] for key in config if key in merged} | merged
    report.sections = combine(report.sections, read_sections(source, strict=False))
    return _with_store(report, source) if store.exists() else report


def load_table(source: Path, *, columns: Sequence[str] = (), metric: str | None = None) -> Shaped | None:
    """Return what a table or tracker holds in the shape of scores, predictions or summaries; None for other sources."""
    from graphnetz.report.reshape import Titles, shape
    from graphnetz.report.tracked import tracked

    if source.suffix in (".csv", ".tsv"):
        from graphnetz._core.readers import read_csv

        frame: pd.DataFrame | None = read_csv(source, text=Titles(("task", "model")))
    elif source.suffix == ".parquet":
        from graphnetz.graphs.parquet import read_parquet

        frame = read_parquet(source)
        if len(frame) > MOST_ROWS:
            raise UsageError(
                f"{source.name!r} has {len(frame):,} rows, more than the {MOST_ROWS:,} of a report with tests of all "
                f"pairs. 'graphnetz leaderboard {source}' ranks them without."
            )
    else:
        frame = tracked(source)
    if frame is None:
        return None
    return shape(frame, columns=columns, metric=metric, name=source.stem)


def from_table(
    table: Shaped, name: str, *, replication: str | None = None, told: Callable[[str], object] | None = None
) -> BenchmarkReport:
    """Return the report of a table; what was assumed of it goes to ``told`` and into the report's notes."""
    from graphnetz.report import BenchmarkReport

    if table.kind == "summary":
        raise UsageError(f"{name!r} holds means of runs, not runs: only 'graphnetz report' compares those.")
    read = BenchmarkReport.from_predictions if table.kind == "predictions" else BenchmarkReport.from_scores
    made = read(table.frame, replication=replication)
    notes = [*table.notes, *unstated(made)]
    if notes:
        made.provenance = {**made.provenance, "notes": [*made.provenance.get("notes", ()), *notes]}
    if told is not None:
        for line in notes:
            told(line)
    return made


def unstated(report: BenchmarkReport) -> list[str]:
    """Say of which tasks nobody told what a seed varies, and how to tell it."""
    open_ones = [task for task, info in report.task_info.items() if info.replication == "unknown"]
    if not open_ones:
        return []
    which = "" if len(open_ones) == len(report.task_info) else f" of {', '.join(open_ones[:4])}"
    return [
        f"What a seed{which} varies was not stated, so claims reach these seeds only. Say it with --replication: init "
        "(one split, new initialisations), resplit (a new random split), fold (folds of one partition) or regenerate "
        "(new data)."
    ]


def live_report(folder: Path) -> BenchmarkReport:
    """Return a report of the cells that are finished so far."""
    refuse_links(folder)
    with from_others(f"The store of {str(folder)!r}", DAMAGED):
        return _live_report(folder)


def _live_report(folder: Path) -> BenchmarkReport:
    from graphnetz.engine.store import Store
    from graphnetz.engine.store.truth import registered
    from graphnetz.records import recorded_protocols
    from graphnetz.report import BenchmarkReport, TaskInfo
    from graphnetz.report.checks import check_cells
    from graphnetz.report.sections import combine, planned_and_read, read_sections

    with Store.open(folder, readonly=True) as store:
        planned = list(store.cells())
        results = list(store.results())
        sections = combine(store.read_sections(), read_sections(folder, strict=False))
        written = dict(store.read_meta().get("analysis_plan") or {}).get("plan", {})
        rule = written.get("stopping_rule")
        planned_by = registered(store, len(results))
    check_cells(results, store.path.name, planned=planned)
    config: dict[str, Any] = {"title": f"{len(results)} of {len(planned)} cells finished"}
    if len(results) < len(planned):
        config["pending"] = len(planned) - len(results)
    config |= recorded_protocols(planned)
    if isinstance(rule, dict):  # seeds in rounds: looking at a run that goes on must not make its tests bolder
        config["auto"] = {key: value for key, value in rule.items() if key != "looks"}
    known = {r.task: r for r in results if r.metric}
    fixed = {name: task.get("splits", 0) for name, task in written.get("tasks", {}).items()}
    tasks = {
        name: TaskInfo(
            r.metric, greater_is_better=r.greater_is_better, replication=r.replication, splits=fixed.get(name, 0)
        )
        for name in dict.fromkeys(cell.task for cell in planned)
        if (r := known.get(name))
    }
    made = BenchmarkReport.from_results(
        [r for r in results if r.task in tasks],
        tasks=tasks,
        models=tuple(dict.fromkeys(cell.model for cell in planned)),
        seeds=sorted({cell.seed for cell in planned}),
        config=config,
        sections=sections,
        examples_in=folder,
    )
    done = {r.key for r in results}
    made.sections = planned_and_read(made, planned_by, pending=[cell for cell in planned if cell.key not in done])
    return made


def _with_store(report: BenchmarkReport, folder: Path) -> BenchmarkReport:
    """Add what results.json leaves out: keys, curves, seconds, memory and environments."""
    from graphnetz.engine.store import Store
    from graphnetz.engine.store.truth import registered
    from graphnetz.report.checks import check_cells
    from graphnetz.report.sections import planned_and_read

    with from_others(f"The store of {str(folder)!r}", DAMAGED), Store.open(folder, readonly=True) as store:
        predictions = not (folder / "examples").is_dir()  # those are read when they are asked for
        found = list(store.results(predictions=predictions))
        plan = registered(store, len(report.results))
    check_cells(found, store.path.name)
    kept = {(r.task, r.model, r.seed): r for r in found}
    full = []
    for result in report.results:
        other = kept.get((result.task, result.model, result.seed))
        if other is None or other.status != result.status or other.metrics != result.metrics:
            full.append(result)
        else:
            full.append(other)
    given = {item.name: getattr(report, item.name) for item in fields(report) if item.init}
    del given["histories"]  # those of the cells take their place
    made = type(report).from_results(**given | {"results": full, "tasks": report.task_info})
    made.sections = planned_and_read(made, plan)
    return made


def read_provenance(path: Path) -> dict[str, Any]:
    """Return what a run folder says of its origin; nothing when the file is not there."""
    if not path.exists():
        return {}
    raw = read_json(path, most=MAX_BYTES, give="Remove it to go on without provenance.")
    return raw if isinstance(raw, dict) else {}
