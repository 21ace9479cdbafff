"""Confidence intervals of a mean over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz._core.registry import Registry
from graphnetz.stats._common import Floats, check_share, finite_vector, variance_factor

IntervalMethod = Callable[[Floats, float, int, int], tuple[float, float]]
"""``method(x, level, n_resamples, seed) -> (low, high)``; called with two or more unequal values."""

INTERVALS: Registry[IntervalMethod] = Registry("interval method", entry_points="graphnetz.intervals", accepts=callable)
"""Interval methods by name: ``(values, level, n_resamples, seed) -> (low, high)``. Plug-ins add more."""

BOOTSTRAP_MIN = 20
"""Below this many values bootstrap intervals are measurably too narrow (see the statistics page)."""

_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean of one cell over seeds with its confidence interval.

    Attributes
    ----------
    n
        Finite scores.
    mean, std, sem
        Mean, standard deviation (divisor n - 1) and standard error of the mean.
    low, high, half
        Bounds and half-width; NaN where the interval is undefined.
    level, method
        Coverage aimed at and the method used.
    reason
        Why the interval is undefined, or a warning about one that should be read with care.

    Examples
    --------
    >>> from graphnetz.stats import interval
    >>> interval([0.8]).reason
    'one seed has no interval'
    """

    n: int
    mean: float
    std: float
    sem: float
    low: float
    high: float
    half: float
    level: float
    method: str
    reason: str = ""


def interval(
    x: npt.ArrayLike,
    *,
    level: float = 0.95,
    method: str = "t",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Return the mean of ``x`` with its confidence interval.

    Parameters
    ----------
    x
        One score per seed; NaN entries are dropped.
    level
        Coverage aimed at.
    method
        ``"t"`` (Student), ``"bootstrap"`` (percentile) or ``"bca"``.
    n_resamples, seed
        Size and seed of the bootstrap; the result is a pure function of the arguments.

    Returns
    -------
    Interval
        Mean, spread and bounds; bounds are NaN, with a reason, for fewer than two scores.

    Examples
    --------
    >>> from graphnetz.stats import interval
    >>> result = interval([0.80, 0.82, 0.81, 0.83])
    >>> round(result.mean, 3), round(result.half, 4)
    (0.815, 0.0205)
    """
    compute = INTERVALS[method]
    check_share(level, "level")
    if n_resamples < 1:
        raise UsageError(f"n_resamples={n_resamples} is too small; pass at least 1, better 10,000.")
    values = finite_vector(x)
    if values.size < 2:
        return _undefined(values, level, method)
    mean, std, sem = _moments(values)
    if np.ptp(values) == 0:
        reason = f"all {values.size} values are equal, so the interval has no width"
        return Interval(values.size, mean, 0.0, 0.0, mean, mean, 0.0, level, method, reason)
    low, high = compute(values, level, n_resamples, seed)
    reason = ""
    if method != "t" and values.size < BOOTSTRAP_MIN:
        reason = f"bootstrap intervals are too narrow below {BOOTSTRAP_MIN} seeds (here {values.size})"
    return Interval(values.size, mean, std, sem, low, high, (high - low) / 2, level, method, reason)


def corrected_interval(x: npt.ArrayLike, test_ratio: float, level: float = 0.95) -> Interval:
    """Return the t interval corrected for runs that share training data.

    The variance of the mean is ``s^2 (1/J + n_test/n_train)`` with J - 1 degrees of freedom (Nadeau
    and Bengio 2003).

    Parameters
    ----------
    x
        One score per random split; NaN entries are dropped.
    test_ratio
        n_test / n_train of one split, without the validation part.
    level
        Coverage aimed at.

    Returns
    -------
    Interval
        With ``method="corrected_t"``; bounds are NaN when the ratio is.

    Examples
    --------
    >>> from graphnetz.stats import corrected_interval
    >>> round(corrected_interval([0.80, 0.82, 0.81, 0.83], 0.25).half, 4)
    0.0291
    """
    check_share(level, "level")
    values = finite_vector(x)
    if values.size < 2:
        return _undefined(values, level, "corrected_t")
    mean, std, _ = _moments(values)
    sem = std * math.sqrt(variance_factor(values.size, test_ratio))
    if math.isnan(test_ratio):
        reason = "the corrected interval needs n_test / n_train, which is unknown here"
        return Interval(values.size, mean, std, math.nan, math.nan, math.nan, math.nan, level, "corrected_t", reason)
    half = student_quantile(values.size - 1, (1 + level) / 2) * sem
    reason = f"all {values.size} values are equal, so the interval has no width" if std == 0 else ""
    return Interval(values.size, mean, std, sem, mean - half, mean + half, half, level, "corrected_t", reason)


def cluster_interval(
    x: npt.ArrayLike, clusters: npt.ArrayLike, *, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Return the mean of ``x`` with a percentile interval that resamples whole clusters.

    Values of one cluster are not independent of each other, so clusters are drawn with replacement and
    every value of a drawn one counts (Davison and Hinkley 1997, section 3.8).

    Parameters
    ----------
    x
        Values; NaN entries are dropped.
    clusters
        Label of each value's cluster, such as its task.
    level
        Coverage aimed at.
    n_resamples, seed
        Size and seed of the bootstrap.

    Returns
    -------
    Interval
        With ``method="cluster_bootstrap"``; ``sem`` is the standard deviation of the resampled means.

    Examples
    --------
    >>> from graphnetz.stats import cluster_interval
    >>> result = cluster_interval([0.80, 0.82, 0.70, 0.72], ["a", "a", "b", "b"])
    >>> round(result.mean, 2), result.method
    (0.76, 'cluster_bootstrap')
    """
    check_share(level, "level")
    values, labels = np.asarray(x, dtype=np.float64), np.asarray(clusters)
    if values.shape != labels.shape or values.ndim != 1:
        raise UsageError(f"There are {values.size} values and {labels.size} cluster labels. Give one label per value.")
    known = np.isfinite(values)
    values, labels = values[known], labels[known]
    method = "cluster_bootstrap"
    if values.size < 2:
        return _undefined(values, level, method)
    mean, std, _ = _moments(values)
    number = np.unique(labels, return_inverse=True)[1]
    sums, sizes = np.bincount(number, values), np.bincount(number)
    count = len(sizes)
    if count < 2:
        reason = "all values belong to one cluster, so the interval is undefined"
        return Interval(values.size, mean, std, math.nan, math.nan, math.nan, math.nan, level, method, reason)
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=n_resamples)
    means = (drawn @ sums) / (drawn @ sizes)
    low, high = (float(v) for v in np.quantile(means, [(1 - level) / 2, (1 + level) / 2]))
    reason = f"bootstrap intervals are too narrow below {BOOTSTRAP_MIN} clusters (here {count})"
    return Interval(
        values.size, mean, std, float(means.std()), low, high, (high - low) / 2, level, method,
        reason if count < BOOTSTRAP_MIN else "",
    )  # fmt: skip


