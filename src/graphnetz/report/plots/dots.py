"""Strips of dots for papers: one panel per task, one row per model, one mark per run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from graphnetz.records.views import DotPanel, DotRow, swarm
from graphnetz.report import escape
from graphnetz.report.colours import INK, MUTED
from graphnetz.report.plots import base
from graphnetz.report.style import Look, palette, paper, styled

_TOP, _BOTTOM = 0.26, 0.4


def _height(models: int) -> float:
    return models * (0.2 if models <= 8 else 0.145) + 0.05


def tasks_of_a_page(models: int) -> int:
    """How many tasks a page holds."""
    return base.columns(3.3, 2) * max(1, int((paper().height - 0.5) / (_height(models) + _TOP + _BOTTOM)))


@styled
def draw_dots(
    panels: Sequence[DotPanel],
    models: Sequence[str],
    *,
    max_cols: int = 2,
    pretty: Mapping[str, str] | None = None,
    note: str = "",
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
    heights = [_height(max(1, len(_drawn(panel)))) for panel in panels]
    names = [escape.plot(row.model, width=18) for panel in panels for row in panel.rows]
    figure, drawn = base.sheet(
        heights,
        cols=min(len(panels), base.columns(3.3, max_cols)),
        margins=base.Margins(0.1 + base.widest(names), 0.3 if _beside(panels) else 0.12, _TOP, _BOTTOM),
        legend=_entries(panels),
        note=note,
    )
    for axes, panel in zip(drawn, panels, strict=True):
        _panel(axes, panel, looks)
        axes.set_title(escape.plot((pretty or {}).get(panel.task, panel.task)), fontsize=8.5, loc="left", pad=3)
        label = f"{escape.plot(panel.label)} {'↑' if panel.greater_is_better else '↓'}"
        axes.set_xlabel(label, fontsize=base.SMALL, labelpad=1)
    return figure, np.array(drawn)


def _drawn(panel: DotPanel) -> list[DotRow]:
    return [row for row in panel.rows if row.values or row.failed]


def _beside(panels: Sequence[DotPanel]) -> bool:
    return any(row.collapsed or row.failed for panel in panels for row in panel.rows)


def _panel(axes: Axes, panel: DotPanel, looks: Mapping[str, Look]) -> None:
    rows = _drawn(panel)
    values = [v for row in rows for _, v in row.kept] or [0.0]
    span = (max(values) - min(values)) or 0.05 * abs(values[0]) or 1.0
    x: list[float] = []
    up: list[float] = []
    own: list[Look] = []
    for y, row in enumerate(rows):
        kept = [value for _, value in row.kept]
        x += kept
        up += [y + 0.085 * step for step in swarm(kept, span / 45)]
        own += [looks[row.model]] * len(kept)
        _apart(axes, row, y, look=looks[row.model])
    base.marks(axes, x, up, own, size=11, edge="white")
    means = [(y, row.mean) for y, row in enumerate(rows) if math.isfinite(row.mean)]
    ends = [y - 0.42 for y, _ in means], [y + 0.42 for y, _ in means]
    axes.vlines([mean for _, mean in means], *ends, colors=INK, lw=1.0, zorder=5)
    base.bands(axes, len(rows))
    axes.set_xlim(*base.limits(values, panel.bounds))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.set_yticks(range(len(rows)), [escape.plot(row.model, width=18) for row in rows])
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    base.tidy(axes)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x", zorder=1)


def _apart(axes: Axes, row: DotRow, y: int, *, look: Look) -> None:
    """Runs that collapsed or failed, right of the axis."""
    beside = [(look.marker, "none")] * len(row.collapsed) + [("x", look.colour)] * len(row.failed)
    for i, (marker, fill) in enumerate(beside):
        place = 1.03 + 0.035 * i if len(beside) < 8 else 1.03 + 0.25 * i / len(beside)
        axes.plot(
            [place], [y], marker=marker, ms=3.6, mfc=fill, mec=look.colour, mew=0.8, clip_on=False,
            transform=axes.get_yaxis_transform(),
        )  # fmt: skip


def _entries(panels: Sequence[DotPanel]) -> list[base.Entry]:
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
    return [(Line2D([], [], color=MUTED, **{"markersize": 4, **look}), text) for text, look in words.items()]
