"""Leaderboards of an analysis: all tasks, and those of every task type and category."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from graphnetz._core.text import names
from graphnetz.analysis.ranking import place_sets, worst_ranks
from graphnetz.records import CellResult, ScoreTable
from graphnetz.records.board import Board, BoardRow
from graphnetz.records.task_info import TaskInfo
from graphnetz.stats import normalise, pooled_rates, rank_bands, rank_rows, shared_rates

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

Floats = npt.NDArray[np.float64]
Runs = Callable[[Sequence[str]], Mapping[str, tuple[int, int]]]
"""How many runs every model made on some tasks, and how many of them failed."""
_COSTS, _UNITS = ("seconds", "peak_memory"), ("seconds", "memory", "raw_seconds", "raw_memory")
MOST_PAIRED = 1_000
"""Models of which every two are compared for their places; more get places from one interval each."""
PAIRED_WORK = 100_000_000
"""Runs held against runs, some seconds of them, up to which win rates are taken pair by pair."""


def boards(analysis: Analysis) -> tuple[Board, ...]:
    """Return the board of all tasks, then one per type and per category where there are several."""
    facts = analysis.facts
    return boards_of(
        analysis.scores, facts.tasks, alpha=analysis.options.alpha, runs=lambda tasks: _runs(facts.cells, tasks),
        costs=_costs(facts.cells, facts.references),
    )  # fmt: skip


def boards_of(
    table: ScoreTable, infos: Mapping[str, TaskInfo], *, alpha: float, runs: Runs, single: bool = True,
    costs: Mapping[tuple[str, str], Floats] | None = None,
) -> tuple[Board, ...]:  # fmt: skip
    """Return the boards of scores; see `boards`.

    Parameters
    ----------
    table, infos
        Scores, and facts of their tasks.
    alpha
        All places of a board hold together with probability ``1 - alpha``.
    runs
        Counts runs and failures.
    single
        Whether scores are of single runs; means of runs have no probability that a run beats another.
    costs
        Mean cost of a run per task and model, where it is known.

    Returns
    -------
    tuple of Board
        All tasks first.
    """
    means = table.common_means()
    groups: list[tuple[str, str, list[int]]] = [("", "", list(range(len(table.tasks))))]
    for kind, field in (("type", "task_type"), ("category", "category")):
        own = [getattr(infos[task], field) for task in table.tasks]
        found = sorted(set(filter(None, own)))
        groups += [(kind, name, [t for t, has in enumerate(own) if has == name]) for name in found if len(found) > 1]
    return tuple(
        _board(table, means, (kind, name), rows, alpha=alpha, runs=runs, single=single, costs=costs or {})
        for kind, name, rows in groups
    )


def _board(
    table: ScoreTable, means: Floats, what: tuple[str, str], at: Sequence[int], *, alpha: float, runs: Runs,
    single: bool, costs: Mapping[tuple[str, str], Floats],
) -> Board:  # fmt: skip
    chosen = np.zeros(len(table.tasks), dtype=np.bool_)
    chosen[list(at)] = True
    chosen &= np.isfinite(means).any(axis=1)
    tasks = [task for task, yes in zip(table.tasks, chosen, strict=True) if yes]
    kept = np.flatnonzero(np.isfinite(means[chosen]).any(axis=0))
    if not kept.size:
        return Board(*what, (), len(at), "no run finished")
    place, reason = _places(table, means[chosen], chosen, kept, alpha=alpha)
    numbers = _numbers(table, means, chosen, kept, single=single)
    counted = runs(tasks) or _finished(table, chosen)
    there = np.isfinite(means[chosen]).sum(axis=0)
    rows = []
    for n, column in enumerate(kept):
        model = table.models[column]
        low, high = place.get(model, (1, len(kept)))
        spent = [costs[task, model] for task in tasks if (task, model) in costs] if costs else []
        cost = _mean(np.array(spent)).tolist() if spent else [math.nan] * len(_UNITS)
        made, failed = counted.get(model, (0, 0))
        found = {name: float(values[n]) for name, values in numbers.items()} | dict(zip(_UNITS, cost, strict=True))
        rows.append(BoardRow(model, low, high, tasks=int(there[column]), runs=made, failures=failed, **found))
    rows.sort(key=lambda row: (row.rank, row.model))
    return Board(*what, tuple(rows), len(tasks), reason, _left_out(table, chosen, kept))


def _places(
    table: ScoreTable, means: Floats, chosen: npt.NDArray[np.bool_], kept: npt.NDArray[np.intp], *, alpha: float
) -> tuple[dict[str, tuple[int, int]], str]:
    """Best and worst place of every model, and why nothing could be shown; of very many models, one by one."""
    if kept.size <= MOST_PAIRED:
        sets = place_sets(table, means, chosen, alpha=alpha)
        return {model: (sets.low[i], sets.high[i]) for i, model in enumerate(sets.models)}, sets.reason
    better = [up for up, yes in zip(table.greater_is_better, chosen, strict=True) if yes]
    blocks = [block for block, yes in zip(table.blocks, chosen, strict=True) if yes]
    bands = rank_bands(-worst_ranks(means[:, kept], better), alpha=alpha, blocks=blocks)
    bounds = zip(kept, bands.low.tolist(), bands.high.tolist(), strict=True)
    return {table.models[column]: (low, high) for column, low, high in bounds}, bands.reason


def _left_out(table: ScoreTable, chosen: npt.NDArray[np.bool_], kept: npt.NDArray[np.intp]) -> str:
    """Which models have no row, and why."""
    ran: npt.NDArray[np.bool_] = np.asarray(np.isfinite(table.values[chosen]).any(axis=(0, 2)))
    gone = sorted(set(range(len(table.models))) - set(kept.tolist()))
    parts = []
    for there, why in ((False, "no run finished"), (True, "too few seeds are shared with the others")):
        if who := [table.models[i] for i in gone if ran[i] == there]:
            parts.append(f"{names(who)} ({why})")
    return f"Without a row: {'; '.join(parts)}." if parts else ""


def _numbers(
    table: ScoreTable, means: Floats, chosen: npt.NDArray[np.bool_], kept: npt.NDArray[np.intp], *, single: bool
) -> dict[str, Floats]:
    """Rank and score with lacking tasks as worst and without them, win rate and improvement, one entry per model."""
    better = [up for up, yes in zip(table.greater_is_better, chosen, strict=True) if yes]
    own = means[chosen][:, kept]
    there = np.isfinite(own)
    ranks = np.full(own.shape, np.nan)
    for row, values, up in zip(ranks, own, better, strict=True):
        found = np.isfinite(values)
        row[found] = rank_rows(values[None, found], [up])[0]
    scores = normalise(own[:, :, None], better)[:, :, 0]
    runs = np.where(np.array(better)[:, None, None], 1, -1) * table.values[chosen][:, kept]
    improvement, wins = _rates(runs)
    return {
        "rank": worst_ranks(own, better).mean(axis=0),
        "rank_own": _mean(ranks),
        "score": np.where(there, scores, 0.0).mean(axis=0),
        "score_own": _mean(scores),
        "wins": wins,
        "improvement": improvement if single else np.full(kept.size, np.nan),
    }


def _rates(runs: Floats) -> tuple[Floats, Floats]:
    """Improvement and win rate against the mean of the other models; NaN where pairs would be too many to look at."""
    tasks, models, seeds = runs.shape
    if tasks * models * models * seeds > PAIRED_WORK:
        if np.isfinite(runs).any(axis=2).all():
            return pooled_rates(runs)
        return np.full(models, np.nan), np.full(models, np.nan)
    improvement, wins = shared_rates(runs)
    np.fill_diagonal(improvement, np.nan)
    np.fill_diagonal(wins, np.nan)
    return _mean(improvement.T), _mean(wins.T)


def _mean(values: Floats) -> Floats:
    """Mean of every column over what is there, NaN where nothing is."""
    there = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = np.where(there, values, 0.0).sum(axis=0) / there.sum(axis=0)
    return out


def _runs(cells: Sequence[CellResult], tasks: Sequence[str]) -> dict[str, tuple[int, int]]:
    inside = set(tasks)
    made = Counter(cell.model for cell in cells if cell.task in inside)
    failed = Counter(cell.model for cell in cells if cell.task in inside and not cell.ok)
    return {model: (count, failed[model]) for model, count in made.items()}


def _finished(table: ScoreTable, chosen: npt.NDArray[np.bool_]) -> dict[str, tuple[int, int]]:
    counts = np.isfinite(table.values[chosen]).sum(axis=(0, 2))
    return {model: (int(count), 0) for model, count in zip(table.models, counts, strict=True)}


def _costs(cells: Sequence[CellResult], references: Mapping[str, Mapping[str, float]]) -> dict[tuple[str, str], Floats]:
    """Mean cost of a run per (task, model): seconds and memory of reference cells, then seconds and bytes."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for cell in cells:
        unit, spent = references.get(cell.environment, {}), [cell.seconds, cell.peak_memory]
        parts = [
            value / unit[name] if unit.get(name, 0) > 0 else math.nan for value, name in zip(spent, _COSTS, strict=True)
        ]
        found.setdefault((cell.task, cell.model), []).append(parts + spent)
    return {pair: _mean(np.array(rows)) for pair, rows in found.items()}
