"""Whole benchmarks in few numbers, as Agarwal et al. (2021) define them: IQM, optimality gap, profiles, improvement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Floats, check_share

_MAX_WORK = 100_000_000  # resampled scores; above, there are no intervals
_BLOCK = 250_000  # of them at a time: they stay in the cache of a core


@dataclass(frozen=True, eq=False)
class AggregateScores:
    """Aggregates of scores that are normalised per task, one entry per model.

    Attributes
    ----------
    iqm, iqm_low, iqm_high
        Mean of the middle half of all runs, with its interval.
    gap, gap_low, gap_high
        Optimality gap: how much runs fall short of 1 on average; what is above 1 does not make up for it.
    taus, profiles
        ``profiles[model, tau]``: share of runs above each score of ``taus``.
    improvement
        ``[i, j]``: probability that a run of i beats a run of j on a task, ties counted half, mean over tasks.
    wins
        ``[i, j]``: share of tasks on which the mean of i is better than that of j, ties counted half.
    level, n_tasks, n_runs
        Coverage of the intervals, tasks, and runs per model.

    Examples
    --------
    >>> from graphnetz.stats import aggregate_scores
    >>> found = aggregate_scores([[[0.9, 1.0, 0.8, 0.9], [0.1, 0.2, 0.1, 0.0]]])
    >>> found.iqm.round(2).tolist(), found.improvement[0].tolist()
    ([0.9, 0.1], [0.5, 1.0])
    """

    iqm: Floats
    iqm_low: Floats
    iqm_high: Floats
    gap: Floats
    gap_low: Floats
    gap_high: Floats
    taus: Floats
    profiles: Floats
    improvement: Floats
    wins: Floats
    level: float
    n_tasks: int
    n_runs: int


def normalise(values: npt.ArrayLike, greater_is_better: Sequence[bool]) -> Floats:
    """Put every task on one scale: 0 is the worst and 1 the best mean of its models.

    Parameters
    ----------
    values
        Scores ``[task, model, seed]``, NaN where absent.
    greater_is_better
        One direction per task.

    Returns
    -------
    ndarray
        The same shape, greater is better; 0.5 where all means of a task are equal.

    Examples
    --------
    >>> from graphnetz.stats import normalise
    >>> normalise([[[1.0, 3.0], [4.0, 4.0]]], [False]).tolist()
    [[[1.5, 0.5], [0.0, 0.0]]]
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 3 or len(greater_is_better) != len(table):
        raise UsageError(f"Scores have shape {table.shape}; pass tasks x models x seeds and one direction per task.")
    table = np.where(np.asarray(greater_is_better)[:, None, None], table, -table)
    means = _means(table)
    low, high = np.nanmin(means, axis=1)[:, None, None], np.nanmax(means, axis=1)[:, None, None]
    flat = high - low <= 1e-12 * np.maximum(np.abs(high), np.abs(low))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(flat, np.where(np.isnan(table), np.nan, 0.5), (table - low) / (high - low))


