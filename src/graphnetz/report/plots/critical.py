"""Critical-difference diagram after Demšar (2006)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz.records.views import RankView
from graphnetz.report import escape
from graphnetz.report.charts import critical
from graphnetz.report.colours import INK, MUTED
from graphnetz.report.plots import base
from graphnetz.report.style import SIZES, new_figure, styled

_INCHES = SIZES["page"].width / critical.WIDTH  # as wide as a page on every paper: names need the room
_TITLE = 28.0
_LINES = {"axis": (1.1, INK), "axis ruler": (1.3, INK), "clique": (3.2, INK), "lead": (0.9, "#777777")}
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}


@styled
def draw_critical_difference(ranks: RankView, *, title: str | None = None) -> tuple[Figure, Axes]:
    """Draw mean ranks on a line, best on the left, cliques as bars under it.

    When the omnibus test does not reject, the diagram says so and draws one clique: Nemenyi's
    difference is read only after a rejection.
    """
    if not critical.drawable(ranks):
        return base.message(ranks.reason or "Ranking needs two models that are present on at least two tasks.")
    top, bottom = (-_TITLE if title else 0.0), critical.height(ranks)
    figure = new_figure(critical.WIDTH * _INCHES, (bottom - top) * _INCHES)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, critical.WIDTH)
    axes.set_ylim(bottom, top)
    critical.paint(_Surface(axes), ranks)
    if title:
        text = escape.plot(title, width=90)
        axes.text(critical.WIDTH / 2, top / 2, text, ha="center", va="center", fontweight="bold", fontsize=10)
    return figure, axes


class _Surface:
    """Axes in the units of the page's diagram."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str = "axis") -> None:
        width, colour = _LINES[style]
        self.axes.plot([x1, x2], [y1, y2], color=colour, lw=width, solid_capstyle="round")

    def text(self, x: float, y: float, words: str, *, anchor: str = "start", style: str = "", width: int = 60) -> None:
        size, colour = (7.0, MUTED) if style == "tick" else (7.2, INK)
        words = escape.plot(words, width=width)
        self.axes.text(x, y, words, ha=_ANCHORS[anchor], va="baseline", fontsize=size, color=colour)

    def mark(self, index: int, x: float, y: float, tip: str) -> None:
        del index, tip  # one look for all; paper shows no tips
        self.axes.plot([x], [y], marker="o", ms=4.5, color=INK, zorder=4)
