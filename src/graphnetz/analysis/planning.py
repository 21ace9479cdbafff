"""How many seeds and tasks an effect needs, what that costs, and what the critical difference would be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz._core.plain import jsonable
from graphnetz.analysis.task_population import is_share
from graphnetz.records import ScoreTable
from graphnetz.stats import nemenyi, power_analysis, seeds_needed

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

MAX = 10_000


@dataclass(frozen=True)
class TaskPlan:
    """One task: seeds that detect the effect between its two hardest models, and between the typical two.

    ``seeds_high`` belongs to the upper end of the interval of the standard deviation. None: no number does.
    """

    task: str
    comparisons: int
    pilot_seeds: int
    sd: float
    seeds: int | None
    seeds_high: int | None
    seeds_typical: int | None
    seconds_per_seed: float


@dataclass(frozen=True)
class DesignPlan:
    """A design that detects ``effect`` with probability ``power``."""

    effect: float
    power: float
    alpha: float
    tasks: tuple[TaskPlan, ...]
    models: int
    n_tasks: int
    critical_difference: float
    tasks_needed: int | None
    critical_difference_then: float

    @property
    def seconds(self) -> float:
        """Processor seconds of the seeds needed, over the tasks that can reach the effect."""
        return sum((t.seeds or 0) * t.seconds_per_seed for t in self.tasks if math.isfinite(t.seconds_per_seed))

    def as_dict(self) -> dict[str, Any]:
        """Plain values; undefined numbers are None."""
        return dict(jsonable(asdict(self) | {"hours": round(self.seconds / 3600, 3)}))


def plan_from_pilot(pilot: Analysis, *, effect: float, power: float = 0.8, alpha: float = 0.05) -> DesignPlan:
    """Plan from a pilot: its spread of seed-wise differences, its seconds, its tasks and models."""
    table, seconds = pilot.scores, pilot.seconds
    tasks = []
    for t, name in enumerate(table.tasks):
        present = table.present(name)
        pairs = [(a, b) for i, a in enumerate(present) for b in present[i + 1 :]]
        cost = sum(seconds.get((name, model), math.nan) for model in present)
        planned = _task_plan(table, t, pairs, cost, effect=effect, power=power, alpha=alpha)
        if planned is not None:
            tasks.append(planned)
    if not tasks:
        raise UsageError("The pilot has no task on which two models share two seeds. Run at least 2 seeds, better 5.")
    models = len(pilot.ranking.models)
    needed = _tasks_needed(pilot, effect=effect, power=power, alpha=alpha)
    return DesignPlan(
        effect, power, alpha, tuple(tasks), models, len(table.tasks), critical_difference(models, len(table.tasks)),
        needed, critical_difference(models, needed) if needed else math.nan,
    )  # fmt: skip


def plan_from_sd(
    sd: float, *, effect: float, power: float = 0.8, alpha: float = 0.05, models: int = 2, tasks: int = 1
) -> DesignPlan:
    """Plan without a pilot, from an assumed standard deviation of seed-wise differences."""
    m = max(models * (models - 1) // 2, 1)
    seeds = seeds_needed(effect, sd, alpha=alpha / m, power=power, max_n=MAX)
    row = TaskPlan("each task", m, 0, sd, seeds, None, seeds, math.nan)
    return DesignPlan(effect, power, alpha, (row,), models, tasks, critical_difference(models, tasks), None, math.nan)


def critical_difference(models: int, tasks: int) -> float:
    """Nemenyi's critical difference of mean ranks; NaN below two models or tasks."""
    if models < 2 or tasks < 2:
        return math.nan
    return float(nemenyi(np.arange(1.0, models + 1), tasks).cd)


def _task_plan(
    table: ScoreTable, t: int, pairs: Sequence[tuple[str, str]], cost: float, *, effect: float, power: float,
    alpha: float,
) -> TaskPlan | None:  # fmt: skip
    name = table.tasks[t]
    found = []
    for a, b in pairs:
        x, y = table.paired(name, a, b)
        if x.size >= 2 and np.std(x - y) > 0:
            # Holm's strictest step: the promise then holds whatever the other comparisons do.
            found.append(
                power_analysis(
                    x - y, effect, alpha=alpha / len(pairs), target=power, max_n=MAX, test_ratio=table.ratio(t)
                )
            )
    if not found:
        return None
    found.sort(key=lambda item: item.sd)
    worst, typical = found[-1], found[(len(found) - 1) // 2]
    return TaskPlan(name, len(pairs), worst.n, worst.sd, worst.seeds, worst.seeds_high, typical.seeds, cost)


def _tasks_needed(pilot: Analysis, *, effect: float, power: float, alpha: float) -> int | None:
    """Tasks over which a paired test of task means detects a mean difference ``effect`` between the typical two models.

    The spread between tasks of the pilot's own differences decides; only metrics that are shares of 1 take part.
    """
    table = pilot.scores
    chosen = [t for t in range(len(table.tasks)) if is_share(table, t)]
    means = table.means()[chosen] * np.array([1.0 if table.greater_is_better[t] else -1.0 for t in chosen])[:, None]
    places = [table.models.index(model) for model in pilot.ranking.models]
    pairs = [(i, j) for n, i in enumerate(places) for j in places[n + 1 :]]
    spreads = []
    for i, j in pairs:
        d = means[:, i] - means[:, j]
        d = d[np.isfinite(d)]
        if d.size >= 3:
            spreads.append(float(d.std(ddof=1)))
    if not spreads:
        return None
    typical = float(np.median(spreads))
    return seeds_needed(effect, typical, alpha=alpha / len(pairs), power=power, max_n=MAX)
