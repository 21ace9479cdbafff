"""A whole benchmark in few numbers: aggregates of normalised scores, strengths, effects, score against cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from graphnetz.records import ScoreTable, Table
from graphnetz.records.views import ProfileView
from graphnetz.stats import (
    AggregateScores,
    BradleyTerry,
    MixedModel,
    aggregate_scores,
    bradley_terry,
    mixed_model,
    normalise,
    pareto_front,
    standardise,
)

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

MAX_MODELS = 40
"""Models of a matrix that a page still shows."""
MIN_TASKS = 2
SCALE = (
    "Scores are normalised per task: 0 is the worst and 1 the best mean of its models, over the seeds that all share"
)


@dataclass(frozen=True, eq=False)
class Aggregates:
    """Aggregates of the models that are present on every task, and what keeps the others as well.

    ``models`` and ``scores`` are about complete models; ``strength`` (Bradley-Terry with ties over tasks) and
    ``effects`` (mixed model, in standard deviations of a task) about ``everyone`` with any score.
    """

    models: tuple[str, ...]
    scores: AggregateScores
    everyone: tuple[str, ...]
    strength: BradleyTerry
    effects: MixedModel

    def profiles(self) -> ProfileView:
        """What a plot of performance profiles draws."""
        found = self.scores
        return ProfileView(self.models, found.taus, found.profiles, found.n_tasks, found.n_runs)


@dataclass(frozen=True)
class CostPoint:
    """One model: mean normalised score, mean seconds of a run, and whether no other is better in both."""

    model: str
    score: float
    seconds: float
    front: bool


def aggregate(analysis: Analysis) -> Aggregates | None:
    """Return all aggregates; None below two tasks or two models that share them."""
    table, found = analysis.scores, analysis.ranking
    if len(found.models) < 2 or len(found.tasks) < MIN_TASKS:
        return None
    values, better = _shared(table, found.tasks, found.models)
    if not np.isfinite(values).all(axis=1).any():
        return None
    scores = aggregate_scores(normalise(values, better), level=analysis.options.level)
    everyone = found.sets.models
    rows = [table.tasks.index(task) for task in found.tasks]
    columns = [table.models.index(model) for model in everyone]
    wins, ties = _outcomes(analysis, everyone)
    effects = mixed_model(standardise(table.values[np.ix_(rows, columns)], better))
    return Aggregates(found.models, scores, everyone, bradley_terry(wins, ties), effects)


def _shared(
    table: ScoreTable, tasks: tuple[str, ...], models: tuple[str, ...]
) -> tuple[npt.NDArray[np.float64], list[bool]]:
    """Scores of the models on the seeds that all of a task share, and the directions."""
    columns = [table.models.index(model) for model in models]
    values = []
    for task in tasks:
        _, shared = table.common(task)
        values.append(np.where(shared, table.values[table.tasks.index(task)][columns], np.nan))
    better = dict(zip(table.tasks, table.greater_is_better, strict=True))
    return np.array(values), [better[task] for task in tasks]


def _outcomes(analysis: Analysis, models: tuple[str, ...]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Wins and ties over tasks: a win is a difference that the paired test shows, everything else compared a tie."""
    place = {model: i for i, model in enumerate(models)}
    wins, ties = np.zeros((len(models), len(models))), np.zeros((len(models), len(models)))
    for pair in analysis.comparisons:
        if pair.a in place and pair.b in place and pair.n >= 2:
            if pair.different and pair.better in place:
                wins[place[pair.better], place[pair.other(pair.better)]] += 1
            else:
                ties[place[pair.a], place[pair.b]] += 1
                ties[place[pair.b], place[pair.a]] += 1
    return wins, ties


