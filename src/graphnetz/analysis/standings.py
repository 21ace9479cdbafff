"""Places as intervals: how good or bad a model's place may be, given what was shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graphnetz.records import Section, Table

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport


@dataclass(frozen=True)
class Place:
    """One model on one task: between place ``first`` and ``last`` after Holm."""

    task: str
    model: str
    mean: float
    low: float
    high: float
    n: int
    first: int
    last: int
    models: int

    @property
    def text(self) -> str:
        """``2`` or ``1 to 3``."""
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


def places(report: BenchmarkReport) -> list[Place]:
    """Place of every model on every task, best mean first.

    A model's first place is one more than the number of models shown to be better, its last place the
    number of models minus those shown to be worse; models that cannot be told apart overlap.
    """
    table, grouped = report.scores, report.grouped()
    out = []
    for t, row in enumerate(report.grid().rows):
        pairs = grouped.get(row.task, [])
        sign = -1 if table.greater_is_better[t] else 1
        there = [i for i, cell in enumerate(row.cells) if cell.present]
        for i in sorted(there, key=lambda i: (sign * row.cells[i].mean, table.models[i])):
            model, cell = table.models[i], row.cells[i]
            shown = [p for p in pairs if p.involves(model) and p.different]
            better = sum(p.better != model for p in shown)
            first, last = 1 + better, len(there) - (len(shown) - better)
            out.append(Place(row.task, model, cell.mean, cell.low, cell.high, cell.n, first, last, len(there)))
    return out


def standings_section(report: BenchmarkReport) -> Section:
    """Places of all tasks as one table, and the ranks across tasks in words."""
    rows = tuple((p.task, p.model, p.mean, p.low, p.high, p.n, f"{p.text} of {p.models}") for p in places(report))
    columns = ("Task", "Model", "Mean", "Low", "High", "Seeds", "Place")
    leaders = {
        task: [p.model for p in places(report) if p.task == task and p.first == 1] for task in report.scores.tasks
    }
    shared = int(np.sum([len(names) > 1 for names in leaders.values()]))
    words = (
        "A place is an interval: a model's first possible place counts the models shown to be better after Holm, its "
        "last possible place those shown to be worse. Overlapping places are not an order.",
        f"On {shared} of {len(leaders)} tasks more than one model may be first.",
    )
    return Section("standings", "Standings", "", words, (Table(columns, rows, "Sortable; 95 % intervals."),))
