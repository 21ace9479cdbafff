"""Scores in, one record per cell and per comparison out, and who is best of a task."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from graphnetz._core.changed import changed, filled
from graphnetz._core.errors import unknown_name
from graphnetz._core.grouping import grouped
from graphnetz.records import ScoreTable
from graphnetz.records.analysis import AnalysisOptions, CellStat, Comparison, Standing
from graphnetz.records.task_info import SHARED_DATA, TaskInfo
from graphnetz.stats import (
    PAIRED_TESTS,
    PairedTest,
    adjust,
    binomial_error,
    corrected_interval,
    interval,
    moderated_t,
    paired_test_rows,
    rate_bound,
)

_NAN = math.nan


def known_test(name: str) -> str:
    """Return the name of a paired test, or say which there are."""
    PAIRED_TESTS[name]
    return name


TOO_FEW = "too few for an interval that holds however often one looks"


def cell_stats(
    table: ScoreTable,
    tasks: Mapping[str, TaskInfo],
    planned: Mapping[tuple[str, str], int | None],
    options: AnalysisOptions,
    *,
    runs: Mapping[tuple[str, str], int],
    level_of: Callable[[str, int], float] | None = None,
) -> tuple[CellStat, ...]:
    """Return one record per planned (task, model), in the order of the table.

    ``planned`` maps them to their parameters, ``runs`` to the number of runs that were made; ``level_of(task, n)``
    is the level of an interval of n seeds where the number of seeds was not fixed beforehand.
    """
    out = []
    for t, task in enumerate(table.tasks):
        taken = int(np.isfinite(table.values[t]).any(axis=0).sum())  # tasks with folds have seeds of their own
        for m, model in enumerate(table.models):
            if (task, model) not in planned:
                continue
            x = table.values[t, m]
            level = options.level if level_of is None else level_of(task, int(np.isfinite(x).sum()))
            readable = level < 1  # the first look of a rule may spend nothing: no finite interval holds there
            i = interval(
                x, level=level if readable else options.level, method=options.interval,
                n_resamples=options.bootstrap_n, seed=options.bootstrap_seed,
            )  # fmt: skip
            if not readable and i.n > 1:
                i = changed(i, low=_NAN, high=_NAN, half=_NAN, reason=f"{i.n} seeds are {TOO_FEW}")
            shared = table.replication[t] in SHARED_DATA and readable
            fixed = corrected_interval(table.by_split(task, x), table.test_ratio[t], level) if shared else None
            bounds = (fixed.low, fixed.high, fixed.half) if fixed else (_NAN, _NAN, _NAN)
            note = table.reasons.get((task, model), "")
            made = max(i.n, runs.get((task, model), 0))
            count = max(taken, made)
            parts = [part for part in (note, i.reason) if part] if i.n != count else [i.reason or "ok"]
            out.append(
                CellStat(
                    task, model, i.n, i.mean, i.std, i.sem, i.low, i.high, i.half, *bounds,
                    test_se=_test_error(i.mean, tasks[task]), parameters=planned[task, model], note=note,
                    reason=i.reason, status="; ".join(parts) or f"{i.n} of {count} seeds", planned=made,
                    failed=made - i.n, failed_high=rate_bound(made - i.n, made),
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
        spread = FAMILIES[family]
    except (KeyError, TypeError):
        raise unknown_name("family", family, FAMILIES) from None
    raw: list[Comparison] = []
    for t in range(len(table.tasks)):
        raw += _tests(table, t, alpha=alpha, method=method)
    raw = _moderated(table, raw) if method == "moderated" else raw
    out: list[Comparison] = []
    for group in spread(raw):
        plain = adjust([pair.p for pair in group])
        # Holm of the smallest reachable p-values is the best case of every test of the family.
        smallest = adjust([pair.smallest_p for pair in group])
        fixed = adjust([pair.p_corrected if pair.shares_data else pair.p for pair in group])
        for i, pair in enumerate(group):
            out.append(
                filled(
                    pair,
                    p_adjusted=float(plain[i]),
                    p_corrected_adjusted=float(fixed[i]) if pair.shares_data else math.nan,
                    smallest_adjusted=float(smallest[i]),
                    family_size=len(group),
                )
            )
    return out


def _moderated(table: ScoreTable, pairs: Sequence[Comparison]) -> list[Comparison]:
    """The same pairs with p from variances that the pairs of a task share, where all have the same seeds."""
    out: list[Comparison] = []
    for task, group in grouped(pairs, lambda pair: pair.task).items():
        columns = [table.by_split(task, table.cell(task, pair.a) - table.cell(task, pair.b)) for pair in group]
        if np.isfinite(columns).all():
            p = moderated_t(np.column_stack(columns)).p
            group = [
                pair if math.isnan(pair.p) else changed(pair, p=float(v)) for pair, v in zip(group, p, strict=True)
            ]
        out += group
    return out


def _pairs(table: ScoreTable, t: int) -> list[tuple[str, str]]:
    there = np.isfinite(table.values[t]).any(axis=1)
    return list(combinations(sorted(m for m, yes in zip(table.models, there, strict=True) if yes), 2))


def _tests(table: ScoreTable, t: int, *, alpha: float, method: str) -> list[Comparison]:
    """Every two models of task ``t``, before the correction."""
    task, better, pairs = table.tasks[t], table.greater_is_better[t], _pairs(table, t)
    x, y = table.paired_rows(task, pairs)
    ratio, shared = table.test_ratio[t], table.replication[t] in SHARED_DATA
    found = paired_test_rows(x, y, method=method, level=1 - alpha, test_ratio=ratio)
    nothing: list[PairedTest | None] = [None] * len(pairs)
    fixed = paired_test_rows(x, y, method="corrected_t", level=1 - alpha, test_ratio=ratio) if shared else nothing
    return [
        Comparison(
            task, a, b, better, test.n, test.mean_diff, test.low, test.high, test.dz, test.hedges_g, test.p,
            test.n_used, test.smallest_p, test.reason, shared, low_corrected=other.low if other else _NAN,
            high_corrected=other.high if other else _NAN, p_corrected=other.p if other else _NAN, alpha=alpha,
            exact=test.n > 1 and math.isnan(test.dz) and _shifted(x[i], y[i]),
        )
        for i, ((a, b), test, other) in enumerate(zip(pairs, found, fixed, strict=True))
    ]  # fmt: skip


def _shifted(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> bool:
    """Whether two models that differ by one amount on every seed differ at all."""
    first = int(np.argmax(np.isfinite(x)))
    return bool(abs(x[first] - y[first]) > 1e-12 * max(abs(x[first]), abs(y[first])))


FAMILIES: dict[str, Callable[[Sequence[Comparison]], list[list[Comparison]]]] = {
    "task": lambda raw: list(grouped(raw, lambda pair: pair.task).values()),
    "report": lambda raw: [list(raw)] if raw else [],
}
"""What Holm's correction runs over, by name."""


