"""Diagnostics before tests: collapse, skew, outliers, ties, too few test items, and a robust test beside the mean."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import RELATIVE_TOLERANCE, Bools, Floats, check_share, complete_rows, finite_vector
from graphnetz.stats.intervals import binomial_error

GAPS = ((20, 2.0), (10, 3.0), (6, 5.0), (3, 10.0))
"""(seeds at least, gap over the range of the other seeds from which on a low group counts as collapsed).

Simulated: at most 1 % of normal, t3 and 50-item vectors are called collapsed (`benchmarks/calibration/shapes.py`).
"""

FEW = 6
"""Below this many seeds a gap alone proves nothing: the low seeds must also lie at chance."""

SKEW = ((8, 4.0), (5, 5.0))
"""(seeds at least, asymmetry from which on scores count as skewed): 2 % of normal samples on either side."""

OUTLIER = 8.0
"""Distance from the median in robust standard deviations from which on a seed is an outlier: 1 % of normal samples of
8 seeds have one."""

TRIM = 0.25
"""Share cut off at either end of the interquartile mean."""


@dataclass(frozen=True)
class RobustTest:
    """Middle of paired differences, and a test that single runs cannot decide.

    Attributes
    ----------
    median, iqm
        Median and interquartile mean (the mean without the lowest and highest quarter).
    p
        Two-sided p of the trimmed t-test (Tukey and McLaughlin 1963) that the interquartile mean is 0.
    reason
        Why ``p`` is NaN; empty otherwise.

    Examples
    --------
    >>> RobustTest(0.01, 0.012, 0.03).iqm
    0.012
    """

    median: float
    iqm: float
    p: float
    reason: str = ""


def collapse(
    x: npt.ArrayLike, chance: float = math.nan, *, greater_is_better: bool = True, floor: float = 0.0
) -> tuple[int, ...]:
    """Find the runs that collapsed: a few seeds far below all others.

    The gap under the other seeds must be several times their whole range; where chance is known the low seeds must
    lie nearer to it than to the others, and with fewer than 6 seeds they must lie at it.

    Parameters
    ----------
    x
        One score per seed; NaN is left out.
    chance
        Score of a model that learns nothing, NaN when unknown.
    greater_is_better
        Direction of the score.
    floor
        Least range to compare the gap with, such as the usual spread of the other models; at least 1 % of the median
        is always taken, so that one digit of rounding is no collapse.

    Returns
    -------
    tuple of int
        Positions in ``x`` that collapsed, less than half of all where chance is unknown; empty where none did.

    Examples
    --------
    >>> collapse([0.81, 0.80, 0.10, 0.82, 0.79, 0.81], chance=0.1)
    (2,)
    >>> collapse([0.81, 0.80, 0.75, 0.82, 0.79, 0.81], chance=0.1)
    ()
    """
    scores = np.asarray(x, dtype=np.float64)
    at = np.flatnonzero(np.isfinite(scores))
    sign = 1.0 if greater_is_better else -1.0
    low = collapsed_rows(sign * scores[at], sign * chance, floor=floor)
    return tuple(int(i) for i in at[low])


def collapsed_rows(x: Floats, chance: float | Floats = math.nan, *, floor: float | Floats = 0.0) -> Bools:
    """`collapse` of every row along the last axis, higher is better; rows are complete.

    Chance is known for all rows or for none; it and the floor are one number, or one per row.
    """
    n = x.shape[-1]
    mask = np.zeros(x.shape, dtype=np.bool_)
    factor = next((factor for seeds, factor in GAPS if n >= seeds), math.inf)
    known, half = not np.isnan(chance).any(), (n - 1) // 2
    if n < 3 or (n < FEW and not known):
        return mask
    ordered = np.sort(x, axis=-1)
    for j in range(1, n - 1 if known and n >= FEW else half + 1):
        lower, upper = ordered[..., :j], ordered[..., j:]
        middle, edge = np.median(upper, axis=-1), lower[..., -1]
        width = np.maximum(np.ptp(upper, axis=-1), np.maximum(floor, 0.01 * np.abs(middle)))
        # The lower group is the larger one: both must be tight, and chance must tell which of them learned.
        width = np.maximum(width, np.ptp(lower, axis=-1)) if j > half else width
        hit = upper[..., 0] - edge >= factor * width
        if known:
            at = np.abs(edge - chance) <= 0.1 * (middle - chance)
            # A model that is itself at or below chance has nowhere to collapse to; the gap alone decides then.
            below = (edge <= chance + 0.5 * (middle - chance)) | (middle <= chance)
            hit &= at if n < FEW or j > half else below
        mask |= hit[..., None] & (x <= edge[..., None])
    return mask


def asymmetry(x: Floats) -> Floats:
    """Log ratio of the upper to the lower tail along the last axis (Hogg 1974), times the root of n.

    A tail is the distance between the median and the mean of the outer 30 %. Unlike the third moment it takes a single
    wild value of a symmetric, heavy-tailed sample for what it is. NaN below 5 values or without any spread.
    """
    n = x.shape[-1]
    if n < 5:
        return np.full(x.shape[:-1], np.nan)
    ordered, m = np.sort(x, axis=-1), math.ceil(0.3 * n)
    middle = np.median(ordered, axis=-1)
    # Accuracies live on a grid: half its step stands for what rounding hid, or two equal values were no tail at all.
    steps = np.diff(ordered, axis=-1)
    tiny = 1e-12 * np.abs(ordered).max(axis=-1, keepdims=True)
    half = np.where(steps > tiny, steps, np.inf).min(axis=-1) / 2
    upper = ordered[..., -m:].mean(axis=-1) - middle + half
    lower = middle - ordered[..., :m].mean(axis=-1) + half
    with np.errstate(invalid="ignore"):
        found: Floats = math.sqrt(n) * np.log(upper / lower)
    return found


def skewed(x: npt.ArrayLike) -> int:
    """Tell to which side scores, or differences of scores, have a long tail.

    Parameters
    ----------
    x
        One value per seed.

    Returns
    -------
    int
        1 for a long upper tail, -1 for a long lower tail, 0 where neither is shown or there are fewer than 5 seeds.

    Examples
    --------
    >>> skewed([1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 2.5, 6.0, 9.0, 20.0])
    1
    >>> skewed([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7])
    0
    """
    return int(skewed_rows(finite_vector(x)))


def skewed_rows(x: Floats) -> Floats:
    """`skewed` of every row along the last axis; rows are complete."""
    limit = next((limit for seeds, limit in SKEW if x.shape[-1] >= seeds), math.inf)
    lean = asymmetry(x)
    found: Floats = np.nan_to_num(np.sign(lean)) * (np.abs(lean) > limit)
    return found


def outliers(x: npt.ArrayLike) -> tuple[int, ...]:
    """Find runs that lie more than 8 robust standard deviations from the median.

    Parameters
    ----------
    x
        One score per seed; NaN is left out.

    Returns
    -------
    tuple of int
        Positions in ``x``; none below 8 seeds, or where half of the scores are equal.

    Examples
    --------
    >>> outliers([0.81, 0.80, 0.82, 0.79, 0.81, 0.60, 0.80, 0.82])
    (5,)
    """
    scores = np.asarray(x, dtype=np.float64)
    at = np.flatnonzero(np.isfinite(scores))
    return tuple(at[outlier_rows(finite_vector(scores))].tolist())


def outlier_rows(x: Floats) -> Bools:
    """`outliers` of every row along the last axis; rows are complete."""
    if x.shape[-1] < 8:
        return np.zeros(x.shape, dtype=np.bool_)
    middle = np.median(x, axis=-1, keepdims=True)
    # 1.4826 makes the median absolute deviation estimate the standard deviation of normal scores.
    robust = 1.4826 * np.median(np.abs(x - middle), axis=-1, keepdims=True)
    found: Bools = (np.abs(x - middle) > OUTLIER * robust) & (robust > 1e-12 * np.abs(middle))
    return found


def ties(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Share of seeds on which two models score the same.

    Parameters
    ----------
    a, b
        Scores of two models, one entry per seed, same order.

    Returns
    -------
    float
        Between 0 and 1; NaN where they share no seed.

    Examples
    --------
    >>> ties([0.8, 0.7, 0.9, 0.6], [0.8, 0.6, 0.9, 0.5])
    0.5
    """
    return tie_rows(*_one_row(a, b))[0]