def aggregate_scores(
    values: npt.ArrayLike, *, level: float = 0.95, n_resamples: int = 1000, seed: int = 0
) -> AggregateScores:
    """Aggregate runs over tasks.

    Intervals resample the seeds of every task (stratified bootstrap): they are about these tasks, not about others.

    Parameters
    ----------
    values
        Scores ``[task, model, seed]`` on one scale, greater is better, as `normalise` gives them. A seed is used
        where all models have it.
    level
        Coverage of the intervals.
    n_resamples, seed
        Number and seed of the resamples.

    Returns
    -------
    AggregateScores
        Aggregates with intervals, profiles, probability of improvement and win rates.

    Examples
    --------
    >>> from graphnetz.stats import aggregate_scores
    >>> aggregate_scores([[[0.0, 0.5], [1.0, 0.75]]]).gap.tolist()
    [0.75, 0.125]
    """
    check_share(level, "level")
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 3:
        raise UsageError(f"Scores have shape {table.shape}; pass tasks x models x seeds.")
    rows = [task[:, np.isfinite(task).all(axis=0)] for task in table]
    rows = [row for row in rows if row.shape[1]]
    if not rows or not table.shape[1]:
        raise UsageError("No task has a seed that all models finished; pass the scores of models that share seeds.")
    runs = np.concatenate(rows, axis=1)
    taus = np.linspace(min(0.0, runs.min()), max(1.0, runs.max()), 101)
    profiles = np.array([(row > taus[:, None]).mean(axis=1) for row in runs])
    means = np.array([row.mean(axis=1) for row in rows])
    iqm, gap = _with_intervals(rows, (_iqm, _gap), level, n_resamples, seed)
    return AggregateScores(
        *iqm, *gap, taus, profiles, np.mean([_improvement(row) for row in rows], axis=0),
        np.mean([_improvement(mean[:, None]) for mean in means], axis=0), level, len(rows), runs.shape[1],
    )  # fmt: skip


