"""Score against cost: which models are worth their seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from graphnetz.report import escape
from graphnetz.report.colours import MUTED
from graphnetz.report.plots import base
from graphnetz.report.style import palette, paper, styled


class Point(Protocol):
    """A model with its mean normalised score, its seconds per run, and whether no other is better in both."""

    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def score(self) -> float: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102
    @property
    def front(self) -> bool: ...  # noqa: D102


@styled
def draw_pareto(points: Sequence[Point], models: Sequence[str], *, note: str = "") -> tuple[Figure, Axes]:
    """Draw mean normalised score against mean seconds of a run; a line joins the models that no other dominates."""
    shown = [p for p in points if math.isfinite(p.score) and math.isfinite(p.seconds) and p.seconds > 0]
    if not shown:
        return base.message("No run kept its time, so there is no score against cost.")
    looks, places = palette(len(models)), [list(models).index(p.model) for p in shown]
    words = (
        "Score: normalised per task, 0 the worst and 1 the best mean of its models. Seconds are those of this machine."
    )
    figure, (axes,) = base.sheet(
        [2.7], margins=_MARGINS, note="\n".join(filter(None, (words, note))),
        legend=base.model_entries(models, looks, places),
    )  # fmt: skip
    front = sorted((p for p in shown if p.front), key=lambda p: p.seconds)
    axes.plot([p.seconds for p in front], [p.score for p in front], color=MUTED, lw=1.0, ls="--", zorder=1)
    for point, place in zip(shown, places, strict=True):
        look = looks[place]
        face = look.colour if point.front else "white"
        axes.plot([point.seconds], [point.score], marker=look.marker, color=look.colour, mfc=face, ms=6, zorder=3)
    # Above and left of a model of the front there is no other mark: that would be better and cheaper.
    labels = [escape.plot(point.model, width=18) for point in front]
    for point, label in zip(front, labels, strict=True):
        axes.annotate(
            label, (point.seconds, point.score), xytext=(-4, 3), fontsize=base.SMALL, textcoords="offset points",
            ha="right",
        )  # fmt: skip
    axes.set_xscale("log")
    low, high = min(p.seconds for p in shown), max(p.seconds for p in shown)
    # Room on the left for the longest label, in decades of this axis.
    share = min(0.5, (base.widest(labels) + 0.1) / (paper().width - _MARGINS.left - _MARGINS.right))
    left, right = low / 10 ** (share / (1 - share) * math.log10(high / low * 1.25)), high * 1.25
    axes.set_xlim(left, right)
    if right / left < 50:
        axes.set_xticks([t for t in _TICKS if left <= t <= right])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(-0.03, 1.06)
    axes.set_xlabel("Mean seconds of a run", fontsize=7.5, labelpad=1)
    axes.set_ylabel("Mean normalised score", fontsize=7.5)
    axes.grid(True)
    base.tidy(axes)
    return figure, axes


_MARGINS = base.Margins(0.5, 0.15, 0.06, 0.42)
_TICKS = [m * 10.0**p for p in range(-4, 7) for m in (1, 2, 5)]
