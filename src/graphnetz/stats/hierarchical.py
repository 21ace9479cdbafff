"""Bayesian hierarchical comparison: what to expect on a task that was not in the benchmark.

Seeds are nested in tasks. The true difference of a task is drawn from a Student-t population of tasks,
``delta_i ~ t_nu(mu, tau)``, and its seeds scatter around it with a variance of their own (after
Corani, Benavoli, Demsar, Mangili and Zaffalon 2017). How heavy the tails are is not known: nu is a
parameter like the others, from a Cauchy to a normal population, so that one unusual task does not
widen what is expected of all. The question of interest is the difference on a new task,
``delta_new ~ t_nu(mu, tau)``. The posterior is summed on a grid: no sampler, no seed, and the same
answer on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Floats, check_share, finite_vector
from graphnetz.stats.paired import standard_error

_MU_NODES, _TAU_NODES, _SCALE_NODES = 121, 48, 12
_FREEDOMS = (1.0, 2.0, 4.0, 8.0, math.inf)  # of the population of tasks, equally probable beforehand
_REACH = 5.5  # grid of mu: centre +- sinh(5.5) = 122 scales, dense in the middle


@dataclass(frozen=True)
class HierarchicalResult:
    """Posterior of the difference a - b over a population of tasks.

    Attributes
    ----------
    p_left, p_rope, p_right
        Probabilities that on a new task the difference lies below -margin, within, or above margin.
    new_low, new_high
        Interval that holds the difference on a new task with probability ``level``.
    mean, mean_low, mean_high
        Posterior mean of the population mean, with its interval.
    tau
        Posterior median of the spread (scale of the t) between tasks.
    n_tasks
        Tasks with at least two usable seeds.
    margin, level
        As given.
    reason
        Why everything is NaN; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import hierarchical
    >>> result = hierarchical([[0.02, 0.03], [0.01, 0.02], [0.03, 0.02]])
    >>> result.n_tasks, round(result.mean, 3)
    (3, 0.022)
    """

    p_left: float
    p_rope: float
    p_right: float
    new_low: float
    new_high: float
    mean: float
    mean_low: float
    mean_high: float
    tau: float
    n_tasks: int
    margin: float
    level: float
    reason: str = ""


def hierarchical(
    differences: Sequence[npt.ArrayLike],
    *,
    margin: float = 0.0,
    level: float = 0.95,
    test_ratio: float | Sequence[float] = 0.0,
) -> HierarchicalResult:
    """Compare two models over a population of tasks.

    Parameters
    ----------
    differences
        For every task the seed-wise differences a - b, oriented so that positive favours a, in
        units that mean the same on every task. Tasks with fewer than two seeds are left out.
    margin
        Half-width of the region of practical equivalence.
    level
        Probability held by the intervals.
    test_ratio
        n_test / n_train per task for runs that share training data, else 0.

    Returns
    -------
    HierarchicalResult
        Probabilities and intervals for a new task and for the population mean.

    Notes
    -----
    The centre of the population has a flat prior, the spread between tasks a uniform one (Gelman 2006),
    the degrees of freedom equal weights on 1, 2, 4, 8 and infinity, each task's seed variance the usual
    1/sigma, which turns its likelihood into a Student t. For a normal population the two are convolved;
    for the others their sum is taken as a t with nu degrees of freedom and the root of the summed
    squares as its scale. At least three tasks are needed for a proper answer.

    Examples
    --------
    >>> from graphnetz.stats import hierarchical
    >>> hierarchical([[0.02, 0.03], [0.01, 0.02]]).reason
    'a population of tasks needs at least 3 tasks with 2 seeds each, here 2'
    """
    check_share(level, "level")
    if not (margin >= 0 and math.isfinite(margin)):
        raise UsageError(f"margin={margin} is not a half-width; pass 0 or a positive number.")
    means, errors, freedoms = _summaries(differences, test_ratio)
    n = means.size
    if n < 3:
        nan = math.nan
        reason = f"a population of tasks needs at least 3 tasks with 2 seeds each, here {n}"
        return HierarchicalResult(nan, nan, nan, nan, nan, nan, nan, nan, nan, n, margin, level, reason)
    scale = math.sqrt(float(means.var()) + float((errors**2).mean()))
    if scale == 0:
        reason = "all differences on all tasks are equal, so nothing is left to estimate"
        value = float(means[0])
        sides = (float(value < -margin), float(abs(value) <= margin), float(value > margin))
        return HierarchicalResult(*sides, value, value, value, value, value, 0.0, n, margin, level, reason)
    # A task whose seeds all agree would make the density infinite; its error is small, not zero.
    mu, tau, weight = _posterior(means, np.maximum(errors, 1e-3 * scale), freedoms, scale)
    laws = _laws(mu, tau, weight)
    right, left = 1 - _predictive(margin, laws), _predictive(-margin, laws)
    centre = float(means.mean())
    low, high = (_predictive_quantile(q, laws, centre, scale) for q in ((1 - level) / 2, (1 + level) / 2))
    mu_low, mu_high = _grid_quantiles(mu[:, 0], weight.sum(axis=(0, 2)), ((1 - level) / 2, (1 + level) / 2))
    (spread,) = _grid_quantiles(tau[0], weight.sum(axis=(0, 1)), (0.5,))
    mean = float((weight * mu).sum())
    inside = max(0.0, 1 - left - right)
    return HierarchicalResult(left, inside, right, low, high, mean, mu_low, mu_high, spread, n, margin, level)


def _summaries(
    differences: Sequence[npt.ArrayLike], test_ratio: float | Sequence[float]
) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    ratios = np.asarray(test_ratio, dtype=np.float64)
    if ratios.ndim and ratios.shape != (len(differences),):
        raise UsageError(f"test_ratio has {ratios.size} entries; pass one number or one per task ({len(differences)}).")
    rows = [finite_vector(d, "differences") for d in differences]
    kept = [
        (row, float(ratio)) for row, ratio in zip(rows, np.broadcast_to(ratios, len(rows)), strict=True) if row.size > 1
    ]
    means = np.array([row.mean() for row, _ in kept], dtype=np.float64)
    errors = np.array([standard_error(row, ratio) for row, ratio in kept], dtype=np.float64)
    return means, errors, np.array([row.size - 1 for row, _ in kept], dtype=np.intp)


def _posterior(
    means: Floats, errors: Floats, freedoms: npt.NDArray[np.intp], scale: float
) -> tuple[Floats, Floats, Floats]:
    """Grid of (mu, tau), and normalised posterior weights ``[nu, mu, tau]``."""
    u = np.linspace(-_REACH, _REACH, _MU_NODES)
    mu = (means.mean() + scale * np.sinh(u))[:, None]
    log_tau = np.linspace(math.log(1e-3), math.log(50.0), _TAU_NODES)
    tau = scale * np.exp(log_tau)[None, :]
    # Uniform priors in mu and tau: the cell sizes are the derivatives of the two stretchings.
    logs = np.repeat((np.log(np.cosh(u))[:, None] + log_tau[None, :])[None], len(_FREEDOMS), axis=0)
    for mean, error, freedom in zip(means, errors, freedoms, strict=True):
        for i, nu in enumerate(_FREEDOMS):
            if math.isinf(nu):
                logs[i] += _log_likelihood(mu - mean, tau, float(error), int(freedom))
            else:
                logs[i] += _log_student(mu - mean, tau, float(error), nu)
    weight = np.exp(logs - logs.max())
    return mu, tau, weight / weight.sum()


def _log_student(offset: Floats, tau: Floats, error: float, nu: float) -> Floats:
    """Log density of a task mean whose task comes from a t, on the scale of `_log_likelihood`."""
    variance = tau**2 + error**2
    constant = special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2) - 0.5 * math.log(nu / 2)
    result: Floats = constant - 0.5 * np.log(variance) - (nu + 1) / 2 * np.log1p(offset**2 / (nu * variance))
    return result


def _log_likelihood(offset: Floats, tau: Floats, error: float, freedom: int) -> Floats:
    """Log density of a task mean: a Student t around delta, delta normal around mu.

    The t is a mixture of normals over its precision, summed by Gauss-Laguerre quadrature.
    """
    precision, share = special.roots_genlaguerre(_SCALE_NODES, freedom / 2 - 1)
    share = share / share.sum()
    precision = precision * 2 / freedom
    variance = tau[..., None] ** 2 + error**2 / precision
    density = (share * np.exp(-(offset[..., None] ** 2) / (2 * variance)) / np.sqrt(variance)).sum(axis=-1)
    result: Floats = np.log(np.maximum(density, 1e-300))
    return result


def _laws(mu: Floats, tau: Floats, weight: Floats) -> list[tuple[float, Floats, Floats, Floats]]:
    """(nu, mu, tau, weight) of the grid points that matter: most of the grid holds next to nothing."""
    keep = weight > 1e-6 * weight.max()
    mu, tau = np.broadcast_arrays(mu, tau)
    total = weight[keep].sum()
    return [
        (nu, mu[here], tau[here], share[here] / total) for nu, here, share in zip(_FREEDOMS, keep, weight, strict=True)
    ]


def _predictive(y: float, laws: Sequence[tuple[float, Floats, Floats, Floats]]) -> float:
    """Probability that the difference on a new task is at most ``y``."""
    total = 0.0
    for nu, mu, tau, weight in laws:
        z = (y - mu) / tau
        total += float((weight * (special.ndtr(z) if math.isinf(nu) else special.stdtr(nu, z))).sum())
    return total


def _predictive_quantile(
    q: float, laws: Sequence[tuple[float, Floats, Floats, Floats]], centre: float, scale: float
) -> float:
    reach = scale
    while _predictive(centre - reach, laws) > q or _predictive(centre + reach, laws) < q:
        reach *= 4  # heavy tails reach far
    found = optimize.brentq(lambda y: _predictive(y, laws) - q, centre - reach, centre + reach, xtol=1e-6 * scale)
    return float(found)


def _grid_quantiles(grid: Floats, weight: Floats, shares: Sequence[float]) -> tuple[float, ...]:
    """Quantiles of a density known by its cell weights, cells meeting half-way between grid points."""
    cumulative = np.cumsum(weight) - weight / 2
    return tuple(float(np.interp(share, cumulative, grid)) for share in shares)
