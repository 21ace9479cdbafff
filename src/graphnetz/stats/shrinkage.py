"""The gap of the best model, corrected for having been picked as the best."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Floats


@dataclass(frozen=True, eq=False)
class ShrunkenGap:
    """How far the best model is ahead of each of the others, without the winner's curse.

    Attributes
    ----------
    order
        Models from best to worst mean, as columns of the scores.
    gap, shrunken
        Lead of the best model over each column, never negative: as observed, and shrunken.
    factor
        Share of the differences between means that is more than noise, 0 to 1.
    n
        Seeds that all models share; only these count.
    reason
        Why there is no gap; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import shrunken_gap
    >>> shrunken_gap([[0.8, 0.7]]).reason
    'the noise of the means needs 2 models and 2 seeds that all of them share'
    """

    order: npt.NDArray[np.intp]
    gap: Floats
    shrunken: Floats
    factor: float
    n: int
    reason: str = ""


def shrunken_gap(
    scores: npt.ArrayLike, *, greater_is_better: bool = True, draws: int = 2000, seed: int = 0
) -> ShrunkenGap:
    """Return the lead of the best model, corrected for having picked it.

    Means are drawn together by the positive-part factor ``1 - c / F`` of the two-way analysis of variance (models x
    seeds, ``nu`` residual degrees of freedom, ``c = 1 + 3 / nu``: chosen by simulation so that few seeds do not
    overstate). What picking the best and the runner-up adds to their gap is then simulated around the drawn means,
    with the covariance of the seeds, and taken off.

    Parameters
    ----------
    scores
        Seeds x models of one task; seeds with a NaN are left out.
    greater_is_better
        Direction of the metric.
    draws, seed
        Size and seed of the simulation; the result is a pure function of the arguments.

    Returns
    -------
    ShrunkenGap
        Lead over every model, observed and shrunken.

    Examples
    --------
    >>> from graphnetz.stats import shrunken_gap
    >>> found = shrunken_gap([[0.82, 0.80, 0.70], [0.81, 0.81, 0.72], [0.84, 0.82, 0.71], [0.83, 0.80, 0.71]])
    >>> found.gap.round(4).tolist(), found.shrunken.round(3).tolist()
    ([0.0, 0.0175, 0.115], [0.0, 0.017, 0.114])
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2:
        raise UsageError(f"Scores have {x.ndim} dimensions; pass a table of seeds x models.")
    x = (1.0 if greater_is_better else -1.0) * x[np.isfinite(x).all(axis=1)]
    n, k = x.shape
    if n < 2 or k < 2:
        reason = "the noise of the means needs 2 models and 2 seeds that all of them share"
        return ShrunkenGap(np.arange(k), np.full(k, math.nan), np.full(k, math.nan), math.nan, n, reason)
    mean = x.mean(axis=0)
    order = np.argsort(-mean, kind="stable")
    rest = x - mean - x.mean(axis=1, keepdims=True) + mean.mean()
    factor = _factor(mean, rest)
    drawn = factor * (mean - mean.mean())[order]
    # Rows of residuals with normal weights have the covariance of the means, whatever its form.
    weights = np.random.default_rng(seed).standard_normal((draws, n)) / math.sqrt(n * (n - 1))
    noise = weights @ rest[:, order]
    again = np.argsort(-(drawn + noise), axis=1)
    # What a place gains by being that place: the mean noise of whoever takes it.
    luck = np.take_along_axis(noise, again, 1).mean(axis=0)
    gap, shrunken = mean[order[0]] - mean, np.zeros(k)
    shrunken[order] = np.clip(drawn[0] - drawn - (luck[0] - luck), 0.0, gap[order])
    return ShrunkenGap(order, gap, shrunken, factor, n)


def _factor(mean: Floats, rest: Floats) -> float:
    """Positive-part share of the variance of the means that noise does not explain."""
    n, k = rest.shape
    df = (k - 1) * (n - 1)
    between, within = n * float(mean.var(ddof=1)), float((rest**2).sum()) / df
    # Rounding of equal means, or of scores whose differences do not vary, is no variance.
    rounding = (1e-12 * float(np.abs(mean).max())) ** 2
    if between <= rounding:
        return 0.0
    return float(max(0.0, 1 - (1 + 3 / df) * (within if within > rounding else 0.0) / between))
