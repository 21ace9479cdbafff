"""Plotting helpers under their documented names; the figures themselves live in `render`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphnetz.records.views import CellView, Grid, TaskRow
from graphnetz.report import BenchmarkReport
from graphnetz.report.plots import draw_bars, draw_history
from graphnetz.report.style import save_figure, set_plot_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_benchmark", "plot_grouped_bars", "plot_history", "save_figure", "set_plot_style"]


def plot_history(
    history: Mapping[str, Sequence[float]],
    ax: Axes | None = None,
    *,
    keys: Sequence[str] | None = None,
    title: str | None = None,
) -> tuple[Figure, Axes]:
    """Draw one training history: losses on the left axis, metrics on the right.

    Parameters
    ----------
    history
        Key -> one value per epoch, as returned by the training functions.
    keys
        Which series to draw; all by default.
    """
    chosen = history if keys is None else {key: history[key] for key in keys}
    return draw_history(chosen, ax, title=title)


def plot_grouped_bars(
    values: Mapping[str, Mapping[str, float]],
    ax: Axes | None = None,
    *,
    errors: Mapping[str, Mapping[str, float]] | None = None,
    ylabel: str = "Score",
    title: str | None = None,
    annotate: bool = True,
) -> tuple[Figure, Any]:
    """Draw ``values[group][bar]`` as grouped bars, with optional half-widths ``errors[group][bar]``."""
    bars = tuple(dict.fromkeys(name for group in values.values() for name in group))
    rows = []
    for group, found in values.items():
        half = (errors or {}).get(group, {})
        cells = [_cell(found.get(name, np.nan), half.get(name, np.nan)) for name in bars]
        rows.append(TaskRow(group, ylabel, True, tuple(cells)))
    return draw_bars(Grid(bars, tuple(rows)), ax, ylabel=ylabel, title=title, annotate=annotate)


def _cell(mean: float, half: float) -> CellView:
    return CellView(float(mean), float(mean - half), float(mean + half), float(half))


def plot_benchmark(
    report: BenchmarkReport, ax: Axes | None = None, *, path: str | Path | None = None, **options: Any
) -> tuple[Figure, Any]:
    """Draw a report's grouped bars; ``path`` also saves them as PDF and PNG."""
    figure, axes = report.plot(ax, **options)
    if path is not None:
        save_figure(figure, path)
    return figure, axes
