"""How much a design can see: power, smallest detectable effect, seeds needed.

Power is always asked about an effect the reader names, never about the effect that was observed:
"observed power" is a function of the p-value and adds nothing (Hoenig and Heisey 2001). What the
data contribute is the standard deviation of the seed-wise differences, with its own interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import RELATIVE_TOLERANCE, check_share, finite_vector, variance_factor
from graphnetz.stats.intervals import student_quantile


@dataclass(frozen=True)
class PowerResult:
    """Power analysis of one comparison; each figure comes with the range that the sd interval gives.

    Attributes
    ----------
    effect, alpha, target
        Difference asked about, level of the test and power wanted, as given.
    n
        Shared seeds observed.
    sd, sd_low, sd_high
        Standard deviation of the seed-wise differences with its interval.
    power, power_low, power_high
        Probability to detect ``effect`` with ``n`` seeds; ``power_low`` belongs to ``sd_high``.
    mde, mde_low, mde_high
        Smallest difference that ``n`` seeds detect with probability ``target``.
    seeds, seeds_low, seeds_high
        Seeds needed for ``target``; ``seeds_high`` belongs to ``sd_high``, the pessimistic side. None
        when no number of seeds up to the limit reaches the target.
    reason
        Why figures are NaN or None; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import power_analysis
    >>> result = power_analysis([0.01, 0.02, 0.0, 0.01], effect=0.01)
    >>> result.n, result.seeds, result.seeds_high
    (4, 8, 75)
    """

    effect: float
    alpha: float
    target: float
    n: int
    sd: float
    sd_low: float
    sd_high: float
    power: float
    power_low: float
    power_high: float
    mde: float
    mde_low: float
    mde_high: float
    seeds: int | None
    seeds_low: int | None
    seeds_high: int | None
    reason: str = ""


def power(effect: float, sd: float, n: int, *, alpha: float = 0.05, test_ratio: float = 0.0) -> float:
    """Probability that a two-sided paired t-test of ``n`` seeds detects a true difference ``effect``.

    Parameters
    ----------
    effect, sd
        True mean difference, and standard deviation of the seed-wise differences.
    n
        Number of seeds.
    alpha
        Level of the test.
    test_ratio
        n_test / n_train for runs that share training data (corrected resampled t-test).

    Returns
    -------
    float
        Probability between 0 and 1; NaN for ``sd`` 0 or below two seeds, where no test exists.

    Examples
    --------
    >>> from graphnetz.stats import power
    >>> round(power(0.01, 0.01, 10), 3)
    0.803
    """
    check_share(alpha, "alpha")
    if sd < 0:
        raise UsageError(f"sd={sd} is negative; pass the standard deviation of the differences.")
    return _power(effect, sd, n, alpha, test_ratio)


def minimum_detectable_effect(
    sd: float, n: int, *, alpha: float = 0.05, power: float = 0.8, test_ratio: float = 0.0
) -> float:
    """Smallest true difference that ``n`` seeds detect with probability ``power``.

    Parameters
    ----------
    sd
        Standard deviation of the seed-wise differences.
    n
        Number of seeds.
    alpha
        Level of the two-sided paired t-test.
    power
        Probability of detection wanted.
    test_ratio
        n_test / n_train for runs that share training data.

    Returns
    -------
    float
        In units of the metric; NaN below two seeds, and for ``sd`` 0: without spread no power can be stated.

    Examples
    --------
    >>> from graphnetz.stats import minimum_detectable_effect
    >>> round(minimum_detectable_effect(0.01, 10), 4)
    0.01
    """
    check_share(alpha, "alpha")
    _check_target(power, alpha)
    if n < 2 or not 0 < sd < math.inf:
        return math.nan
    return sd * _detectable(n, alpha, power, test_ratio)


@lru_cache(maxsize=1024)
def _detectable(n: int, alpha: float, target: float, test_ratio: float) -> float:
    """Smallest detectable effect in standard deviations, which all comparisons of one design share."""

    def excess(effect: float) -> float:
        return _power(effect, 1.0, n, alpha, test_ratio) - target

    high = 1.0
    while excess(high) < 0:
        high *= 2
    return float(optimize.brentq(excess, 0.0, high, xtol=1e-14 * high, rtol=1e-12))


def seeds_needed(
    effect: float,
    sd: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    max_n: int = 100_000,
    test_ratio: float = 0.0,
) -> int | None:
    """Return the smallest number of seeds that detects ``effect`` with probability ``power``.

    Parameters
    ----------
    effect, sd
        True mean difference, and standard deviation of the seed-wise differences.
    alpha
        Level of the two-sided paired t-test.
    power
        Probability of detection wanted.
    max_n
        Largest number of seeds considered.
    test_ratio
        n_test / n_train for runs that share training data. Such runs may never get there: their
        correlated error does not average out.

    Returns
    -------
    int or None
        None when it is above ``max_n``, or undefined (effect 0, unknown sd, sd 0).

    Examples
    --------
    >>> from graphnetz.stats import seeds_needed
    >>> seeds_needed(0.01, 0.01), seeds_needed(0.01, 0.01, test_ratio=0.25)
    (10, None)
    """
    check_share(alpha, "alpha")
    _check_target(power, alpha)
    if effect == 0 or not math.isfinite(effect) or not 0 < sd < math.inf or max_n < 2:
        return None

    def enough(n: int) -> bool:
        return _power(effect, sd, n, alpha, test_ratio) >= power

    guess = min(_normal_seeds(abs(effect) / sd, alpha, power, test_ratio), float(max_n))
    low, high, step = 1, max(2, round(guess)), 1
    # The guess is seldom off by more than one: widen from there, then halve what is left.
    while not enough(high):
        if high >= max_n:
            return None
        low, high, step = high, min(high + step, max_n), 2 * step
    step = 1
    while high - step > low and enough(high - step):
        high, step = high - step, 2 * step
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _normal_seeds(size: float, alpha: float, target: float, test_ratio: float) -> float:
    """Seeds by the normal curve with the usual term for the estimated spread (Guenther 1981); infinite for none."""
    z = -float(special.ndtri(alpha / 2))
    reach = size / (z + float(special.ndtri(target)))
    share = reach * reach - test_ratio
    return 1 / share + z * z / 2 if share > 0 else math.inf


def sd_interval(x: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Chi-square interval of the standard deviation of ``x``.

    Parameters
    ----------
    x
        Values; NaN entries are dropped.
    level
        Coverage aimed at, exact for normal values.

    Returns
    -------
    tuple of float
        Lower and upper bound; NaN below two values.

    Examples
    --------
    >>> from graphnetz.stats import sd_interval
    >>> [round(bound, 4) for bound in sd_interval([0.80, 0.82, 0.81, 0.83])]
    [0.0073, 0.0481]
    """
    check_share(level, "level")
    values = finite_vector(x)
    df = values.size - 1
    if df < 1:
        return math.nan, math.nan
    sum_of_squares = float(values.var(ddof=1)) * df
    low = math.sqrt(sum_of_squares / special.chdtri(df, (1 - level) / 2))
    high = math.sqrt(sum_of_squares / special.chdtri(df, (1 + level) / 2))
    return low, high


