"""Critical-difference diagram after Demšar (2006): laid out once, for the page and for figures."""

from __future__ import annotations

import math
from typing import Protocol

from markupsafe import Markup

from graphnetz.records.views import RankView, clique_levels, p_value
from graphnetz.report.charts.base import Canvas, Scale, frame

WIDTH, LEFT, RIGHT, AXIS = 760.0, 200.0, 560.0, 74.0


class Surface(Protocol):
    """What a diagram is painted on: the page's SVG, or axes of matplotlib."""

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str = "axis") -> None:
        """Draw a straight line."""

    def text(self, x: float, y: float, words: str, *, anchor: str = "start", style: str = "", width: int = 60) -> None:
        """Write one line."""

    def mark(self, index: int, x: float, y: float, tip: str) -> None:
        """Draw a marker."""


def drawable(ranks: RankView) -> bool:
    """Whether there are ranks to draw."""
    return len(ranks.models) > 1 and ranks.n_tasks > 1 and all(map(math.isfinite, ranks.mean_ranks))


def critical_chart(ranks: RankView) -> Markup | None:
    """Draw mean ranks on a line, best on the left; None when there is nothing to rank."""
    if not drawable(ranks):
        return None
    words = ", ".join(f"{m} {r:.2f}" for m, r in zip(ranks.models, ranks.mean_ranks, strict=True))
    canvas = Canvas(WIDTH, height(ranks), label=f"Mean ranks, best first: {words}.")
    paint(canvas, ranks)
    return frame([canvas.svg()], label="Critical-difference diagram")


def height(ranks: RankView) -> float:
    """Height of the diagram, on the scale on which it is `WIDTH` wide."""
    return _under(ranks) + 22 * math.ceil(len(ranks.models) / 2) + 26


def _under(ranks: RankView) -> float:
    """Where the first name stands: below the bars of the cliques."""
    return AXIS + 20 + 11 * (max((level for _, level in clique_levels(ranks)), default=-1) + 1)


def paint(canvas: Surface, ranks: RankView) -> None:
    """Paint axis, ruler, cliques and names."""
    k = len(ranks.models)
    lines, under, scale = math.ceil(k / 2), _under(ranks), Scale(1, k, LEFT, RIGHT)
    name_at = 38 if max(ranks.mean_ranks) < 10 else 48  # ranks of two digits take more room
    _axis(canvas, scale, k)
    _ruler(canvas, scale, ranks)
    for spans, level in clique_levels(ranks):
        y = AXIS + 12 + 11 * level
        # A thin line holds the parts of a clique together where models between them do not belong to it.
        canvas.line(scale(spans[0][0]), y, scale(spans[-1][1]), y, "lead")
        for low, high in spans:
            canvas.line(scale(low) - 4, y, scale(high) + 4, y, "clique")
    for i, (model, rank) in enumerate(zip(ranks.models, ranks.mean_ranks, strict=True)):
        left = i < lines
        y = under + 22 * (i if left else k - 1 - i)
        edge, anchor = (LEFT - 12, "end") if left else (RIGHT + 12, "start")
        canvas.line(scale(rank), AXIS, scale(rank), y, "lead")
        canvas.line(scale(rank), y, edge, y, "lead")
        # Rank and name are two texts: a name in another direction of writing must not carry the number with it.
        canvas.text(edge + (-6 if left else 6), y + 4, f"{rank:.2f}", anchor=anchor)
        canvas.text(edge + (-name_at if left else name_at), y + 4, model, anchor=anchor, width=20)
        canvas.mark(0, scale(rank), AXIS, f"{model} · mean rank {rank:.2f} over {ranks.n_tasks} tasks")
    canvas.text(WIDTH / 2, height(ranks) - 6, _footer(ranks), anchor="middle", style="tick", width=200)


def _axis(canvas: Surface, scale: Scale, k: int) -> None:
    canvas.line(LEFT, AXIS, RIGHT, AXIS)
    for tick in range(1, k + 1, 1 if k <= 13 else math.ceil(k / 10)):
        canvas.line(scale(tick), AXIS - 7, scale(tick), AXIS)
        canvas.text(scale(tick), AXIS - 12, str(tick), anchor="middle", style="tick")
    canvas.text(LEFT - 12, AXIS - 12, "better ←", anchor="end", style="tick")
    canvas.text(RIGHT + 12, AXIS - 12, "mean rank", style="tick")


def _ruler(canvas: Surface, scale: Scale, ranks: RankView) -> None:
    if not math.isfinite(ranks.cd):
        return
    end = LEFT + (scale(2) - LEFT) * ranks.cd
    text = f"CD = {ranks.cd:.2f}"
    if end > WIDTH - 10:  # longer than the paper: say so instead of drawing a wrong length
        canvas.text(LEFT, 24, f"{text} (longer than the axis)", style="tick")
        return
    canvas.line(LEFT, 28, end, 28, "axis ruler")
    for x in (LEFT, end):
        canvas.line(x, 24, x, 32, "axis ruler")
    canvas.text((LEFT + end) / 2, 18, text, anchor="middle", style="tick")


def _footer(ranks: RankView) -> str:
    there = len(ranks.models)
    of = f" of {there + ranks.n_left_out}" if ranks.n_left_out else ""
    shape = f"{there}{of} models, {ranks.n_tasks} tasks, α = {ranks.alpha:g}"
    test = f"{ranks.test} p = {p_value(ranks.p)}"
    if ranks.rejected:
        return f"{test}: ranks differ · bars join models within the Nemenyi difference · {shape}"
    return f"{test}: does not reject, so all models form one group · {shape}"
