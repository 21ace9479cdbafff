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
from graphnetz.report.style import Look, palette, paper, styled

_HEIGHT, _TOP, _BOTTOM = 1.45, 0.1, 0.3
_SLANTED = 0.25
"""Inches that slanted names take more."""
_MOST_VALUES = 24
"""Bars of a panel above which their values would be written over each other."""


def tasks_of_a_line(models: int) -> int:
    """How many tasks stand beside each other."""
    return max(1, min(8, int((paper().width - 0.7) / max(0.62, 0.065 * models + 0.15))))


def pages_of(grid: Grid) -> list[list[TaskRow]]:
    """Cut the tasks into pages of whole lines, tasks of one metric after each other."""
    most = max(1, int((paper().height - 0.6) / (_HEIGHT + _TOP + _BOTTOM + _SLANTED)))
    lines = _panels(grid)
    return [[row for line in lines[i : i + most] for row in line] for i in range(0, len(lines), most)]


@styled
def draw_bars(
    grid: Grid,
    ax: Axes | None = None,
    *,
    ylabel: str | None = None,
    title: str | None = None,
    annotate: bool = True,
    pretty: Mapping[str, str] | None = None,
    note: str = "",
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
    if not grid.rows:
        return base.message("There is no task to draw.")
    panels = _panels(grid)
    models = base.drawn_models(grid.rows, grid)
    slots = max(len(rows) for rows in panels)
    slanted = any(_slanted(_names(rows, pretty), slots) for rows in panels)
    margins = base.Margins(0.55, 0.1, _TOP, _BOTTOM + (_SLANTED if slanted else 0.0))
    figure, drawn = base.sheet(
        [_HEIGHT] * len(panels), margins=margins, title=title, note=note,
        legend=base.model_entries(grid.models, looks, models, bars=True),
    )  # fmt: skip
    for axes, rows in zip(drawn, panels, strict=True):
        _group(axes, rows, grid, looks, annotate=annotate, pretty=pretty, slots=slots)
        axes.set_ylabel(ylabel or base.metric_label(rows[0]), fontsize=7.5)
        base.tidy(axes)
    return figure, drawn[0] if len(drawn) == 1 else np.array(drawn)


def _panels(grid: Grid) -> list[tuple[TaskRow, ...]]:
    """Tasks of one metric, cut into lines of even length so that labels stay readable."""
    out: list[tuple[TaskRow, ...]] = []
    for _, rows in grid.by_metric():
        lines = -(-len(rows) // tasks_of_a_line(len(grid.models)))
        size = -(-len(rows) // lines)
        out += [rows[i : i + size] for i in range(0, len(rows), size)]
    return out


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
    bars = len(models) * max(slots, len(rows))
    annotate = annotate and bars <= _MOST_VALUES
    base.bar_axis(axes, rows, room=(0.3 if bars > 8 else 0.14) if annotate else 0.0)
    end = axes.get_ylim()[1]
    for place, i in enumerate(models):
        mean, error = base.column(rows, i)
        at = x + (place - (len(models) - 1) / 2) * width
        look = looks[i]
        label = escape.plot(grid.models[i])
        axes.bar(at, mean, width * 0.92, color=look.colour, hatch=look.hatch, edgecolor="white", lw=0.4, label=label)
        axes.errorbar(at, mean, yerr=error, fmt="none", ecolor="#222222", elinewidth=0.8, capsize=1.5)
        if annotate:
            _values(axes, at, mean, np.minimum(mean + np.nan_to_num(error[1]), end), rotate=bars > 8)
    names = _names(rows, pretty)
    axes.set_xticks(x, names)
    if _slanted(names, max(slots, len(rows))):
        axes.tick_params(axis="x", labelrotation=20)
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")
    axes.set_xlim(-0.55, max(slots, len(rows), 1) - 0.45)
    axes.grid(True, axis="y")


def _names(rows: Sequence[TaskRow], pretty: Mapping[str, str] | None) -> list[str]:
    return [escape.plot((pretty or {}).get(row.task, row.task), width=18) for row in rows]


def _slanted(names: Sequence[str], slots: int) -> bool:
    """Whether names are too wide to stand beside each other."""
    return base.widest(names) > 0.95 * (paper().width - 0.7) / max(1, slots)


def _values(axes: Axes, at: Any, mean: Any, top: Any, *, rotate: bool) -> None:
    for x, y, high in zip(at, mean, top, strict=True):
        if np.isfinite(y):
            base.value_above(axes, number(float(y)), (x, high), gap=3, fontsize=7, rotation=90 if rotate else 0)
