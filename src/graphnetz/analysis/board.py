"""Leaderboards of an analysis: all tasks, and those of every task type and category."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from graphnetz._core.text import names
from graphnetz.analysis.ranking import place_sets, worst_ranks
from graphnetz.records import CellResult, ScoreTable
from graphnetz.records.board import Board, BoardRow
from graphnetz.stats import normalise, rank_rows, shared_rates

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

Floats = npt.NDArray[np.float64]
_COSTS, _UNITS = ("seconds", "peak_memory"), ("seconds", "memory", "raw_seconds", "raw_memory")


def boards(analysis: Analysis) -> tuple[Board, ...]:
    """Return the board of all tasks, then one per type and per category where there are several."""
    table, infos = analysis.scores, analysis.facts.tasks
    groups: list[tuple[str, str, list[int]]] = [("", "", list(range(len(table.tasks))))]
    for kind, field in (("type", "task_type"), ("category", "category")):
        own = [getattr(infos[task], field) for task in table.tasks]
        found = sorted(set(filter(None, own)))
        groups += [(kind, name, [t for t, has in enumerate(own) if has == name]) for name in found if len(found) > 1]
    costs = _costs(analysis.facts.cells, analysis.facts.references)
    return tuple(_board(analysis, kind, name, rows, costs) for kind, name, rows in groups)


def _board(
    analysis: Analysis, kind: str, name: str, at: Sequence[int], costs: Mapping[tuple[str, str], Floats]
) -> Board:
    table, means = analysis.scores, analysis.scores.common_means()
    chosen = np.zeros(len(table.tasks), dtype=np.bool_)
    chosen[list(at)] = True
    chosen &= np.isfinite(means).any(axis=1)
    tasks = [task for task, yes in zip(table.tasks, chosen, strict=True) if yes]
    kept = np.flatnonzero(np.isfinite(means[chosen]).any(axis=0))
    if not kept.size:
        return Board(kind, name, (), len(at), "no run finished")
    sets = place_sets(table, means[chosen], chosen, alpha=analysis.options.alpha)
    place = {model: (sets.low[i], sets.high[i]) for i, model in enumerate(sets.models)}
    numbers = _numbers(table, means, chosen, kept)
    runs = _runs(analysis.facts.cells, tasks) or _finished(table, chosen)
    rows = []
    for n, column in enumerate(kept):
        model = table.models[column]
        low, high = place.get(model, (1, len(kept)))
        spent = [costs[task, model] for task in tasks if (task, model) in costs]
        cost = _mean(np.array(spent)).tolist() if spent else [math.nan] * len(_UNITS)
        made, failed = runs.get(model, (0, 0))
        found = {name: float(values[n]) for name, values in numbers.items()} | dict(zip(_UNITS, cost, strict=True))
        there = int(np.isfinite(means[chosen][:, column]).sum())
        rows.append(BoardRow(model, low, high, tasks=there, runs=made, failures=failed, **found))
    rows.sort(key=lambda row: (row.rank, row.model))
    return Board(kind, name, tuple(rows), len(tasks), sets.reason, _left_out(table, chosen, kept))


def _left_out(table: ScoreTable, chosen: npt.NDArray[np.bool_], kept: npt.NDArray[np.intp]) -> str:
    """Which models have no row, and why."""
    ran = [bool(np.isfinite(table.values[chosen, i]).any()) for i in range(len(table.models))]
    gone = [i for i in range(len(table.models)) if i not in set(kept.tolist())]
    parts = []
    for there, why in ((False, "no run finished"), (True, "too few seeds are shared with the others")):
        if who := [table.models[i] for i in gone if ran[i] == there]:
            parts.append(f"{names(who)} ({why})")
    return f"Without a row: {'; '.join(parts)}." if parts else ""


def _numbers(
    table: ScoreTable, means: Floats, chosen: npt.NDArray[np.bool_], kept: npt.NDArray[np.intp]
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
    improvement, wins = shared_rates(runs)
    np.fill_diagonal(improvement, np.nan)
    np.fill_diagonal(wins, np.nan)
    return {
        "rank": worst_ranks(own, better).mean(axis=0),
        "rank_own": _mean(ranks),
        "score": np.where(there, scores, 0.0).mean(axis=0),
        "score_own": _mean(scores),
        "wins": _mean(wins.T),
        "improvement": _mean(improvement.T),
    }


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