def shared_rates(values: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Compare every two models on the tasks that both have, whatever else they lack.

    Parameters
    ----------
    values
        Scores ``[task, model, seed]``, greater is better, NaN where absent; tasks need no common scale.

    Returns
    -------
    tuple of ndarray
        ``improvement[i, j]``, the probability that a run of i beats a run of j on a task, and ``wins[i, j]``, the share
        of tasks on which the mean of i is better; ties count half, NaN where two models share no task.

    Examples
    --------
    >>> from graphnetz.stats import shared_rates
    >>> improvement, wins = shared_rates([[[1.0, 3.0], [2.0, 2.0]], [[5.0, 5.0], [float("nan"), float("nan")]]])
    >>> improvement[0].tolist(), wins[0].tolist()
    ([0.5, 0.5], [0.5, 0.5])
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 3:
        raise UsageError(f"Scores have shape {table.shape}; pass tasks x models x seeds.")
    k = table.shape[1]
    sums, count = np.zeros((2, k, k)), np.zeros((k, k))
    for task, means in zip(table, _means(table), strict=True):
        there = np.flatnonzero(np.isfinite(means))
        at = np.ix_(there, there)
        sums[0][at] += _improvement(task[there])
        sums[1][at] += _improvement(means[there, None])
        count[at] += 1
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = sums / count
    return found[0], found[1]


def pooled_rates(values: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Compare every model with all others at once, where all have all tasks: the row means of `shared_rates`.

    The runs of a task are sorted together, and a run's place among them says how many it beats; no two models are held
    against each other, so ten thousand models take seconds.

    Parameters
    ----------
    values
        Scores ``[task, model, seed]``, greater is better; NaN for runs that are absent, of which no model may have all.

    Returns
    -------
    tuple of ndarray
        Per model: the probability that a run of it beats a run of another model on a task, and the share of tasks on
        which its mean is better than that of another model; mean over the other models, ties count half.

    Examples
    --------
    >>> from graphnetz.stats import pooled_rates
    >>> improvement, wins = pooled_rates([[[1.0, 3.0], [2.0, 2.0], [0.0, 0.0]]])
    >>> improvement.tolist(), wins.tolist()
    ([0.75, 0.75, 0.0], [0.75, 0.75, 0.0])
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 3 or not np.isfinite(table).any(axis=2).all():
        raise UsageError(
            f"Scores have shape {table.shape}; pass tasks x models x seeds with a score of every model on every task."
        )
    rates = np.zeros((2, table.shape[1]))
    for task, means in zip(table, _means(table), strict=True):
        rates[0] += _beaten(task)
        rates[1] += _beaten(means[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(table.shape[1] > 1, rates / len(table), np.nan)
    return found[0], found[1]


def _beaten(row: Floats) -> Floats:
    """P(run of i > run of another model) + half of ties from one task's ``[model, seed]``, all models alike."""
    there = np.isfinite(row)
    counts = there.sum(axis=1)
    runs, shares = row[there], np.repeat(1 / counts, counts)
    order = np.argsort(runs, kind="stable")
    ordered, below = runs[order], np.concatenate([[0.0], np.cumsum(shares[order])])
    beaten = below[np.searchsorted(ordered, runs, side="left")] + below[np.searchsorted(ordered, runs, side="right")]
    total = np.add.reduceat(beaten, np.concatenate([[0], np.cumsum(counts)[:-1]])) / (2 * counts)
    # Against itself a model has exactly one half.
    out: Floats = (total - 0.5) / max(len(row) - 1, 1)
    return out


def _means(table: Floats) -> Floats:
    there = np.isfinite(table)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.where(there, table, 0.0).sum(axis=2) / there.sum(axis=2)
    return means


def _iqm(runs: Floats) -> Floats:
    """Mean without the lowest and the highest quarter, along the last axis."""
    cut = runs.shape[-1] // 4
    part: Floats = np.sort(runs, axis=-1)[..., cut : runs.shape[-1] - cut].mean(axis=-1)
    return part


def _gap(runs: Floats) -> Floats:
    short: Floats = 1 - np.minimum(runs, 1.0).mean(axis=-1)
    return short


def _improvement(row: Floats) -> Floats:
    """P(run of i > run of j) + half of ties, from one task's ``[model, seed]``; runs that are NaN are left out."""
    there = np.isfinite(row)
    ordered, counts = np.sort(row, axis=1), there.sum(axis=1)  # NaN comes last
    out = np.empty((len(row), len(row)))
    for j, n in enumerate(counts):
        other = ordered[j, :n]
        below = np.searchsorted(other, row, side="left") + np.searchsorted(other, row, side="right")
        out[:, j] = np.where(there, below, 0).sum(axis=1) / counts / (2 * n)
    return out


def _with_intervals(
    rows: Sequence[Floats], whats: Sequence[Callable[[Floats], Floats]], level: float, n_resamples: int, seed: int
) -> list[tuple[Floats, Floats, Floats]]:
    """Statistics of all runs with their bootstrap intervals; they share the resamples, drawn within tasks."""
    runs = np.concatenate(rows, axis=1)
    k, total = runs.shape
    values, nothing = [what(runs) for what in whats], np.full(k, np.nan)
    if k * total * n_resamples > _MAX_WORK or min(row.shape[1] for row in rows) < 2:
        return [(value, nothing, nothing) for value in values]
    rng = np.random.default_rng(seed)
    picks, start = np.empty((n_resamples, total), dtype=np.int32), 0
    for row in rows:
        n = row.shape[1]
        picks[:, start : start + n] = start + rng.integers(n, size=(n_resamples, n))
        start += n
    drawn = np.empty((len(whats), k, n_resamples))
    step = max(1, _BLOCK // total)
    for first in range(0, n_resamples, step):
        for m, model in enumerate(runs):
            block = model[picks[first : first + step]]
            for i, what in enumerate(whats):
                drawn[i, m, first : first + step] = what(block)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=2)
    return list(zip(values, low, high, strict=True))


def pareto_front(scores: npt.ArrayLike, costs: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Say which models no other beats in both score and cost.

    Parameters
    ----------
    scores
        Greater is better.
    costs
        Smaller is better.

    Returns
    -------
    ndarray
        One flag per model; False where score or cost is NaN.

    Examples
    --------
    >>> from graphnetz.stats import pareto_front
    >>> pareto_front([0.9, 0.8, 0.7], [10.0, 1.0, 2.0]).tolist()
    [True, True, False]
    """
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    at_least = (x[:, None] >= x) & (y[:, None] <= y)
    beaten = (at_least & ((x[:, None] > x) | (y[:, None] < y))).any(axis=0)
    front: npt.NDArray[np.bool_] = ~beaten & np.isfinite(x) & np.isfinite(y)
    return front
