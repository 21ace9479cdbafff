"""Seeds in rounds: which comparisons are decided, what that cost, and what may be shown afterwards.

The rule is a pure function of the finished cells, so a run that decides when to stop and a report
that is made from its files a year later say the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz.records import CellResult, ScoreTable, Section, Table
from graphnetz.records.analysis import Comparison
from graphnetz.records.seed_rule import SeedRule as SeedRule
from graphnetz.records.task_info import TaskInfo
from graphnetz.stats import SequentialComparison, adjust, decide
from graphnetz.stats.boundaries import look_levels, unit_means
from graphnetz.stats.repeated import repeated_p
from graphnetz.stats.sequential import t_p

Runs = Mapping[tuple[str, str], npt.NDArray[np.float64]]
"""Scores of a (task, model) in seed order, as far as seeds were run; NaN for a cell that failed."""

SECTION = "seeds-auto"


@dataclass(frozen=True)
class Decided:
    """One comparison and what was decided; ``repeated`` is its own p, ``p`` the one after Holm within the task."""

    task: str
    a: str
    b: str
    state: SequentialComparison
    repeated: float
    p: float


@dataclass(frozen=True)
class TaskDecisions:
    """All comparisons of one task; ``next_look`` is None when none is open."""

    task: str
    comparisons: tuple[Decided, ...]
    next_look: int | None

    @property
    def open_models(self) -> frozenset[str]:
        """Models with an open comparison: these need seeds up to the next look."""
        return frozenset(
            name for item in self.comparisons if item.state.decision == "open" for name in (item.a, item.b)
        )


def runs_of(results: Sequence[CellResult], seeds: Sequence[int], metrics: Mapping[str, str] | None = None) -> Runs:
    """Collect scores per (task, model) in seed order, up to the first seed that was not run."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for result in results:
        key = (metrics or {}).get(result.task, result.metric)
        value = float(result.metrics.get(key, math.nan)) if result.ok else math.nan
        found.setdefault((result.task, result.model), {})[result.seed] = value
    runs: dict[tuple[str, str], npt.NDArray[np.float64]] = {}
    for pair, by_seed in found.items():
        row = []
        for seed in seeds:
            if seed not in by_seed:
                break
            row.append(by_seed[seed])
        runs[pair] = np.array(row, dtype=np.float64)
    return runs


def decide_task(task: str, models: Sequence[str], runs: Runs, rule: SeedRule, *, splits: int = 0) -> TaskDecisions:
    """Apply the rule to every two models of a task, in the order of `analysis.compare`.

    Given the dataset, independent splits are independent runs, so the plain t-test over them decides the reach
    ``dataset``; where ``splits`` fixed splits are taken in turn, these are the units.
    """
    pairs = list(combinations(sorted(models), 2))
    empty = np.empty(0)
    rows = []
    for a, b in pairs:
        x, y = runs.get((task, a), empty), runs.get((task, b), empty)
        n = min(x.size, y.size)
        rows.append(x[:n] - y[:n])
    if not pairs:
        return TaskDecisions(task, (), None)
    looks = rule.looks_of(splits)
    found = decide(
        rows, looks=looks, alpha=rule.alpha, margin=rule.margin, spending=rule.levels, futility=rule.futility,
        splits=splits,
    )  # fmt: skip
    own = []
    for row, state in zip(rows, found.comparisons, strict=True):
        seen = [t_p(unit_means(row[:n], splits)) for n in looks[: state.look]]
        own.append(repeated_p(seen, looks, spending=rule.levels, splits=splits) if seen else math.nan)
    adjusted = _beside_alpha(own, found.comparisons, rule.alpha)
    items = zip(pairs, found.comparisons, own, adjusted, strict=True)
    decided = tuple(Decided(task, a, b, state, p, float(holm)) for (a, b), state, p, holm in items)
    return TaskDecisions(task, decided, found.next_look)


