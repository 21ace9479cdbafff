"""Critical-difference diagram after Demšar (2006)."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz.records.views import RankView, clique_levels, p_value
from graphnetz.report import escape
from graphnetz.report.colours import INK, MUTED
from graphnetz.report.plots import base
from graphnetz.report.style import new_figure, styled

_STEP = 0.21  # inches per label line
_GAP = 0.13  # inches per clique bar


@styled
def draw_critical_difference(ranks: RankView, *, title: str | None = None) -> tuple[Figure, Axes]:
    """Draw mean ranks on a line, best on the left, cliques as bars under it.

    When the omnibus test does not reject, the diagram says so and draws one clique: Nemenyi's
    difference is read only after a rejection.
    """
    k = len(ranks.models)
    if k < 2 or ranks.n_tasks < 2 or not all(map(math.isfinite, ranks.mean_ranks)):
        return base.message(ranks.reason or "Ranking needs two models that are present on at least two tasks.")
    cliques = clique_levels(ranks)
    bars = max((level for _, _, level in cliques), default=-1) + 1
    lines = math.ceil(k / 2)
    axis_y = 0.0
    under = axis_y - 0.12 - bars * _GAP - 0.1
    bottom = under - lines * _STEP - 0.3
    height = 0.95 - bottom + (0.28 if title else 0.0)
    figure = new_figure(7.4, height)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, 7.4)
    axes.set_ylim(bottom, bottom + height)
    scale = _Scale(ranks, 1.85, 5.55)
    _axis(axes, scale, axis_y)
    _ruler(axes, scale, ranks, axis_y + 0.55)
    for low, high, level in cliques:
        y = axis_y - 0.12 - level * _GAP
        axes.plot([scale(low) - 0.04, scale(high) + 0.04], [y, y], color=INK, lw=3.2, solid_capstyle="round")
    _labels(axes, scale, ranks, axis_y, under)
    axes.text(3.7, bottom + 0.08, _footer(ranks), ha="center", va="center", fontsize=8, color=MUTED)
    if title:
        axes.text(
            3.7,
            bottom + height - 0.14,
            escape.plot(title, width=90),
            ha="center",
            va="center",
            fontweight="bold",
            fontsize=10,
        )
    return figure, axes


class _Scale:
    """Maps a rank to inches."""

    def __init__(self, ranks: RankView, left: float, right: float) -> None:
        self.low, self.high = 1, len(ranks.models)
        self.left, self.right = left, right

    def __call__(self, rank: float) -> float:
        return self.left + (rank - self.low) / (self.high - self.low) * (self.right - self.left)


def _axis(axes: Axes, scale: _Scale, y: float) -> None:
    axes.plot([scale(scale.low), scale(scale.high)], [y, y], color=INK, lw=1.1)
    span = scale.high - scale.low
    step = 1 if span <= 12 else math.ceil(span / 10)
    for tick in range(scale.low, scale.high + 1, step):
        axes.plot([scale(tick)] * 2, [y, y + 0.09], color=INK, lw=1.1)
        axes.text(scale(tick), y + 0.12, str(tick), ha="center", va="bottom", fontsize=8)
    if span <= 6:
        for tick in range(scale.low, scale.high):
            axes.plot([scale(tick + 0.5)] * 2, [y, y + 0.05], color=INK, lw=0.8)
    axes.text(scale.left - 0.12, y + 0.12, "better ←", ha="right", va="bottom", fontsize=8, color=MUTED)
    axes.text(scale.right + 0.12, y + 0.12, "mean rank", ha="left", va="bottom", fontsize=8, color=MUTED)


def _ruler(axes: Axes, scale: _Scale, ranks: RankView, y: float) -> None:
    if not math.isfinite(ranks.cd):
        return
    colour = INK if ranks.rejected else MUTED
    start = scale.left
    end = start + (scale(scale.low + 1) - scale.left) * ranks.cd
    text = f"CD = {ranks.cd:.2f}"
    if end > 7.2:  # longer than the paper: say so instead of drawing a wrong length
        axes.text(start, y, f"{text} (longer than the axis)", ha="left", va="center", fontsize=8, color=colour)
        return
    axes.plot([start, end], [y, y], color=colour, lw=1.3)
    for x in (start, end):
        axes.plot([x, x], [y - 0.05, y + 0.05], color=colour, lw=1.3)
    axes.text((start + end) / 2, y + 0.07, text, ha="center", va="bottom", fontsize=8, color=colour)


def _labels(axes: Axes, scale: _Scale, ranks: RankView, top: float, under: float) -> None:
    k = len(ranks.models)
    lines = math.ceil(k / 2)
    for i, (model, rank) in enumerate(zip(ranks.models, ranks.mean_ranks, strict=True)):
        left = i < lines
        line = i if left else k - 1 - i
        y = under - line * _STEP
        edge = scale.left - 0.12 if left else scale.right + 0.12
        axes.plot([scale(rank), scale(rank), edge], [top, y, y], color="#777777", lw=0.9, zorder=1)
        axes.plot([scale(rank)], [top], marker="o", ms=4.5, color=INK, zorder=4)
        name = escape.plot(model, width=20)
        text = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
        axes.text(edge + (-0.05 if left else 0.05), y, text, ha="right" if left else "left", va="center", fontsize=8.5)


def _footer(ranks: RankView) -> str:
    shape = f"{len(ranks.models)} models, {ranks.n_tasks} tasks, α = {ranks.alpha:g}"
    test = f"{escape.plot(ranks.test, width=40)} p = {p_value(ranks.p)}"
    if ranks.rejected:
        return f"{test}: ranks differ · bars join models within the Nemenyi difference · {shape}"
    return f"{test}: does not reject, so all models form one group · {shape}"
