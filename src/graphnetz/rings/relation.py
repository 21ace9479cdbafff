"""What a comparison of two modes shows, place or spread, and the one line that orders all modes.

Scores of two modes can differ in place (one is better) or in spread (one varies more); a Kolmogorov-Smirnov test sees
both and says not which. Only place puts one mode before another.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz.rings.decisions import Array, block_means
from graphnetz.rings.rules import Groups
from graphnetz.stats.sequential import t_p

Ints = npt.NDArray[np.int64]


def order_groups(modes: Collection[str], above: Iterable[tuple[str, str]]) -> Groups:
    """Order modes by the tests between them, best first.

    Parameters
    ----------
    modes
        All modes.
    above
        Pairs (a, b) of which a was shown to be the better one.

    Returns
    -------
    tuple of tuple
        Groups of modes. Any mode of an earlier group was shown better than any of a later one, by their own test;
        within a group, chains of comparisons that show nothing, or that contradict each other, lead from each mode to
        each other one, so that no order can be printed.

    Notes
    -----
    Between any two modes either one was shown better or nothing was: read "not shown worse" as an arrow and every pair
    has at least one. The strongly connected parts of such a graph stand in a line.

    Examples
    --------
    >>> order_groups(["o", "eg", "cf"], [("eg", "o"), ("cf", "eg")])  # nothing is shown between cf and o
    (('cf', 'eg', 'o'),)
    >>> order_groups(["o", "eg", "cf"], [("o", "eg"), ("cf", "eg")])
    (('cf', 'o'), ('eg',))
    """
    shown = set(above)
    reach = {mode: {other for other in modes if (other, mode) not in shown} for mode in modes}
    for middle in modes:
        for mode in modes:
            if middle in reach[mode]:
                reach[mode] |= reach[middle]
    groups = {tuple(sorted(other for other in reach[mode] if mode in reach[other])) for mode in modes}
    # A group that comes earlier reaches all that come later, so the one that reaches most stands first.
    return tuple(sorted(groups, key=lambda group: (-len(reach[group[0]]), group)))


def place_p(x: Array, y: Array, *, blocks: tuple[Ints, Ints] | None = None) -> float:
    """Two-sided p that two samples have one mean: paired by block where both have the same blocks, else Welch's."""
    if blocks is not None and np.array_equal(np.unique(blocks[0]), np.unique(blocks[1])):
        return t_p(block_means(x, blocks[0]) - block_means(y, blocks[1]))
    return welch_p(x, y)


def spread_p(x: Array, y: Array) -> float:
    """Two-sided p that two samples spread alike: Welch's test of distances from the median (Brown, Forsythe 1974)."""
    return welch_p(np.abs(x - np.median(x)), np.abs(y - np.median(y)))


def welch_p(x: Array, y: Array) -> float:
    """Two-sided p of Welch's t-test; NaN with fewer than two values, or without spread where means are equal."""
    if min(x.size, y.size) < 2:
        return math.nan
    a, b = float(x.var(ddof=1)) / x.size, float(y.var(ddof=1)) / y.size
    gap = float(x.mean() - y.mean())
    if a + b <= 1e-24 * max(1.0, float(np.abs(x).max()), float(np.abs(y).max())) ** 2:
        return math.nan if abs(gap) <= 1e-12 else 0.0
    df = (a + b) ** 2 / (a**2 / (x.size - 1) + b**2 / (y.size - 1))
    return float(2 * special.stdtr(df, -abs(gap) / math.sqrt(a + b)))


def differs_in(place: float, spread: float, level: float) -> str:
    """Name what differs between two modes that a test told apart."""
    found = [name for name, p in (("place", place), ("spread", spread)) if p < level]
    return " and ".join(found) or "shape"
