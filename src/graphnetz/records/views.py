"""What renderers draw: small records of numbers that were computed elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from graphnetz._core.grouping import grouped
from graphnetz._core.text import number as number
from graphnetz._core.text import p_value as p_value
from graphnetz._core.text import seeds_word
from graphnetz.records.section import Table

Mark = Literal["best", "tied", ""]
SIGNS: dict[Mark, str] = {"best": " ★", "tied": " ≈", "": ""}


@dataclass(frozen=True)
class CellView:
    """Mean and interval of one (task, model); ``note`` says why something is missing."""

    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    half: float = math.nan
    n: int = 0
    mark: Mark = ""
    note: str = ""

    @property
    def present(self) -> bool:
        """Whether there is a mean to draw."""
        return math.isfinite(self.mean)

    def __str__(self) -> str:
        half = f" ± {number(self.half)}" if math.isfinite(self.half) else ""
        return f"{number(self.mean)}{half}{SIGNS[self.mark]}"


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

    @property
    def arrow(self) -> str:
        """Which way is better: ``↑`` or ``↓``."""
        return "↑" if self.greater_is_better else "↓"


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
    def words(self) -> str:
        """What a cell shows."""
        return f"Mean ± half-width of the {100 * self.level:g} % interval ({self.interval}) over {self.seeds}"

    def _repr_html_(self) -> str:
        """Return the table for a notebook cell."""
        rows = tuple((row.task, f"{row.metric} {row.arrow}", *map(str, row.cells)) for row in self.rows)
        caption = f"{self.words}. ★ best mean of the row. ≈ {self.tie_rule}."
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


def clique_levels(ranks: RankView) -> list[tuple[float, float, int]]:
    """Cliques as (low rank, high rank, line); overlapping bars go to different lines."""
    spans = [(min(r), max(r)) for c in ranks.cliques if len(c) > 1 and (r := [ranks.mean_ranks[i] for i in c])]
    out: list[tuple[float, float, int]] = []
    for low, high in sorted(spans):
        taken = {level for a, b, level in out if a <= high + 1e-9 and low <= b + 1e-9}
        out.append((low, high, next(i for i in range(len(spans)) if i not in taken)))
    return out


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
