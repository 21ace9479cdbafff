"""Forest plot: one row per task, one mark with its interval per model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from graphnetz.records.views import CellView, Grid, TaskRow, number
from graphnetz.report.charts.base import Canvas, Scale, frame, legend, padded, tick_text

WIDTH, LEFT, RIGHT = 880.0, 190.0, 16.0
MARK_WORDS = {"best": "best mean over shared seeds", "tied": "cannot be told apart from the best", "": ""}


def forest_chart(grid: Grid) -> Markup:
    """Draw means and intervals, one panel per metric, because different metrics share no axis."""
    shown = [i for i in range(len(grid.models)) if any(row.cells[i].present for row in grid.rows)]
    panels = [_panel(metric, rows, grid, shown) for metric, rows in grid.by_metric()]
    return frame(panels, label="Means and intervals", head=legend(grid.models, shown))


def _panel(metric: str, rows: Sequence[TaskRow], grid: Grid, shown: Sequence[int]) -> Markup:
    step = max(24.0, 9.0 * len(shown) + 8.0)
    top, bottom = 26.0, 30.0
    canvas = Canvas(
        WIDTH,
        top + step * len(rows) + bottom,
        label=f"Forest plot of {metric}: {len(rows)} tasks, {len(shown)} models; the summary table holds the values.",
    )
    values = [v for row in rows for c in row.cells for v in (c.mean, c.low, c.high)]
    scale = Scale(*padded(values), LEFT, WIDTH - RIGHT)
    arrow = "higher is better" if rows[0].greater_is_better else "lower is better"
    canvas.text(LEFT, 14, f"{metric} ({arrow})", style="head")
    base = top + step * len(rows)
    for i in range(0, len(rows), 2):
        canvas.rect(0, top + i * step, WIDTH, step, "band")
    for tick in scale.ticks(8):
        canvas.line(scale(tick), top, scale(tick), base, "grid")
        canvas.text(scale(tick), base + 16, tick_text(tick), anchor="middle", style="tick")
    canvas.line(LEFT, base, WIDTH - RIGHT, base)
    for r, row in enumerate(rows):
        middle = top + (r + 0.5) * step
        canvas.text(LEFT - 10, middle + 4, row.task, anchor="end", width=25)
        for place, i in enumerate(shown):
            cell = row.cells[i]
            if cell.present:
                y = middle + (place - (len(shown) - 1) / 2) * 9.0
                span = (scale(cell.low), scale(cell.high)) if math.isfinite(cell.half) else None
                canvas.mark(i, scale(cell.mean), y, tip(row, grid.models[i], cell), span=span)
    return canvas.svg()


def tip(row: TaskRow, model: str, cell: CellView) -> str:
    """What the mark says when pointed at."""
    span = f" [{number(cell.low)}, {number(cell.high)}]" if math.isfinite(cell.half) else ""
    words = [f"{row.task}: {model}", f"{row.metric} {number(cell.mean, digits=4)}{span}", f"{cell.n} seeds"]
    return " · ".join([*words, *filter(None, [MARK_WORDS[cell.mark], cell.note])])
