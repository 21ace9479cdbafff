"""Places that models may have across tasks, as bars."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphnetz.records.views import RankSetView
from graphnetz.report import escape
from graphnetz.report.colours import BAND, INK
from graphnetz.report.plots import base
from graphnetz.report.style import palette, styled


@styled
def draw_rank_sets(sets: RankSetView, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Draw one bar per model from its best to its worst place, and its mean rank; best model at the top."""
    k = len(sets.models)
    if k < 2:
        return base.message(sets.reason or "Places need two models with results on at least two tasks.")
    figure, axes = base.own_axes(ax, width=6.4, height=1.1 + 0.26 * k)
    colour = palette(1)[0].colour
    for y, (low, high, mean) in enumerate(zip(sets.low, sets.high, sets.mean_ranks, strict=True)):
        axes.barh(y, high - low + 0.5, left=low - 0.25, height=0.56, color=colour, alpha=0.35, lw=0, zorder=2)
        axes.plot([mean], [y], marker="o", ms=4.2, color=INK, zorder=4)
        if y % 2 == 0:
            axes.axhspan(y - 0.5, y + 0.5, color=BAND, lw=0, zorder=0)
    omitted = (f" ({gone} omitted)" if gone else "" for gone in sets.missing)
    axes.set_yticks(range(k), [escape.plot(m) + note for m, note in zip(sets.models, omitted, strict=True)])
    axes.set_ylim(k - 0.5, -0.5)
    axes.set_xlim(0.5, k + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=2))
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x", zorder=1)
    axes.set_xlabel("Place across tasks (bar: all places left open, dot: mean rank)")
    axes.set_title(escape.plot(sets.words, width=160), fontsize=8, fontweight="normal", loc="left", wrap=True)
    return figure, axes
