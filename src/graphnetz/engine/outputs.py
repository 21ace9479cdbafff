"""From a store to a report, and from a report to the files of a run folder."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphnetz._core.paths import atomic_write
from graphnetz.engine.cost.parameters import budgets_of
from graphnetz.engine.energy import spent
from graphnetz.engine.plan import Plan
from graphnetz.engine.store import Store
from graphnetz.engine.store.keep import write_examples as write_examples
from graphnetz.engine.worker import Workbench
from graphnetz.models.spec import Source
from graphnetz.records import Section, Table, recorded_protocols
from graphnetz.records.references import Reference
from graphnetz.report import BenchmarkReport
from graphnetz.report.sections import combine, read_sections

CURVES_UP_TO = 20_000
"""Cells whose curves a report holds; those of a larger run would fill the memory and stay in the store."""

PREDICTIONS_UP_TO = 64 << 20
"""Compressed bytes of predictions that a report holds; more are read from ``examples/``, task by task."""


def repeated_section(plan: Plan) -> Section:
    """Tell which tasks have test examples that training shows under another name."""
    tasks = list(plan.repeated)
    verdict = (
        f"Test examples of {', '.join(tasks)} are in training too, under another name: scores there are partly memory."
    )
    rows = tuple((task, text) for task, found in plan.repeated.items() for text in found)
    words = ("Looked for in every run, on the first seed's split; 'graphnetz check' looks for more.",)
    table = Table(("Task", "Finding"), rows)
    return Section("repeated", "Examples on both sides of a split", verdict, words, (table,), level="warning")


def assemble(
    store: Store, plan: Plan, workbench: Workbench, *, config: Mapping[str, Any], started: float
) -> BenchmarkReport:
    """Build the report from what the store holds for this plan."""
    curves = len(plan.cells) <= CURVES_UP_TO
    predictions = store.predicted_bytes() <= PREDICTIONS_UP_TO
    results = list(store.results([cell.key for cell in plan.cells], histories=curves, predictions=predictions))
    baselines = [
        name
        for name, spec in workbench.specs.items()
        if spec.kind == "predictor" or getattr(spec.cls, "baseline", False)
    ]
    described = dict(config) | {
        "models": list(plan.models),
        "tasks": [task.name for task in plan.tasks],
        "seeds": list(plan.seeds),
        "baselines": baselines,
        **recorded_protocols(plan.cells),
        "search": workbench.search.as_dict() if workbench.search and not workbench.search.is_empty else None,
    }
    if brought := {name: source_words(spec.source) for name, spec in workbench.specs.items() if spec.source}:
        described["brought"] = brought
    if budgets := budgets_of(plan.cells, workbench.specs):
        described["budgets"] = budgets
    report = BenchmarkReport.from_results(
        results, tasks=plan.info, models=plan.models, seeds=plan.seeds, config=described, absent=plan.absent
    )
    report.sections = combine(store.read_sections(), read_sections(store.path.parent, strict=False))
    report.provenance = provenance(store, plan, results, started)
    if not curves:
        words = f"Curves and traces of more than {CURVES_UP_TO} cells are left in the store; the report has their ends."
        report.provenance["notes"].append(words)
    return report


def source_words(source: Source) -> str:
    """Name a file of the user's own without saying where on their machine it lies."""
    wanted = Reference.read(source.reference)
    name = wanted.shown if not wanted.is_file else wanted.shown[len(wanted.place) - len(Path(wanted.place).name) :]
    return f"{name} (sha256 {source.sha256[:16]})" if source.sha256 else name


def provenance(store: Store, plan: Plan, results: list[Any], started: float) -> dict[str, Any]:
    """Where, when and on what the cells were made."""
    keys = sorted({result.environment for result in results if result.environment})
    return {
        "environments": store.read_environments(),
        "environment_keys": keys,
        "mixed_environments": len(keys) > 1,
        "dataset_fingerprints": dict(plan.fingerprints),
        "notes": list(plan.notes),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds_this_sitting": round(time.time() - started, 3),
        "cell_seconds": round(sum(r.seconds for r in results if r.seconds == r.seconds), 3),
        "energy_joules": spent(store),
        "failures": [f"{r.task} / {r.model} / seed {r.seed}: {r.status}: {r.error}" for r in results if not r.ok],
    }


def write_outputs(report: BenchmarkReport, store: Store, folder: Path, *, started: float) -> None:
    """Write the run folder's files and leave the store as one file."""
    keys = [result.key for result in report.results]
    store.publish(keys, done=False)
    report.write(folder)
    store.publish(keys, done=True)
    _sweep(folder, before=started)
    store.checkpoint_to_one_file()


def _sweep(folder: Path, *, before: float) -> None:
    """Remove half-written files of sittings that were killed; those of a runner at work are younger."""
    for part in (folder, folder / "figures", folder / "examples"):
        finished = {path.name for path in part.glob("[!.]*")} if part.is_dir() else set()
        for path in part.glob(".*.????????"):
            if path.name[1:-9] in finished and path.stat().st_mtime < before:
                path.unlink(missing_ok=True)


def write_toml(path: Path, values: Mapping[str, Any]) -> None:
    """Write flat settings as TOML; absent values are left out."""
    with atomic_write(path) as stream:
        for key, value in values.items():
            if value is not None and value != []:
                stream.write(f"{key} = {_toml(value)}\n")


def _toml(value: Any) -> str:
    if isinstance(value, (int, float)):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(str(value), ensure_ascii=False)  # a string of JSON is one of TOML


def _key(name: str) -> str:
    """A key of TOML: bare where it may be, quoted where it holds more than letters, digits, - and _."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
