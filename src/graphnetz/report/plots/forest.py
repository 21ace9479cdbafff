"""Forest plot: one row per task, models jittered within the row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz.records.views import Grid, TaskRow
from graphnetz.report import escape
from graphnetz.report.colours import BAND
from graphnetz.report.plots import base
from graphnetz.report.style import Look, new_figure, palette, styled


@styled
def draw_forest(
    grid: Grid,
    ax: Axes | None = None,
    *,
    xlabel: str | None = None,
    height_per_task: float = 0.42,
    sort_within: bool = False,
    band: bool = True,
    pretty: Mapping[str, str] | None = None,
) -> tuple[Figure, Any]:
    """Draw means and intervals in one row per task; metrics that differ get panels of their own.

    Returns
    -------
    tuple of Figure and Axes
        An array of axes when there is more than one panel.
    """
    looks = palette(len(grid.models))
    groups = grid.by_metric() if ax is None else [("", grid.rows)]
    step = max(height_per_task, 0.085 * len(grid.models))
    if ax is not None:
        figure, only = base.own_axes(ax, width=1, height=1)
        drawn = [only]
    else:
        heights = [len(rows) * step + 0.75 for _, rows in groups]
        figure = new_figure(7.2, sum(heights) + 0.5)
        figure.set_layout_engine("constrained", **base.MARGINS)
        spec = figure.add_gridspec(len(groups), 1, height_ratios=heights)
        drawn = [figure.add_subplot(spec[i]) for i in range(len(groups))]
    for axes, (_, rows) in zip(drawn, groups, strict=True):
        _rows(axes, rows, grid, looks, sort_within=sort_within, band=band, pretty=pretty)
        one = len({row.metric for row in rows}) == 1
        axes.set_xlabel(xlabel or (base.metric_label(rows[0]) if one and rows else "Score"))
    models = base.drawn_models(grid.rows, grid)
    if ax is None:
        base.model_legend(figure, grid, looks, models=models)
    else:
        ax.legend()
    return figure, drawn[0] if len(drawn) == 1 else np.array(drawn)


def _rows(
    axes: Axes,
    rows: Sequence[TaskRow],
    grid: Grid,
    looks: Sequence[Look],
    *,
    sort_within: bool,
    band: bool,
    pretty: Mapping[str, str] | None,
) -> None:
    place = _places(rows, grid, sort_within=sort_within)
    y = np.arange(len(rows), dtype=float)
    for i in base.drawn_models(rows, grid):
        mean, error = base.column(rows, i)
        look = looks[i]
        axes.errorbar(
            mean,
            y + place[:, i],
            xerr=error,
            fmt=look.marker,
            color=look.colour,
            ms=4.2,
            elinewidth=1.3,
            capsize=1.8,
            label=escape.plot(grid.models[i]),
            zorder=3,
        )
    if band:
        for i in range(0, len(rows), 2):
            axes.axhspan(i - 0.5, i + 0.5, color=BAND, lw=0, zorder=0)
    axes.set_yticks(y, [escape.plot((pretty or {}).get(row.task, row.task)) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x", zorder=1)
    axes.margins(x=0.04)


def _places(rows: Sequence[TaskRow], grid: Grid, *, sort_within: bool) -> Any:
    """Vertical offset of every (task, model): fixed per model, or by its place within the task."""
    k = len(grid.models)
    slots = (np.arange(k) - (k - 1) / 2) * (0.74 / max(1, k))
    if not sort_within:
        return np.tile(slots, (len(rows), 1))
    place = np.empty((len(rows), k))
    for r, row in enumerate(rows):
        mean = np.array([cell.mean for cell in row.cells])
        order = np.argsort(-mean if row.greater_is_better else mean, kind="stable")
        place[r, order] = slots
    return place
