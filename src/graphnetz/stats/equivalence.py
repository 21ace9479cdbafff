"""Practical equivalence: two one-sided tests against a margin the user states."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import check_share, paired_differences
from graphnetz.stats.paired import mean_interval, standard_error


@dataclass(frozen=True)
class TostResult:
    """Two one-sided t-tests (Schuirmann 1987).

    Attributes
    ----------
    margin
        Largest difference that does not matter, as given.
    p, p_low, p_high
        ``p_low`` tests "a is worse than b by the margin or more", ``p_high`` "better by the margin
        or more"; ``p`` is the larger of the two.
    low, high
        Bounds of the 1 - 2 alpha interval of the mean difference, which lies inside the margin
        exactly when ``equivalent``.
    equivalent
        Whether the two models are practically equivalent at the level.
    n
        Shared seeds with finite scores.
    reason
        Why nothing could be tested; empty otherwise. Where one difference, not zero, stands on every seed, the exact
        sign test of the differences against each margin takes the place of t: p is 2^-n inside the margin.

    Examples
    --------
    >>> from graphnetz.stats import tost
    >>> result = tost([0.81, 0.82, 0.80, 0.81], [0.81, 0.81, 0.80, 0.82], margin=0.02)
    >>> result.equivalent, result.n
    (True, 4)
    """

    margin: float
    p: float
    p_low: float
    p_high: float
    low: float
    high: float
    equivalent: bool
    n: int
    reason: str = ""


def tost(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    margin: float,
    alpha: float = 0.05,
    test_ratio: float = math.nan,
) -> TostResult:
    """Test whether two models are practically equivalent, paired by seed.

    Parameters
    ----------
    a, b
        Scores of two models, one entry per seed, same order; pairs with a NaN are dropped.
    margin
        Largest difference that does not matter to you, in units of the metric. There is no
        default: it is a statement about the application.
    alpha
        Level of each of the two one-sided tests.
    test_ratio
        n_test / n_train for runs that share training data; NaN treats runs as independent.

    Returns
    -------
    TostResult
        Both one-sided p-values, the interval and the decision.

    Examples
    --------
    >>> from graphnetz.stats import tost
    >>> tost([0.81, 0.82, 0.80, 0.81], [0.81, 0.81, 0.80, 0.82], margin=0.005).equivalent
    False
    """
    check_share(alpha, "alpha")
    # The 1 - 2 alpha interval would have no width left.
    if alpha >= 0.5:
        raise UsageError(f"alpha={alpha} is too large for an equivalence test; pass a number below 0.5.")
    if not (margin > 0 and math.isfinite(margin)):
        raise UsageError(f"margin={margin} is not a positive number; pass the largest difference that does not matter.")
    differences = paired_differences(a, b)
    n, d = differences.n, differences.values
    nan = math.nan
    if n < 2:
        return TostResult(margin, nan, nan, nan, nan, nan, False, n, "equivalence needs at least 2 shared seeds")
    ratio = 0.0 if math.isnan(test_ratio) else test_ratio
    mean, low, high = mean_interval(d, 1 - 2 * alpha, ratio)
    if differences.constant:
        return _without_spread(mean, n, margin, alpha)
    error = standard_error(d, ratio)
    p_low = float(special.stdtr(n - 1, -(mean + margin) / error))
    p_high = float(special.stdtr(n - 1, (mean - margin) / error))
    p = max(p_low, p_high)
    return TostResult(margin, p, p_low, p_high, low, high, p <= alpha, n)


def _without_spread(mean: float, n: int, margin: float, alpha: float) -> TostResult:
    """One difference on every seed: all signs of ``d + margin`` and ``d - margin`` agree, each by chance in 2^-n.

    Identical scores are equivalent within any margin; a constant difference only with enough seeds to say so.
    """
    chance = 0.0 if mean == 0 else 2.0**-n
    p_low, p_high = (chance if mean > -margin else 1.0), (chance if mean < margin else 1.0)
    p = max(p_low, p_high)
    if chance <= alpha:
        return TostResult(margin, p, p_low, p_high, mean, mean, p <= alpha, n)
    reason = f"all {n} differences are equal, and {n} equal signs are no evidence at level {alpha:g}"
    return TostResult(margin, p, p_low, p_high, math.nan, math.nan, False, n, reason)
