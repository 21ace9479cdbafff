"""Learning curves with a confidence band, and the history of a single run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphnetz.records.views import CurvePanel
from graphnetz.report import escape
from graphnetz.report.plots import base
from graphnetz.report.style import Look, palette, paper, styled

_HEIGHT, _MARGINS = 1.45, base.Margins(0.5, 0.1, 0.24, 0.42)


def tasks_of_a_page() -> int:
    """How many tasks a page holds."""
    return base.columns(2.2, 3) * max(1, int((paper().height - 0.6) / (_HEIGHT + _MARGINS.top + _MARGINS.bottom)))


@styled
def draw_learning_curves(
    panels: Sequence[CurvePanel],
    models: Sequence[str],
    *,
    ylabel: str | None = None,
    legend_loc: str = "lower right",
    max_cols: int = 3,
    pretty: Mapping[str, str] | None = None,
    note: str = "",
) -> tuple[Figure, Any]:
    """Draw mean and interval over epochs, one panel per task with an axis of its own."""
    if not panels:
        figure, axes = base.message("No cell kept a history.")
        return figure, np.array([axes])
    looks = palette(len(models))
    shown = [i for i, m in enumerate(models) if any(c.model == m for p in panels for c in p.curves)]
    alone = len(panels) == 1
    spread = any(np.isfinite(curve.low).any() for panel in panels for curve in panel.curves)
    words = "Mean over seeds and 95 % t interval, epoch by epoch." if spread else "Epoch by epoch."
    figure, drawn = base.sheet(
        [2.4 if alone else _HEIGHT] * len(panels), cols=min(len(panels), base.columns(2.2, max_cols)),
        margins=_MARGINS, legend=[] if alone else base.model_entries(models, looks, shown),
        note="\n".join(filter(None, (words, note))),
    )  # fmt: skip
    for axes, panel in zip(drawn, panels, strict=True):
        _curves(axes, panel, dict(zip(models, looks, strict=True)))
        axes.set_title(escape.plot((pretty or {}).get(panel.task, panel.task)), fontsize=8, loc="left", pad=3)
        axes.set_ylabel(ylabel or escape.plot(panel.label), fontsize=base.SMALL)
        axes.set_xlabel("Epoch", fontsize=base.SMALL, labelpad=1)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        base.tidy(axes)
    if alone:
        place: Any = legend_loc
        drawn[0].legend(loc=place, fontsize=base.LEGEND, ncols=1 if len(shown) <= 8 else 2)
    return figure, np.array(drawn)


def _curves(axes: Axes, panel: CurvePanel, looks: Mapping[str, Look]) -> None:
    for curve in panel.curves:
        look, every = looks[curve.model], max(1, len(curve.x) // 5)
        axes.plot(
            curve.x, curve.mean, color=look.colour, lw=1.1, marker=look.marker, ms=3, markevery=every,
            label=escape.plot(curve.model),
        )  # fmt: skip
        if np.isfinite(curve.low).any():
            axes.fill_between(curve.x, curve.low, curve.high, color=look.colour, alpha=0.16, lw=0)
    axes.set_ylim(*base.limits(np.concatenate([np.r_[c.mean, c.low, c.high] for c in panel.curves]), panel.bounds))
    axes.grid(True)


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
