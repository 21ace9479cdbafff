"""Strip of dots: one row per model, one mark per run, so that no seed hides in a mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from graphnetz.records.views import DotPanel, DotRow, number, swarm
from graphnetz.report.charts.base import Canvas, Scale, frame, padded, tick_text

WIDTH, LEFT, RIGHT, GUTTER = 880.0, 190.0, 16.0, 76.0
STEP, TOP, BOTTOM = 30.0, 26.0, 46.0
CROSS = '<path d="M{x} {y}m-3.6-3.6l7.2 7.2m0-7.2l-7.2 7.2"/>'


def dots_chart(panels: Sequence[DotPanel], models: Sequence[str]) -> Markup | None:
    """Draw every run, one chart per task; None where there is none."""
    drawn = [dots_svg(panel, models) for panel in panels if any(row.values or row.failed for row in panel.rows)]
    return frame(drawn, label="Every run") if drawn else None


def dots_svg(panel: DotPanel, models: Sequence[str]) -> Markup:
    """Draw one task; ``models`` gives every model the look that it has elsewhere."""
    place = {model: i for i, model in enumerate(models)}
    rows = [row for row in panel.rows if row.values or row.failed]
    base = TOP + STEP * len(rows)
    canvas = Canvas(WIDTH, base + BOTTOM, label=_words(panel, rows))
    # Runs that collapsed would squeeze all others into one spot, so they get a column of their own like failures.
    columns = [name for name in ("collapsed", "failed") if any(getattr(row, name) for row in rows)]
    end = WIDTH - RIGHT - GUTTER * len(columns)
    scale = Scale(*padded(v for row in rows for _, v in row.kept), LEFT, end)
    arrow = "higher is better →" if panel.greater_is_better else "← lower is better"
    canvas.text(LEFT, 14, f"{panel.task}: {panel.label} ({arrow})", style="head", width=90)
    for i in range(0, len(rows), 2):
        canvas.rect(0, TOP + i * STEP, WIDTH, STEP, "band")
    for tick in scale.ticks(8):
        canvas.line(scale(tick), TOP, scale(tick), base, "grid")
        canvas.text(scale(tick), base + 16, tick_text(tick), anchor="middle", style="tick")
    canvas.line(LEFT, base, end, base)
    for c, name in enumerate(columns):
        middle = end + (c + 0.5) * GUTTER
        canvas.text(middle, base + 16, name, anchor="middle", style="tick")
        for r, row in enumerate(rows):
            _aside(canvas, row, name, index=place[row.model], at=(middle, TOP + (r + 0.5) * STEP))
    for r, row in enumerate(rows):
        _row(canvas, row, index=place[row.model], y=TOP + (r + 0.5) * STEP, scale=scale)
    canvas.text(LEFT, base + 36, _key(rows), style="tick", width=120)
    return canvas.svg()


def _row(canvas: Canvas, row: DotRow, *, index: int, y: float, scale: Scale) -> None:
    canvas.text(LEFT - 10, y + 4, row.model, anchor="end", width=24)
    across = [scale(value) for _, value in row.kept]
    for x, step, (seed, value) in zip(across, swarm(across, 7.0), row.kept, strict=True):
        canvas.mark(index, x, y + 2.6 * step, _tip(row, seed, number(value, digits=4)), style="dot")
    if math.isfinite(row.mean):
        canvas.line(scale(row.mean), y - 13, scale(row.mean), y + 13, f"mean s{index}")


def _aside(canvas: Canvas, row: DotRow, name: str, *, index: int, at: tuple[float, float]) -> None:
    """Runs of one column beside the axis, in the order of their seeds."""
    scores = dict(zip(row.seeds, row.values, strict=True))
    seeds = getattr(row, name)
    gap = min(11.0, (GUTTER - 18) / max(1, len(seeds) - 1))
    for i, seed in enumerate(seeds):
        x = at[0] + (i - (len(seeds) - 1) / 2) * gap
        words = _tip(row, seed, *([number(scores[seed], digits=4)] if seed in scores else []), name)
        canvas.mark(index, x, at[1], words, style="hollow", shape=CROSS if name == "failed" else "")


def _tip(row: DotRow, seed: int, *words: str) -> str:
    return " · ".join([row.model, f"seed {seed}", *words])


def _key(rows: Sequence[DotRow]) -> str:
    aside = any(row.collapsed for row in rows)
    mean = "mean of runs without collapse; collapsed ones stand beside the axis" if aside else "mean"
    return f"one mark per run · line: {mean}"


def _words(panel: DotPanel, rows: Sequence[DotRow]) -> str:
    runs, low, gone = (sum(len(getattr(row, name)) for row in rows) for name in ("values", "collapsed", "failed"))
    better = "higher" if panel.greater_is_better else "lower"
    return (
        f"Every run on {panel.task}: {panel.label}, {better} is better; {len(rows)} models, {runs} finished runs, "
        f"{low} of them collapsed, {gone} runs failed."
    )