def binomial_error(accuracy: float, n_test: int) -> float:
    """Return the standard error of an accuracy that comes from the finite test set alone.

    With a fixed split every seed shares this error, and no number of seeds makes it smaller.

    Parameters
    ----------
    accuracy
        Share of correct predictions, between 0 and 1.
    n_test
        Test examples.

    Returns
    -------
    float
        Standard error in units of the accuracy; NaN without test examples or for a NaN accuracy.

    Examples
    --------
    >>> from graphnetz.stats import binomial_error
    >>> round(binomial_error(0.8, 1000), 4)
    0.0126
    """
    if n_test < 1 or math.isnan(accuracy):
        return math.nan
    if not 0.0 <= accuracy <= 1.0:
        raise UsageError(f"accuracy={accuracy} is out of range; pass a share between 0 and 1.")
    return math.sqrt(accuracy * (1 - accuracy) / n_test)


def student_quantile(df: float, probability: float) -> float:
    """Quantile of Student's t distribution."""
    return float(special.stdtrit(df, probability))


@INTERVALS.register("t")
def _student(x: Floats, level: float, n_resamples: int, seed: int) -> tuple[float, float]:  # noqa: ARG001
    mean, _, sem = _moments(x)
    half = student_quantile(x.size - 1, (1 + level) / 2) * sem
    return mean - half, mean + half


@INTERVALS.register("bootstrap")
def _percentile(x: Floats, level: float, n_resamples: int, seed: int) -> tuple[float, float]:
    means = bootstrap_means(x, n_resamples, seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


@INTERVALS.register("bca")
def _bca(x: Floats, level: float, n_resamples: int, seed: int) -> tuple[float, float]:
    """Bias-corrected and accelerated bootstrap (Efron 1987)."""
    means = bootstrap_means(x, n_resamples, seed)
    observed = x.mean()
    below = ((means < observed).mean() + (means <= observed).mean()) / 2
    bias = special.ndtri(below)
    # The leave-one-out means of a mean are linear in x, so their skewness is that of -x.
    centred = (x - observed) / (x.size - 1)
    acceleration = (centred**3).sum() / (6 * (centred**2).sum() ** 1.5)
    z = bias + special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    shares = special.ndtr(bias + z / (1 - acceleration * z))
    low, high = np.quantile(means, shares) if np.isfinite(shares).all() else (math.nan, math.nan)
    return float(low), float(high)


def bootstrap_means(x: Floats, n_resamples: int, seed: int) -> Floats:
    """Means of ``n_resamples`` resamples with replacement, drawn in blocks of bounded memory."""
    rng = np.random.default_rng(seed)
    means = np.empty(n_resamples)
    step = max(1, _CHUNK // x.size)
    for start in range(0, n_resamples, step):
        stop = min(start + step, n_resamples)
        means[start:stop] = x[rng.integers(0, x.size, (stop - start, x.size))].mean(axis=1)
    return means


def _moments(x: Floats) -> tuple[float, float, float]:
    std = float(x.std(ddof=1))
    return float(x.mean()), std, std / math.sqrt(x.size)


def _undefined(x: Floats, level: float, method: str) -> Interval:
    nan = math.nan
    if x.size == 0:
        return Interval(0, nan, nan, nan, nan, nan, nan, level, method, "no seed finished")
    return Interval(1, float(x[0]), nan, nan, nan, nan, nan, level, method, "one seed has no interval")
