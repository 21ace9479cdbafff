"""What a plan would cost: cells, time and memory, from recorded cells or a one-epoch probe."""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphnetz.kernels as kernels
from graphnetz._core.errors import UsageError
from graphnetz._core.paths import refuse_links
from graphnetz.datasets.suites import SUITES
from graphnetz.engine.config import mirrored, resolve
from graphnetz.engine.cost.footprint import refuse_too_large
from graphnetz.engine.executors import Limits, LocalExecutor, default_workers, memory, results_of
from graphnetz.engine.plan import Plan
from graphnetz.engine.progress import clock
from graphnetz.engine.store import Store
from graphnetz.engine.store.schema import EmptyStoreError
from graphnetz.engine.worker import Workbench
from graphnetz.records import Cell, CellResult, RunConfig
from graphnetz.records.suite import Suite

Price = tuple[float, float, str, float]
"""Seconds of a cell, megabytes, their origin, and seconds with all epochs."""
PROBE_SECONDS = 60.0
"""How long a dry run may measure: it is asked for because nobody wants to wait yet."""


@dataclass(frozen=True)
class PairCost:
    """One (task, model): how many cells are missing, what one costs, and the most it can cost (all its epochs)."""

    task: str
    model: str
    cells: int
    done: int
    seconds: float
    megabytes: float
    measured: str
    most: float = math.nan


