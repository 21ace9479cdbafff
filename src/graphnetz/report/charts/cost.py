"""Score against cost, one small panel per task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from graphnetz.records.views import Grid, TaskRow, number
from graphnetz.report.charts.base import Canvas, Scale, frame, legend, padded, tick_text

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340.0, 220.0, 50.0, 26.0, 34.0


def cost_chart(grid: Grid, seconds: Mapping[tuple[str, str], float]) -> Markup | None:
    """Draw mean score against mean seconds of a cell; ``seconds[task, model]``."""
    panels = []
    shown: set[int] = set()
    for row in grid.rows:
        at = [
            i
            for i, model in enumerate(grid.models)
            if row.cells[i].present and seconds.get((row.task, model), math.nan) > 0
        ]
        if at:
            shown |= set(at)
            panels.append(_panel(row, grid.models, at, seconds))
    if not panels:
        return None
    head = legend(grid.models, sorted(shown))
    return frame(panels, label="Score against seconds", head=head, style="multiples")


def _panel(row: TaskRow, models: Sequence[str], at: Sequence[int], seconds: Mapping[tuple[str, str], float]) -> Markup:
    canvas = Canvas(WIDTH, HEIGHT, label=f"{row.metric} against seconds per cell on {row.task}.")
    cost = [seconds[row.task, models[i]] for i in at]
    across = Scale(min(cost) / 1.2, max(cost) * 1.2, LEFT, WIDTH - 12, log=True)
    up = Scale(*padded([row.cells[i].mean for i in at], 0.12), HEIGHT - BOTTOM, TOP)
    canvas.text(LEFT, 15, row.task, style="head", width=36)
    for tick in up.ticks(5):
        canvas.line(LEFT, up(tick), WIDTH - 12, up(tick), "grid")
        canvas.text(LEFT - 6, up(tick) + 4, tick_text(tick), anchor="end", style="tick")
    for tick in across.ticks():
        canvas.text(across(tick), HEIGHT - BOTTOM + 15, tick_text(tick), anchor="middle", style="tick")
    canvas.line(LEFT, HEIGHT - BOTTOM, WIDTH - 12, HEIGHT - BOTTOM)
    label = f"seconds per cell (log) · {row.metric}"
    canvas.text((LEFT + WIDTH) / 2, HEIGHT - 4, label, anchor="middle", style="tick", width=48)
    for i, spent in zip(at, cost, strict=True):
        mean = row.cells[i].mean
        words = f"{models[i]} · {number(mean, digits=4)} · {spent:.3g} s per cell"
        canvas.mark(i, across(spent), up(mean), words)
    return canvas.svg()
