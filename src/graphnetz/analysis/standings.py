"""Places as intervals: how good or bad a model's place may be, given what was shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from graphnetz.records.analysis import Comparison, Place
from graphnetz.records.views import Grid


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
        shown = [(p.better, p.other(p.better)) for p in pairs if p.different]
        won, lost = Counter(better for better, _ in shown), Counter(worse for _, worse in shown)
        for cell, model in sorted(there, key=lambda item: (sign * item[0].mean, item[1])):
            first, last = 1 + lost[model], len(there) - won[model]
            out.append(Place(row.task, model, cell.mean, cell.low, cell.high, cell.n, first, last, len(there)))
    return tuple(out)
