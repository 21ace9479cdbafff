"""What renderers draw: small records of numbers that were computed elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from graphnetz._core.grouping import grouped
from graphnetz._core.text import number as number
from graphnetz._core.text import p_value as p_value
from graphnetz._core.text import seeds_word
from graphnetz.records.section import Table

Mark = Literal["best", "tied", ""]
Bounds = tuple[float, float]
UNBOUNDED: Bounds = (-math.inf, math.inf)
"""Bounds of a metric that has none, and of scores that are not on its scale, such as percentages."""
SIGNS: dict[Mark, str] = {"best": " ★", "tied": " ≈", "": ""}


@dataclass(frozen=True)
class CellView:
    """Mean and interval of one (task, model); ``planned`` seeds were run, ``note`` says why something is missing.

    ``std`` is the standard deviation over seeds; ``second`` marks the best of the other means beside the best model.
    """

    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    half: float = math.nan
    n: int = 0
    mark: Mark = ""
    note: str = ""
    planned: int = 0
    std: float = math.nan
    second: bool = False

    @property
    def short_of(self) -> str:
        """``8 of 10`` where the mean rests on fewer seeds than were run, else nothing."""
        return f"{self.n} of {self.planned}" if self.n < self.planned else ""

    @property
    def lost(self) -> int:
        """Runs that were made and gave no score."""
        return max(0, self.planned - self.n)

    @property
    def present(self) -> bool:
        """Whether there is a mean to draw."""
        return math.isfinite(self.mean)

    def __str__(self) -> str:
        half = f" ± {number(self.half)}" if math.isfinite(self.half) else ""
        seeds = f" ({self.short_of})" if self.present and self.short_of else ""
        return f"{number(self.mean)}{half}{seeds}{SIGNS[self.mark]}"


@dataclass(frozen=True)
class TaskRow:
    """One task with one cell per model of its `Grid`."""

    task: str
    metric: str
    greater_is_better: bool
    cells: tuple[CellView, ...]
    category: str = ""
    task_type: str = ""
    replication: str = "init"
    bounds: Bounds = UNBOUNDED

    @property
    def arrow(self) -> str:
        """Which way is better: ``↑`` or ``↓``."""
        return "↑" if self.greater_is_better else "↓"

    @property
    def shades(self) -> tuple[float, ...]:
        """How near every mean is to the best of its task, 0 to 1, whatever the direction; NaN where there is none.

        The far end is the worst mean, or Tukey's fence where the worst is an outlier that would paint all others alike.
        """
        sign = 1 if self.greater_is_better else -1
        values = np.array([sign * cell.mean for cell in self.cells])
        there = values[np.isfinite(values)]
        if not there.size:
            return tuple(values.tolist())
        low, high = np.quantile(there, [0.25, 0.75])
        floor, best = max(float(there.min()), float(low - 1.5 * (high - low))), float(there.max())
        if not best > floor:
            return tuple(np.where(np.isfinite(values), 1.0, np.nan).tolist())
        return tuple(np.clip((values - floor) / (best - floor), 0.0, 1.0).tolist())


@dataclass(frozen=True)
class Grid:
    """Tasks by models, with the words that a caption needs."""

    models: tuple[str, ...]
    rows: tuple[TaskRow, ...]
    level: float = 0.95
    n_seeds: int = 0
    interval: str = "Student's t"
    tie_rule: str = ""

    def by_metric(self) -> list[tuple[str, tuple[TaskRow, ...]]]:
        """Rows that may share an axis: grouped by metric and direction, in order of first appearance."""
        groups = grouped(self.rows, lambda row: (row.metric, row.greater_is_better))
        return [(metric, tuple(rows)) for (metric, _), rows in groups.items()]

    @property
    def seeds(self) -> str:
        """How many seeds the means rest on: ``10 seeds``, or ``8 to 10 seeds`` where some are missing."""
        found = {cell.n for row in self.rows for cell in row.cells if cell.present} or {self.n_seeds}
        low, high = min(found), max(found)
        return seeds_word(high) if low == high else f"{low} to {seeds_word(high)}"

    @property
    def single(self) -> bool:
        """Whether no mean rests on two seeds, so that nothing has an interval."""
        return self.seeds == seeds_word(1)

    @property
    def words(self) -> str:
        """What a cell shows."""
        if self.single:
            return "One seed: values without interval"
        return f"Mean ± half-width of the {100 * self.level:g} % interval ({self.interval}) over {self.seeds}"

    @property
    def drawn_words(self) -> str:
        """What a figure draws of a cell."""
        if self.single:
            return self.words
        return f"Mean and {100 * self.level:g} % interval ({self.interval}) over {self.seeds}"

    def _repr_html_(self) -> str:
        """Return the table for a notebook cell."""
        rows = tuple((row.task, f"{row.metric} {row.arrow}", *map(str, row.cells)) for row in self.rows)
        caption = f"{self.words}. ★ best mean over shared seeds. ≈ {self.tie_rule}."
        return Table(("Task", "Metric", *self.models), rows, caption)._repr_html_()

    def head(self, n: int) -> Grid:
        """The first ``n`` tasks."""
        return Grid(self.models, self.rows[:n], self.level, self.n_seeds, self.interval, self.tie_rule)


@dataclass(frozen=True)
class RankView:
    """Mean ranks over tasks; ``cliques`` hold positions in ``models``, which are sorted by rank."""

    models: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    n_tasks: int
    cd: float
    cliques: tuple[tuple[int, ...], ...]
    rejected: bool
    p: float
    alpha: float
    test: str = "Friedman"
    reason: str = ""
    n_left_out: int = 0


Spans = tuple[tuple[float, float], ...]


def clique_levels(ranks: RankView) -> list[tuple[Spans, int]]:
    """Cliques as (spans of ranks, line); overlapping bars go to different lines.

    A clique is one span where its models follow each other, and several where it leaves models out: a bar through a
    model that differs from the others would claim that it does not.
    """
    cliques = sorted((tuple(sorted(c)) for c in ranks.cliques if len(c) > 1), key=lambda c: (c[0], c[-1]))
    out: list[tuple[Spans, int]] = []
    for clique in cliques:
        cuts = [0, *(n for n in range(1, len(clique)) if clique[n] != clique[n - 1] + 1), len(clique)]
        runs = (clique[a:b] for a, b in pairwise(cuts))
        spans = tuple((ranks.mean_ranks[run[0]], ranks.mean_ranks[run[-1]]) for run in runs)
        low, high = spans[0][0], spans[-1][1]
        taken = {level for other, level in out if other[0][0] <= high + 1e-9 and low <= other[-1][1] + 1e-9}
        out.append((spans, next(i for i in range(len(cliques)) if i not in taken)))
    return out


@dataclass(frozen=True)
class RankSetView:
    """Places that each model may have across tasks, all of them holding together; best mean rank first.

    ``missing`` counts the tasks a model omits, which are ranked as worst; ``better`` holds pairs (i, j) of positions
    in ``models`` of which the first is shown to be placed above the second.
    """

    models: tuple[str, ...] = ()
    mean_ranks: tuple[float, ...] = ()
    low: tuple[int, ...] = ()
    high: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    better: frozenset[tuple[int, int]] = frozenset()
    n_tasks: int = 0
    n_blocks: int = 0
    level: float = 0.95
    reason: str = ""

    def text(self, i: int) -> str:
        """``2`` or ``1 to 3``."""
        return str(self.low[i]) if self.low[i] == self.high[i] else f"{self.low[i]} to {self.high[i]}"

    @property
    def words(self) -> str:
        """What the places are."""
        tasks = f"{self.n_tasks} task{'s' if self.n_tasks != 1 else ''}" + (
            f" on {self.n_blocks} graphs" if self.n_blocks < self.n_tasks else ""
        )
        text = f"Places by mean rank for other tasks of this kind, from {tasks}; all hold together at "
        return text + f"{100 * self.level:g} %" + (". Omitted tasks count as worst" if any(self.missing) else "")


@dataclass(frozen=True)
class ProfileView:
    """Share of runs above each normalised score, one row per model."""

    models: tuple[str, ...]
    taus: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]
    n_tasks: int
    n_runs: int


@dataclass(frozen=True)
class Curve:
    """Mean and band of one model over epochs."""

    model: str
    x: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]


@dataclass(frozen=True)
class CurvePanel:
    """Learning curves of one task."""

    task: str
    label: str
    curves: Sequence[Curve]
    bounds: Bounds = UNBOUNDED


@dataclass(frozen=True)
class DotRow:
    """Every run of one model on one task.

    ``values`` holds one score per entry of ``seeds``; ``collapsed`` and ``failed`` list seeds, the latter without a
    score.
    """

    model: str
    values: tuple[float, ...]
    seeds: tuple[int, ...]
    collapsed: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()

    @property
    def kept(self) -> tuple[tuple[int, float], ...]:
        """Seed and score of the runs that did not collapse."""
        runs = zip(self.seeds, self.values, strict=True)
        return tuple((seed, value) for seed, value in runs if seed not in self.collapsed)

    @property
    def mean(self) -> float:
        """Mean of the runs that did not collapse, NaN without any."""
        return sum(value for _, value in self.kept) / len(self.kept) if self.kept else math.nan


@dataclass(frozen=True)
class DotPanel:
    """One task as a strip of dots: a row per model, a dot per run."""

    task: str
    label: str
    greater_is_better: bool
    rows: tuple[DotRow, ...]
    bounds: Bounds = UNBOUNDED


def bounds_for(values: npt.ArrayLike, bounds: Bounds) -> Bounds:
    """Return ``bounds``, or none where a value lies outside: the scores are then on another scale.

    Examples
    --------
    >>> bounds_for([0.8, 0.9], (0.0, 1.0)), bounds_for([80.0, 90.0], (0.0, 1.0))
    ((0.0, 1.0), (-inf, inf))
    """
    found = np.asarray(values, dtype=float)
    found = found[np.isfinite(found)]
    inside = bool(((found >= bounds[0]) & (found <= bounds[1])).all())
    return bounds if inside else UNBOUNDED


def swarm(at: Sequence[float], room: float, most: int = 4) -> list[int]:
    """Steps off the line (0, 1, -1, ... up to ``most``) by which marks closer than ``room`` keep clear of each other.

    Marks that find no free step share the one whose last mark is farthest, so that every mark stays in its row.
    """
    steps = sorted(range(-most, most + 1), key=lambda step: (abs(step), step < 0))
    last = dict.fromkeys(steps, -math.inf)
    out = [0] * len(at)
    for i in sorted(range(len(at)), key=lambda i: at[i]):
        free = next((step for step in steps if at[i] - last[step] >= room), min(steps, key=lambda step: last[step]))
        last[free], out[i] = at[i], free
    return out