def cost_points(analysis: Analysis) -> tuple[CostPoint, ...]:
    """Mean normalised score against mean seconds of a run, by model; empty where no seconds were kept."""
    found = analysis.ranking
    if not found.models or not found.tasks:
        return ()
    values, better = _shared(analysis.scores, found.tasks, found.models)
    # The worst mean of a task is 0 up to rounding: it is shown, and compared, as 0.
    scores = np.nanmean(np.nanmean(normalise(values, better), axis=2), axis=0).round(12) + 0.0
    spent = [[analysis.seconds.get((task, model), math.nan) for task in found.tasks] for model in found.models]
    seconds = np.array(spent).mean(axis=1)
    if not np.isfinite(seconds).any():
        return ()
    front = pareto_front(scores, seconds)
    points = zip(found.models, scores.tolist(), seconds.tolist(), front.tolist(), strict=True)
    return tuple(CostPoint(*point) for point in points)


def aggregate_tables(analysis: Analysis) -> list[tuple[str, Table]]:
    """The tables of the page; none where there is nothing to aggregate or too much for a table."""
    found = analysis.aggregates
    if found is None or len(found.everyone) > MAX_MODELS:
        return []
    tables = [("All runs in one number", _score_table(found))]
    tables += [("Improvement", _matrix(found.models, found.scores.improvement, _IMPROVEMENT)),
               ("Win rates", _matrix(found.models, found.scores.wins, _WINS))]  # fmt: skip
    tables.append(("Strengths and effects", _effect_table(found)))
    return tables


def cost_table(analysis: Analysis) -> Table | None:
    """Score against cost, cheapest first; it depends on the machine, so it belongs to the provenance."""
    if not analysis.pareto:
        return None
    order = sorted(analysis.pareto, key=lambda point: point.seconds)
    rows = tuple((p.model, p.score, p.seconds, "yes" if p.front else "no") for p in order)
    note = f"{SCALE}. On the front: no model has a better mean score and needs fewer seconds per run."
    return Table(("Model", "Mean score", "Seconds", "On the front"), rows, note)


_IMPROVEMENT = (
    "Probability that a run of the row beats a run of the column on one of these tasks, ties counted half, mean over "
    "tasks (Agarwal et al. 2021)."
)
_WINS = "Share of tasks on which the mean of the row is better than that of the column, ties counted half."


def _score_table(found: Aggregates) -> Table:
    scores = found.scores
    order = np.argsort(-scores.iqm, kind="stable")
    columns = (scores.iqm, scores.iqm_low, scores.iqm_high, scores.gap, scores.gap_low, scores.gap_high)
    rows = tuple((found.models[i], *(float(column[i]) for column in columns)) for i in order)
    note = (
        f"{SCALE}. IQM: mean of the middle half of all {scores.n_runs} runs; optimality gap: how much runs fall short "
        f"of 1. {100 * scores.level:g} % intervals by resampling the seeds of every task: they are about these tasks."
    )
    return Table(("Model", "IQM", "low", "high", "Optimality gap", "low", "high"), rows, note)


def _matrix(models: tuple[str, ...], values: npt.NDArray[np.float64], note: str) -> Table:
    shown = np.where(np.eye(len(models), dtype=bool), np.nan, values)
    rows = tuple((model, *row) for model, row in zip(models, shown.tolist(), strict=True))
    return Table(("Model", *models), rows, note)


def _effect_table(found: Aggregates) -> Table:
    strength, effects = found.strength, found.effects
    rows = tuple(
        (model, *(float(column[i]) for column in (strength.strength, strength.error, effects.effect, effects.error)))
        for i, model in enumerate(found.everyone)
    )
    even = strength.tie / (2 + strength.tie)
    note = (
        "Both keep models that are missing on some tasks. Strength: Bradley-Terry with ties (Davidson 1970) from who "
        "is shown better on which task; e to the difference of two strengths is the odds of winning"
        + (f", and models of equal strength tie on {100 * even:.0f} % of tasks. " if math.isfinite(even) else ". ")
        + "Effect: mixed model with random tasks, tasks by models and seeds, against the mean of all models, in "
        "standard deviations of a task's scores." + (f" No effect: {effects.reason}." if effects.reason else "")
    )
    return Table(("Model", "Strength", "error", "Effect", "error"), rows, note)
