"""Plotting helpers under their documented names; the figures themselves live in `graphnetz.report.plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphnetz.records.views import CellView, Grid, TaskRow
from graphnetz.report import BenchmarkReport
from graphnetz.report.notebook import shown
from graphnetz.report.plots import draw_bars, draw_history
from graphnetz.report.style import save_figure, set_plot_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_benchmark", "plot_grouped_bars", "plot_history", "save_figure", "set_plot_style"]


@shown
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
    ax
        Axes to draw on; None makes a new figure.
    keys
        Which series to draw; all by default.
    title
        Title above the axes.

    Returns
    -------
    tuple
        The matplotlib figure and its (left) axes.

    Examples
    --------
    >>> from graphnetz import plot_history
    >>> figure, axes = plot_history({"train_loss": [1.0, 0.5], "val_acc": [0.6, 0.8]})
    >>> axes.get_xlabel()
    'Epoch'
    """
    chosen = history if keys is None else {key: history[key] for key in keys}
    return draw_history(chosen, ax, title=title)


@shown
def plot_grouped_bars(
    values: Mapping[str, Mapping[str, float]],
    ax: Axes | None = None,
    *,
    errors: Mapping[str, Mapping[str, float]] | None = None,
    ylabel: str = "Score",
    title: str | None = None,
    annotate: bool = True,
) -> tuple[Figure, Any]:
    """Draw ``values[group][bar]`` as grouped bars.

    Parameters
    ----------
    values
        Group -> bar -> height; a bar missing from a group is left out there.
    ax
        Axes to draw on; None makes a new figure.
    errors
        Half-widths of error bars, laid out like ``values``.
    ylabel, title
        Label of the axis and title.
    annotate
        Write the values on the bars.

    Returns
    -------
    tuple
        The matplotlib figure and its axes.

    Examples
    --------
    >>> from graphnetz import plot_grouped_bars
    >>> figure, axes = plot_grouped_bars({"cora": {"GCN": 0.81, "MLP": 0.58}}, ylabel="Test accuracy")
    """
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
    """Draw a report's scores as grouped bars with confidence intervals.

    Parameters
    ----------
    report
        A finished benchmark.
    ax
        Axes to draw on; None makes a new figure.
    path
        Also save the figure here, as PDF and PNG.
    **options
        Passed on to `BenchmarkReport.plot`.

    Returns
    -------
    tuple
        The matplotlib figure and its axes.

    Examples
    --------
    >>> from graphnetz import BenchmarkReport, plot_benchmark
    >>> runs = {"cora": {"GCN": [{"test_acc": [0.80]}, {"test_acc": [0.82]}]}}
    >>> figure, axes = plot_benchmark(BenchmarkReport(seeds=[0, 1], histories=runs))
    """
    drawn = report.plot(ax, **options)
    if path is not None:
        save_figure(drawn[0], path)
    return drawn
