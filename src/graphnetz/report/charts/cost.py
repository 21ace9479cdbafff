"""Score against cost, one small panel per task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from graphnetz.records.views import Grid, TaskRow, number
from graphnetz.report.charts.base import Panel, frame, legend, padded


def cost_chart(grid: Grid, seconds: Mapping[tuple[str, str], float]) -> Markup | None:
    """Draw mean score against mean seconds of a cell; ``seconds[task, model]``."""
    panels = []
    shown: set[int] = set()
    for t, row in enumerate(grid.rows):
        at = [
            i
            for i, model in enumerate(grid.models)
            if row.cells[i].present and seconds.get((row.task, model), math.nan) > 0
        ]
        if at:
            shown |= set(at)
            panels.append(Markup('<div data-t="{}">{}</div>').format(t, _panel(row, grid.models, at, seconds)))
    if not panels:
        return None
    head = legend(grid.models, sorted(shown))
    return frame(panels, label="Score against seconds", head=head, style="multiples")


def _panel(row: TaskRow, models: Sequence[str], at: Sequence[int], seconds: Mapping[tuple[str, str], float]) -> Markup:
    cost = [seconds[row.task, models[i]] for i in at]
    panel = Panel(
        row.task,
        (min(cost) / 1.2, max(cost) * 1.2),
        padded([row.cells[i].mean for i in at], 0.12),
        label=f"{row.metric} against seconds per cell on {row.task}.",
        foot=f"seconds per cell (log) · {row.metric}",
        log=True,
    )
    for i, spent in zip(at, cost, strict=True):
        mean = row.cells[i].mean
        words = f"{models[i]} · {number(mean, digits=4)} · {spent:.3g} s per cell"
        panel.mark(i, panel.across(spent), panel.up(mean), words)
    return panel.svg()
