"""Performance profiles after Dolan and Moré (2002) and Agarwal et al. (2021)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz.records.views import ProfileView
from graphnetz.report import escape
from graphnetz.report.plots import base
from graphnetz.report.style import palette, styled

_DASHES = ("-", "--", "-.", ":")


@styled
def draw_profiles(view: ProfileView, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Draw the share of runs above every normalised score, one line per model."""
    if not view.models:
        return base.message("Profiles need two models that share seeds on at least two tasks.")
    figure, axes = base.own_axes(ax, width=6.4, height=3.6)
    for i, (model, look) in enumerate(zip(view.models, palette(len(view.models)), strict=True)):
        (line,) = axes.plot(view.taus, view.shares[i], label=escape.plot(model), color=look.colour, marker=look.marker)
        line.set(markevery=(i % 10, 10), markersize=3.5, linestyle=_DASHES[i % len(_DASHES)])
    axes.set_xlabel("Normalised score (0: worst, 1: best mean of each task)")
    axes.set_ylabel(f"Share of {view.n_runs} runs above it")
    axes.set_ylim(-0.02, 1.02)
    axes.margins(x=0)
    axes.grid(True)
    axes.legend(ncols=1 if len(view.models) <= 6 else 2)
    return figure, axes
