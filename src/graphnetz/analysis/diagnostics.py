"""Diagnostics before tests: which runs collapsed or failed, what is not claimed, and what a claim is then about."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from graphnetz._core.grouping import grouped
from graphnetz._core.text import counted, names, number, shorten
from graphnetz.metrics import bounds_of
from graphnetz.records import CellResult, ScoreTable
from graphnetz.records.analysis import Verdict
from graphnetz.records.diagnostics import KINDS, Diagnostic, PairDiagnostic, Rate
from graphnetz.records.task_info import TaskInfo
from graphnetz.records.views import DotPanel, DotRow, bounds_for
from graphnetz.stats import diagnostics as stats
from graphnetz.stats._common import complete_rows

Floats = npt.NDArray[np.float64]
Pair = tuple[str, str]

MANY_TIES = 0.5
"""Share of seeds on which a model scores exactly like another from which on it is remarked."""


def diagnose(
    table: ScoreTable,
    infos: Mapping[str, TaskInfo],
    failures: Sequence[CellResult] = (),
    baselines: Sequence[str] = (),
) -> tuple[Diagnostic, ...]:
    """Look at every cell before anything is tested.

    Parameters
    ----------
    table
        Final scores.
    infos
        Declared facts per task.
    failures
        Cells that ended without a value.
    baselines
        Models that learn little; the weakest of a task says where chance is.

    Returns
    -------
    tuple of Diagnostic
        Task by task, the gravest first.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> report = example_report()
    >>> diagnose(report.scores, report.analysis.facts.tasks)
    ()
    """
    failed = grouped((rate for rate in failure_rates(table, failures).values() if rate.seeds), lambda rate: rate.task)
    chances = [_chance(table, t, baselines) for t in range(len(table.tasks))]
    shapes = _shapes(table, chances)
    out: list[Diagnostic] = []
    for t, task in enumerate(table.tasks):
        found = [_cell(table, (t, m), chances[t], shapes[t, m]) for m in range(len(table.models)) if (t, m) in shapes]
        found += [_failed(rate) for rate in failed.get(task, ())]
        found += _items(table, t, infos[task])
        out += sorted(found, key=lambda item: KINDS.index(item.kind))
    return tuple(out)


def _chance(table: ScoreTable, t: int, baselines: Sequence[str]) -> Chance:
    """The weakest baseline of a task with its median, None without one."""
    sign = 1 if table.greater_is_better[t] else -1
    rows = {name: _finite(table.values[t, table.models.index(name)]) for name in baselines if name in table.models}
    found = {name: float(np.median(row)) for name, row in rows.items() if row.size}
    weakest = min(found, key=lambda name: sign * found[name], default=None)
    return None if weakest is None else (weakest, found[weakest])


def _finite(x: Floats) -> Floats:
    return x[np.isfinite(x)]


Chance = tuple[str, float] | None
Shape = tuple[tuple[int, ...], tuple[int, ...], int]
"""Positions of collapsed seeds and of outliers, and the side of a long tail."""


def _shapes(table: ScoreTable, chances: Sequence[Chance]) -> dict[tuple[int, int], Shape]:
    """The shape of every (task, model) whose runs are not quite ordinary."""
    levels = np.array([chance[1] if chance else math.nan for chance in chances])
    level = np.repeat(levels[:, None], len(table.models), axis=1)
    for t, chance in enumerate(chances):
        if chance:  # the model that says where chance is has nothing to be held against
            level[t, table.models.index(chance[0])] = math.nan
    sign, floor = np.where(table.greater_is_better, 1.0, -1.0)[:, None], _floors(table)
    there = np.isfinite(table.values)
    kinds = np.where(np.isnan(level), -1, 1) * (there.sum(axis=2) + 1)  # by known chance, and number of seeds
    out: dict[tuple[int, int], Shape] = {}
    for kind in np.unique(kinds).tolist():
        at = np.nonzero(kinds == kind)
        x, seeds = table.values[at][there[at]].reshape(len(at[0]), -1), np.nonzero(there[at])[1].reshape(len(at[0]), -1)
        low = stats.collapsed_rows(sign[at[0]] * x, (sign * level)[at], floor=floor[at])
        far, side = stats.outlier_rows(x), stats.skewed_rows(x)
        for i in np.flatnonzero(low.any(axis=1) | far.any(axis=1) | (side != 0)).tolist():
            where = (int(at[0][i]), int(at[1][i]))
            out[where] = tuple(seeds[i][low[i]].tolist()), tuple(seeds[i][far[i]].tolist()), int(side[i])
    return out


def _floors(table: ScoreTable) -> Floats:
    """Usual spread (interquartile range) of the other models of a task, beside every (task, model)."""
    there = np.isfinite(table.values)
    count, spread = there.sum(axis=2), np.full(there.shape[:2], math.nan)
    for n in np.unique(count[count > 1]).tolist():
        rows = table.values[count == n][there[count == n]].reshape(-1, n)
        spread[count == n] = np.subtract(*np.quantile(rows, [0.75, 0.25], axis=1))
    # All but one, for every one: sorted with the gaps last, the middle of those that are there.
    k = len(table.models)
    others = np.sort(np.where(np.eye(k, dtype=np.bool_), math.nan, spread[:, None]), axis=2)
    n = np.isfinite(others).sum(axis=2)
    ends = (np.take_along_axis(others, (np.maximum(n - 1 + up, 0) // 2)[..., None], axis=2)[..., 0] for up in (0, 1))
    return np.where(n > 0, sum(ends) / 2, 0.0)


def _cell(table: ScoreTable, at: tuple[int, int], chance: Chance, shape: Shape) -> Diagnostic:
    """Collapse, else outliers, else skew, of one (task, model): one remark for one run."""
    t, m = at
    x, task, model = table.values[t, m], table.tasks[t], table.models[m]
    low, far, side = shape
    if low:
        return _collapsed(table, at, low, chance if chance and chance[0] != model else None)
    if far:
        seeds = tuple(table.seeds[i] for i in far)
        text = f"{shorten(model)} has outlying scores on {_seeds(seeds)} ({_values(x[list(far)])})"
        return Diagnostic(task, model, "outlier", seeds, text)
    tail = "upper" if side > 0 else "lower"
    text = f"Scores of {shorten(model)} are skewed (long {tail} tail): median {number(float(np.nanmedian(x)))}, "
    return Diagnostic(task, model, "skew", (), text + f"IQM {number(stats.iqm(x))}")


def _collapsed(table: ScoreTable, at: tuple[int, int], low: tuple[int, ...], chance: Chance) -> Diagnostic:
    t, m = at
    x, task, model = table.values[t, m], table.tasks[t], table.models[m]
    seeds, n = tuple(table.seeds[i] for i in low), int(np.isfinite(x).sum())
    rate = Rate(task, model, seeds, n, stats.rate_bound(len(seeds), n))
    where = f"; {shorten(chance[0])} scores {number(chance[1])}" if chance else ""
    text = f"{shorten(model)} collapses on {_seeds(seeds)} ({_values(x[list(low)])}{where}): {rate}"
    return Diagnostic(task, model, "collapse", seeds, text, not 3 <= n - len(low) >= n / 2, rate)


def _failed(rate: Rate) -> Diagnostic:
    text = f"{shorten(rate.model)} failed on {_seeds(rate.seeds)}: {rate}"
    return Diagnostic(rate.task, rate.model, "failures", rate.seeds, text, len(rate.seeds) == rate.n, rate)


def _items(table: ScoreTable, t: int, info: TaskInfo) -> Iterator[Diagnostic]:
    """Too few test items, and models that score alike on most seeds."""
    task, present = table.tasks[t], table.present(table.tasks[t])
    if info.n_test and info.metric.rpartition("test_")[2] == "acc" and present:
        found = [stats.few_items(info.n_test, table.cell(task, model)) for model in present]
        if any(few for _, _, few in found):
            error = max(error for _, error, _ in found)
            text = f"{info.n_test} test items: accuracies move in steps of {number(found[0][0])} "
            yield Diagnostic(task, "", "few-items", (), text + f"and carry a test-set error of up to {number(error)}")
    rows = np.array([table.cell(task, model) for model in present])
    for i, a in enumerate(present[:-1]):
        both = np.isfinite(rows[i]) & np.isfinite(rows[i + 1 :])
        same = (np.abs(rows[i + 1 :] - rows[i]) <= 1e-12 * np.abs(rows[i])) & both
        share = same.sum(axis=1) / np.maximum(both.sum(axis=1), 1)
        if alike := [present[i + 1 + int(j)] for j in np.flatnonzero(share >= MANY_TIES)]:
            text = f"{shorten(a)} scores the same as {names(alike)} on at least {100 * MANY_TIES:.0f} % of seeds"
            yield Diagnostic(task, a, "ties", (), text)


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'' if len(seeds) == 1 else 's'} {names([str(seed) for seed in seeds])}"


def _values(x: Floats) -> str:
    low, high = number(float(x.min())), number(float(x.max()))
    return low if low == high else f"{low} to {high}"


def diagnose_pair(x: npt.ArrayLike, y: npt.ArrayLike, *, task: str = "", a: str = "a", b: str = "b") -> PairDiagnostic:
    """Look at the differences of two models.

    A long tail matters only against the claim: where a - b has its tail on the upper side and its mean below 0 (or
    the other way round), runs of the tail that were not drawn would undo the difference.

    Parameters
    ----------
    x, y
        Scores of two models, one entry per seed, same order; collapsed runs are NaN.
    task, a, b
        Names for the record.

    Returns
    -------
    PairDiagnostic
        Shape, median, IQM and robust p, and whether the mean is testable.

    Examples
    --------
    >>> d = [-3.0, -2.9, -2.8, -2.7, -2.6, -2.5, -2.4, -1.0, -0.5, 0.5]
    >>> found = diagnose_pair(d, [0.0] * 10)
    >>> found.skew, found.testable
    (1, False)
    """
    rows = (np.asarray(side, dtype=np.float64)[None] for side in (x, y))
    return diagnose_pairs(*rows, task=task, pairs=[(a, b)])[0]


def diagnose_pairs(x: Floats, y: Floats, *, task: str, pairs: Sequence[Pair]) -> list[PairDiagnostic]:
    """`diagnose_pair` of every row of two tables, pairs x seeds; ``pairs`` are their names."""
    robust, ties = stats.robust_rows(x, y), stats.tie_rows(x, y)
    out: dict[int, PairDiagnostic] = {}
    for at, p, q in complete_rows(x, y):
        d = p - q
        mean = d.mean(axis=1) if d.shape[1] else np.full(len(d), math.nan)
        same = (np.sign(d) == np.sign(mean)[:, None]).sum(axis=1).tolist()
        shapes = zip(at.tolist(), mean.tolist(), stats.skewed_rows(d), stats.outlier_rows(d), same, strict=True)
        for i, middle, skew, far, alike in shapes:
            against = int(skew) * middle < 0
            a, b = pairs[i]
            out[i] = PairDiagnostic(
                task, a, b, d.shape[1], middle, robust[i].median, robust[i].iqm, robust[i].p, int(skew), ties[i],
                tuple(np.flatnonzero(far).tolist()), alike, not against, TAIL if against else "",
            )  # fmt: skip
    return [out[i] for i in range(len(out))]


def failure_rates(table: ScoreTable, failures: Sequence[CellResult]) -> dict[Pair, Rate]:
    """Count the runs of every (task, model) that ended without a value, with an upper bound of the rate.

    Parameters
    ----------
    table
        Final scores: every finite one is a run that finished.
    failures
        Cells that ended without a value.

    Returns
    -------
    dict
        One `Rate` per (task, model) that was run at all: ``0 of 10 runs, up to 26 %``.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> print(failure_rates(example_report().scores, ())["cora", "GCN"])
    0 of 5 runs, up to 45 %
    """
    failed = grouped(failures, lambda cell: (cell.task, cell.model))
    out = {}
    for t, task in enumerate(table.tasks):
        for m, model in enumerate(table.models):
            seeds = tuple(sorted({cell.seed for cell in failed.get((task, model), ())}))
            n = int(np.isfinite(table.values[t, m]).sum()) + len(seeds)
            if n:
                out[task, model] = Rate(task, model, seeds, n, stats.rate_bound(len(seeds), n))
    return out


def without_collapse(table: ScoreTable, found: Sequence[Diagnostic]) -> ScoreTable:
    """Return the table of runs without collapse: what claims are about where a model collapses in some.

    Parameters
    ----------
    table
        Final scores.
    found
        What `diagnose` found.

    Returns
    -------
    ScoreTable
        Collapsed cells are NaN with their reason; their rate, with its bound, stands in the diagnostic.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> table = example_report().scores
    >>> item = Diagnostic("cora", "GCN", "collapse", (3,), "GCN collapses on seed 3")
    >>> int(np.isnan(without_collapse(table, [item]).values).sum())
    1
    """
    values, reasons = table.values.copy(), dict(table.reasons)
    for item in found:
        if item.kind == "collapse":
            at = [table.seeds.index(seed) for seed in item.seeds]
            values[table.tasks.index(item.task), table.models.index(item.model), at] = np.nan
            pair = (item.task, item.model)
            reasons[pair] = "; ".join(filter(None, [reasons.get(pair, ""), f"collapsed on {_seeds(item.seeds)}"]))
    return replace(table, values=values, reasons=reasons)


def scored_worst(table: ScoreTable, failed: Mapping[Pair, Collection[int]] | None = None) -> ScoreTable:
    """Return the table with failures scored worst: the worst score of any model and seed on that task.

    Parameters
    ----------
    table
        Final scores.
    failed
        Seeds that failed per (task, model), such as ``{pair: rate.seeds}`` of `failure_rates`; None takes every cell
        that is absent although the model has some score on the task.

    Returns
    -------
    ScoreTable
        For a second reading: where the winner changes, failures decide.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> table = example_report().scores
    >>> scored_worst(table, {("cora", "GCN"): (3,)}).cell("cora", "GCN")[3] == table.values[0].min()
    np.True_
    """
    values = table.values.copy()
    for t, task in enumerate(table.tasks):
        there = _finite(table.values[t].ravel())
        if not there.size:
            continue
        worst = there.min() if table.greater_is_better[t] else there.max()
        for m, model in enumerate(table.models):
            if failed is None:
                some = np.isfinite(values[t, m]).any()
                values[t, m] = np.where(np.isnan(values[t, m]) & some, worst, values[t, m])
            else:
                values[t, m, [table.seeds.index(s) for s in failed.get((task, model), ()) if s in table.seeds]] = worst
    return replace(table, values=values)


def dot_panels(
    table: ScoreTable, infos: Mapping[str, TaskInfo], found: Sequence[Diagnostic] = ()
) -> tuple[DotPanel, ...]:
    """Every run of every model, task by task, as strips of dots show them.

    Parameters
    ----------
    table
        Final scores, collapsed ones among them.
    infos
        Declared facts per task.
    found
        What `diagnose` found.

    Returns
    -------
    tuple of DotPanel
        One per task.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> report = example_report()
    >>> panel = dot_panels(report.scores, report.analysis.facts.tasks)[0]
    >>> panel.task, len(panel.rows[0].values)
    ('cora', 5)
    """
    marked = {(item.kind, item.task, item.model): item.seeds for item in found}
    out = []
    for t, task in enumerate(table.tasks):
        rows = []
        for m, model in enumerate(table.models):
            there = np.flatnonzero(np.isfinite(table.values[t, m]))
            values = tuple(float(v) for v in table.values[t, m, there])
            seeds = tuple(table.seeds[i] for i in there)
            low, gone = (marked.get((kind, task, model), ()) for kind in ("collapse", "failures"))
            rows.append(DotRow(model, values, seeds, low, gone))
        info, bounds = infos[task], bounds_for(table.values[t], bounds_of(infos[task].metric))
        out.append(DotPanel(task, info.label or info.metric, table.greater_is_better[t], tuple(rows), bounds))
    return tuple(out)


TAIL = (
    "the differences have a long tail towards the other sign, and a test of the mean of so few of them then errs too "
    "often"
)
"""Why a difference that a test shows is not claimed: runs of the tail that were not drawn could undo it."""
BLOCKED = "collapses on too many seeds"
MOST_WITHHELD = 3
"""Pairs that the sentence about such differences names."""
_ABOUT = {"collapse": "Claims are about runs without collapse", "failures": "Claims are about runs that both finish"}


def diagnostic_verdicts(found: Iterable[Diagnostic], pairs: Iterable[PairDiagnostic] = ()) -> tuple[Verdict, ...]:
    """Put into words what changes the meaning of a claim: collapse, failures, and comparisons that are not testable.

    Parameters
    ----------
    found
        What `diagnose` found.
    pairs
        What `diagnose_pair` found, of the comparisons that would be claimed.

    Returns
    -------
    tuple of Verdict
        One per sentence, with the claims it makes.

    Examples
    --------
    >>> item = Diagnostic("cora", "GIN", "failures", (3,), "GIN failed on seed 3: 1 of 10 runs, up to 39 %")
    >>> print(diagnostic_verdicts([item])[0])
    GIN failed on seed 3: 1 of 10 runs, up to 39 %. Claims are about runs that both finish.
    """
    out = []
    for item in found:
        if item.kind in _ABOUT:
            tail = "Comparisons with it are not claimed with these seeds" if item.blocks else _ABOUT[item.kind]
            claims = (item.kind, "not-testable") if item.blocks else (item.kind,)
            out.append(Verdict("warning", item.task, f"{item.text}. {tail}.", claims=claims))
    held = grouped((pair for pair in pairs if not pair.testable), lambda pair: pair.task)
    return (*out, *(_withheld(task, mine) for task, mine in held.items()))


def _withheld(task: str, pairs: Sequence[PairDiagnostic]) -> Verdict:
    """Name the differences of a task that are seen and not claimed, the largest first, and say why."""
    pairs = sorted(pairs, key=lambda pair: (-abs(pair.mean), pair.a, pair.b))
    said = [
        f"{shorten(p.a)} minus {shorten(p.b)} ({number(p.mean, signed=True)}, "
        f"this sign on {p.same_sign} of {p.n} seeds)"
        for p in pairs[:MOST_WITHHELD]
    ]
    more = len(pairs) - len(said)
    listed = ", ".join(said) + (f" and {counted(more, 'more pair')}" if more else "")
    basis = pairs[0].beside if len(pairs) == 1 else ""
    text = f"Seen but not claimed: {listed}; {TAIL}. More seeds can decide."
    return Verdict("untestable", task, text, basis, ("not-testable",))
