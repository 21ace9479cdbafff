"""Critical-difference diagram after Demšar (2006), for the page."""

from __future__ import annotations

import math

from markupsafe import Markup

from graphnetz.records.views import RankView, clique_levels, p_value
from graphnetz.report import escape
from graphnetz.report.charts.base import Canvas, Scale, frame

WIDTH, LEFT, RIGHT, AXIS = 760.0, 200.0, 560.0, 74.0


def critical_chart(ranks: RankView) -> Markup | None:
    """Draw mean ranks on a line, best on the left; None when there is nothing to rank."""
    k = len(ranks.models)
    if k < 2 or ranks.n_tasks < 2 or not all(map(math.isfinite, ranks.mean_ranks)):
        return None
    levels = clique_levels(ranks)
    bars = max((level for _, _, level in levels), default=-1) + 1
    lines = math.ceil(k / 2)
    under = AXIS + 20 + 11 * bars
    words = ", ".join(f"{m} {r:.2f}" for m, r in zip(ranks.models, ranks.mean_ranks, strict=True))
    canvas = Canvas(WIDTH, under + 22 * lines + 26, label=f"Mean ranks, best first: {words}.")
    scale = Scale(1, k, LEFT, RIGHT)
    _axis(canvas, scale, k)
    _ruler(canvas, scale, ranks)
    for low, high, level in levels:
        y = AXIS + 12 + 11 * level
        canvas.line(scale(low) - 4, y, scale(high) + 4, y, "clique")
    for i, (model, rank) in enumerate(zip(ranks.models, ranks.mean_ranks, strict=True)):
        left = i < lines
        y = under + 22 * (i if left else k - 1 - i)
        edge = LEFT - 12 if left else RIGHT + 12
        canvas.path(f"M{scale(rank):.1f} {AXIS:.1f}V{y:.1f}H{edge:.1f}", "lead")
        name = escape.shorten(model, 20)
        text = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
        canvas.text(edge + (-6 if left else 6), y + 4, text, anchor="end" if left else "start")
        canvas.mark(0, scale(rank), AXIS, f"{model} · mean rank {rank:.2f} over {ranks.n_tasks} tasks")
    canvas.text(WIDTH / 2, canvas.height - 6, _footer(ranks), anchor="middle", style="tick", width=200)
    return frame([canvas.svg()], label="Critical-difference diagram")


def _axis(canvas: Canvas, scale: Scale, k: int) -> None:
    canvas.line(LEFT, AXIS, RIGHT, AXIS)
    for tick in range(1, k + 1, 1 if k <= 13 else math.ceil(k / 10)):
        canvas.line(scale(tick), AXIS - 7, scale(tick), AXIS)
        canvas.text(scale(tick), AXIS - 12, str(tick), anchor="middle", style="tick")
    canvas.text(LEFT - 12, AXIS - 12, "better ←", anchor="end", style="tick")
    canvas.text(RIGHT + 12, AXIS - 12, "mean rank", style="tick")


def _ruler(canvas: Canvas, scale: Scale, ranks: RankView) -> None:
    if not math.isfinite(ranks.cd):
        return
    end = LEFT + (scale(2) - LEFT) * ranks.cd
    text = f"CD = {ranks.cd:.2f}"
    if end > WIDTH - 10:  # longer than the paper: say so instead of drawing a wrong length
        canvas.text(LEFT, 24, f"{text} (longer than the axis)", style="tick")
        return
    canvas.line(LEFT, 28, end, 28)
    for x in (LEFT, end):
        canvas.line(x, 24, x, 32)
    canvas.text((LEFT + end) / 2, 18, text, anchor="middle", style="tick")


def _footer(ranks: RankView) -> str:
    shape = f"{len(ranks.models)} models, {ranks.n_tasks} tasks, α = {ranks.alpha:g}"
    test = f"{ranks.test} p = {p_value(ranks.p)}"
    if ranks.rejected:
        return f"{test}: ranks differ · bars join models within the Nemenyi difference · {shape}"
    return f"{test}: does not reject, so all models form one group · {shape}"
