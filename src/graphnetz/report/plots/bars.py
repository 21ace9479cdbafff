"""Grouped bars: one group per task, one bar per model, whiskers for the interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from graphnetz.records.views import Grid, TaskRow, number
from graphnetz.report import escape
from graphnetz.report.plots import base
from graphnetz.report.style import Look, palette, styled


@styled
def draw_bars(
    grid: Grid,
    ax: Axes | None = None,
    *,
    ylabel: str | None = None,
    title: str | None = None,
    annotate: bool = True,
    pretty: Mapping[str, str] | None = None,
) -> tuple[Figure, Any]:
    """Draw mean and interval as grouped bars.

    Tasks with different metrics get panels of their own, because their values do not share a
    scale; with ``ax`` given, everything goes there and the axis carries no metric name.

    Returns
    -------
    tuple of Figure and Axes
        An array of axes when there is more than one panel.
    """
    looks = palette(len(grid.models))
    if ax is not None:
        figure, axes = base.own_axes(ax, width=1, height=1)
        _group(axes, grid.rows, grid, looks, annotate=annotate, pretty=pretty)
        axes.set_ylabel(ylabel or (base.metric_label(grid.rows[0]) if len(grid.by_metric()) == 1 else "Score"))
        axes.set_title(escape.plot(title, width=90) if title else "")
        # The axes are the caller's and may hold bars already: the last ones of a name are ours.
        ours = {str(bar.get_label()): bar for bar in axes.containers if isinstance(bar, BarContainer)}
        axes.legend(ours.values(), ours)
        return figure, axes
    panels = _panels(grid)
    width = min(12.0, max(5.0, max(_width(rows, grid) for _, rows in panels)))
    figure, drawn = base.panel_grid(len(panels), max_cols=1, width=width, height=2.7)
    slots = max(len(rows) for _, rows in panels)
    for axes, (_, rows) in zip(drawn, panels, strict=True):
        _group(axes, rows, grid, looks, annotate=annotate, pretty=pretty, slots=slots)
        axes.set_ylabel(ylabel or base.metric_label(rows[0]))
    if title:
        figure.suptitle(escape.plot(title, width=90))
    base.model_legend(figure, grid, looks, models=base.drawn_models(grid.rows, grid), bars=True)
    return figure, drawn[0] if len(drawn) == 1 else np.array(drawn)


_PER_PANEL = 8


def _panels(grid: Grid) -> list[tuple[str, tuple[TaskRow, ...]]]:
    """Groups by metric, cut into lines of at most eight tasks so that labels stay readable."""
    out = []
    for metric, rows in grid.by_metric():
        lines = -(-len(rows) // _PER_PANEL)
        size = -(-len(rows) // lines)
        out += [(metric, rows[i : i + size]) for i in range(0, len(rows), size)]
    return out


def _width(rows: Sequence[TaskRow], grid: Grid) -> float:
    return 1.0 + len(rows) * max(0.9, 0.22 * len(grid.models) + 0.25)


def _group(
    axes: Axes,
    rows: Sequence[TaskRow],
    grid: Grid,
    looks: Sequence[Look],
    *,
    annotate: bool,
    pretty: Mapping[str, str] | None,
    slots: int = 0,
) -> None:
    # Panels of one figure share bar width and slots, so that a lone task is not drawn as giant bars.
    models = base.drawn_models(grid.rows if slots else rows, grid)
    width = 0.82 / max(1, len(models))
    x = np.arange(len(rows), dtype=float)
    top = base.bar_limits(rows)
    for place, i in enumerate(models):
        mean, error = base.column(rows, i)
        at = x + (place - (len(models) - 1) / 2) * width
        look = looks[i]
        label = escape.plot(grid.models[i])
        axes.bar(at, mean, width * 0.92, color=look.colour, hatch=look.hatch, edgecolor="white", lw=0.4, label=label)
        axes.errorbar(at, mean, yerr=error, fmt="none", ecolor="#222222", elinewidth=0.9, capsize=2)
        if annotate and len(models) * len(rows) <= 40:
            _values(axes, at, mean, error, rotate=len(models) * max(slots, len(rows)) > 8)
    axes.set_xticks(x, [escape.plot((pretty or {}).get(r.task, r.task), width=18) for r in rows])
    if len(rows) > 4:
        axes.tick_params(axis="x", labelrotation=20)
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")
    axes.set_xlim(-0.55, max(slots, len(rows), 1) - 0.45)
    crowded = annotate and len(models) * max(slots, len(rows)) > 8 and len(models) * len(rows) <= 40
    axes.set_ylim(top[0], top[1] + (0.14 * (top[1] - top[0]) if crowded else 0.0))
    axes.grid(True, axis="y")


def _values(axes: Axes, at: Any, mean: Any, error: Any, *, rotate: bool) -> None:
    for x, y, high in zip(at, mean, error[1], strict=True):
        if np.isfinite(y):
            top = y + (high if np.isfinite(high) else 0.0)
            base.value_above(axes, number(float(y)), (x, top), gap=3, fontsize=7, rotation=90 if rotate else 0)
