"""What changed between two runs: the same task, model and seed, tested."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.records import Table
from graphnetz.records.scores import split_means
from graphnetz.records.task_info import TaskInfo
from graphnetz.stats import PAIRED_TESTS, adjust, paired_test

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis


@dataclass(frozen=True)
class Change:
    """One (task, model) in two runs, paired by seed; ``diff`` is second minus first.

    ``verdict`` is better, worse, not shown, identical, shifted (the same amount on every seed, so that
    no test exists) or untested.
    """

    task: str
    model: str
    metric: str
    n: int
    first: float
    second: float
    diff: float
    low: float
    high: float
    p: float
    p_holm: float
    verdict: str
    reason: str = ""


@dataclass(frozen=True)
class RunComparison:
    """Two runs side by side: what both hold, and what only one of them does."""

    changes: tuple[Change, ...]
    only: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, Any, Any], ...]
    incomparable: tuple[tuple[str, str], ...]
    alpha: float
    method: str

    def to_table(self) -> Table:
        """Every shared (task, model) as one row."""
        columns = ("task", "model", "metric", "n", "first", "second", "difference", "low", "high", "p Holm", "verdict")
        rows = tuple(
            (c.task, c.model, c.metric, c.n, c.first, c.second, c.diff, c.low, c.high, c.p_holm, c.verdict)
            for c in self.changes
        )
        return Table(columns, rows, self.sentence())

    def _repr_html_(self) -> str:
        return self.to_table()._repr_html_()

    def sentence(self) -> str:
        """The outcome in one sentence."""
        count = {name: sum(c.verdict == name for c in self.changes) for name in ("better", "worse", "identical")}
        total = len(self.changes)
        if not total:
            return "The two runs share no task and model, so nothing can be compared."
        if count["identical"] == total:
            return f"All {total} shared (task, model) pairs have identical scores."
        rest = total - sum(count.values())
        return (
            f"Of {total} shared (task, model) pairs, {count['better']} became better, {count['worse']} worse, "
            f"{count['identical']} are identical and {rest} show no significant change (Holm over all pairs, "
            f"level {self.alpha:g})."
        )


def changes(
    first: Analysis, second: Analysis, *, alpha: float, method: str
) -> tuple[tuple[Change, ...], tuple[tuple[str, str], ...]]:
    """Return every shared (task, model) tested by seed, Holm over all of them, and why tasks cannot be compared.

    Tasks whose runs share training data are tested with the corrected resampled t-test.
    """
    PAIRED_TESTS[method]
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie between 0 and 1, got {alpha}.")
    tasks = first.facts.tasks
    why = {t: mismatch(tasks[t], other) for t, other in second.facts.tasks.items() if t in tasks}
    models = [m for m in first.scores.models if m in second.scores.models]
    raw = [_change(first, second, t, m, method=method, alpha=alpha) for t in tasks if why.get(t) == "" for m in models]
    found = [change for change in raw if change is not None]
    adjusted = adjust([change.p for change in found]).tolist() if found else []
    judged = tuple(
        _judged(change, float(p), tasks[change.task].greater_is_better, alpha)
        for change, p in zip(found, adjusted, strict=True)
    )
    return judged, tuple((task, why[task]) for task in tasks if why.get(task))


def mismatch(a: TaskInfo, b: TaskInfo) -> str:
    """Why two tasks of one name cannot be compared; empty when they can."""
    if a.metric != b.metric:
        return f"its metric is {a.metric} in the first run and {b.metric} in the second"
    if a.greater_is_better != b.greater_is_better:
        return f"the direction of {a.metric} differs"
    if a.replication != b.replication:
        return f"a seed varies {a.replication} in the first run and {b.replication} in the second"
    return ""


def _change(first: Analysis, second: Analysis, task: str, model: str, *, method: str, alpha: float) -> Change | None:
    seeds, x, y = _by_seed(first, second, task, model)
    if not seeds:
        return None
    info = first.facts.tasks[task]
    corrected = info.shares_data and math.isfinite(info.test_ratio)
    how = "corrected_t" if corrected else method
    folds = [split_means(row, seeds, info.splits) for row in (y, x)]
    test = paired_test(*folds, method=how, level=1 - alpha, test_ratio=info.test_ratio)
    base = (float(x.mean()), float(y.mean()), float((y - x).mean()))
    same = bool((x == y).all())
    p = math.nan if same else test.p
    word = "identical" if same else ""
    return Change(
        task, model, info.metric, len(seeds), *base, test.low, test.high, p, math.nan, word, "" if same else test.reason
    )


def _by_seed(
    first: Analysis, second: Analysis, task: str, model: str
) -> tuple[list[int], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    a = dict(zip(first.scores.seeds, first.scores.cell(task, model), strict=True))
    b = dict(zip(second.scores.seeds, second.scores.cell(task, model), strict=True))
    seeds = [s for s in a if s in b and math.isfinite(a[s]) and math.isfinite(b[s])]
    return seeds, np.array([a[s] for s in seeds]), np.array([b[s] for s in seeds])


def _judged(change: Change, p: float, greater: bool, alpha: float) -> Change:
    if change.verdict == "identical":
        return change
    if math.isnan(change.p):
        constant = change.n > 1
        return replace(change, verdict="shifted" if constant else "untested")
    if p > alpha:
        return replace(change, p_holm=p, verdict="not shown")
    return replace(change, p_holm=p, verdict="better" if (change.diff > 0) == greater else "worse")
