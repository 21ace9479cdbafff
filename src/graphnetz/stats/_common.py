"""What several statistics share: cleaned inputs, ranks that survive rounding, argument checks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

RELATIVE_TOLERANCE = 1e-12
"""Scores closer than this share of their own size are the same score.

Accuracies live on a grid, and ``0.82 - 0.81`` is not bit-equal to ``0.81 - 0.80``. Without a
tolerance, ties and zero differences would be broken by rounding noise.
"""


@dataclass(frozen=True, eq=False)
class Differences:
    """Seed-wise differences of two models, with the size of the noise each one carries."""

    values: Floats
    tolerance: Floats

    @property
    def n(self) -> int:
        """Number of pairs."""
        return int(self.values.size)

    @property
    def constant(self) -> bool:
        """Whether all differences are equal up to rounding."""
        return self.n == 0 or bool(np.ptp(self.values) <= self.tolerance.max())

    @property
    def identical(self) -> bool:
        """Whether there are scores, and all of them are equal up to rounding."""
        return self.n > 0 and not self.values.any()

    def nonzero(self) -> Differences:
        """Return the pairs that differ by more than rounding."""
        keep = np.abs(self.values) > self.tolerance
        return Differences(self.values[keep], self.tolerance[keep])


def finite_vector(x: npt.ArrayLike, name: str = "x") -> Floats:
    """Return ``x`` as a one-dimensional float array without its NaN and infinite entries."""
    array = np.asarray(x, dtype=np.float64)
    if array.ndim != 1:
        raise UsageError(f"{name} has {array.ndim} dimensions; pass one value per seed in a one-dimensional array.")
    return array[np.isfinite(array)]


def paired_differences(a: npt.ArrayLike, b: npt.ArrayLike) -> Differences:
    """Return a - b on the positions where both are finite."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise UsageError(
            f"Paired scores have shapes {x.shape} and {y.shape}; pass two one-dimensional arrays of equal length, "
            "one entry per shared seed."
        )
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    d, slack = x - y, RELATIVE_TOLERANCE * np.maximum(np.abs(x), np.abs(y))
    return Differences(np.where(np.abs(d) > slack, d, 0.0), slack)


def complete_rows(a: npt.ArrayLike, b: npt.ArrayLike) -> Iterator[tuple[npt.NDArray[np.int64], Floats, Floats]]:
    """Split pairs of rows by how many seeds they share: positions of the rows, and both without the other seeds.

    Rows of one length are one table, so a statistic along its last axis has the bits of the statistic of each row.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise UsageError(
            f"Paired scores have shapes {x.shape} and {y.shape}; pass two tables of equal shape, pairs x seeds."
        )
    both = np.isfinite(x) & np.isfinite(y)
    shared = both.sum(axis=1)
    for n in np.unique(shared).tolist():
        at = np.flatnonzero(shared == n)
        yield at, x[at][both[at]].reshape(at.size, n), y[at][both[at]].reshape(at.size, n)


def mid_ranks(values: Floats, tolerance: Floats) -> Floats:
    """Rank ``values`` from 1 upwards; values within ``tolerance`` of a neighbour share their mean rank."""
    if values.size == 0:
        return np.empty(0)
    order = np.argsort(values, kind="stable")
    ordered, slack = values[order], tolerance[order]
    fresh = np.diff(ordered) > np.maximum(slack[1:], slack[:-1])
    group = np.concatenate([[0], np.cumsum(fresh)])
    count = np.bincount(group)
    last = np.cumsum(count)
    ranks = np.empty(values.size)
    ranks[order] = (last - (count - 1) / 2.0)[group]
    return ranks


def score_table(values: npt.ArrayLike, greater_is_better: Sequence[bool]) -> tuple[Floats, Bools]:
    """Check a tasks x models table and return it with one direction per task."""
    table = np.asarray(values, dtype=np.float64)
    better = np.asarray(greater_is_better, dtype=np.bool_)
    if table.ndim != 2 or table.shape[1] == 0:
        raise UsageError(f"Scores have shape {table.shape}; pass a table of tasks x models.")
    if better.shape != (table.shape[0],):
        raise UsageError(f"greater_is_better has {better.size} entries; pass one per task ({table.shape[0]}).")
    if np.isnan(table).any():
        rows = ", ".join(str(row) for row in np.flatnonzero(np.isnan(table).any(axis=1))[:5])
        raise UsageError(
            f"Scores hold NaN in row(s) {rows}; rank only models that have a score on every task, or drop those tasks."
        )
    return table, better


def check_share(value: float, name: str) -> float:
    """Return ``value`` when it lies strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise UsageError(f"{name}={value} is out of range; pass a number strictly between 0 and 1.")
    return float(value)


def variance_factor(n: int, test_ratio: float) -> float:
    """Factor that turns a sample variance into the variance of the mean (Nadeau and Bengio 2003).

    ``1/n + n_test/n_train``; a ratio of 0 is the ordinary factor for independent runs.
    """
    if not math.isnan(test_ratio) and test_ratio < 0:
        raise UsageError(f"test_ratio={test_ratio} is negative; pass n_test / n_train of one split.")
    return 1.0 / n + test_ratio if n else math.nan