def _beside_alpha(
    own: Sequence[float], states: Sequence[SequentialComparison], alpha: float
) -> npt.NDArray[np.float64]:
    """Holm-adjusted repeated p-values, on the same side of alpha as the decisions.

    A comparison that was closed as equivalent or given up is not tested again when others hand their
    share of alpha on; its adjusted p then stays just above alpha.
    """
    adjusted = np.asarray(adjust(own), dtype=np.float64)
    different = np.array([state.different for state in states])
    sided = np.where(different, np.minimum(adjusted, alpha), np.maximum(adjusted, np.nextafter(alpha, 1.0)))
    return np.where(np.isnan(adjusted), np.nan, sided)


def decide_report(
    results: Sequence[CellResult], tasks: Mapping[str, TaskInfo], models: Sequence[str], rule: SeedRule
) -> dict[str, TaskDecisions]:
    """Replay the rule on finished cells; seeds count up from the smallest."""
    seeds = sorted({result.seed for result in results})
    runs = runs_of(results, seeds, {name: info.metric for name, info in tasks.items()})
    out = {}
    for name, info in tasks.items():
        there = [model for model in models if (name, model) in runs]
        out[name] = decide_task(name, there, runs, rule, splits=info.splits)
    return out


def stopped(
    pairs: Sequence[Comparison], decisions: Mapping[str, TaskDecisions], *, method: str, family: str
) -> list[Comparison]:
    """Put what is valid after stopping in place of the ordinary test: repeated intervals, sequential p.

    Sets of each `Comparison` that the rule has read: ``n`` and ``n_used`` (units at the look that closed it: seeds, or
    fixed splits), ``mean_diff`` and ``low``, ``high`` (the repeated interval of that look, or the confidence sequence
    of mode ``"anytime"``), ``p`` (t at that look), ``p_adjusted`` (repeated or anytime-valid p after Holm, on the same
    side of alpha as the decision), ``reason``. The corrected resampled fields become NaN: that test has no valid p
    after stopping, and the reach ``dataset`` does not ask for it. With another ``method`` than t, ``p`` is left as it
    was and ``p_adjusted`` is NaN, with the reason. ``dz`` and ``hedges_g`` stay descriptions of all shared seeds.
    """
    found = {(item.task, item.a, item.b): item for task in decisions.values() for item in task.comparisons}
    holm = {key: item.p for key, item in found.items()}
    if family != "task":  # decisions were made task by task; over the report Holm takes all repeated p-values
        holm = dict(zip(found, map(float, adjust([item.repeated for item in found.values()])), strict=True))
    out = []
    for pair in pairs:
        item = found.get((pair.task, pair.a, pair.b))
        if item is None:
            out.append(pair)
        else:
            # Another test has no valid p after stopping; the seeds and the interval are those of the rule all the same.
            p = holm[pair.task, pair.a, pair.b] if method == "t" else math.nan
            shown = _stopped(pair, item.state, p)
            why = f"seeds were added by the sequential t-test, after which no valid {method} p exists"
            out.append(shown if method == "t" else replace(shown, p=pair.p, reason=why))
    return out


def _stopped(pair: Comparison, state: SequentialComparison, p: float) -> Comparison:
    nan = math.nan
    return replace(
        pair, n=state.n, n_used=state.n, mean_diff=state.mean_diff, low=state.low, high=state.high, p=state.p,
        p_adjusted=p, reason=state.reason or pair.reason, low_corrected=nan, high_corrected=nan, p_corrected=nan,
        p_corrected_adjusted=nan,
    )  # fmt: skip


def look_level(rule: SeedRule, n: int, level: float, *, splits: int = 0) -> float:
    """Level of an interval after ``n`` seeds so that the intervals of all looks hold together at ``level``."""
    looks = rule.looks_of(splits)
    at = next((i for i, look in enumerate(looks) if look >= n), len(looks) - 1)
    return 1.0 - look_levels(looks, round(1.0 - level, 12), rule.levels, splits=splits)[at]


