"""Scores in, one record per cell and per comparison out; the one place that says which test decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import unknown_name
from graphnetz._core.grouping import grouped
from graphnetz.records import ScoreTable
from graphnetz.records.analysis import AnalysisOptions, CellStat, Comparison, Standing
from graphnetz.records.task_info import SHARED_DATA, TaskInfo
from graphnetz.stats import PAIRED_TESTS, adjust, binomial_error, corrected_interval, interval, paired_test

_NAN = math.nan


def known_test(name: str) -> str:
    """Return the name of a paired test, or say which there are."""
    PAIRED_TESTS[name]
    return name


def cell_stats(
    table: ScoreTable,
    tasks: Mapping[str, TaskInfo],
    planned: Mapping[tuple[str, str], int | None],
    options: AnalysisOptions,
    *,
    level_of: Callable[[int], float] | None = None,
) -> tuple[CellStat, ...]:
    """Return one record per planned (task, model), in the order of the table.

    ``planned`` maps them to their parameters; ``level_of(n)`` is the level of an interval of n seeds where the number
    of seeds was not fixed beforehand.
    """
    out = []
    for t, task in enumerate(table.tasks):
        for m, model in enumerate(table.models):
            if (task, model) not in planned:
                continue
            x = table.values[t, m]
            level = options.level if level_of is None else level_of(int(np.isfinite(x).sum()))
            i = interval(
                x, level=level, method=options.interval, n_resamples=options.bootstrap_n, seed=options.bootstrap_seed
            )
            shared = table.replication[t] in SHARED_DATA
            fixed = corrected_interval(table.by_split(task, x), table.test_ratio[t], level) if shared else None
            bounds = (fixed.low, fixed.high, fixed.half) if fixed else (_NAN, _NAN, _NAN)
            note = table.reasons.get((task, model), "")
            parts = [part for part in (note, i.reason) if part] if i.n != len(x) else [i.reason or "ok"]
            out.append(
                CellStat(
                    task, model, i.n, i.mean, i.std, i.sem, i.low, i.high, i.half, *bounds,
                    test_se=_test_error(i.mean, tasks[task]), parameters=planned[task, model], note=note,
                    reason=i.reason, status="; ".join(parts) or f"{i.n} of {len(x)} seeds",
                )
            )  # fmt: skip
    return tuple(out)


def _test_error(mean: float, info: TaskInfo) -> float:
    """Error of the finite test set that all seeds share: known in closed form for an accuracy."""
    share = info.metric.rpartition("test_")[2] == "acc" and 0 <= mean <= 1
    return binomial_error(mean, info.n_test) if share and info.n_test else _NAN


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
    ratio, shared = table.test_ratio[t], table.replication[t] in SHARED_DATA
    found = paired_test(x, y, method=method, level=1 - alpha, test_ratio=ratio)
    fixed = paired_test(x, y, method="corrected_t", level=1 - alpha, test_ratio=ratio) if shared else None
    return Comparison(
        table.tasks[t], a, b, table.greater_is_better[t], found.n, found.mean_diff, found.low, found.high, found.dz,
        found.hedges_g, found.p, found.n_used, found.smallest_p, found.reason, shared,
        low_corrected=fixed.low if fixed else _NAN, high_corrected=fixed.high if fixed else _NAN,
        p_corrected=fixed.p if fixed else _NAN, alpha=alpha, exact=_shifted(x, y, found.dz),
    )  # fmt: skip


def _shifted(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], dz: float) -> bool:
    """Whether the two differ by one amount, not 0, on every seed; d_z is undefined for differences without spread."""
    return x.size > 1 and math.isnan(dz) and bool(abs(x[0] - y[0]) > 1e-12 * max(abs(x[0]), abs(y[0])))


def decided(pair: Comparison, *, by: str) -> Comparison:
    """Say which test decides ``pair`` and what it says: the corrected one where runs share training data, else ``by``.

    This is the only place that knows; everything that is written or drawn reads the fields that are set here.
    """
    corrected = pair.shares_data and math.isfinite(pair.p_corrected_adjusted)
    p = pair.p_corrected_adjusted if corrected else pair.p_adjusted
    low, high = (pair.low_corrected, pair.high_corrected) if corrected else (pair.low, pair.high)
    return replace(
        pair,
        decided_by="corrected_t" if corrected else by,
        p_decided=p,
        shown_low=low,
        shown_high=high,
        different=bool(p <= pair.alpha),
        exact=pair.exact and math.isnan(p),
    )


_FAMILIES: dict[str, Callable[[Sequence[Comparison]], list[list[Comparison]]]] = {
    "task": lambda raw: list(grouped(raw, lambda pair: pair.task).values()),
    "report": lambda raw: [list(raw)] if raw else [],
}


def standing(table: ScoreTable, t: int, pairs: Sequence[Comparison]) -> Standing | None:
    """Sort the models of task ``t`` by the deciding test against the best mean; None without values.

    A tie of means goes to the model that comes first. ``pairs`` are the comparisons of this task.
    """
    ranked = by_mean(table, t)
    if not ranked:
        return None
    best = ranked[0]
    against = {pair.other(best): pair for pair in pairs if pair.involves(best)}
    groups = grouped(ranked[1:], lambda model: _relation(against[model], best))
    return Standing(best, **{name: tuple(models) for name, models in groups.items()})


def by_mean(table: ScoreTable, t: int) -> list[str]:
    """Models of task ``t`` that have a value, best mean first."""
    means = table.means()[t] * (-1 if table.greater_is_better[t] else 1)
    return [table.models[int(i)] for i in np.argsort(means, kind="stable") if np.isfinite(means[i])]


def _relation(pair: Comparison, best: str) -> str:
    if pair.exact:
        return "exact"
    if pair.different:
        return "worse" if pair.better == best else "ahead"
    if math.isnan(pair.p_decided) and (pair.n < 2 or math.isfinite(pair.dz)):
        return "untested"
    return "tied"
