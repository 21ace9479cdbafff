"""What a claim of a given reach needs: seeds, splits, test examples or tasks, what they cost, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz._core.plain import jsonable
from graphnetz.analysis.task_population import is_share
from graphnetz.records import ScoreTable
from graphnetz.records.analysis import REACHES
from graphnetz.records.examples import Components
from graphnetz.records.scores import split_means
from graphnetz.records.task_info import TaskInfo
from graphnetz.stats import PowerResult, nemenyi, power_analysis, seeds_needed

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

MAX = 10_000
MOST_MODELS = 10_000
MAX_EXAMPLES = 10**8
_UNITS = {"init": "seed", "resplit": "split", "fold": "fold", "regenerate": "sample", "unknown": "seed"}
_SPREADLESS = "the differences of the pilot have no spread, so power cannot be stated"


@dataclass(frozen=True)
class TaskPlan:
    """One task: how many of ``unit`` detect the effect at ``reach``, between its two hardest models and typical ones.

    Attributes
    ----------
    task, comparisons, pilot_seeds, sd
        The task, its pairs of models, seeds of the pilot and spread of the differences of the hardest pair.
    seeds, seeds_low, seeds_high, seeds_typical
        Units needed, with the range that the interval of the spread gives, and for the median pair. None: no number.
    seconds_per_seed
        Processor seconds of one seed of all models.
    reach, unit
        What the claim would be about, and what has to be repeated for it: seed, split, fold or sample.
    examples, examples_now
        For claims about new examples: test examples needed with the seeds of the pilot, and what there are.
    reason
        Why a number is missing; empty otherwise.

    Examples
    --------
    >>> print(TaskPlan("cora", 1, 5, 0.01, 23, 42, 23, 1.0, seeds_low=13).said(0.01, 0.8))
    23 seeds (13 to 42) would detect 0.01 with 80 % probability
    """

    task: str
    comparisons: int
    pilot_seeds: int
    sd: float
    seeds: int | None
    seeds_high: int | None
    seeds_typical: int | None
    seconds_per_seed: float
    seeds_low: int | None = None
    reach: str = "unknown"
    unit: str = "seed"
    examples: int | None = None
    examples_now: int = 0
    reason: str = ""

    def said(self, effect: float, power: float) -> str:
        """Return the plan in words, never without its range and its probability.

        Parameters
        ----------
        effect, power
            As asked for.

        Returns
        -------
        str
            A sentence without its full stop.

        Examples
        --------
        >>> TaskPlan("t", 1, 5, 0.0, None, None, None, 1.0, reason="no spread").said(0.01, 0.8)
        'no spread'
        """
        parts = []
        if self.examples is not None:
            now = f"{self.examples_now:,}, with {self.pilot_seeds} {self.unit}s"
            parts.append(f"{self.examples:,} test examples (now {now})")
        if self.seeds is not None:
            low = "2" if self.seeds_low is None else f"{self.seeds_low:,}"
            high = f"more than {MAX:,}" if self.seeds_high is None else f"{self.seeds_high:,}"
            span = f" ({low} to {high})" if self.seeds_low or self.seeds_high else ""
            parts.append(f"{self.seeds:,} {self.unit}s{span}")
        if not parts:
            return self.reason
        words = f"{' or '.join(parts)} would detect {effect:g} with {100 * power:g} % probability"
        return f"{words}; {self.reason}" if self.reason else words


@dataclass(frozen=True)
class DesignPlan:
    """A design that detects ``effect`` with probability ``power``; ``reach`` is what was asked for, empty for any."""

    effect: float
    power: float
    alpha: float
    tasks: tuple[TaskPlan, ...]
    models: int
    n_tasks: int
    critical_difference: float
    tasks_needed: int | None
    critical_difference_then: float
    tasks_low: int | None = None
    tasks_high: int | None = None
    reach: str = ""

    @property
    def seconds(self) -> float:
        """Processor seconds of the seeds needed, over the tasks that can reach the effect."""
        return sum((t.seeds or 0) * t.seconds_per_seed for t in self.tasks if math.isfinite(t.seconds_per_seed))

    def as_dict(self) -> dict[str, Any]:
        """Plain values; undefined numbers are None."""
        words = {t.task: t.said(self.effect, self.power) for t in self.tasks}
        return dict(jsonable(asdict(self) | {"hours": round(self.seconds / 3600, 3), "sentences": words}))


def plan_from_pilot(
    pilot: Analysis, *, effect: float, power: float = 0.8, alpha: float = 0.05, reach: str = "",
    components: Iterable[Components] = (),
) -> DesignPlan:  # fmt: skip
    """Plan from a pilot: its spread of differences, its seconds, its tasks and models.

    Parameters
    ----------
    pilot
        Analysis of a few runs.
    effect, power, alpha
        Difference that must not be missed, probability of detecting it, and level of the comparisons of a task.
    reach
        How far the claim shall reach: ``"split"``, ``"dataset"``, ``"source"`` or ``"tasks"``; empty takes the
        reach that the seeds of each task have.
    components
        Where the spread of comparisons comes from, for claims about new examples.

    Returns
    -------
    DesignPlan
        One row per task, and the tasks needed.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> plan = plan_from_pilot(example_report().analysis, effect=0.01)
    >>> plan.tasks[0].said(plan.effect, plan.power)
    '22 seeds (10 to 159) would detect 0.01 with 80 % probability'
    """
    _check(effect)
    if reach not in ("", *REACHES):
        raise UsageError(f"Unknown reach {reach!r}. Known: {', '.join(REACHES)}.")
    table, known = pilot.scores, tuple(components)
    tasks = []
    for name in table.tasks:
        present = table.present(name)
        pairs = list(combinations(present, 2))
        cost = sum(pilot.seconds.get((name, model), math.nan) for model in present)
        info = pilot.facts.tasks[name]
        # Over tasks, the means of each task are what they are: its own seeds are planned as far as they reach.
        wanted = info.reach if reach in ("", "tasks") else reach
        planned = _task_plan(table, name, pairs, info, cost, effect=effect, power=power, alpha=alpha, reach=wanted)
        if planned is not None and wanted == "source" != info.reach:
            own = [c for c in known if c.task == name]
            planned = _source_plan(planned, own, effect=effect, power=power, alpha=alpha)
        if planned is not None:
            tasks.append(planned)
    if not tasks:
        raise UsageError("The pilot has no task on which two models share two seeds. Run at least 2 seeds, better 5.")
    models = len(pilot.ranking.models)
    needed = _tasks_needed(pilot, effect=effect, power=power, alpha=alpha)
    counts = (None, None, None) if needed is None else (needed.seeds, needed.seeds_low, needed.seeds_high)
    then = critical_difference(models, counts[0]) if counts[0] else math.nan
    return DesignPlan(
        effect, power, alpha, tuple(tasks), models, len(table.tasks), critical_difference(models, len(table.tasks)),
        counts[0], then, counts[1], counts[2], reach,
    )  # fmt: skip


def plan_from_sd(
    sd: float, *, effect: float, power: float = 0.8, alpha: float = 0.05, models: int = 2, tasks: int = 1
) -> DesignPlan:
    """Plan without a pilot, from an assumed standard deviation of seed-wise differences."""
    _check(effect)
    if not 0 < sd < math.inf:
        raise UsageError(f"sd={sd:g} is out of range; give the spread of seed-wise differences, a number above 0.")
    if not 2 <= models <= MOST_MODELS:
        raise UsageError(f"models={models} is out of range; a comparison has from 2 to {MOST_MODELS:,} models.")
    if not 1 <= tasks <= MAX:
        raise UsageError(f"tasks={tasks} is out of range; give from 1 to {MAX:,} tasks.")
    m = models * (models - 1) // 2
    seeds = seeds_needed(effect, sd, alpha=alpha / m, power=power, max_n=MAX)
    row = TaskPlan("each task", m, 0, sd, seeds, None, seeds, math.nan)
    return DesignPlan(effect, power, alpha, (row,), models, tasks, critical_difference(models, tasks), None, math.nan)


def _check(effect: float) -> None:
    if not 0 < effect < math.inf:
        raise UsageError(f"effect={effect:g} is out of range; give the difference that matters, a number above 0.")


def critical_difference(models: int, tasks: int) -> float:
    """Nemenyi's critical difference of mean ranks; NaN below two models or tasks."""
    if models < 2 or tasks < 2:
        return math.nan
    return float(nemenyi(np.arange(1.0, models + 1), tasks).cd)


