"""Simulated benchmarks with a known truth, to measure what the statistics promise.

Every function is pure: arguments in, a share of replicates out. All but the hierarchical one are
vectorised over replicates. The
batch formulas are the same as those of the single-comparison functions; the tests hold them equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy import special

from graphnetz._core.registry import Registry
from graphnetz.stats._common import Bools, Floats, variance_factor
from graphnetz.stats.corrections import CORRECTIONS
from graphnetz.stats.hierarchical import hierarchical
from graphnetz.stats.intervals import student_quantile
from graphnetz.stats.paired import exact_signed_rank_p
from graphnetz.stats.ranks import nemenyi

Sampler = Callable[[np.random.Generator, tuple[int, ...]], Floats]

POPULATIONS: Registry[tuple[Sampler, float]] = Registry("population")
"""Score distributions by name, each with its true mean."""

_CEILING = 0.2  # the latent mean lies 0.2 deviations above the ceiling: 58 % of the runs score exactly 1

POPULATIONS.add("normal", (lambda rng, shape: rng.normal(0.8, 0.02, shape), 0.8))
POPULATIONS.add(
    "ceiling",
    (
        lambda rng, shape: np.minimum(1.0, 1.0 + 0.02 * (_CEILING + rng.normal(size=shape))),
        1.0
        + 0.02 * (_CEILING * float(special.ndtr(-_CEILING)) - math.exp(-(_CEILING**2) / 2) / math.sqrt(2 * math.pi)),
    ),
)
POPULATIONS.add("lognormal", (lambda rng, shape: rng.lognormal(0.0, 1.0, shape), math.exp(0.5)))


def monte_carlo_error(rate: float, replicates: int) -> float:
    """Standard error of a simulated share."""
    return math.sqrt(max(rate * (1 - rate), 1e-12) / replicates)


def coverage(
    method: str,
    population: str,
    n: int,
    *,
    level: float = 0.95,
    replicates: int = 2000,
    n_resamples: int = 2000,
    seed: int = 0,
) -> float:
    """Share of simulated cells whose interval holds the true mean."""
    draw, truth = POPULATIONS[population]
    rng = np.random.default_rng([seed, n])
    x = draw(rng, (replicates, n))
    if method == "t":
        low, high = student_rows(x, level)
    else:
        weights = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).T / n
        low, high = bootstrap_rows(x, level, weights=weights, accelerate=method == "bca")
    # A cell whose seeds all agree has an interval without width; rounding must not decide it.
    return float(((low <= truth + 1e-12) & (truth - 1e-12 <= high)).mean())


def student_rows(x: Floats, level: float) -> tuple[Floats, Floats]:
    """T interval of every row."""
    n = x.shape[-1]
    mean = x.mean(axis=-1)
    half = student_quantile(n - 1, (1 + level) / 2) * x.std(axis=-1, ddof=1) / math.sqrt(n)
    return mean - half, mean + half


def bootstrap_rows(x: Floats, level: float, *, weights: Floats, accelerate: bool) -> tuple[Floats, Floats]:
    """Percentile or BCa interval of every row; all rows share the resampling ``weights [value, resample]``."""
    replicates, n_resamples = x.shape[0], weights.shape[1]
    low, high = np.empty(replicates), np.empty(replicates)
    step = max(1, 4_000_000 // n_resamples)
    for start in range(0, replicates, step):
        block = slice(start, min(start + step, replicates))
        means = np.sort(x[block] @ weights, axis=1)
        shares = np.tile([(1 - level) / 2, (1 + level) / 2], (means.shape[0], 1))
        if accelerate:
            shares = _bca_shares(x[block], means, shares)
        low[block], high[block] = _row_quantiles(means, shares).T
    return low, high


def _bca_shares(x: Floats, means: Floats, shares: Floats) -> Floats:
    observed = x.mean(axis=1, keepdims=True)
    slack = 1e-12 * np.abs(observed)
    below = ((means < observed - slack).mean(axis=1) + (means <= observed + slack).mean(axis=1)) / 2
    bias = special.ndtri(below)[:, None]
    centred = (x - observed) / (x.shape[1] - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        acceleration = ((centred**3).sum(axis=1) / (6 * (centred**2).sum(axis=1) ** 1.5))[:, None]
        z = bias + special.ndtri(shares)
        corrected: Floats = special.ndtr(bias + z / (1 - acceleration * z))
    return np.where(np.isfinite(corrected), corrected, shares)


def _row_quantiles(ordered: Floats, shares: Floats) -> Floats:
    """Linear-interpolation quantiles of sorted rows, at shares of their own per row."""
    place = shares * (ordered.shape[1] - 1)
    lower = np.floor(place).astype(np.intp)
    upper = np.minimum(lower + 1, ordered.shape[1] - 1)
    left = np.take_along_axis(ordered, lower, 1)
    found: Floats = left + (place - lower) * (np.take_along_axis(ordered, upper, 1) - left)
    return found


def t_p_rows(d: Floats, test_ratio: float = 0.0) -> Floats:
    """Two-sided paired t p-value along the last axis; NaN where the differences do not vary."""
    n = d.shape[-1]
    error = d.std(axis=-1, ddof=1) * math.sqrt(variance_factor(n, test_ratio))
    with np.errstate(invalid="ignore", divide="ignore"):
        p: Floats = 2 * special.stdtr(n - 1, -np.abs(d.mean(axis=-1)) / error)
    return np.where(error > 1e-15, p, np.nan)


def wilcoxon_p_rows(d: Floats) -> Floats:
    """Exact Wilcoxon p-value along the last axis, for differences without ties or zeros."""
    n = d.shape[-1]
    ranks = np.argsort(np.argsort(np.abs(d), axis=-1), axis=-1) + 1
    positive = (ranks * (d > 0)).sum(axis=-1)
    total = n * (n + 1) // 2
    table = np.array([exact_signed_rank_p(np.arange(1.0, n + 1), float(max(w, total - w))) for w in range(total + 1)])
    found: Floats = table[positive]
    return found


def null_differences(
    shape: tuple[int, int, int, int], rng: np.random.Generator, *, effect: float = 0.0, grid: float = 0.0
) -> Floats:
    """Seed-wise differences ``[benchmark, task, pair, seed]`` of models that are equally good.

    Scores share a seed effect, as paired runs do. ``effect`` lifts the last model above the others;
    ``grid`` rounds scores to multiples of it, which makes ties and zeros.
    """
    benchmarks, tasks, models, seeds = shape
    scores = rng.normal(0.8, 0.01, (benchmarks, tasks, 1, seeds)) + rng.normal(0, 0.01, shape)
    scores[:, :, -1] += effect
    if grid:
        scores = np.round(scores / grid) * grid
    first, second = zip(*combinations(range(models), 2), strict=True)
    d: Floats = scores[:, :, list(first)] - scores[:, :, list(second)]
    return np.where(np.abs(d) < 1e-12, 0.0, d)


def familywise_rates(
    method: str = "t",
    *,
    tasks: int = 10,
    models: int = 5,
    seeds: int = 10,
    alpha: float = 0.05,
    effect: float = 0.0,
    grid: float = 0.0,
    replicates: int = 500,
    seed: int = 0,
) -> dict[str, float]:
    """Measure the rates of at least one false rejection with Holm.

    Returns
    -------
    dict
        ``per_task`` (family = the pairs of one task), ``report_by_task`` (the same rule, at least
        one false rejection anywhere in the report) and ``report`` (family = the whole report).
        ``per_task`` rests on replicates x tasks families.
    """
    rng = np.random.default_rng([seed, tasks, models, seeds])
    null = _null_pairs(models, effect)
    holm = CORRECTIONS["holm"]
    by_task: list[Bools] = []
    by_report: list[Bools] = []
    step = max(1, 2_000_000 // (tasks * models * models * seeds))
    for start in range(0, replicates, step):
        shape = (min(step, replicates - start), tasks, models, seeds)
        d = null_differences(shape, rng, effect=effect, grid=grid)
        p = np.nan_to_num(t_p_rows(d) if method == "t" else wilcoxon_p_rows(d), nan=1.0)
        by_task.append(np.asarray(((holm(p) <= alpha) & null).any(axis=2)))
        flat = holm(p.reshape(p.shape[0], -1)).reshape(p.shape)
        by_report.append(np.asarray(((flat <= alpha) & null).any(axis=(1, 2))))
    false_by_task = np.concatenate(by_task)
    return {
        "per_task": float(false_by_task.mean()),
        "report_by_task": float(false_by_task.any(axis=1).mean()),
        "report": float(np.concatenate(by_report).mean()),
    }


def _null_pairs(models: int, effect: float) -> Bools:
    return np.array([effect == 0 or j != models - 1 for _, j in combinations(range(models), 2)])


def resampling_rates(
    *, correlation: float = 0.1, seeds: int = 10, alpha: float = 0.05, replicates: int = 5000, seed: int = 0
) -> dict[str, float]:
    """Rejection rates of a true null when random splits share training data.

    Differences of two splits correlate by ``correlation``; the correction is told the matching
    n_test / n_train (n_test over all data equals the correlation in Nadeau and Bengio's heuristic).
    """
    rng = np.random.default_rng([seed, seeds])
    shared = rng.normal(size=(replicates, 1)) * math.sqrt(correlation)
    d = shared + rng.normal(size=(replicates, seeds)) * math.sqrt(1 - correlation)
    ratio = correlation / (1 - correlation)
    return {
        "t": float((t_p_rows(d) <= alpha).mean()),
        "corrected_t": float((t_p_rows(d, ratio) <= alpha).mean()),
    }


def friedman_rates(
    n: int, k: int, *, alpha: float = 0.05, permutations: int = 20_000, replicates: int = 5000, seed: int = 0
) -> dict[str, float]:
    """Rejection rates of equally good models by chi-square, F, permutation, and Nemenyi after the omnibus."""
    rng = np.random.default_rng([seed, n, k])
    ranks = np.tile(np.arange(1.0, k + 1), (replicates, n, 1))
    means = rng.permuted(ranks, axis=2).mean(axis=1)
    null = rng.permuted(np.tile(np.arange(1.0, k + 1), (permutations, n, 1)), axis=2).sum(axis=1)
    chi2 = 12 * n / (k * (k + 1)) * ((means**2).sum(axis=1) - k * (k + 1) ** 2 / 4)
    room = np.maximum(n * (k - 1) - chi2, 1e-12)
    p_f = special.fdtrc(k - 1, (k - 1) * (n - 1), np.maximum((n - 1) * chi2 / room, 0.0))
    spread = np.sort((null**2).sum(axis=1))
    at_least = permutations - np.searchsorted(spread, np.rint(means * n) ** 2 @ np.ones(k), side="left")
    p_permutation = (1 + at_least) / (1 + permutations)
    p = p_permutation if n < 10 or k < 5 else p_f
    apart = np.ptp(means, axis=1) > nemenyi(np.arange(1.0, k + 1), n, alpha=alpha).cd
    return {
        "chi2": float((special.chdtrc(k - 1, chi2) <= alpha).mean()),
        "f": float((p_f <= alpha).mean()),
        "permutation": float((p_permutation <= alpha).mean()),
        "nemenyi_after_omnibus": float((apart & (p <= alpha)).mean()),
    }


def equivalence_rate(
    *, seeds: int = 10, alpha: float = 0.05, sd: float = 0.005, replicates: int = 5000, seed: int = 0
) -> float:
    """Share of pairs called equivalent although their true difference equals the margin (0.01)."""
    d = np.random.default_rng([seed, seeds]).normal(0.01, sd, (replicates, seeds))
    low, high = student_rows(d, 1 - 2 * alpha)
    return float(((low > -0.01) & (high < 0.01)).mean())


def detection_rate(effect: float, sd: float, n: int, *, replicates: int = 5000, seed: int = 0) -> float:
    """Share of simulated comparisons in which the paired t-test finds a true difference."""
    d = np.random.default_rng([seed, n]).normal(effect, sd, (replicates, n))
    return float((t_p_rows(d) <= 0.05).mean())


def hierarchical_rates(
    *,
    tasks: int = 10,
    seeds: int = 10,
    tau: float = 0.01,
    sd: float = 0.01,
    margin: float = 0.005,
    replicates: int = 200,
    seed: int = 0,
) -> dict[str, float]:
    """Coverage of the hierarchical model for a new task and for the population mean (true value 0.005).

    ``p_right`` is the mean predicted probability that a new task exceeds the margin, ``share_right``
    how often it did.
    """
    rng = np.random.default_rng([seed, tasks, seeds])
    truth = 0.005
    rows = np.empty((replicates, 4))
    for row in rows:
        delta = rng.normal(truth, tau, tasks)
        new = rng.normal(truth, tau)
        found = hierarchical(list(rng.normal(delta[:, None], sd, (tasks, seeds))), margin=margin)
        row[:] = (
            found.new_low <= new <= found.new_high,
            found.mean_low <= truth <= found.mean_high,
            found.p_right,
            new > margin,
        )
    names = ("new_task", "mean", "p_right", "share_right")
    return {name: float(value) for name, value in zip(names, rows.mean(axis=0), strict=True)}