def common_seeds(table: ScoreTable) -> ScoreTable:
    """Keep, task by task, only the seeds that every model present has: ranks compare like with like."""
    finite = np.isfinite(table.values)
    there = finite.any(axis=2, keepdims=True)
    shared = (finite | ~there).all(axis=1, keepdims=True)
    return replace(table, values=np.where(shared, table.values, np.nan))


@dataclass(frozen=True)
class Cost:
    """Cells of the whole run under the rule, and what fixed seeds would have cost."""

    used: int
    planned: int
    different: int
    equivalent: int
    undecided: int

    @property
    def comparisons(self) -> int:
        """All comparisons."""
        return self.different + self.equivalent + self.undecided


def cost_of(decisions: Mapping[str, TaskDecisions], rule: SeedRule) -> Cost:
    """Count decisions and cells; a model stays in while any of its comparisons is open."""
    used = planned = 0
    counts = dict.fromkeys(("different", "equivalent", "undecided", "open"), 0)
    for task in decisions.values():
        most: dict[str, int] = {}
        for item in task.comparisons:
            counts[item.state.decision] += 1
            for model in (item.a, item.b):
                most[model] = max(most.get(model, 0), item.state.seeds)
        used += sum(most.values())
        planned += rule.max_seeds * len(most)
    undecided = counts["undecided"] + counts["open"]
    return Cost(used, planned, counts["different"], counts["equivalent"], undecided)


def decision_section(decisions: Mapping[str, TaskDecisions], tasks: Mapping[str, TaskInfo], rule: SeedRule) -> Section:
    """The part of the page that says what was decided, after how many looks and cells."""
    cost = cost_of(decisions, rule)
    rows = [_row(item, tasks[item.task], rule) for task in decisions.values() for item in task.comparisons]
    verdict, words = _words(cost, rule, sorted({tasks[name].splits for name in decisions} - {0}))
    columns = ("Task", "Comparison", "Decision", "Mean difference", "low", "high", "Look", "Seeds", "Cells used",
               "Cells saved", "Why not")  # fmt: skip
    table = Table(
        columns, tuple(rows), "Cells of a comparison: two per seed; cells shared by comparisons count in each."
    )
    extra = asdict(cost) | {"rule": rule.as_dict()}
    return Section(SECTION, "Seeds until decided", verdict, words, (table,), extra=extra)


def _words(cost: Cost, rule: SeedRule, splits: Sequence[int]) -> tuple[str, tuple[str, ...]]:
    """First sentence and rules of the section, from ``seeds_auto.txt``: a name and a sentence per line."""
    lines = Path(__file__).with_name("seeds_auto.txt").read_text(encoding="utf-8").splitlines()
    texts = {name: text for name, _, text in (line.partition(": ") for line in lines)}
    facts = {
        "share": 100 * cost.used / cost.planned if cost.planned else math.nan, "looks": len(rule.looks),
        "decided": cost.different + cost.equivalent, "futility": 100 * rule.futility,
        "equivalent": texts["no margin" if rule.margin is None else "margin"].format(rule=rule),
        "splits": " or ".join(map(str, splits)),
    }  # fmt: skip
    names = [f"{rule.mode} looks", f"{rule.mode} levels", *(["splits"] if splits else [])]
    verdict, *words = (texts[name].format(cost=cost, rule=rule, **facts) for name in ("verdict", *names))
    return verdict, tuple(words)


def _row(item: Decided, info: TaskInfo, rule: SeedRule) -> tuple[Any, ...]:
    state = item.state
    decision: str = state.decision
    if state.different:
        up = (state.mean_diff > 0) == info.greater_is_better
        decision = f"{item.a if up else item.b} is better"
        if state.equivalent:
            decision += ", within the margin"
    elif state.equivalent:
        decision = "practically equivalent"
    seeds = state.seeds
    low, high = (value if math.isfinite(value) else None for value in (state.low, state.high))
    pair = f"{item.a} − {item.b}"
    saved = 2 * (rule.max_seeds - seeds)
    return (item.task, pair, decision, state.mean_diff, low, high, state.look, seeds, 2 * seeds, saved, state.reason)
