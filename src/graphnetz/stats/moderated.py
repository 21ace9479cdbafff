"""Moderated t: the comparisons of one task lend each other their variances (Smyth 2004)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Floats
from graphnetz.stats.simultaneous import t_p

OUTLIER_LEVEL = 0.05
"""Family-wise level of Grubbs' outlier test, which turns moderation off."""


@dataclass(frozen=True, eq=False)
class ModeratedT:
    """Moderated t-tests of one family.

    Attributes
    ----------
    p, statistic
        Two-sided p per pair, not adjusted, and its t.
    error, df
        Standard error per pair after moderation, and its degrees of freedom.
    prior_df, prior_variance
        Weight and value of the variance towards which the pairs are drawn.
    reason
        Why the plain t-tests stand here; empty where the variances were moderated.

    Examples
    --------
    >>> from graphnetz.stats import moderated_t
    >>> moderated_t([[0.1, 0.2], [0.2, 0.1]]).reason
    'fewer than 3 seeds or 3 pairs'
    """

    p: Floats
    statistic: Floats
    error: Floats
    df: float
    prior_df: float
    prior_variance: float
    reason: str = ""


def moderated_t(differences: npt.ArrayLike) -> ModeratedT:
    """Test all pairs of a family with variances that are drawn together.

    The variances of the pairs count as draws around one value, whose place and weight follow from the mean and the
    variance of their logarithms; each pair is then tested with the weighted mean of its own variance and that value.
    Pairs share models, so the degrees of freedom are at most those of the pooled residuals. Plain t-tests stand where
    the prior weighs less than the seeds (the variances differ) or a seed is an outlier (Grubbs 1969).

    Parameters
    ----------
    differences
        Seeds x pairs; seeds with a NaN are left out.

    Returns
    -------
    ModeratedT
        Hand ``p``, or ``error`` and ``df``, to `holm_intervals` for the adjusted p and the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.stats import moderated_t
    >>> scores = np.random.default_rng(0).normal(0, 0.01, (10, 4)) + [0.02, 0.0, 0.0, 0.0]
    >>> found = moderated_t(scores[:, [0, 0, 0, 1, 1, 2]] - scores[:, [1, 2, 3, 2, 3, 3]])
    >>> found.df, found.p.round(3).tolist()[:3], found.reason
    (27.0, [0.0, 0.0, 0.0], '')
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 2:
        raise UsageError(f"Differences have {d.ndim} dimensions; pass a table of seeds x pairs.")
    d = d[np.isfinite(d).all(axis=1)]
    n, m = d.shape
    mean = d.mean(axis=0) if n else np.full(m, math.nan)
    variance = d.var(axis=0, ddof=1) if n > 1 else np.full(m, math.nan)
    prior_df, prior, cap, reason = math.nan, math.nan, math.inf, "fewer than 3 seeds or 3 pairs"
    if n > 2 and m > 2:
        centred = d - mean
        prior_df, prior = fit_prior(variance, n - 1)
        cap = float(np.linalg.matrix_rank(centred) * (n - 1))
        reason = _guard(centred, prior_df, n - 1)
    if reason:
        df, pooled = n - 1.0, variance
    else:
        share = 1.0 if math.isinf(prior_df) else prior_df / (prior_df + n - 1)
        df, pooled = min(prior_df + n - 1, cap), share * prior + (1 - share) * variance
    error = np.sqrt(pooled / max(n, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return ModeratedT(t_p(mean, error, np.asarray(df)), mean / error, error, df, prior_df, prior, reason)


def fit_prior(variance: Floats, df: float) -> tuple[float, float]:
    """Weight and value of the common variance by the moments of the log variances; infinite weight if these agree."""
    if not (variance > 0).all():
        return 0.0, math.nan
    logs = np.log(variance) - special.digamma(df / 2) + math.log(df / 2)
    excess = float(logs.var(ddof=1) - special.polygamma(1, df / 2))
    if excess <= 0:
        return math.inf, math.exp(logs.mean())
    half = trigamma_inverse(excess)
    return 2 * half, math.exp(logs.mean() + special.digamma(half) - math.log(half))


def trigamma_inverse(value: float) -> float:
    """Solve trigamma(y) = value by Newton steps on 1 / trigamma, which is convex and nearly linear."""
    y = 0.5 + 1 / value
    for _ in range(50):
        now = float(special.polygamma(1, y))
        step = now * (1 - now / value) / float(special.polygamma(2, y))
        y += step
        if abs(step) < 1e-12 * y:
            break
    return y


def _guard(centred: Floats, prior_df: float, df: int) -> str:
    """Say why moderation is off: variances that differ, or an outlier by Grubbs' test of all pairs."""
    if prior_df < df:
        return "the variances of the comparisons differ too much to be drawn together"
    n, m = centred.shape
    t = float(special.stdtrit(n - 2, OUTLIER_LEVEL / (2 * n * m)))
    limit = (n - 1) / math.sqrt(n) * math.sqrt(t**2 / (n - 2 + t**2))
    if (np.abs(centred).max(axis=0) > limit * np.sqrt((centred**2).sum(axis=0) / df)).any():
        return "a seed stands out, so the scores are not close to normal"
    return ""
