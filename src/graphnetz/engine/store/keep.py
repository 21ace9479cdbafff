"""What a run folder keeps beside its cells: plan and predictions. Needs no torch, so that merging does not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphnetz._core.paths import write_file
from graphnetz.analysis.registration import plan_hash
from graphnetz.engine.store.database import Store
from graphnetz.records import Cell, CellResult
from graphnetz.records.kept import Kept, examples_file, pack_examples
from graphnetz.report import BenchmarkReport

FILE_NAME = "plan.json"
META_PLAN, META_LATE = "analysis_plan", "plan_came_late"


def register(store: Store, body: dict[str, Any], folder: Path | None) -> None:
    """Write the plan and its hash, unless this folder has one already."""
    meta = store.read_meta()
    if META_PLAN not in meta:
        done = sum(count for status, count in store.counts().items() if status not in ("pending", "running"))
        store.write_meta({META_PLAN: {"hash": plan_hash(body), "plan": body}, META_LATE: done})
        meta = store.read_meta()
    if folder is not None and not (folder / FILE_NAME).exists():
        kept = meta[META_PLAN]
        text = json.dumps({"sha256": kept["hash"], **kept["plan"]}, indent=1, ensure_ascii=False)
        write_file(folder / FILE_NAME, text + "\n")


def write_examples(report: BenchmarkReport, store: Store, cells: Iterable[Cell | CellResult], folder: Path) -> None:
    """Write ``examples/``: what every cell predicted, one file per task, read from the store task by task."""
    tasks: dict[str, list[str]] = {}
    for planned in cells:
        tasks.setdefault(planned.task, []).append(planned.key)
    for task, keys in tasks.items():
        found = store.results(keys, histories=False, predictions=True)
        kept = [Kept(cell.model, cell.seed, cell.predictions) for cell in found if cell.predictions is not None]
        if kept:
            write_file(folder / "examples" / examples_file(task), pack_examples(task, kept))
    report.examples_in = folder
