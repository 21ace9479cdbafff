"""Strips of dots for papers: one panel per task, one row per model, one mark per run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphnetz.records.views import DotPanel, DotRow, swarm
from graphnetz.report import escape
from graphnetz.report.colours import BAND, INK, MUTED
from graphnetz.report.plots import base
from graphnetz.report.style import Look, palette, styled

WIDTH = 3.5


@styled
def draw_dots(
    panels: Sequence[DotPanel],
    models: Sequence[str],
    *,
    max_cols: int = 2,
    pretty: Mapping[str, str] | None = None,
) -> tuple[Figure, Any]:
    """Draw every run and the mean of those that did not collapse.

    Collapsed runs (hollow) and failed ones (crosses) stand right of the axes: on it, they would squeeze all others
    into one spot.

    Returns
    -------
    tuple of Figure and array of Axes
        One panel per task.
    """
    if not panels:
        figure, axes = base.message("No run finished.")
        return figure, np.array([axes])
    looks = dict(zip(models, palette(len(models)), strict=True))
    most = max(sum(bool(row.values or row.failed) for row in panel.rows) for panel in panels)
    figure, drawn = base.panel_grid(len(panels), max_cols=max_cols, width=WIDTH, height=0.24 * most + 1.0)
    for axes, panel in zip(drawn, panels, strict=True):
        _panel(axes, panel, looks)
        axes.set_title(escape.plot((pretty or {}).get(panel.task, panel.task)))
        axes.set_xlabel(f"{escape.plot(panel.label)} {'↑' if panel.greater_is_better else '↓'}")
    _legend(figure, panels)
    return figure, np.array(drawn)


def _panel(axes: Axes, panel: DotPanel, looks: Mapping[str, Look]) -> None:
    rows = [row for row in panel.rows if row.values or row.failed]
    values = [v for row in rows for _, v in row.kept] or [0.0]
    span = (max(values) - min(values)) or 0.05 * abs(values[0]) or 1.0
    for y, row in enumerate(rows):
        _row(axes, row, y, look=looks[row.model], room=span / 45)
    for i in range(0, len(rows), 2):
        axes.axhspan(i - 0.5, i + 0.5, color=BAND, lw=0, zorder=0)
    axes.set_xlim(min(values) - 0.04 * span, max(values) + 0.04 * span)
    axes.set_yticks(range(len(rows)), [escape.plot(row.model, width=18) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x", zorder=1)


def _row(axes: Axes, row: DotRow, y: int, *, look: Look, room: float) -> None:
    x = [value for _, value in row.kept]
    up = y + 0.085 * np.array(swarm(x, room), dtype=float)
    axes.scatter(x, up, s=12, marker=look.marker, color=look.colour, edgecolors="white", lw=0.3, zorder=3)
    if math.isfinite(row.mean):
        axes.plot([row.mean, row.mean], [y - 0.42, y + 0.42], color=INK, lw=1.0, zorder=4)
    beside = [(look.marker, "none")] * len(row.collapsed) + [("x", look.colour)] * len(row.failed)
    for i, (marker, fill) in enumerate(beside):
        place = 1.03 + 0.035 * i if len(beside) < 8 else 1.03 + 0.25 * i / len(beside)
        axes.plot(
            [place], [y], marker=marker, ms=3.6, mfc=fill, mec=look.colour, mew=0.8, clip_on=False,
            transform=axes.get_yaxis_transform(),
        )  # fmt: skip


def _legend(figure: Figure, panels: Sequence[DotPanel]) -> None:
    rows = [row for panel in panels for row in panel.rows]
    low, gone = any(row.collapsed for row in rows), any(row.failed for row in rows)
    words: dict[str, dict[str, Any]] = {
        "one run": {"marker": "o", "linestyle": ""},
        "mean of runs without collapse" if low else "mean": {"marker": "|", "linestyle": "", "markersize": 9},
    }
    if low:
        words["collapsed (off the axis)"] = {"marker": "o", "linestyle": "", "markerfacecolor": "none"}
    if gone:
        words["failed"] = {"marker": "x", "linestyle": ""}
    handles = [Line2D([], [], color=MUTED, **{"markersize": 4, **look}) for look in words.values()]
    figure.legend(handles, list(words), loc="outside upper center", ncols=len(words))
