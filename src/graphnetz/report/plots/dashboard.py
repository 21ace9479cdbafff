"""Dashboard: one panel per task, its models as bars with intervals (Figure 2 of the GraphNetz paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz.records.views import Grid, TaskRow, number
from graphnetz.report.charts.rows import MARK_SIGNS
from graphnetz.report.colours import MUTED
from graphnetz.report.plots import base
from graphnetz.report.style import Look, palette, paper, styled

_HEIGHT, _TOP, _BOTTOM = 1.25, 0.42, 0.08
_SIGNS = {mark: sign for mark, (sign, _) in MARK_SIGNS.items()}
"""As on the page."""
MOST_VALUES = 8
"""Bars of a panel up to which values stand above them."""


def _width(models: int) -> float:
    return max(1.6, 0.13 * models + 0.62)


def tasks_of_a_page(models: int) -> int:
    """How many tasks a page holds."""
    return base.columns(_width(models), 5) * max(1, int((paper().height - 0.8) / (_HEIGHT + _TOP + _BOTTOM)))


@styled
def draw_dashboard(
    grid: Grid,
    *,
    max_cols: int = 5,
    title: str | None = None,
    pretty: Mapping[str, str] | None = None,
    note: str = "",
) -> tuple[Figure, Any]:
    """Draw every task in its own panel and on its own scale; panels are not comparable by height."""
    if not grid.rows:
        figure, axes = base.message("There is no task to draw.")
        return figure, np.array([axes])
    looks = palette(len(grid.models))
    models = base.drawn_models(grid.rows, grid)
    words = "★ best mean over shared seeds · ≈ cannot be told apart from the best"
    figure, drawn = base.sheet(
        [_HEIGHT] * len(grid.rows),
        cols=min(len(grid.rows), base.columns(_width(len(models)), max_cols)),
        margins=base.Margins(0.52, 0.1, _TOP, _BOTTOM),
        legend=base.model_entries(grid.models, looks, models, bars=True),
        title=title,
        note="\n".join(filter(None, (words, note))),
    )
    room = paper().width * drawn[0].get_position().width + 0.1
    # More values would be written over each other, the signs still fit; and panels of one figure look alike.
    values = max(len(base.drawn_models([row], grid)) for row in grid.rows) <= MOST_VALUES
    for axes, row in zip(drawn, grid.rows, strict=True):
        _panel(axes, row, grid, looks, values=values)
        name = base.fitted((pretty or {}).get(row.task, row.task), room, 8, bold=True)
        axes.set_title(name, fontsize=8, loc="left", pad=12 if row.category else 4)
        if row.category:
            kind = f" · {row.task_type}" if row.task_type else ""
            text = base.fitted(row.category + kind, room, 7)
            axes.text(0, 1.04, text, transform=axes.transAxes, fontsize=7, color=MUTED)
    return figure, np.array(drawn)


def _panel(axes: Axes, row: TaskRow, grid: Grid, looks: list[Look], *, values: bool) -> None:
    models = base.drawn_models([row], grid)
    shown = [row.cells[i] for i in models]
    mean, error = base.interval_of(shown)
    places = np.arange(len(models))
    base.bar_axis(axes, [row], room=0.42 if values else 0.14)
    # One call for all bars: a call per bar takes most of the time of the figure.
    colours, hatches = [looks[i].colour for i in models], [looks[i].hatch for i in models]
    if models:
        axes.bar(places, mean, 0.78, color=colours, hatch=hatches, edgecolor="white", lw=0.5)
        axes.errorbar(places, mean, yerr=error, fmt="none", ecolor="#222222", elinewidth=0.8, capsize=1.8)
    bound = row.bounds[1]
    for place, cell in enumerate(shown):
        text = _SIGNS.get(cell.mark, "")
        if values:
            text = f"{number(cell.mean)}{text}"
        if not text:
            continue
        top = cell.high if np.isfinite(cell.high) else cell.mean
        bold = "bold" if cell.mark == "best" else "normal"
        base.value_above(
            axes, text, (place, min(max(top, 0.0), bound)), gap=2, fontsize=7, fontweight=bold,
            rotation=90 if values else 0,
        )  # fmt: skip
    if not models:
        axes.text(0.5, 0.5, "no value", transform=axes.transAxes, ha="center", color=MUTED, fontsize=7)
    axes.set_xticks([])
    axes.set_xlim(-0.7, max(len(models), 1) - 0.3)
    axes.set_ylabel(base.metric_label(row), fontsize=7)
    axes.grid(True, axis="y")
    base.tidy(axes)
