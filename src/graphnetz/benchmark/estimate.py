"""What a plan would cost: cells, time and memory, from recorded cells or a one-epoch probe."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from graphnetz._core.errors import UsageError
from graphnetz.benchmark.plan import Plan, choose_seeds, choose_tasks, make_plan
from graphnetz.benchmark.progress import clock
from graphnetz.benchmark.run import _overrides, _specs
from graphnetz.benchmark.store import Store
from graphnetz.benchmark.worker import Workbench
from graphnetz.records import Cell


@dataclass(frozen=True)
class PairCost:
    """One (task, model): how many cells are missing, and what one costs."""

    task: str
    model: str
    cells: int
    done: int
    seconds: float
    megabytes: float
    measured: str


@dataclass(frozen=True)
class Estimate:
    """Cost of a plan."""

    pairs: tuple[PairCost, ...]
    workers: int
    memory_limit: float | None

    @property
    def seconds(self) -> float:
        """Wall-clock seconds of what is missing."""
        return sum((p.cells - p.done) * p.seconds for p in self.pairs) / self.workers

    @property
    def megabytes(self) -> float:
        """Memory of the largest cell."""
        return max((p.megabytes for p in self.pairs if p.megabytes == p.megabytes), default=0.0)

    @property
    def budget(self) -> float:
        """Megabytes one worker may use: as told, or its share of what is free."""
        return self.memory_limit or psutil.virtual_memory().available / 2**20 / self.workers

    def refuse_if_over(self) -> None:
        """Raise when the largest cell does not fit."""
        if self.megabytes > self.budget:
            worst = max(self.pairs, key=lambda p: p.megabytes)
            raise UsageError(
                f"{worst.task} / {worst.model} needs about {worst.megabytes:.0f} MB per cell and a worker may use "
                f"{self.budget:.0f} MB. Use fewer --workers, raise --memory, or leave that pair out."
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "cells": sum(p.cells for p in self.pairs),
            "missing": sum(p.cells - p.done for p in self.pairs),
            "seconds": round(self.seconds, 1),
            "megabytes": round(self.megabytes, 1),
            "workers": self.workers,
            "pairs": [dataclasses.asdict(p) for p in self.pairs],
        }

    def text(self) -> str:
        """A table and one sentence."""
        lines = [f"{'task':32} {'model':18} {'cells':>6} {'done':>6} {'s/cell':>8} {'MB':>7}  from"]
        for p in self.pairs:
            lines.append(
                f"{p.task[:32]:32} {p.model[:18]:18} {p.cells:6d} {p.done:6d} "
                f"{p.seconds:8.2f} {p.megabytes:7.0f}  {p.measured}"
            )
        missing = sum(p.cells - p.done for p in self.pairs)
        lines.append(f"{missing} cells to train, about {clock(self.seconds)} on {self.workers} workers.")
        return "\n".join(lines)


def estimate_plan(arguments: Mapping[str, Any], folder: Path, *, workers: int | None, memory: float | None) -> Estimate:
    """Plan without training, then price every (task, model) by recorded cells or by one epoch of one seed."""
    workbench, plan = planned(arguments)
    done, recorded = _recorded(folder, plan)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.task, cell.model), []).append(cell)
    pairs = []
    for (task, model), cells in groups.items():
        finished = sum(cell.key in done for cell in cells)
        if (task, model) in recorded:
            _, seconds, peak = recorded[task, model]
            measured, megabytes = "recorded cells", peak / 2**20
        else:
            seconds, megabytes = probe(workbench, cells[0])
            measured = "one-epoch probe"
        pairs.append(PairCost(task, model, len(cells), finished, seconds, megabytes, measured))
    return Estimate(tuple(pairs), workers or os.cpu_count() or 1, memory)


def planned(arguments: Mapping[str, Any]) -> tuple[Workbench, Plan]:
    """The plan that `run_benchmark` would make of the same arguments."""
    tasks = choose_tasks(arguments.get("category"), arguments.get("tasks"), arguments.get("task_type"), None)
    workbench = Workbench(
        {task.name: task for task in tasks}, _specs(arguments["models"], None), str(arguments.get("root"))
    )
    overrides = _overrides(arguments.get("protocol"), int(arguments["hidden_channels"]), arguments.get("device"))
    seeds = choose_seeds(arguments.get("seeds"), None)
    return workbench, make_plan(workbench, seeds, protocol=overrides, epochs=arguments.get("epochs"))


def _recorded(folder: Path, plan: Plan) -> tuple[set[str], dict[tuple[str, str], tuple[int, float, float]]]:
    if not (folder / "store.sqlite").exists():
        return set(), {}
    with Store.open(folder, readonly=True) as store:
        keys = [cell.key for cell in plan.cells]
        return set(keys) - set(store.missing(keys)), dict(store.durations())


def probe(workbench: Workbench, cell: Cell) -> tuple[float, float]:
    """Train one epoch and scale by the epoch budget; memory is what the process grew by."""
    process = psutil.Process()
    before = process.memory_info().rss
    start = time.perf_counter()
    split = workbench.split(cell.task, cell.seed)
    setup = time.perf_counter() - start
    one = dataclasses.replace(cell, protocol=cell.protocol.replace(epochs=1, schedule=None, patience=None))
    start = time.perf_counter()
    workbench(one)
    epoch = time.perf_counter() - start
    grown = max(process.memory_info().rss - before, 0) / 2**20
    held = sum(value.nbytes for value in split.targets.values()) / 2**20
    predictor = workbench.specs[cell.model].kind == "predictor"
    return setup + epoch * (1 if predictor else cell.protocol.epochs), max(grown, held)
