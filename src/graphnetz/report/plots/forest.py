"""Forest plot: one row per task, models jittered within the row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphnetz.records.views import UNBOUNDED, Grid, TaskRow
from graphnetz.report import escape
from graphnetz.report.plots import base
from graphnetz.report.style import Look, palette, paper, styled

_TOP, _BOTTOM, _LABEL = 0.05, 0.36, 22


def rows_of_a_page(models: int) -> int:
    """How many tasks a page holds."""
    return base.columns(3.3) * max(1, int((paper().height - 0.7) / (_height(models, 0.42) + _TOP + _BOTTOM)))


def _height(models: int, least: float) -> float:
    return max(least, 0.075 * models + 0.12)


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
    note: str = "",
) -> tuple[Figure, Any]:
    """Draw means and intervals in one row per task, each on an axis of its own.

    With ``ax`` given, everything goes there and tasks share its axis.

    Returns
    -------
    tuple of Figure and Axes
        An array of axes when there is more than one row.
    """
    looks = palette(len(grid.models))
    options: dict[str, Any] = {"sort_within": sort_within, "pretty": pretty}
    if ax is not None:
        figure, axes = base.own_axes(ax, width=1, height=1)
        _rows(axes, grid.rows, grid, looks, band=band, **options)
        one = len({row.metric for row in grid.rows}) == 1
        axes.set_xlabel(xlabel or (base.metric_label(grid.rows[0]) if one else "Score"))
        axes.legend(*zip(*base.model_entries(grid.models, looks, base.drawn_models(grid.rows, grid)), strict=True))
        return figure, axes
    if not grid.rows:
        return base.message("There is no task to draw.")
    models = base.drawn_models(grid.rows, grid)
    names = [escape.plot((pretty or {}).get(row.task, row.task), width=_LABEL) for row in grid.rows]
    figure, drawn = base.sheet(
        [_height(len(models), height_per_task)] * len(grid.rows),
        cols=base.columns(3.3) if len(grid.rows) > 1 else 1,
        margins=base.Margins(0.12 + base.widest(names, 7.5), 0.12, _TOP, _BOTTOM),
        legend=base.model_entries(grid.models, looks, models),
        note=note,
    )
    for axes, row in zip(drawn, grid.rows, strict=True):
        _rows(axes, [row], grid, looks, band=band, **options)
        axes.set_xlabel(xlabel or base.metric_label(row), fontsize=base.SMALL, labelpad=1)
        base.tidy(axes)
        axes.tick_params(axis="y", labelsize=7.5)
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
    cells = [
        (row.cells[i], y[r] + place[r, i], looks[i]) for r, row in enumerate(rows) for i in range(len(grid.models))
    ]
    shown = [(cell, at, look) for cell, at, look in cells if cell.present]
    low, high, mean = (np.array([getattr(cell, name) for cell, _, _ in shown]) for name in ("low", "high", "mean"))
    at, own = [at for _, at, _ in shown], [look for _, _, look in shown]
    axes.hlines(at, low, high, colors=[look.colour for look in own], lw=1.2, zorder=3)
    base.marks(axes, mean, at, own)
    if band:
        base.bands(axes, len(rows))
    axes.set_yticks(y, [escape.plot((pretty or {}).get(row.task, row.task), width=_LABEL) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    bounds = {row.bounds for row in rows}
    axes.set_xlim(*base.limits(np.r_[mean, low, high], bounds.pop() if len(bounds) == 1 else UNBOUNDED))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.grid(True, axis="x", zorder=1)


def _places(rows: Sequence[TaskRow], grid: Grid, *, sort_within: bool) -> Any:
    """Vertical offset of every (task, model): fixed per model, or by its place within the task."""
    k = len(grid.models)
    slots = (np.arange(k) - (k - 1) / 2) * (0.8 / max(1, k))
    if not sort_within:
        return np.tile(slots, (len(rows), 1))
    place = np.empty((len(rows), k))
    for r, row in enumerate(rows):
        mean = np.array([cell.mean for cell in row.cells])
        order = np.argsort(-mean if row.greater_is_better else mean, kind="stable")
        place[r, order] = slots
    return place
