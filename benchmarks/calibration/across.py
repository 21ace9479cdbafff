"""What is said across tasks, measured on simulated benchmarks with a known truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from graphnetz.stats import (
    aggregate_scores,
    bradley_terry,
    friedman,
    hierarchical,
    nemenyi,
    rank_rows,
    rank_sets,
    wilcoxon_holm,
)
from graphnetz.stats._common import Floats

Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def _specialist(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """The first model is far ahead on a third of the tasks and in the lower part of the rest."""
    scores = rng.normal(size=shape)
    scores[:, 0] += np.where(rng.random(shape[0]) < 1 / 3, 6.0, -1.0)
    return scores


POPULATIONS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t3": lambda rng, shape: rng.standard_t(3, size=shape),
    "heteroscedastic models": lambda rng, shape: rng.normal(size=shape) * np.linspace(1, 10, shape[1]),
    "heteroscedastic tasks": lambda rng, shape: rng.normal(size=shape) * rng.lognormal(0, 1, (shape[0], 1)),
    "specialist": _specialist,
}
"""Scores of models over tasks, ``draw(rng, (tasks, models))``; effects are added to them."""


def _true_ranks(draw: Draw, effects: Floats, tasks: int = 40_000) -> Floats:
    scores = draw(np.random.default_rng(99), (tasks, effects.size)) + effects
    return np.argsort(np.argsort(-scores, axis=1), axis=1).mean(axis=0) + 1


def rank_set_rates(
    population: str, tasks: int, models: int, *, spread: float = 0.0, replicates: int = 1000, seed: int = 0
) -> dict[str, float]:
    """Share of benchmarks whose sets all hold the place by population mean rank, and the mean width of a set.

    ``spread`` sets the half of the models that is better apart from the others; 0 leaves all equal.
    """
    draw, rng = POPULATIONS[population], np.random.default_rng([seed, tasks, models])
    effects = spread * (np.arange(models) < models // 2)
    truth = _true_ranks(draw, effects)
    # Mean ranks this close are equal but for the error of their simulation, and equal models may take either place.
    ahead = truth[:, None] < truth - 0.03
    first, last = 1 + ahead.sum(axis=0), models - ahead.sum(axis=1)
    held, width = np.empty(replicates), np.empty(replicates)
    for r in range(replicates):
        scores = draw(rng, (tasks, models)) + effects
        found = rank_sets(-rank_rows(scores, [True] * tasks), flips=500, seed=r)
        held[r] = ((found.low <= first) & (found.high >= last)).all()
        width[r] = (found.high - found.low).mean()
    return {"coverage": float(held.mean()), "width": float(width.mean())}


def false_rank_rates(
    population: str, tasks: int, models: int, *, alpha: float = 0.05, replicates: int = 500, seed: int = 0
) -> dict[str, float]:
    """How often equally good models are told apart by Friedman, Nemenyi after it, and Wilcoxon with Holm."""
    draw, rng = POPULATIONS[population], np.random.default_rng([seed, tasks, models])
    hits = np.zeros(3)
    for r in range(replicates):
        scores = draw(rng, (tasks, models))
        ranks = rank_rows(scores, [True] * tasks)
        omnibus = friedman(ranks, alpha=alpha, permutations=999, seed=r)
        far = np.ptp(omnibus.mean_ranks) > nemenyi(omnibus.mean_ranks, tasks, alpha=alpha).cd
        pairs = wilcoxon_holm(scores, [True] * tasks, alpha)
        hits += (omnibus.rejected, omnibus.rejected and far, pairs.rejected.any())
    return dict(zip(("friedman", "nemenyi", "wilcoxon_holm"), (hits / replicates).tolist(), strict=True))


TASK_EFFECTS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t2": lambda rng, n: rng.standard_t(2, size=n),
    "mixture": lambda rng, n: np.where(rng.random(n) < 0.8, rng.normal(0, 0.5, n), rng.normal(0, 4, n)),
    "two kinds": lambda rng, n: np.where(rng.random(n) < 0.5, -1.0, 1.0) + rng.normal(0, 0.3, n),
}
"""Populations of task differences around their centre, in units of the spread between tasks."""


def new_task_rates(
    population: str, *, tasks: int = 12, seeds: int = 10, noise: float = 0.5, replicates: int = 200, seed: int = 0
) -> dict[str, float]:
    """Stated probability that a new task favours the better model, against the truth.

    Pairs of models differ by centres between -3 and 3 spreads. ``gap`` is stated minus true on average, ``worst_bin``
    the largest such gap among statements of 0.5 to 0.7, 0.7 to 0.9 and above, ``coverage`` that of the interval.
    """
    draw, rng = TASK_EFFECTS[population], np.random.default_rng([seed, tasks, seeds])
    reference = np.sort(draw(np.random.default_rng(7), 400_000))
    rows = np.empty((replicates, 3))
    for row in rows:
        centre = rng.uniform(-3, 3)
        found = hierarchical(list(centre + draw(rng, tasks)[:, None] + rng.normal(0, noise, (tasks, seeds))))
        truth = 1 - np.searchsorted(reference, -centre) / reference.size
        sides = (found.p_right, truth) if found.p_right >= 0.5 else (1 - found.p_right, 1 - truth)
        row[:] = (*sides, found.new_low <= centre + draw(rng, 1)[0] <= found.new_high)
    return _gaps(rows[:, 0], rows[:, 1]) | {"coverage": float(rows[:, 2].mean())}


def _gaps(stated: Floats, truth: Floats) -> dict[str, float]:
    gap = stated - truth
    bins = np.digitize(stated, (0.7, 0.9))
    worst = max((abs(gap[bins == b].mean()) for b in range(3) if (bins == b).sum() >= 20), default=0.0)
    return {"gap": float(gap.mean()), "worst_bin": float(worst)}


def improvement_rates(
    population: str, *, tasks: int = 12, seeds: int = 10, noise: float = 0.5, replicates: int = 500, seed: int = 0
) -> dict[str, float]:
    """Stated probability that a run of the better model beats one of the other, against that of these tasks' laws."""
    draw, rng = TASK_EFFECTS[population], np.random.default_rng([seed, tasks, seeds])
    stated, truth = np.empty(replicates), np.empty(replicates)
    for r in range(replicates):
        delta = rng.uniform(-1, 1) + draw(rng, tasks)
        runs = rng.normal(0, noise, (tasks, 2, seeds))
        runs[:, 0] += delta[:, None]
        stated[r] = aggregate_scores(runs, n_resamples=1).improvement[0, 1]
        truth[r] = special.ndtr(delta / (noise * np.sqrt(2))).mean()
    flip = stated < 0.5
    return _gaps(np.where(flip, 1 - stated, stated), np.where(flip, 1 - truth, truth))


def tie_rates(
    *, models: int = 5, rounds: int = 12, tie: float = 1.0, replicates: int = 300, seed: int = 0
) -> dict[str, float]:
    """Probability of a tie between two models of equal strength as Davidson's model states it, against the truth."""
    rng = np.random.default_rng([seed, models, rounds])
    strength = np.linspace(-1, 1, models)
    i, j = np.triu_indices(models, 1)
    half = (strength[i] - strength[j]) / 2
    total = np.exp(half) + np.exp(-half) + tie
    stated = np.empty(replicates)
    for r in range(replicates):
        outcomes = rng.multinomial(rounds, np.stack([np.exp(half) / total, np.exp(-half) / total, tie / total], axis=1))
        wins, ties = np.zeros((models, models)), np.zeros((models, models))
        wins[i, j], wins[j, i] = outcomes[:, 0], outcomes[:, 1]
        ties[i, j] = ties[j, i] = outcomes[:, 2]
        found = bradley_terry(wins, ties)
        stated[r] = found.tie / (2 + found.tie)
    return {"stated": float(stated.mean()), "truth": tie / (2 + tie), "gap": float(stated.mean() - tie / (2 + tie))}
