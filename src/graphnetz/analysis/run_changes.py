"""What changed between two runs: a regression is a claim like any other, and a constant drop is a drop."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.analysis.reach import difference_bounds
from graphnetz.records import Table
from graphnetz.records.analysis import DETERMINISTIC, Verdict
from graphnetz.records.scores import split_means
from graphnetz.records.task_info import TaskInfo
from graphnetz.stats import PAIRED_TESTS, adjust, holm_intervals, paired_test, welch_interval
from graphnetz.stats._common import Floats, paired_differences
from graphnetz.stats.paired import standard_error

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis


@dataclass(frozen=True)
class Change:
    """One (task, model) in two runs; ``diff`` is second minus first.

    ``verdict`` is better, worse, not shown, identical or untested, ``reason`` what is special about the test or why
    there is none. ``method`` is the paired test, ``"welch"`` for runs that share no seeds or data, ``"sign-flip"``
    where every seed differs by the same amount and ``"none"`` where nothing is random. ``low`` and ``high`` are an
    interval for this pair alone; ``sim_low`` and ``sim_high`` hold for all pairs together and agree with the verdict:
    they lie on one side of zero (of the margin, where there is one) only if it is better or worse.
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
    method: str = ""
    sim_low: float = math.nan
    sim_high: float = math.nan


class PairTest(NamedTuple):
    """A change before its family is looked at.

    ``signs`` of the seeds where all differ by the same amount, else none; ``error`` and ``df`` of its difference.
    """

    change: Change
    signs: Floats = np.empty(0)
    error: float = math.nan
    df: float = math.nan


