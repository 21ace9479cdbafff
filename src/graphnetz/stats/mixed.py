"""A crossed mixed model over tasks and seeds, which keeps models that miss some tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg, optimize

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Floats

MAX_RUNS = 400
"""Runs of one task: its covariance matrix is factorised a hundred times."""


@dataclass(frozen=True, eq=False)
class MixedModel:
    """Effects of models over a population of tasks.

    Attributes
    ----------
    effect, error
        Each model against the mean of all models, and its standard error; greater is better.
    covariance
        Of the effects, so that the error of any difference follows.
    task, interaction, seed, rest
        Standard deviations between tasks, of a model from task to task, between seeds of a task, and what is left.
    n_tasks, n_runs
        How many there are.
    reason
        Why there is no fit; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import mixed_model
    >>> found = mixed_model([[[1.0, 1.2], [0.0, 0.1]], [[2.0, 2.1], [1.2, 1.1]], [[1.5, 1.4], [0.3, 0.6]]])
    >>> found.effect.round(3).tolist()
    [0.492, -0.492]
    """

    effect: Floats
    error: Floats
    covariance: Floats
    task: float
    interaction: float
    seed: float
    rest: float
    n_tasks: int
    n_runs: int
    reason: str = ""


def standardise(values: npt.ArrayLike, greater_is_better: Sequence[bool]) -> Floats:
    """Put tasks with different metrics on one scale: mean 0 and standard deviation 1 per task, greater is better.

    Parameters
    ----------
    values
        Scores ``[task, model, seed]``, NaN where absent.
    greater_is_better
        One direction per task.

    Returns
    -------
    ndarray
        The same shape; all 0 where a task has one value only.

    Examples
    --------
    >>> from graphnetz.stats import standardise
    >>> standardise([[[1.0], [3.0]]], [False]).ravel().round(3).tolist()
    [0.707, -0.707]
    """
    table = np.asarray(values, dtype=np.float64)
    signed = np.where(np.asarray(greater_is_better)[:, None, None], table, -table)
    out = np.full_like(signed, np.nan)
    for target, row in zip(out, signed, strict=True):
        there = np.isfinite(row)
        spread = row[there].std(ddof=1) if there.sum() > 1 else 0.0
        target[there] = (row[there] - row[there].mean()) / spread if spread > 0 else 0.0
    return out


def mixed_model(values: npt.ArrayLike) -> MixedModel:
    """Fit ``score ~ model + (1|task) + (1|task:model) + (1|task:seed)`` by restricted maximum likelihood.

    Parameters
    ----------
    values
        Scores ``[task, model, seed]`` in units that mean the same on every task (see `standardise`), greater is
        better, NaN where absent. Models may miss tasks, and seeds may be missing.

    Returns
    -------
    MixedModel
        Effects with errors that hold for other tasks of this kind, and the components of variance.

    Examples
    --------
    >>> from graphnetz.stats import mixed_model
    >>> mixed_model([[[1.0, 1.2], [0.0, 0.1]]]).reason
    'a mixed model needs at least 3 tasks and 2 models, here 1 and 2'
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 3:
        raise UsageError(f"Scores have shape {table.shape}; pass tasks x models x seeds.")
    blocks = [np.nonzero(np.isfinite(task)) for task in table]
    tasks, k = [t for t, (models, _) in enumerate(blocks) if models.size], table.shape[1]
    runs = sum(models.size for models, _ in blocks)
    nothing = np.full(k, np.nan)
    seen = np.isfinite(table).any(axis=(0, 2)).all()
    reason = ""
    if len(tasks) < 3 or k < 2:
        reason = f"a mixed model needs at least 3 tasks and 2 models, here {len(tasks)} and {k}"
    elif not seen:
        reason = "a model has no value on any task"
    elif runs <= k + 3:
        reason = f"{runs} runs are too few"
    elif max(models.size for models, _ in blocks) > MAX_RUNS:
        reason = f"a task has more than {MAX_RUNS} runs"
    if reason:
        return _nothing(nothing, len(tasks), runs, reason)
    scale = float(np.nanstd(table)) or 1.0
    parts = _parts(table / scale, tasks)

    def loss(x: Floats) -> float:
        return _restricted(np.exp(x), parts, runs - k)[0]

    start: Floats = np.full(3, math.log(0.5))
    found = optimize.minimize(loss, start, method="L-BFGS-B", bounds=[(-12.0, 8.0)] * 3)
    _, effect, covariance, rest = _restricted(np.exp(found.x), parts, runs - k)
    centre = np.eye(k) - 1 / k
    covariance = centre @ covariance @ centre * scale**2
    task, interaction, seed, left = (scale * np.sqrt(rest * np.append(np.exp(found.x), 1.0))).tolist()
    effects = centre @ effect * scale
    return MixedModel(
        effects, np.sqrt(np.diag(covariance)), covariance, task, interaction, seed, left, len(tasks), runs
    )


_Part = tuple[Floats, Floats, Floats, Floats]


def _parts(table: Floats, tasks: Sequence[int]) -> list[_Part]:
    """Values ``[run, task]`` of tasks with the same runs, their design, and which runs share model and seed."""
    patterns: dict[bytes, list[int]] = {}
    for t in tasks:
        patterns.setdefault(np.isfinite(table[t]).tobytes(), []).append(t)
    parts = []
    for same in patterns.values():
        models, seeds = np.nonzero(np.isfinite(table[same[0]]))
        shared = [(axis[:, None] == axis).astype(np.float64) for axis in (models, seeds)]
        values = np.stack([table[t, models, seeds] for t in same], axis=1)
        parts.append((values, np.eye(table.shape[1])[models], *shared))
    return parts


def _restricted(ratios: Floats, parts: Sequence[_Part], freedom: int) -> tuple[float, Floats, Floats, float]:
    """-2 log restricted likelihood with the residual variance profiled out, effects, covariance, that variance."""
    k = parts[0][1].shape[1]
    normal, right, square, logs = np.zeros((k, k)), np.zeros(k), 0.0, 0.0
    for y, design, same_model, same_seed in parts:
        n, count = y.shape
        variance = ratios[0] + ratios[1] * same_model + ratios[2] * same_seed
        variance[np.diag_indices(n)] += 1.0
        lower = linalg.cholesky(variance, lower=True, check_finite=False)
        both = linalg.solve_triangular(lower, np.column_stack([design, y]), lower=True, check_finite=False)
        x, z = both[:, :k], both[:, k:]
        normal += count * (x.T @ x)
        right += x.T @ z.sum(axis=1)
        square += float((z**2).sum())
        logs += 2 * count * float(np.log(np.diag(lower)).sum())
    effect: Floats = np.linalg.solve(normal, right).astype(np.float64)
    rest = max(square - float(right @ effect), 1e-300) / freedom
    value = freedom * np.log(rest) + logs + np.linalg.slogdet(normal)[1]
    return float(value), effect, np.asarray(rest * np.linalg.inv(normal), dtype=np.float64), rest


def _nothing(nothing: Floats, tasks: int, runs: int, reason: str) -> MixedModel:
    none = np.full((nothing.size, nothing.size), np.nan)
    return MixedModel(nothing, nothing, none, math.nan, math.nan, math.nan, math.nan, tasks, runs, reason)
