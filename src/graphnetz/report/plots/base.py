"""Shared by the figures: panels, legends, axis limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from graphnetz.records.views import CellView, Grid, TaskRow
from graphnetz.report import escape
from graphnetz.report.style import Look, new_figure

MARGINS = {"w_pad": 0.12, "h_pad": 0.08}


def metric_label(row: TaskRow) -> str:
    """Metric with an arrow towards better: ``Test accuracy ↑``."""
    return f"{escape.plot(row.metric)} {row.arrow}"


def panel_grid(n: int, *, max_cols: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with ``n`` axes in at most ``max_cols`` columns."""
    cols = max(1, min(max_cols, n))
    rows = max(1, math.ceil(n / cols))
    figure = new_figure(width * cols, height * rows)
    figure.set_layout_engine("constrained", **MARGINS)
    axes = [figure.add_subplot(rows, cols, i + 1) for i in range(n)]
    return figure, axes


def own_axes(ax: Axes | None, *, width: float, height: float) -> tuple[Figure, Axes]:
    """Return the caller's axes with its figure, or new ones."""
    if ax is not None:
        figure = ax.get_figure()
        while not isinstance(figure, Figure):  # axes inside a subfigure
            figure = figure.figure  # type: ignore[union-attr]
        return figure, ax
    figure, (axes,) = panel_grid(1, max_cols=1, width=width, height=height)
    return figure, axes


def message(text: str) -> tuple[Figure, Axes]:
    """A figure that says why there is nothing to draw."""
    figure, axes = own_axes(None, width=6.0, height=1.2)
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", wrap=True)
    return figure, axes


def column(cells: Sequence[TaskRow], index: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Means ``[rows]`` and distances to the interval bounds ``[2, rows]`` of one model; no interval is NaN."""
    return interval_of([row.cells[index] for row in cells])


def interval_of(cells: Sequence[CellView]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Means ``[n]`` and distances to the interval bounds ``[2, n]``; no interval is NaN."""
    mean, low, high = np.array([(c.mean, c.low, c.high) for c in cells], dtype=float).reshape(-1, 3).T
    return mean, np.vstack([mean - low, high - mean]).clip(min=0.0)


def value_above(axes: Axes, text: str, at: tuple[float, float], *, gap: float, **look: Any) -> None:
    """Write a value ``gap`` points above the place it belongs to."""
    axes.annotate(text, at, xytext=(0, gap), textcoords="offset points", ha="center", va="bottom", **look)


def drawn_models(rows: Sequence[TaskRow], grid: Grid) -> list[int]:
    """Positions of the models that have a value in ``rows``."""
    return [i for i in range(len(grid.models)) if any(row.cells[i].present for row in rows)]


def bar_limits(rows: Sequence[TaskRow]) -> tuple[float, float]:
    """Axis limits of a bar chart: bars start at zero, except where all values are far from it."""
    low = [_first_finite(c.low, c.mean) for row in rows for c in row.cells if c.present]
    high = [_first_finite(c.high, c.mean) for row in rows for c in row.cells if c.present]
    if not low:
        return 0.0, 1.0
    bottom, top = min(0.0, *low), max(0.0, *high)
    span = (top - bottom) or 1.0
    return bottom - (0.05 * span if bottom < 0 else 0.0), top + 0.14 * span


def _first_finite(*values: float) -> float:
    return next((v for v in values if math.isfinite(v)), 0.0)


def model_legend(
    figure: Figure, grid: Grid, looks: Sequence[Look], *, models: Sequence[int], bars: bool = False
) -> None:
    """One legend for all panels, above them."""
    handles: list[Patch | Line2D] = []
    for i in models:
        look = looks[i]
        if bars:
            handles.append(Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white"))
        else:
            handles.append(Line2D([], [], color=look.colour, marker=look.marker, linestyle="-", markersize=5))
    labels = [escape.plot(grid.models[i]) for i in models]
    if not handles:
        return
    figure.legend(handles, labels, loc="outside upper center", ncols=_columns(labels, figure.get_figwidth()))


def _columns(labels: Sequence[str], inches: float) -> int:
    """Number of legend columns that fit, at about 0.08 inches a letter plus the handle."""
    for count in range(len(labels), 1, -1):
        widths = [max(map(len, labels[i::count])) for i in range(count)]
        if sum(0.08 * width + 0.6 for width in widths) <= inches:
            return count
    return 1