@dataclass(frozen=True)
class Estimate:
    """Cost of a plan."""

    pairs: tuple[PairCost, ...]
    workers: int
    memory_limit: float | None
    folds: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Wall-clock seconds of what is missing; pairs whose probe failed count as nothing."""
        return self._clocked(lambda pair: pair.seconds)

    @property
    def most(self) -> float:
        """The same if every cell uses every epoch it may."""
        return self._clocked(lambda pair: pair.most if pair.most == pair.most else pair.seconds)

    def _clocked(self, price: Callable[[PairCost], float]) -> float:
        return sum((p.cells - p.done) * price(p) for p in self.pairs if p.seconds == p.seconds) / self.workers

    @property
    def megabytes(self) -> float:
        """Memory of the largest cell."""
        return max((p.megabytes for p in self.pairs if p.megabytes == p.megabytes), default=0.0)

    @property
    def budget(self) -> float:
        """Megabytes one worker may use: as told, or its share of what is free."""
        return self.memory_limit or memory.available() / 1e6 / self.workers

    def refuse_if_over(self) -> None:
        """Raise when the largest cell does not fit."""
        if self.megabytes > self.budget:
            worst = max((p for p in self.pairs if p.megabytes == p.megabytes), key=lambda p: p.megabytes)
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
            "most_seconds": round(self.most, 1),
            "megabytes": round(self.megabytes, 1),
            "budget": round(self.budget, 1),
            "fits": self.megabytes <= self.budget,
            "workers": self.workers,
            "folds": list(self.folds),
            "pairs": [{k: None if v != v else v for k, v in dataclasses.asdict(p).items()} for p in self.pairs],
        }

    def text(self) -> str:
        """A table and one sentence."""
        lines = [f"{'task':32} {'model':18} {'cells':>6} {'done':>6} {'s/cell':>8} {'at most':>8} {'MB':>7}  from"]
        lines += [
            f"{p.task[:32]:32} {p.model[:18]:18} {p.cells:6d} {p.done:6d} "
            f"{_filled(p.seconds, '8.2f')} {_filled(p.most, '8.2f')} {_filled(p.megabytes, '7.0f')}  {p.measured}"
            for p in self.pairs
        ]
        if self.folds:
            lines.append(f"Cross-validation: {'; '.join(self.folds)}.")
        missing = sum(p.cells - p.done for p in self.pairs)
        hands = f"{self.workers} worker{'s' if self.workers > 1 else ''}"
        most = f", at most {clock(self.most)}" if clock(self.most) != clock(self.seconds) else ""
        lines.append(f"{missing} cells to train, about {clock(self.seconds)}{most} on {hands}.")
        bare = sum(p.seconds != p.seconds for p in self.pairs)
        if bare:
            lines.append(f"{bare} pairs have no price and count as nothing; the last column says why.")
        return "\n".join(lines)


def _filled(value: float, form: str) -> str:
    """A number at its width; blanks where there is none."""
    return f"{value:{form}}" if value == value else " " * int(form.partition(".")[0])


def estimate_plan(config: RunConfig) -> Estimate:
    """Plan without training, then price every (task, model) by recorded cells or by one epoch of one seed.

    An epoch is scaled to those that the suite's published runs needed, where the schedule ends training and the paper
    says when, else to all that a cell may use; ``most`` is the price of all of them. With seeds ``"auto"`` the whole
    budget is priced: what is saved depends on the scores.
    """
    with mirrored(config):
        return _estimated(config, *resolve(config).plan())


def _estimated(config: RunConfig, workbench: Workbench, plan: Plan) -> Estimate:
    workers, limit = config.workers, config.memory
    done, recorded = recorded_cells(config.folder(), plan)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.task, cell.model), []).append(cell)
    prices = {
        pair: (seconds, peak / 1e6, "recorded cells", math.nan)
        for pair, (_, seconds, peak) in recorded.items()
        if pair in groups
    }
    refuse_too_large(plan, workbench, workers=workers, limit=limit, done=done)  # before a probe would try it
    unknown = [cells[0] for pair, cells in groups.items() if pair not in prices]
    if unknown:
        kernels.load()  # compiling them is not the cost of a cell
        prices |= probe(workbench, unknown, suite=SUITES[config.suite] if config.suite else None)
    pairs = []
    for (task, model), cells in groups.items():
        finished = sum(cell.key in done for cell in cells)
        pairs.append(PairCost(task, model, len(cells), finished, *prices[task, model]))
    return Estimate(tuple(pairs), workers or default_workers(Limits(memory_mb=limit)), limit, tuple(plan.folds()))


def recorded_cells(folder: Path, plan: Plan) -> tuple[set[str], dict[tuple[str, str], tuple[int, float, float]]]:
    """Return the cells of a plan that a run folder has finished, and what its finished cells took."""
    refuse_links(folder)
    if not (folder / "store.sqlite").exists():
        return set(), {}
    try:
        with Store.open(folder, readonly=True) as store:
            keys = [cell.key for cell in plan.cells]
            return set(keys) - set(store.missing(keys)), dict(store.durations())
    except EmptyStoreError:  # the disk was full, or the power gone, when it was made: the run makes it now
        return set(), {}


def probe(
    workbench: Workbench, cells: Sequence[Cell], seconds: float = PROBE_SECONDS, *, suite: Suite | None = None
) -> dict[tuple[str, str], Price]:
    """Train one epoch of each cell, twice, in a supervised worker: what crashes there costs only its price.

    The first time includes loading and splitting, the second is an epoch alone, which is scaled by the epochs that
    published runs of ``suite`` needed, or by all. Returns a price for each (task, model). Tasks share ``seconds``
    evenly; what was not reached is priced like the other models of its task.
    """
    first, second = ([_one_epoch(cell, turn) for cell in cells] for turn in (1, 2))
    results = results_of(
        LocalExecutor(workers=1), [cell for both in zip(first, second, strict=True) for cell in both], workbench,
        limits=Limits(seconds=seconds), on_start=_Share(seconds, len({cell.task for cell in cells})),
    )  # fmt: skip
    prices = {
        (cell.task, cell.model): _price(cell, results[a.key], results[b.key], workbench.specs[cell.model].kind, suite)
        for cell, a, b in zip(cells, first, second, strict=True)
        if a.key in results and b.key in results
    }
    guesses = {task: _like_the_others([price for (of, _), price in prices.items() if of == task])
               for task in {cell.task for cell in cells}}  # fmt: skip
    return {(cell.task, cell.model): prices.get((cell.task, cell.model), guesses[cell.task]) for cell in cells}


class _Share:
    """Grants probes: a worker stays with its task, so each task has its part of the time; what began is finished."""

    def __init__(self, seconds: float, tasks: int) -> None:
        self.start, self.each = time.monotonic(), seconds / tasks
        self.begun: dict[str, int] = {}
        self.granted: set[tuple[str, str]] = set()

    def __call__(self, cell: Cell) -> bool:
        place = self.begun.setdefault(cell.task, len(self.begun) + 1)
        if time.monotonic() < self.start + self.each * place:
            self.granted.add((cell.task, cell.model))
        return (cell.task, cell.model) in self.granted


def _like_the_others(prices: Sequence[Price]) -> Price:
    known = [price for price in prices if price[0] == price[0]]
    if not known:
        return math.nan, math.nan, "not probed in time", math.nan
    expected, most = statistics.fmean(p[0] for p in known), statistics.fmean(p[3] for p in known)
    return expected, max(p[1] for p in known), "not probed: other models of the task", most


def _one_epoch(cell: Cell, turn: int) -> Cell:
    protocol = cell.protocol.replace(epochs=1, schedule=None, patience=None)
    return dataclasses.replace(cell, key=f"{cell.key}/{turn}", protocol=protocol)


def _price(cell: Cell, first: CellResult, second: CellResult, kind: str, suite: Suite | None) -> Price:
    if not second.ok:
        return math.nan, math.nan, f"the probe ended as {second.status}: {second.error}"[:120], math.nan
    most = 1 if kind == "predictor" else cell.protocol.epochs
    epochs = min(needed_epochs(suite, cell) or most, most)
    begun = max(first.seconds - second.seconds, 0.0)
    peaks = [result.peak_memory for result in (first, second) if not math.isnan(result.peak_memory)]
    words = "one-epoch probe" + (f", {epochs} of {most} epochs as published" if epochs < most else "")
    return (
        begun + second.seconds * epochs, max(peaks, default=math.nan) / 1e6, words, begun + second.seconds * most
    )  # fmt: skip


def needed_epochs(suite: Suite | None, cell: Cell) -> int:
    """Epochs that the published run of a cell needed until its schedule ended training; 0 where nobody says."""
    return suite.epochs_needed(cell.task, cell.model) if suite and cell.protocol.schedule is not None else 0
