"""Scores in, statistics out: one record per cell and per comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from graphnetz._core.errors import unknown_name
from graphnetz.records import ScoreTable
from graphnetz.records.task_info import SHARED_DATA
from graphnetz.stats import Interval, adjust, corrected_interval, interval, paired_test


@dataclass(frozen=True)
class CellStat:
    """One (task, model): the plain interval, and the corrected one when runs share training data."""

    task: str
    model: str
    plain: Interval
    corrected: Interval | None
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """Models a and b on one task, with the raw and the Holm-adjusted p of the chosen test.

    ``*_corrected`` hold the corrected resampled t-test (Nadeau and Bengio) of tasks whose runs share
    training data, NaN elsewhere. ``decisive`` is what verdicts and marks read.
    """

    task: str
    a: str
    b: str
    greater_is_better: bool
    n: int
    n_used: int
    mean_diff: float
    low: float
    high: float
    dz: float
    hedges_g: float
    p: float
    smallest_p: float
    reason: str
    shares_data: bool
    low_corrected: float = math.nan
    high_corrected: float = math.nan
    p_corrected: float = math.nan
    p_adjusted: float = math.nan
    p_corrected_adjusted: float = math.nan
    smallest_adjusted: float = math.nan
    family_size: int = 0
    alpha: float = 0.05

    @property
    def corrected(self) -> bool:
        """Whether the corrected test decides."""
        return self.shares_data and math.isfinite(self.p_corrected_adjusted)

    @property
    def decisive_p(self) -> float:
        """Adjusted p that verdicts use."""
        return self.p_corrected_adjusted if self.corrected else self.p_adjusted

    @property
    def decisive_bounds(self) -> tuple[float, float]:
        """Interval of the difference that goes with `decisive_p`."""
        return (self.low_corrected, self.high_corrected) if self.corrected else (self.low, self.high)

    @property
    def significant(self) -> bool:
        """The chosen test after Holm, as documented for ``pairwise()``."""
        return bool(self.p_adjusted <= self.alpha)

    @property
    def different(self) -> bool:
        """The decisive test after Holm."""
        return bool(self.decisive_p <= self.alpha)

    @property
    def reachable(self) -> bool:
        """Whether the chosen test could have become significant with this many seeds at all."""
        return not self.smallest_adjusted > self.alpha

    @property
    def exact(self) -> bool:
        """Whether the two differ by the same amount on every seed, so that no test exists."""
        return self.n >= 2 and math.isnan(self.decisive_p) and abs(self.mean_diff) > 1e-12

    @property
    def better(self) -> str:
        """Model with the better mean, empty on a tie."""
        if self.mean_diff == 0 or math.isnan(self.mean_diff):
            return ""
        return self.a if (self.mean_diff > 0) == self.greater_is_better else self.b

    def involves(self, model: str) -> bool:
        """Whether ``model`` is one of the two."""
        return model in (self.a, self.b)

    def other(self, model: str) -> str:
        """The one that is not ``model``."""
        return self.b if model == self.a else self.a


def cell_stats(
    table: ScoreTable,
    pairs: set[tuple[str, str]],
    *,
    level: float,
    method: str,
    n_resamples: int,
    seed: int,
    level_of: Callable[[int], float] | None = None,
) -> list[CellStat]:
    """Return one record per planned (task, model), in the order of the table.

    ``level_of(n)`` is the level of an interval of n seeds where the number of seeds was not fixed beforehand.
    """
    out = []
    for t, task in enumerate(table.tasks):
        shared = table.replication[t] in SHARED_DATA
        for m, model in enumerate(table.models):
            if (task, model) not in pairs:
                continue
            x = table.values[t, m]
            at = level if level_of is None else level_of(int(np.isfinite(x).sum()))
            plain = interval(x, level=at, method=method, n_resamples=n_resamples, seed=seed)
            fixed = corrected_interval(table.by_split(task, x), table.test_ratio[t], at) if shared else None
            out.append(CellStat(task, model, plain, fixed, table.reasons.get((task, model), "")))
    return out


def compare(table: ScoreTable, *, alpha: float, method: str, family: str = "task") -> list[Comparison]:
    """Test every two models of every task, with Holm within the task or over the whole report.

    Pairs are in alphabetical order of their names, as in the GraphNetz paper.
    """
    try:
        spread = _FAMILIES[family]
    except (KeyError, TypeError):
        raise unknown_name("family", family, _FAMILIES) from None
    raw = [
        _test(table, t, a, b, alpha=alpha, method=method) for t in range(len(table.tasks)) for a, b in _pairs(table, t)
    ]
    out: list[Comparison] = []
    for group in spread(raw):
        plain = adjust([pair.p for pair in group])
        # Holm of the smallest reachable p-values is the best case of every test of the family.
        smallest = adjust([pair.smallest_p for pair in group])
        fixed = adjust([pair.p_corrected if pair.shares_data else pair.p for pair in group])
        for i, pair in enumerate(group):
            out.append(
                replace(
                    pair,
                    p_adjusted=float(plain[i]),
                    p_corrected_adjusted=float(fixed[i]) if pair.shares_data else math.nan,
                    smallest_adjusted=float(smallest[i]),
                    family_size=len(group),
                )
            )
    return out


def _pairs(table: ScoreTable, t: int) -> list[tuple[str, str]]:
    there = np.isfinite(table.values[t]).any(axis=1)
    return list(combinations(sorted(m for m, yes in zip(table.models, there, strict=True) if yes), 2))


def _test(table: ScoreTable, t: int, a: str, b: str, *, alpha: float, method: str) -> Comparison:
    x, y = table.paired(table.tasks[t], a, b)
    level = 1 - alpha
    found = paired_test(x, y, method=method, level=level, test_ratio=table.test_ratio[t])
    shared = table.replication[t] in SHARED_DATA
    fixed = paired_test(x, y, method="corrected_t", level=level, test_ratio=table.test_ratio[t]) if shared else None
    return Comparison(
        task=table.tasks[t],
        a=a,
        b=b,
        greater_is_better=table.greater_is_better[t],
        n=found.n,
        n_used=found.n_used,
        mean_diff=found.mean_diff,
        low=found.low,
        high=found.high,
        dz=found.dz,
        hedges_g=found.hedges_g,
        p=found.p,
        smallest_p=found.smallest_p,
        reason=found.reason,
        shares_data=shared,
        low_corrected=fixed.low if fixed else math.nan,
        high_corrected=fixed.high if fixed else math.nan,
        p_corrected=fixed.p if fixed else math.nan,
        alpha=alpha,
    )


def _by_task(raw: Sequence[Comparison]) -> list[list[Comparison]]:
    groups: dict[str, list[Comparison]] = {}
    for pair in raw:
        groups.setdefault(pair.task, []).append(pair)
    return list(groups.values())


_FAMILIES: dict[str, Callable[[Sequence[Comparison]], list[list[Comparison]]]] = {
    "task": _by_task,
    "report": lambda raw: [list(raw)] if raw else [],
}

FAMILY_WORDS = {"task": "within each task", "report": "over all comparisons of the report"}


@dataclass(frozen=True)
class Standing:
    """The best model of a task and how the others stand to it."""

    best: str
    tied: tuple[str, ...]
    worse: tuple[str, ...]
    exact: tuple[str, ...]
    untested: tuple[str, ...]


def standing(table: ScoreTable, t: int, pairs: Sequence[Comparison]) -> Standing | None:
    """Sort the models of task ``t`` by the decisive test against the best mean; None without values.

    A tie of means goes to the model that comes first. ``pairs`` are the comparisons of this task.
    """
    means = table.means()[t] * (1 if table.greater_is_better[t] else -1)
    if not np.isfinite(means).any():
        return None
    order = [int(i) for i in np.argsort(-np.where(np.isfinite(means), means, -np.inf), kind="stable")]
    ranked = [table.models[i] for i in order if np.isfinite(means[i])]
    best = ranked[0]
    groups: dict[str, list[str]] = {"tied": [], "worse": [], "exact": [], "untested": []}
    against = {pair.other(best): pair for pair in pairs if pair.involves(best)}
    for model in ranked[1:]:
        groups[_relation(against[model])].append(model)
    return Standing(best, **{name: tuple(models) for name, models in groups.items()})


def _relation(pair: Comparison) -> str:
    if pair.n < 2:
        return "untested"
    if pair.exact:
        return "exact"
    return "worse" if pair.different else "tied"
