"""Places as intervals: how good or bad a model's place may be, given what was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphnetz.analysis.ranking import place_table
from graphnetz.records import Section, Table
from graphnetz.records.analysis import Comparison, Place
from graphnetz.records.views import Grid, RankSetView


def places(grid: Grid, grouped: Mapping[str, Sequence[Comparison]]) -> tuple[Place, ...]:
    """Place of every model on every task, best mean first.

    A model's first place is one more than the number of models shown to be better, its last place the
    number of models minus those shown to be worse; models that cannot be told apart overlap.
    """
    out = []
    for row in grid.rows:
        pairs = grouped.get(row.task, ())
        sign = -1 if row.greater_is_better else 1
        there = [(cell, model) for cell, model in zip(row.cells, grid.models, strict=True) if cell.present]
        for cell, model in sorted(there, key=lambda item: (sign * item[0].mean, item[1])):
            shown = [p for p in pairs if p.involves(model) and p.different]
            better = sum(p.better != model for p in shown)
            first, last = 1 + better, len(there) - (len(shown) - better)
            out.append(Place(row.task, model, cell.mean, cell.low, cell.high, cell.n, first, last, len(there)))
    return tuple(out)


def standings_section(found: Sequence[Place], tasks: Sequence[str], across: RankSetView | None = None) -> Section:
    """Places across tasks, where there are several, and then task by task."""
    rows = tuple((p.task, p.model, p.mean, p.low, p.high, p.n, f"{p.text} of {p.models}") for p in found)
    columns = ("Task", "Model", "Mean", "Low", "High", "Seeds", "Place")
    shared = sum(sum(p.task == task and p.first == 1 for p in found) > 1 for task in tasks)
    words = (
        "A place is an interval: a model's first possible place counts the models shown to be better after Holm, its "
        "last possible place those shown to be worse. Overlapping places are not an order.",
        f"On {shared} of {len(tasks)} tasks more than one model may be first.",
    )
    tables: tuple[Table, ...] = (Table(columns, rows, "Sortable; 95 % intervals."),)
    if across is not None and across.n_tasks > 1 and len(across.models) > 1:
        tables = (place_table(across), *tables)
    return Section("standings", "Standings", "", words, tables)
