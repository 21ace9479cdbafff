"""Dashboard: one panel per task, its models as bars with intervals (Figure 2 of the GraphNetz paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz.records.views import Grid, TaskRow, number
from graphnetz.report import escape
from graphnetz.report.colours import MUTED
from graphnetz.report.plots import base
from graphnetz.report.style import Look, palette, styled

_MOST_NUMBERS = 160  # above this the numbers are too small to read and only cost time


@styled
def draw_dashboard(
    grid: Grid, *, max_cols: int = 5, title: str | None = None, pretty: Mapping[str, str] | None = None
) -> tuple[Figure, Any]:
    """Draw every task in its own panel and on its own scale; panels are not comparable by height."""
    if not grid.rows:
        figure, axes = base.message("There is no task to draw.")
        return figure, np.array([axes])
    looks = palette(len(grid.models))
    cols = min(max_cols, max(1, round(len(grid.rows) ** 0.5 + 0.8)))
    width = max(2.3, 0.3 * len(grid.models) + 0.9)
    figure, drawn = base.panel_grid(len(grid.rows), max_cols=cols, width=width, height=2.35)
    for axes, row in zip(drawn, grid.rows, strict=True):
        _panel(axes, row, grid, looks, annotate=len(grid.rows) * len(grid.models) <= _MOST_NUMBERS)
        name = escape.plot((pretty or {}).get(row.task, row.task), width=24)
        axes.set_title(name, fontsize=9, loc="left", pad=16 if row.category else 6)
        if row.category:
            kind = f" · {row.task_type}" if row.task_type else ""
            axes.text(
                0, 1.03, escape.plot(row.category + kind, width=34), transform=axes.transAxes, fontsize=7, color=MUTED
            )
    if title:
        figure.suptitle(escape.plot(title, width=90))
    if len(grid.rows) * len(grid.models) <= _MOST_NUMBERS:
        figure.supxlabel("* best mean   = cannot be told apart from the best", fontsize=7.5, color=MUTED)
    base.model_legend(figure, grid, looks, models=base.drawn_models(grid.rows, grid), bars=True)
    return figure, np.array(drawn)


def _panel(axes: Axes, row: TaskRow, grid: Grid, looks: list[Look], *, annotate: bool) -> None:
    models = base.drawn_models([row], grid)
    shown = [row.cells[i] for i in models]
    mean, error = base.interval_of(shown)
    places = np.arange(len(models))
    # One call for all bars: a call per bar takes most of the time of the figure.
    colours, hatches = [looks[i].colour for i in models], [looks[i].hatch for i in models]
    if models:
        axes.bar(places, mean, 0.78, color=colours, hatch=hatches, edgecolor="white", lw=0.5)
        axes.errorbar(places, mean, yerr=error, fmt="none", ecolor="#222222", elinewidth=0.9, capsize=2.2)
    for place, cell in enumerate(shown):
        if not annotate:
            continue
        top = cell.high if np.isfinite(cell.high) else cell.mean
        base.value_above(
            axes,
            number(cell.mean) + {"best": "*", "tied": "="}.get(cell.mark, ""),
            (place, max(top, 0.0)),
            gap=2,
            fontsize=6.3,
            fontweight="bold" if cell.mark == "best" else "normal",
            rotation=90 if len(models) > 5 else 0,
            in_layout=False,  # the axis leaves room for it
        )
    if not models:
        axes.text(0.5, 0.5, "no value", transform=axes.transAxes, ha="center", color=MUTED)
    axes.set_xticks([])
    axes.set_xlim(-0.7, max(len(models), 1) - 0.3)
    low, high = base.bar_limits([row])
    axes.set_ylim(low, high + (0.16 * (high - low) if len(models) > 5 else 0.0))
    axes.set_ylabel(base.metric_label(row), fontsize=7.5)
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(True, axis="y")
