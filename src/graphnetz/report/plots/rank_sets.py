"""Places that models may have across tasks, as bars."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphnetz.records.views import RankSetView
from graphnetz.report import escape
from graphnetz.report.colours import INK
from graphnetz.report.plots import base
from graphnetz.report.style import palette, paper, styled


def models_of_a_page() -> int:
    """How many models a page holds."""
    return max(1, int((paper().height - 1.0) / 0.19))


@styled
def draw_rank_sets(
    sets: RankSetView,
    ax: Axes | None = None,
    *,
    models: Sequence[str] | None = None,
    places: Sequence[int] | None = None,
    note: str = "",
) -> tuple[Figure, Axes]:
    """Draw one bar per model from its best to its worst place, and its mean rank; best model at the top.

    Parameters
    ----------
    sets
        Places of all models.
    ax
        Axes to draw on; None makes a figure of its own.
    models
        All models of the report, whose order gives each its colour and marker; those of ``sets`` by default.
    places
        Positions in ``sets`` to draw; all by default.
    note
        Words below the figure.

    Returns
    -------
    tuple of Figure and Axes
        A figure that says why where there is nothing to draw.
    """
    k = len(sets.models)
    if k < 2:
        return base.message(sets.reason or "Places need two models with results on at least two tasks.")
    every, shown = list(models or sets.models), list(range(k) if places is None else places)
    names = [escape.plot(sets.models[i]) + (f" ({sets.missing[i]} omitted)" if sets.missing[i] else "") for i in shown]
    if ax is None:
        words = "\n".join(
            filter(
                None,
                (f"Bar: all places left open; mark: mean rank. {sets.words}.", sets.reason and f"{sets.reason}.", note),
            )
        )
        margins = base.Margins(0.12 + base.widest(names, 7.5), 0.12, 0.04, 0.42)
        figure, (axes,) = base.sheet([0.19 * len(shown) + 0.1], margins=margins, note=words)
    else:
        figure, axes = base.own_axes(ax, width=1, height=1)
    looks = palette(len(every))
    for y, i in enumerate(shown):
        look = looks[every.index(sets.models[i])]
        left, width = sets.low[i] - 0.25, sets.high[i] - sets.low[i] + 0.5
        axes.barh(y, width, left=left, height=0.56, color=look.colour, alpha=0.35, lw=0, zorder=2)
        axes.plot([sets.mean_ranks[i]], [y], marker=look.marker, ms=4.2, color=look.colour, mec=INK, mew=0.5, zorder=4)
    base.bands(axes, len(shown))
    axes.set_yticks(range(len(shown)), names)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0.5, k + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=2))
    axes.tick_params(axis="y", length=0, labelsize=7.5)
    axes.tick_params(axis="x", labelsize=base.SMALL)
    axes.grid(True, axis="x", zorder=1)
    axes.set_xlabel("Place across tasks", fontsize=7.5)
    return figure, axes
