"""Performance profiles after Dolan and Moré (2002) and Agarwal et al. (2021)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz.records.views import ProfileView
from graphnetz.report import escape
from graphnetz.report.plots import base
from graphnetz.report.style import palette, styled

_DASHES = ("-", "--", "-.", ":")


@styled
def draw_profiles(
    view: ProfileView, ax: Axes | None = None, *, models: Sequence[str] | None = None, note: str = ""
) -> tuple[Figure, Axes]:
    """Draw the share of runs above every normalised score, one line per model; ``models`` are all of the report."""
    if not view.models:
        return base.message("Profiles need two models that share seeds on at least two tasks.")
    every = list(models or view.models)
    looks, places = palette(len(every)), [every.index(model) for model in view.models]
    if ax is None:
        words = " ".join(filter(None, ("Score 0: worst, 1: best mean of each task.", note)))
        legend = base.model_entries(every, looks, places)
        figure, (axes,) = base.sheet([2.6], margins=base.Margins(0.5, 0.12, 0.06, 0.42), legend=legend, note=words)
    else:
        figure, axes = base.own_axes(ax, width=1, height=1)
    for i, (model, place) in enumerate(zip(view.models, places, strict=True)):
        look = looks[place]
        (line,) = axes.plot(view.taus, view.shares[i], label=escape.plot(model), color=look.colour, marker=look.marker)
        line.set(markevery=(i % 10, 10), markersize=3.5, linestyle=_DASHES[place % len(_DASHES)], linewidth=1.1)
    axes.set_xlabel("Normalised score", fontsize=7.5)
    axes.set_ylabel(f"Share of {view.n_runs} runs above it", fontsize=7.5)
    axes.set_ylim(0, 1)
    axes.margins(x=0)
    axes.grid(True)
    base.tidy(axes)
    if ax is not None:
        axes.legend()
    return figure, axes