def _task_plan(
    table: ScoreTable, name: str, pairs: Sequence[tuple[str, str]], info: TaskInfo, cost: float, *, effect: float,
    power: float, alpha: float, reach: str,
) -> TaskPlan | None:  # fmt: skip
    """Units needed from the spread of the pilot's differences; None where no two models share two seeds."""
    rows = [row for row in (_differences(table, name, a, b, info) for a, b in pairs) if row.size >= 2]
    if not rows:
        return None
    # Holm's strictest step: the promise then holds whatever the other comparisons do.
    found = sorted(
        (power_analysis(row, effect, alpha=alpha / len(pairs), target=power, max_n=MAX) for row in rows if np.ptp(row)),
        key=lambda item: item.sd,
    )
    unit = _UNITS[info.replication]
    blank = TaskPlan(name, len(pairs), rows[0].size, math.nan, None, None, None, cost, reach=reach, unit=unit)
    if reach != info.reach and reach != "source":
        why = f"the seeds of the pilot reach {_reached(info.reach)}: run a pilot whose seeds reach {_reached(reach)}"
        return _with(blank, reason=why)
    if not found:
        return _with(blank, sd=0.0, reason=_SPREADLESS)
    worst, typical = found[-1], found[(len(found) - 1) // 2]
    limit = f"more than {MAX:,} {unit}s would be needed to detect {effect:g}"
    return _with(
        blank, pilot_seeds=worst.n, sd=worst.sd, seeds=worst.seeds, seeds_low=worst.seeds_low,
        seeds_high=worst.seeds_high, seeds_typical=typical.seeds, reason="" if worst.seeds else limit,
    )  # fmt: skip


def _with(plan: TaskPlan, **changes: Any) -> TaskPlan:
    return TaskPlan(**asdict(plan) | changes)


def _reached(reach: str) -> str:
    return "an unstated distance" if reach == "unknown" else f"the {reach}"


def _differences(table: ScoreTable, name: str, a: str, b: str, info: TaskInfo) -> Any:
    """Differences of the units that are random: seeds, or the means of fixed splits."""
    x, y = table.cell(name, a), table.cell(name, b)
    shared = np.isfinite(x) & np.isfinite(y)
    seeds = [seed for seed, kept in zip(table.seeds, shared, strict=True) if kept]
    means = split_means((x - y)[shared], seeds, info.splits) if seeds else np.empty(0)
    return means[np.isfinite(means)]


def _source_plan(plan: TaskPlan, known: Sequence[Components], *, effect: float, power: float, alpha: float) -> TaskPlan:
    """Test examples, or seeds, after which the error of the mean difference detects the effect for new examples.

    Its variance is seed / S + split / splits + example / N + rest / (S N); the hardest pair decides.
    """
    usable = [c for c in known if not c.reason and math.isfinite(c.seed + c.example + c.rest) and c.n_examples]
    if not usable:
        why = "claims about new examples need predictions per example, which the pilot does not hold"
        return _with(plan, seeds=None, seeds_low=None, seeds_high=None, seeds_typical=None, reason=why)
    # Errors of many examples are normal; the strictest step of Holm, as for seeds.
    z = float(special.ndtri(1 - alpha / plan.comparisons / 2) + special.ndtri(power))
    limit = (effect / z) ** 2
    needs = [_needs(c, limit) for c in usable]
    examples = None if any(n is None for n, _ in needs) else max(n for n, _ in needs if n is not None)
    seeds = None if any(s is None for _, s in needs) else max(s for _, s in needs if s is not None)
    reason = []
    if seeds is None:
        reason.append(f"no number of {plan.unit}s suffices with {usable[0].n_examples:,} test examples")
    if examples is None:
        reason.append(f"no number of test examples suffices with {usable[0].n_seeds} {plan.unit}s")
    return _with(
        plan, sd=max(_error(c) for c in usable), seeds=seeds, seeds_low=None, seeds_high=None, seeds_typical=None,
        examples=examples, examples_now=usable[0].n_examples, pilot_seeds=usable[0].n_seeds, reason="; ".join(reason),
    )  # fmt: skip


def _split(c: Components) -> float:
    """Variance that splits of their own bring; where every split has one seed, ``seed`` holds both."""
    return c.split if math.isfinite(c.split) else 0.0


def _error(c: Components) -> float:
    n, s = c.n_examples, c.n_seeds
    return math.sqrt(c.seed / s + _split(c) / max(c.n_splits, 1) + c.example / n + c.rest / (s * n))


def _needs(c: Components, limit: float) -> tuple[int | None, int | None]:
    """Test examples needed with these seeds, and seeds needed with these test examples and splits."""
    fixed = _split(c) / max(c.n_splits, 1)
    return (
        _least(c.example + c.rest / c.n_seeds, limit - c.seed / c.n_seeds - fixed, MAX_EXAMPLES),
        _least(c.seed + c.rest / c.n_examples, limit - c.example / c.n_examples - fixed, MAX),
    )


def _least(variance: float, room: float, most: int) -> int | None:
    """Smallest n of at least 2 with ``variance / n`` at most ``room``."""
    if room <= 0 or variance / room > most:
        return None
    return max(2, math.ceil(variance / room))


def _tasks_needed(pilot: Analysis, *, effect: float, power: float, alpha: float) -> PowerResult | None:
    """Tasks over which a paired test of task means detects a mean difference ``effect`` between the typical two models.

    The spread between tasks of the pilot's own differences decides; only metrics that are shares of 1 take part.
    """
    table = pilot.scores
    chosen = [t for t in range(len(table.tasks)) if is_share(table, t)]
    means = table.means()[chosen] * np.array([1.0 if table.greater_is_better[t] else -1.0 for t in chosen])[:, None]
    places = [table.models.index(model) for model in pilot.ranking.models]
    pairs = list(combinations(places, 2))
    rows = [row[np.isfinite(row)] for row in (means[:, i] - means[:, j] for i, j in pairs)]
    rows = sorted((row for row in rows if row.size >= 3 and np.ptp(row)), key=lambda row: float(row.std(ddof=1)))
    if not rows:
        return None
    typical = rows[(len(rows) - 1) // 2]
    return power_analysis(typical, effect, alpha=alpha / len(pairs), target=power, max_n=MAX)
