"""A t-test that may be read after every seed and stopped whenever one likes.

The evidence is an e-process: the likelihood of the t statistic under effects drawn from
N(0, effect^2), in units of the deviation, over its likelihood under no effect. That ratio does not
depend on the deviation and is a martingale under the null (Lai 1976), so the chance that it *ever*
reaches 1 / alpha is at most alpha (Ville 1939). That statement is about the whole path: it holds
whatever made one stop, without a budget, and when a finished run is continued.

Since the e-value grows with abs(t), "e >= 1 / alpha" is the same as "p of the t-test <= a level".
`anytime_levels` gives that level, so everything that is built on nominal levels of looks (Holm,
repeated intervals, giving up) serves this rule too.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Floats, check_share

ANYTIME = "anytime"
"""Name of the rule beside the spending functions."""

EFFECT = 2.0
"""Deviation of the effects mixed over; with 2, one of ten comparisons can be decided from five seeds on."""


def e_value(t: npt.ArrayLike, n: npt.ArrayLike, *, effect: float = EFFECT) -> Floats:
    """Return the e-value of a paired t statistic.

    Parameters
    ----------
    t
        t statistics of the differences.
    n
        Differences that each rests on.
    effect
        Deviation of the effects (mean over deviation of a difference) that are mixed over.

    Returns
    -------
    ndarray
        Evidence against "the mean is 0": under it, the chance of ever seeing 20 or more is at most 1 in 20.

    Examples
    --------
    >>> from graphnetz.stats import e_value
    >>> e_value([0.0, 3.0, 9.0], 10).round(3).tolist()
    [0.156, 4.43, 5789.984]
    """
    count = np.asarray(n, dtype=np.float64)
    growth = 1.0 + count * _checked(effect) ** 2
    square = np.minimum(np.asarray(t, dtype=np.float64) ** 2, 1e300)
    # Squared sum over sum of squares, per difference: 0 without an effect, 1 where all differences are equal.
    share = square / (square + count - 1.0)
    value: Floats = np.exp(-0.5 * (count * np.log1p(-share * (1.0 - 1.0 / growth)) + np.log(growth)))
    return value


@lru_cache(maxsize=4096)
def anytime_levels(looks: tuple[int, ...], alpha: float, sides: int = 2, effect: float = EFFECT) -> tuple[float, ...]:
    """Return the p-level at each number of seeds at which the e-value reaches 1 / ``alpha``.

    Parameters
    ----------
    looks
        Numbers of seeds; each level depends on its own number alone, so more may follow at any time.
    alpha
        Chance of ever crossing when nothing differs.
    sides
        2 for two-sided p-values of a t-test. 1 for one-sided ones, which are held against the same
        bound on abs(t) and are therefore conservative.
    effect
        As in `e_value`.

    Returns
    -------
    tuple of float
        One level per look; 0 where so few seeds cannot reach 1 / ``alpha``.

    Examples
    --------
    >>> from graphnetz.stats import anytime_levels
    >>> [round(level, 5) for level in anytime_levels((2, 5, 10, 30), 0.05)]
    [0.0, 0.00586, 0.00325, 0.00129]
    """
    check_share(alpha, "alpha")
    n = np.asarray(looks, dtype=np.float64)
    growth = 1.0 + n * _checked(effect) ** 2
    need = np.exp((2.0 * math.log(1.0 / alpha) + np.log(growth)) / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.sqrt((need - 1.0) / (1.0 - need / growth) * (n - 1.0))
        levels = np.where(need < growth, sides * special.stdtr(n - 1.0, -t), 0.0)
    return tuple(float(level) for level in levels)


def anytime_p(p: npt.ArrayLike, looks: tuple[int, ...], *, effect: float = EFFECT) -> float:
    """Return one over the largest e-value so far: a p-value that holds however one stopped.

    Parameters
    ----------
    p
        Two-sided t p-values at the looks so far; NaN where a look has none.
    looks
        Numbers of seeds at these looks.
    effect
        As in `e_value`.

    Returns
    -------
    float
        At most 1; NaN when no look has a p-value.

    Examples
    --------
    >>> from graphnetz.stats import anytime_levels, anytime_p
    >>> round(anytime_p(anytime_levels((10,), 0.05), (10,)), 6)
    0.05
    """
    seen = np.atleast_1d(np.asarray(p, dtype=np.float64))
    n = np.asarray(looks[: seen.size], dtype=np.float64)
    there = np.isfinite(seen) & (n > 1)
    if not there.any():
        return math.nan
    t = special.stdtrit(n[there] - 1.0, np.maximum(seen[there], 1e-300) / 2.0)
    return float(min(1.0, 1.0 / e_value(t, n[there], effect=effect).max()))


def _checked(effect: float) -> float:
    if not (effect > 0 and math.isfinite(effect)):
        raise UsageError(f"effect={effect} is not positive; pass a size of effects in deviations, such as 1.")
    return float(effect)
