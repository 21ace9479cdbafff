"""A report from a run folder: from its files, or from a store that is still being filled."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import DataError, UsageError

if TYPE_CHECKING:
    from graphnetz.report import BenchmarkReport

MAX_BYTES = 64 << 20


def load_report(source: Path, *, replication: str | None = None) -> BenchmarkReport:
    """Return the report of a run folder, a ``results.json``, or a CSV of scores or predictions.

    A CSV may be told what a seed varies.
    """
    from graphnetz.report import BenchmarkReport
    from graphnetz.report.sections import combine, read_sections

    if not source.exists():
        raise UsageError(f"There is no {str(source)!r}. Give a run folder, a results.json or a CSV of scores.")
    if source.suffix == ".csv":
        import pandas as pd

        from graphnetz.report.from_predictions import is_predictions

        frame = pd.read_csv(source)
        read = BenchmarkReport.from_predictions if is_predictions(frame) else BenchmarkReport.from_scores
        return read(frame, replication=replication)
    if replication is not None:
        raise UsageError(f"{source.name!r} says itself what a seed varies: --replication is for a CSV.")
    if not source.is_dir():
        return BenchmarkReport.from_json(source)
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
    if isinstance(config, dict):  # with the settings that cannot change a value, which results.json leaves out
        report.config = config
    report.sections = combine(report.sections, read_sections(source, strict=False))
    return _with_store(report, source) if store.exists() else report


def live_report(folder: Path) -> BenchmarkReport:
    """Return a report of the cells that are finished so far."""
    from graphnetz.engine.store import Store
    from graphnetz.engine.store.truth import registered
    from graphnetz.records import recorded_protocols
    from graphnetz.report import BenchmarkReport, TaskInfo
    from graphnetz.report.sections import combine, planned_and_read, read_sections

    with Store.open(folder, readonly=True) as store:
        planned = list(store.cells())
        results = list(store.results())
        sections = combine(store.read_sections(), read_sections(folder, strict=False))
        written = dict(store.read_meta().get("analysis_plan") or {}).get("plan", {})
        rule = written.get("stopping_rule")
        planned_by = registered(store, len(results))
    config: dict[str, Any] = {"title": f"{len(results)} of {len(planned)} cells finished"}
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
    from graphnetz.report.sections import planned_and_read

    with Store.open(folder, readonly=True) as store:
        predictions = not (folder / "examples").is_dir()  # those are read when they are asked for
        kept = {(r.task, r.model, r.seed): r for r in store.results(predictions=predictions)}
        plan = registered(store, len(report.results))
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
    if path.stat().st_size > MAX_BYTES:
        raise DataError(f"{path.name!r} is larger than {MAX_BYTES >> 20} MB and was not read. Remove it to go on.")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"Cannot read {path.name!r}: {error}. Remove it to go on without provenance.") from error
    return raw if isinstance(raw, dict) else {}