@dataclass(frozen=True)
class RunComparison:
    """Two runs side by side: what both hold, and what only one of them does."""

    changes: tuple[Change, ...]
    only: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, Any, Any], ...]
    incomparable: tuple[tuple[str, str], ...]
    alpha: float
    method: str
    margin: float = 0.0

    @property
    def worse(self) -> tuple[Change, ...]:
        """What is shown to be worse, by more than the margin where there is one."""
        return tuple(change for change in self.changes if change.verdict == "worse")

    def verdict(self) -> Verdict:
        """The outcome as a claim: what became worse decides its level."""
        basis = "; ".join(f"{c.task}, {c.model}: {c.first:.4g} to {c.second:.4g}" for c in self.worse)
        return Verdict("warning" if self.worse else "info", "two runs", self.sentence(), basis, ("regression",))

    def to_table(self) -> Table:
        """Every shared (task, model) as one row."""
        columns = ("task", "model", "metric", "n", "first", "second", "difference", "low", "high", "p Holm", "verdict")
        rows = tuple(
            (c.task, c.model, c.metric, c.n, c.first, c.second, c.diff, c.sim_low, c.sim_high, c.p_holm, c.verdict)
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
        count["untested"] = sum(c.verdict == "untested" for c in self.changes)
        rest = total - sum(count.values())
        untested = f", {count['untested']} cannot be tested" if count["untested"] else ""
        beyond = f" by more than {self.margin:g}" if self.margin else ""
        same = f"{count['identical']} {'is' if count['identical'] == 1 else 'are'} identical"
        return (
            f"Of {total} shared (task, model) pairs, {count['better']} became better{beyond}, {count['worse']} "
            f"worse{beyond}, {same}{untested} and {rest} {'shows' if rest == 1 else 'show'} no significant change "
            f"(Holm over all pairs, level {self.alpha:g})."
        )


def changes(
    first: Analysis, second: Analysis, *, alpha: float, method: str, margin: float = 0.0, apart: Collection[str] = ()
) -> tuple[tuple[Change, ...], tuple[tuple[str, str], ...]]:
    """Return every shared (task, model) tested, Holm over all of them, and why tasks cannot be compared.

    Parameters
    ----------
    first, second
        Two runs.
    alpha, method
        Level after Holm, and the paired test of runs that share seeds and data; others get Welch's.
    margin
        Changes up to this size do not count: only larger ones are tested for.
    apart
        Tasks that the two runs did on different data.

    Returns
    -------
    tuple
        The changes, and ``(task, reason)`` for tasks that cannot be compared.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> run = example_report().analysis
    >>> {change.verdict for change in changes(run, run, alpha=0.05, method="t")[0]}
    {'identical'}
    """
    raw, why = each_tested(first, second, alpha=alpha, method=method, margin=margin, apart=apart)
    tasks = first.facts.tasks
    holm = adjust([found.change.p for found in raw]).tolist() if raw else []
    every = [found.signs for found in raw]
    judged = tuple(
        _judged(
            change,
            _flips(every, found.signs.size) if found.signs.size else p,
            tasks[change.task].greater_is_better,
            alpha,
        )
        for found, change, p in zip(raw, _together(raw, alpha, margin), holm, strict=True)
    )
    return judged, tuple(why.items())


def each_tested(
    first: Analysis, second: Analysis, *, alpha: float, method: str, margin: float = 0.0, apart: Collection[str] = ()
) -> tuple[list[PairTest], dict[str, str]]:
    """Return every shared (task, model) with its own test, before the family is looked at; see `changes`."""
    PAIRED_TESTS[method]
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie between 0 and 1, got {alpha}.")
    if not 0 <= margin < math.inf:
        raise UsageError(f"margin must be 0 or a size in units of the metric, got {margin}.")
    tasks = first.facts.tasks
    why = {t: mismatch(tasks[t], second.facts.tasks[t]) for t in tasks if t in second.facts.tasks}
    models = [m for m in first.scores.models if m in second.scores.models]
    raw: list[PairTest] = []
    for task in (t for t in tasks if why.get(t) == ""):
        for model in models:
            found = _scores(first, task, model), _scores(second, task, model)
            if all(found):
                how = "welch" if task in apart else method
                info = common(tasks[task], second.facts.tasks[task])
                raw.append(_change(info, (task, model), *found, method=how, level=1 - alpha, margin=margin))
    return raw, {task: words for task, words in why.items() if words}


def mismatch(a: TaskInfo, b: TaskInfo) -> str:
    """Why two tasks of one name cannot be compared; empty when they can."""
    if a.metric != b.metric:
        return f"its metric is {a.metric} in the first run and {b.metric} in the second"
    if a.greater_is_better != b.greater_is_better:
        return f"the direction of {a.metric} differs"
    if common(a, b).replication == "unknown" and "unknown" not in (a.replication, b.replication):
        return f"a seed varies {a.replication} in the first run and {b.replication} in the second"
    return ""


def common(a: TaskInfo, b: TaskInfo) -> TaskInfo:
    """Return what both runs say of a task; what a seed varies is known only where both say the same."""
    return a if a.replication == b.replication else replace(a, replication="unknown")


def _scores(run: Analysis, task: str, model: str) -> dict[int, float]:
    cell = dict(zip(run.scores.seeds, run.scores.cell(task, model).tolist(), strict=True))
    return {seed: value for seed, value in cell.items() if math.isfinite(value)}


def _change(
    info: TaskInfo, name: tuple[str, str], a: dict[int, float], b: dict[int, float], *, method: str, level: float,
    margin: float,
) -> PairTest:  # fmt: skip
    seeds = [seed for seed in a if seed in b]
    paired = method != "welch" and bool(seeds)
    x, y = (np.array([run[s] for s in (seeds if paired else run)]) for run in (a, b))
    nan = math.nan
    means = float(x.mean()), float(y.mean()), float(y.mean() - x.mean())
    base = Change(*name, info.metric, min(len(x), len(y)), *means, nan, nan, nan, nan, "", method=method)
    if not paired:
        why = "the runs are on different data" if seeds else "the runs share no seed"
        return _unpaired(base, x, y, level=level, margin=margin, why=why)
    if (x == y).all():
        return PairTest(replace(base, p=1.0, verdict="identical"), error=0.0, df=1.0)
    still = info.replication == "init" and len(seeds) >= DETERMINISTIC and np.ptp(x) == np.ptp(y) == 0
    if still and abs(base.diff) > margin:
        why = "both runs give one score on every seed of this split: nothing is random, so no test is needed"
        return PairTest(replace(base, reason=why, method="none"))
    # Several seeds of one fixed split say little more than one: the splits are the units.
    folds = [split_means(row, seeds, info.splits) for row in (y, x)]
    test = paired_test(*folds, method=method, level=level)
    d = paired_differences(*folds)
    base = replace(base, low=test.low, high=test.high, p=test.p, reason=test.reason)
    error, df = standard_error(d.values) if d.n > 1 else math.nan, d.n - 1.0
    if abs(base.diff) <= margin:
        why = "the difference is within the margin" if margin else base.reason
        return PairTest(replace(base, p=1.0, reason=why), error=error, df=df)
    if d.constant and d.n > 1:
        why = f"the same difference on all {d.n} {'splits' if info.splits else 'seeds'}"
        return PairTest(replace(base, p=0.5 ** (d.n - 1), reason=why, method="sign-flip"), np.sign(d.values))
    if margin:
        shifted = paired_test(folds[0] - math.copysign(margin, base.diff), folds[1], method=method)
        base = replace(base, p=shifted.p, reason=shifted.reason)
    return PairTest(base, error=error, df=df)


def _together(raw: Sequence[PairTest], alpha: float, margin: float) -> list[Change]:
    """The changes with intervals that hold for all of them together and agree with Holm's decision on each."""
    if not raw:
        return []
    # What is tested is the part of a difference beyond the margin; within it nothing is left to test.
    shift = np.array([float(np.clip(found.change.diff, -margin, margin)) for found in raw])
    beyond = np.array([found.change.diff for found in raw]) - shift
    columns = ((found.error, found.df, found.change.p) for found in raw)
    error, df, p = (np.array(column, dtype=np.float64) for column in zip(*columns, strict=True))
    low, high, *_ = holm_intervals(beyond, error, df, alpha=alpha, p=p)
    floor, ceiling = np.array([difference_bounds(found.change.metric) for found in raw]).T
    low, high = np.maximum(low + shift, floor), np.minimum(high + shift, ceiling)
    return [
        replace(found.change, sim_low=float(a), sim_high=float(b)) for found, a, b in zip(raw, low, high, strict=True)
    ]


def _unpaired(base: Change, x: Floats, y: Floats, *, level: float, margin: float, why: str) -> PairTest:
    """Welch's test of two runs that have nothing in common but task and model."""
    base = replace(base, reason=f"{why}: Welch's test", method="welch")
    if min(len(x), len(y)) < 2:
        return PairTest(replace(base, reason=f"{why}, and one of them has a single score"))
    error = math.hypot(*(float(v.std(ddof=1)) / math.sqrt(len(v)) for v in (x, y)))
    if error == 0:
        return PairTest(replace(base, reason=f"{why}, and neither of them varies"))
    found = welch_interval(
        *(v for row in (y, x) for v in (row.mean(), row.std(ddof=1), len(row))), ddof_b=1, level=level
    )
    p = float(2 * special.stdtr(found.df, -max(abs(base.diff) - margin, 0.0) / error))
    return PairTest(replace(base, low=found.low, high=found.high, p=p), error=error, df=found.df)


def _flips(signs: Sequence[Floats], n: int) -> float:
    """Family-wise p of a constant difference on ``n`` seeds: runs are exchanged seed by seed, alike for all pairs.

    Of 2^n ways only two make one pair as constant as it is; every other pattern of signs on as many seeds adds two.
    """
    patterns = {tuple(row * row[0]) for row in signs if row.size >= n}
    return min(1.0, sum(0.5 ** (len(row) - 1) for row in patterns))


def _judged(change: Change, p: float, greater: bool, alpha: float) -> Change:
    if change.verdict == "identical":
        return replace(change, p_holm=1.0)
    direction = "better" if (change.diff > 0) == greater else "worse"
    if change.method == "none":
        return replace(change, verdict=direction, sim_low=change.diff, sim_high=change.diff)
    if math.isnan(change.p):
        return replace(change, verdict="untested")
    if change.method == "sign-flip":
        point = change.diff if p <= alpha else math.nan
        verdict = direction if p <= alpha else "untested"
        return replace(change, p_holm=p, verdict=verdict, sim_low=point, sim_high=point)
    return replace(change, p_holm=p, verdict=direction if p <= alpha else "not shown")
