"""Comparison with numbers that somebody else published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import check_share
from graphnetz.stats.intervals import student_quantile

Verdict = Literal["compatible", "differs", "too wide to say"]


@dataclass(frozen=True)
class PublishedComparison:
    """Our mean minus the published one, with its Welch interval and what that allows to say.

    Attributes
    ----------
    diff, low, high
        Our mean minus the published mean, with the bounds of its interval.
    verdict
        ``"compatible"`` (the interval holds 0 and is narrow), ``"differs"`` or ``"too wide to say"``.
    df, level
        Welch-Satterthwaite degrees of freedom and the coverage aimed at.
    reason
        Why there is no interval; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import welch_interval
    >>> welch_interval(0.815, 0.004, 10, 0.703, 0.005, 20).verdict
    'differs'
    """

    diff: float
    low: float
    high: float
    verdict: Verdict
    df: float
    level: float
    reason: str = ""


def welch_interval(
    mean_a: float,
    sd_a: float,
    n_a: int,
    mean_b: float,
    sd_b: float,
    n_b: int,
    *,
    ddof_a: int = 1,
    ddof_b: int = 0,
    level: float = 0.95,
    wide: float | None = None,
) -> PublishedComparison:
    """Compare our figure (a) with a published one (b), given as mean, standard deviation and runs.

    Parameters
    ----------
    mean_a, sd_a, n_a
        Mean, standard deviation and number of our runs.
    mean_b, sd_b, n_b
        The same of the published figure.
    ddof_a, ddof_b
        What the standard deviations were divided by: n - ddof. Published ones are usually
        population values (0, numpy's default) and are converted.
    level
        Coverage of the interval.
    wide
        Half-width above which an interval around zero is called "too wide to say" instead of
        "compatible", in units of the metric; None takes 5 % of the published mean.

    Returns
    -------
    PublishedComparison
        The difference with its interval and a verdict.

    Notes
    -----
    Welch (1947) with the Welch-Satterthwaite degrees of freedom. "Compatible" means that the
    interval holds zero and is narrower than ``wide``; it does not prove that the two are equal.

    Examples
    --------
    >>> from graphnetz.stats import welch_interval
    >>> result = welch_interval(0.815, 0.004, 10, 0.813, 0.005, 20)
    >>> result.verdict, round(result.low, 4), round(result.high, 4)
    ('compatible', -0.0015, 0.0055)
    """
    check_share(level, "level")
    diff = mean_a - mean_b
    # Without a limit an interval that holds everything would count as agreement.
    limit = 0.05 * abs(mean_b) if wide is None else wide
    if not limit >= 0:
        raise UsageError(f"wide={wide} is not a half-width; pass a positive number or None.")
    variances = [_mean_variance(sd_a, n_a, ddof_a), _mean_variance(sd_b, n_b, ddof_b)]
    if math.isnan(sum(variances)) or math.isnan(diff):
        reason = "both sides need a mean, a standard deviation and at least 2 runs"
        return PublishedComparison(diff, math.nan, math.nan, "too wide to say", math.nan, level, reason)
    total = sum(variances)
    if total == 0:
        reason = "neither side varies, so the interval has no width"
        verdict: Verdict = "compatible" if diff == 0 else "differs"
        return PublishedComparison(diff, diff, diff, verdict, math.nan, level, reason)
    df = total**2 / sum(v**2 / (n - 1) for v, n in zip(variances, (n_a, n_b), strict=True))
    half = student_quantile(df, (1 + level) / 2) * math.sqrt(total)
    low, high = diff - half, diff + half
    if low > 0 or high < 0:
        return PublishedComparison(diff, low, high, "differs", df, level)
    return PublishedComparison(diff, low, high, "too wide to say" if half > limit else "compatible", df, level)


def _mean_variance(sd: float, n: int, ddof: int) -> float:
    """Variance of a mean from a standard deviation with any ddof."""
    if n < 2 or n <= ddof or math.isnan(sd):
        return math.nan
    if sd < 0:
        raise UsageError(f"Standard deviation {sd} is negative; pass a value of 0 or more.")
    return sd**2 * (n - ddof) / (n - 1) / n
