"""What renderers draw: small records of numbers that were computed elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Mark = Literal["best", "tied", ""]


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
    def direction(self) -> Literal["up", "down"]:
        """Which way is better."""
        return "up" if self.greater_is_better else "down"


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
        """Rows that may share an axis: grouped by metric, in order of first appearance."""
        groups: dict[str, list[TaskRow]] = {}
        for row in self.rows:
            groups.setdefault(row.metric, []).append(row)
        return [(metric, tuple(rows)) for metric, rows in groups.items()]

    def _repr_html_(self) -> str:
        from graphnetz.report.page import render_fragment  # the page imports these records

        return render_fragment(self, ())

    def head(self, n: int) -> Grid:
        """The first ``n`` tasks."""
        return Grid(self.models, self.rows[:n], self.level, self.n_seeds, self.interval, self.tie_rule)


@dataclass(frozen=True)
class PairView:
    """One comparison of two models on one task; ``diff`` is mean(a) - mean(b)."""

    task: str
    a: str
    b: str
    diff: float
    low: float
    high: float
    effect: float
    p: float
    significant: bool
    n: int
    reason: str = ""


@dataclass(frozen=True)
class BothView:
    """One comparison by two tests: the paper's Table 2."""

    task: str
    a: str
    b: str
    diff: float
    p_t: float
    p_w: float
    significant_t: bool
    significant_w: bool
    reachable_w: bool = True

    @property
    def agree(self) -> bool:
        """Whether both tests say the same."""
        return self.significant_t == self.significant_w


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


def number(value: float, *, digits: int = 3, signed: bool = False) -> str:
    """Return ``value`` for a table: fixed digits in the usual range, scientific outside it."""
    if not math.isfinite(value):
        return "n/a" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    sign = "+" if signed else ""
    size = abs(value)
    if size >= 10.0 ** (digits + 2):
        return f"{value:{sign}.{digits - 1}e}"
    if 0 < size < 0.5 * 10.0**-digits:
        return f"{value:{sign}.1e}"
    return f"{value:{sign}.{digits}f}"


def p_value(p: float) -> str:
    """Return a p-value with three significant digits."""
    return "n/a" if math.isnan(p) else f"{p:.3g}"