def standing(table: ScoreTable, t: int, pairs: Sequence[Comparison]) -> Standing | None:
    """Sort the models of task ``t`` by the deciding test against the best; None without values.

    The best has the best mean over shared seeds of all models that no other is shown to beat, so a model that fails
    on hard seeds gains nothing by it. A tie of means goes to the model with more sound runs, then to the one that
    comes first. ``pairs`` are the comparisons of this task.
    """
    ranked = by_mean(table, t)
    if not ranked:
        return None
    task = table.tasks[t]
    kept, seeds = table.common(task)
    losses = dict.fromkeys(ranked, 0)
    wins = dict.fromkeys(ranked, 0)
    for pair in pairs:
        if pair.different:
            wins[pair.better] += 1
            losses[pair.other(pair.better)] += 1
    # A model that finished too few seeds for the common mean is best only where it is shown to beat the others.
    best = min(ranked, key=lambda m: (losses[m], m not in kept, 0 if m in kept else -wins[m], ranked.index(m)))
    against = {pair.other(best): pair for pair in pairs if pair.involves(best)}
    others = [model for model in ranked if model != best]
    groups = grouped(others, lambda model: _relation(against[model], best))
    aside = tuple(model for model in table.present(task) if model not in kept)
    found = {name: tuple(models) for name, models in groups.items()}
    return Standing(best, **found, shared=int(seeds.sum()), aside=aside)


def by_mean(table: ScoreTable, t: int) -> list[str]:
    """Models of task ``t`` that have a value, best mean over shared seeds first; those without shared seeds last."""
    return list(means_by(table, t))


def means_by(table: ScoreTable, t: int) -> dict[str, float]:
    """The same with their means, turned so that less is better."""
    task, sign = table.tasks[t], -1 if table.greater_is_better[t] else 1
    kept, seeds = table.common(task)
    # Models that are not compared come last, by the mean over their own seeds.
    rows = {m: np.where(seeds | (m not in kept), table.cell(task, m), np.nan) for m in table.present(task)}
    # Twelve digits: sums of equal scores differ in the last ones. A tie goes to the model with more sound runs.
    means = {m: float(f"{sign * np.nanmean(table.by_split(task, row)):.12g}") for m, row in rows.items()}
    runs = {m: int(np.isfinite(table.cell(task, m)).sum()) for m in rows}
    order = sorted(means, key=lambda model: (model not in kept, means[model], -runs[model]))
    return {model: means[model] for model in order}


def _relation(pair: Comparison, best: str) -> str:
    if pair.different:
        return "worse" if pair.better == best else "ahead"
    return "untested" if pair.exact or math.isnan(pair.p_decided) else "tied"