def seeds_range(
    differences: npt.ArrayLike, effect: float, *, alpha: float = 0.05, target: float = 0.8, max_n: int = 100_000
) -> tuple[int | None, int | None, int | None]:
    """Seeds that detect ``effect`` with probability ``target``, with the range that holds the true number.

    Parameters
    ----------
    differences
        Seed-wise differences of two models; NaN entries are dropped.
    effect
        True difference you would want to detect, in units of the metric.
    alpha
        Level of the two-sided paired t-test.
    target
        Probability of detection wanted.
    max_n
        Largest number of seeds considered.

    Returns
    -------
    tuple of int or None
        Seeds for the observed spread, and for the ends of its 95 % interval; None above ``max_n`` or without spread.

    Examples
    --------
    >>> from graphnetz.stats import seeds_range
    >>> seeds_range([0.01, 0.02, 0.0, 0.01], 0.01)
    (8, 4, 75)
    """
    found = power_analysis(differences, effect, alpha=alpha, target=target, max_n=max_n)
    return found.seeds, found.seeds_low, found.seeds_high


def power_analysis(
    differences: npt.ArrayLike,
    effect: float,
    *,
    alpha: float = 0.05,
    target: float = 0.8,
    level: float = 0.95,
    max_n: int = 100_000,
    test_ratio: float = 0.0,
    scale: float = 0.0,
) -> PowerResult:
    """Power, smallest detectable effect and seeds needed from observed seed-wise differences.

    Only the standard deviation of ``differences`` is used, never their mean: power computed from the
    observed effect would only restate the p-value.

    Parameters
    ----------
    differences
        Seed-wise differences of two models; NaN entries are dropped.
    effect
        True difference you would want to detect, in units of the metric.
    alpha
        Level of the two-sided paired t-test.
    target
        Probability of detection wanted.
    level
        Coverage of the interval of the standard deviation.
    max_n
        Largest number of seeds considered.
    test_ratio
        n_test / n_train for runs that share training data.
    scale
        Largest absolute score behind the differences: those that agree to 1e-12 of it have no spread.

    Returns
    -------
    PowerResult
        Each figure with the range that the uncertainty of the standard deviation gives.

    Examples
    --------
    >>> from graphnetz.stats import power_analysis
    >>> result = power_analysis([0.01, 0.02, 0.0, 0.01], effect=0.01)
    >>> round(result.power, 2), result.seeds
    (0.4, 8)
    """
    d = finite_vector(differences, "differences")
    nan = math.nan
    still = d.size > 1 and float(np.ptp(d)) <= RELATIVE_TOLERANCE * max(scale, float(np.abs(d).max()))
    if d.size < 2 or still:
        reason = "the spread of the differences needs at least 2 shared seeds"
        if still:
            reason = f"all {d.size} differences are equal, so their spread is unknown and no power can be stated"
        return PowerResult(
            effect, alpha, target, d.size, nan, nan, nan, nan, nan, nan, nan, nan, nan, None, None, None, reason
        )
    sd = float(d.std(ddof=1))
    low, high = sd_interval(d, level)
    ends = (sd, low, high)
    # The larger the spread, the lower the power.
    now, least, most = (power(effect, s, d.size, alpha=alpha, test_ratio=test_ratio) for s in (sd, high, low))
    options = {"alpha": alpha, "power": target, "test_ratio": test_ratio}
    mde, mde_low, mde_high = (minimum_detectable_effect(s, d.size, **options) for s in ends)
    seeds, seeds_low, seeds_high = (seeds_needed(effect, s, max_n=max_n, **options) for s in ends)
    reason = "" if seeds is not None else f"no number of seeds up to {max_n} reaches power {target} at this effect"
    found = (now, least, most, mde, mde_low, mde_high)
    return PowerResult(effect, alpha, target, d.size, *ends, *found, seeds, seeds_low, seeds_high, reason)


def _power(effect: float, sd: float, n: int, alpha: float, test_ratio: float) -> float:
    if n < 2 or not 0 < sd < math.inf or not math.isfinite(effect):
        return math.nan
    if effect == 0:
        return alpha
    df = n - 1
    shift = abs(effect) / (sd * math.sqrt(variance_factor(n, test_ratio)))
    critical = _critical(df, alpha)
    return _tail(df, shift, critical) + _tail(df, -shift, critical)


@lru_cache(maxsize=4096)
def _critical(df: int, alpha: float) -> float:
    return student_quantile(df, 1 - alpha / 2)


def _tail(df: int, shift: float, critical: float) -> float:
    """Probability that a noncentral t exceeds ``critical``: mirrored, so that small ones are not 1 minus a 1."""
    value = float(special.nctdtr(df, -shift, -critical))
    # Far tails of the noncentral t underflow to NaN or a tiny negative number.
    if math.isnan(value):
        return 1.0 if shift > critical else 0.0
    return min(1.0, max(0.0, value))


def _check_target(target: float, alpha: float) -> None:
    check_share(target, "power")
    if target <= alpha:
        raise UsageError(f"power={target} is not above alpha={alpha}; ask for a power between alpha and 1.")