def tie_rows(a: npt.ArrayLike, b: npt.ArrayLike) -> list[float]:
    """`ties` of every row of two tables, pairs x seeds."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    both = np.isfinite(x) & np.isfinite(y)
    with np.errstate(invalid="ignore"):
        apart = both & (np.abs(x - y) > RELATIVE_TOLERANCE * np.maximum(np.abs(x), np.abs(y)))
    counts = zip(apart.sum(axis=1).tolist(), both.sum(axis=1).tolist(), strict=True)
    return [1 - differ / n if n else math.nan for differ, n in counts]


def _one_row(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Floats, Floats]:
    return np.asarray(a, dtype=np.float64)[None], np.asarray(b, dtype=np.float64)[None]


def few_items(n_test: int, x: npt.ArrayLike) -> tuple[float, float, bool]:
    """Tell whether a test set is too small for the accuracies measured on it.

    Parameters
    ----------
    n_test
        Test items; 0 where unknown.
    x
        Accuracies of one model, one per seed.

    Returns
    -------
    tuple of float, float and bool
        The smallest possible difference of two accuracies (1 / n_test), the binomial error of their mean, and whether
        there are too few: the step exceeds half the standard deviation over seeds, or the error exceeds 0.05.

    Examples
    --------
    >>> step, error, few = few_items(50, [0.80, 0.82, 0.78, 0.80])
    >>> step, round(error, 3), few
    (0.02, 0.057, True)
    """
    scores = finite_vector(x)
    if n_test < 1 or scores.size == 0:
        return math.nan, math.nan, False
    step, error = 1 / n_test, binomial_error(float(np.clip(scores.mean(), 0, 1)), n_test)
    spread = float(scores.std(ddof=1)) if scores.size > 1 else math.nan
    return step, error, bool(error > 0.05 or step > spread / 2 > 0)


def rate_bound(k: int, n: int, level: float = 0.95) -> float:
    """Upper bound of the rate of an event seen in ``k`` of ``n`` runs (Clopper and Pearson 1934, one-sided).

    Parameters
    ----------
    k, n
        How often it was seen, and in how many runs.
    level
        How often the bound holds, at least.

    Returns
    -------
    float
        Between 0 and 1; NaN without runs.

    Examples
    --------
    >>> round(rate_bound(0, 10), 2), round(rate_bound(2, 10), 2)
    (0.26, 0.51)
    """
    check_share(level, "level")
    if not 0 <= k <= n:
        raise UsageError(f"k={k} of n={n} is no rate; pass 0 <= k <= n.")
    if n == 0:
        return math.nan
    return 1.0 if k == n else float(special.betaincinv(k + 1, n - k, level))


def iqm(x: npt.ArrayLike) -> float:
    """Interquartile mean: without the lowest and the highest quarter of the values.

    Parameters
    ----------
    x
        One value per seed; NaN is left out.

    Returns
    -------
    float
        NaN without values.

    Examples
    --------
    >>> iqm([0.1, 0.7, 0.8, 0.9])
    0.75
    """
    ordered = np.sort(finite_vector(x))
    cut = int(TRIM * ordered.size)
    return float(ordered[cut : ordered.size - cut].mean()) if ordered.size else math.nan


def robust_test(a: npt.ArrayLike, b: npt.ArrayLike) -> RobustTest:
    """Test the middle of paired differences, beside a test of their mean.

    Parameters
    ----------
    a, b
        Scores of two models, one entry per seed, same order.

    Returns
    -------
    RobustTest
        Median and interquartile mean of a - b, and the p of the trimmed t-test; NaN below 6 seeds.

    Examples
    --------
    >>> a = [0.81, 0.82, 0.80, 0.83, 0.10, 0.82, 0.81, 0.84]
    >>> found = robust_test(a, [0.80] * 8)
    >>> round(found.median, 3), round(found.iqm, 4), round(found.p, 3)
    (0.015, 0.015, 0.029)
    """
    return robust_rows(*_one_row(a, b))[0]


def robust_rows(a: npt.ArrayLike, b: npt.ArrayLike) -> list[RobustTest]:
    """`robust_test` of every row of two tables, pairs x seeds."""
    found: dict[int, RobustTest] = {}
    for at, x, y in complete_rows(a, b):
        d = x - y
        d = np.where(np.abs(d) > RELATIVE_TOLERANCE * np.maximum(np.abs(x), np.abs(y)), d, 0.0)
        found.update(zip(at.tolist(), _trimmed(np.sort(d, axis=1)), strict=True))
    return [found[i] for i in range(len(found))]


def _trimmed(d: Floats) -> Iterator[RobustTest]:
    """The trimmed t-test of rows that are complete and in order."""
    n = d.shape[1]
    cut = int(TRIM * n)
    kept = n - 2 * cut
    middle, centre = (np.median(d, axis=1), d[:, cut : n - cut].mean(axis=1)) if n else (np.full(len(d), np.nan),) * 2
    if n < FEW:
        why = f"a trimmed test needs at least {FEW} shared seeds, there are {n}"
        yield from (RobustTest(*row, math.nan, why) for row in zip(middle.tolist(), centre.tolist(), strict=True))
        return
    winsorised = np.clip(d, d[:, cut : cut + 1], d[:, n - cut - 1 : n - cut])
    error = winsorised.std(axis=1, ddof=1) * math.sqrt(n) / kept
    flat = error <= 1e-12 * np.maximum(np.abs(centre), 1e-300)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * special.stdtr(kept - 1, -np.abs(centre / error))
    for still, *row in zip(flat.tolist(), middle.tolist(), centre.tolist(), p.tolist(), strict=True):
        if still:
            yield RobustTest(row[0], row[1], math.nan, "the middle half of the differences is constant")
        else:
            yield RobustTest(*row)
