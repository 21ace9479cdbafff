"""Learning curves with a confidence band, and the history of a single run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz.records.views import CurvePanel, Grid
from graphnetz.report import escape
from graphnetz.report.plots import base
from graphnetz.report.style import palette, styled


@styled
def draw_learning_curves(
    panels: Sequence[CurvePanel],
    models: Sequence[str],
    *,
    ylabel: str | None = None,
    legend_loc: str = "lower right",
    max_cols: int = 3,
    pretty: Mapping[str, str] | None = None,
) -> tuple[Figure, Any]:
    """Draw mean and interval over epochs, one panel per task; panels of one metric share the y-axis."""
    if not panels:
        figure, axes = base.message("No cell kept a history.")
        return figure, np.array([axes])
    looks = dict(zip(models, palette(len(models)), strict=True))
    figure, drawn = base.panel_grid(len(panels), max_cols=max_cols, width=3.5, height=2.7)
    first: dict[str, Axes] = {}
    for axes, panel in zip(drawn, panels, strict=True):
        for curve in panel.curves:
            look = looks[curve.model]
            single = len(curve.x) == 1
            axes.plot(
                curve.x,
                curve.mean,
                color=look.colour,
                lw=1.4,
                marker=look.marker,
                ms=4,
                markevery=1 if single else max(1, len(curve.x) // 5),
                label=escape.plot(curve.model),
            )
            if np.isfinite(curve.low).any():
                axes.fill_between(curve.x, curve.low, curve.high, color=look.colour, alpha=0.16, lw=0)
        if panel.label in first:
            axes.sharey(first[panel.label])
        first.setdefault(panel.label, axes)
        axes.set_title(escape.plot((pretty or {}).get(panel.task, panel.task)))
        axes.set_ylabel(ylabel or escape.plot(panel.label))
        axes.set_xlabel("Epoch")
        axes.grid(True)
    for axes in first.values():
        axes.autoscale()
    if len(panels) == 1:
        place: Any = legend_loc
        drawn[0].legend(loc=place)
    else:
        shown = [i for i, m in enumerate(models) if any(c.model == m for p in panels for c in p.curves)]
        base.model_legend(figure, Grid(tuple(models), ()), list(looks.values()), models=shown)
    return figure, np.array(drawn)


@styled
def draw_history(
    history: Mapping[str, Sequence[float]], ax: Axes | None = None, *, title: str | None = None
) -> tuple[Figure, Axes]:
    """Draw one run: losses on the left axis, metrics on the right."""
    figure, axes = base.own_axes(ax, width=5.6, height=3.2)
    series = {key: np.asarray(values, dtype=float) for key, values in history.items() if np.ndim(values) == 1}
    losses = [key for key in series if key.endswith("loss")]
    others = [key for key in series if key not in losses]
    looks = palette(len(series))
    second = axes.twinx() if losses and others else axes
    handles = []
    for i, key in enumerate([*losses, *others]):
        target = axes if key in losses or second is axes else second
        epochs = np.arange(1, len(series[key]) + 1)
        (line,) = target.plot(
            epochs,
            series[key],
            color=looks[i].colour,
            ls="--" if key in losses else "-",
            marker=looks[i].marker,
            markevery=max(1, len(epochs) // 6),
            ms=3.5,
            lw=1.4,
            label=escape.plot(key),
        )
        handles.append(line)
    axes.set_xlabel("Epoch")
    axes.set_ylabel("Loss" if losses else "Metric")
    if second is not axes:
        second.set_ylabel("Metric")
        second.spines["right"].set_visible(True)
    axes.grid(True)
    if title:
        axes.set_title(escape.plot(title, width=60))
    if handles and ax is None:
        figure.legend(handles=handles, loc="outside upper center", ncols=min(4, len(handles)))
    elif handles:
        axes.legend(handles=handles)
    return figure, axes
