"""Shared by the figures: panels, legends, axis limits."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import LoadFlags
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from graphnetz.records.views import UNBOUNDED, Bounds, CellView, Grid, TaskRow
from graphnetz.report import escape
from graphnetz.report.colours import BAND, MUTED
from graphnetz.report.style import Look, new_figure, paper

_NO_HINTING = LoadFlags.NO_HINTING

SMALL = 7.0
"""Smallest letters of a figure, in points at the size it is printed in."""
LEGEND = 7.5
Entry = tuple[Artist, str]


def metric_label(row: TaskRow) -> str:
    """Metric with an arrow towards better: ``Test accuracy ↑``."""
    return f"{escape.plot(row.metric)} {row.arrow}"


def own_axes(ax: Axes | None, *, width: float, height: float) -> tuple[Figure, Axes]:
    """Return the caller's axes with its figure, or new ones."""
    if ax is not None:
        figure = ax.get_figure()
        while not isinstance(figure, Figure):  # axes inside a subfigure
            figure = figure.figure  # type: ignore[union-attr]
        return figure, ax
    figure = new_figure(width, height)
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.08)
    return figure, figure.add_subplot()


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


def limits(values: npt.ArrayLike, bounds: Bounds = UNBOUNDED, *, room: float = 0.04) -> tuple[float, float]:
    """Axis limits around the finite ``values`` that never pass the bounds of the metric."""
    found = np.asarray(values, dtype=float)
    found = found[np.isfinite(found)]
    if not found.size:
        return 0.0, 1.0
    low, high = float(found.min()), float(found.max())
    pad = room * (high - low) or 0.05 * abs(low) or 0.5
    return max(low - pad, bounds[0]), min(high + pad, bounds[1])


def bar_limits(rows: Sequence[TaskRow]) -> tuple[float, float]:
    """Lowest and highest place that bars and whiskers take; bars start at zero."""
    ends = [v for row in rows for c in row.cells if c.present for v in (c.mean, c.low, c.high) if math.isfinite(v)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    bounds = rows[0].bounds if len({row.bounds for row in rows}) == 1 else UNBOUNDED
    return max(low, bounds[0]), min(high, bounds[1])


def bar_axis(axes: Axes, rows: Sequence[TaskRow], *, room: float) -> None:
    """End the axis of bars at what they show, or at the bound of the metric; ``room`` above it is for values."""
    low, high = bar_limits(rows)
    bound = rows[0].bounds[1] if rows else math.inf
    span = (high - low) or 1.0
    low -= 0.05 * span if low < 0 else 0.0
    end = min(high + 0.04 * span, bound)
    axes.set_ylim(low, end + room * span)
    axes.spines["left"].set_bounds(low, end)
    axes.yaxis.set_major_locator(_Ending(end))


class _Ending(MaxNLocator):
    """Ticks of an axis that ends before the room for values begins."""

    def __init__(self, end: float) -> None:
        super().__init__(nbins=5, steps=[1, 2, 2.5, 5, 10])
        self.end = end

    def tick_values(self, vmin: float, vmax: float) -> Any:
        ticks = np.asarray(super().tick_values(vmin, min(vmax, self.end)), dtype=float)
        return ticks[ticks <= self.end + 1e-9 * abs(self.end)]


def _font(bold: bool) -> Any:
    # Not kept: a font reads its file as letters are asked for, and a forked process would move the place in it for
    # both. matplotlib keeps fonts itself, and lets go of them in a fork.
    return get_font(findfont(FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")))


@functools.lru_cache(maxsize=4096)
def text_width(text: str, size: float = SMALL, *, bold: bool = False) -> float:
    """Inches that the widest line of ``text`` takes."""
    font = _font(bold)
    font.set_size(size, 72)
    widths = [0.0]
    for line in text.replace(r"\$", "$").splitlines():
        font.set_text(line, 0.0, flags=_NO_HINTING)
        widths.append(font.get_width_height()[0] / 64 / 72)
    return 1.05 * max(widths)  # letters are placed on whole pixels


def widest(texts: Iterable[str], size: float = SMALL) -> float:
    """Inches that the widest of ``texts`` takes."""
    return max((text_width(text, size) for text in texts), default=0.0)


def fitted(text: str, inches: float, size: float, *, bold: bool = False) -> str:
    """Return a name cut so that it fits into ``inches``."""
    forms = (escape.plot(text, width=width) for width in range(40, 5, -1))
    return next((form for form in forms if text_width(form, size, bold=bold) <= inches), escape.plot(text, width=5))


def columns(width: float, most: int = 99) -> int:
    """How many panels of at least ``width`` inches stand beside each other on the paper."""
    return max(1, min(most, int(paper().width / width + 1e-9)))


@dataclass(frozen=True)
class Margins:
    """Inches around the axes of every panel."""

    left: float = 0.5
    right: float = 0.1
    top: float = 0.26
    bottom: float = 0.4


def sheet(
    heights: Sequence[float],
    *,
    cols: int = 1,
    margins: Margins = Margins(),  # noqa: B008 (frozen)
    legend: Sequence[Entry] = (),
    title: str | None = None,
    note: str = "",
) -> tuple[Figure, list[Axes]]:
    """Return a figure as wide as the paper with one axes per entry of ``heights`` (inches), laid out by arithmetic.

    An engine that looks for free places draws everything several times, which takes longer than the figure itself.
    """
    width = paper().width
    shape, legend_height = _legend_shape([label for _, label in legend], width)
    words = _wrapped(note, width - 0.2, SMALL)
    head = 0.08 + legend_height + (0.24 if title else 0.0)
    foot = 0.06 + 0.125 * len(words)
    lines = [max(heights[i : i + cols]) for i in range(0, len(heights), cols)]
    total = head + foot + sum(line + margins.top + margins.bottom for line in lines)
    figure = new_figure(width, total)
    axes, y, cell = [], head, width / cols
    for i, line in enumerate(lines):
        for j, height in enumerate(heights[i * cols : (i + 1) * cols]):
            place = (j * cell + margins.left, y + margins.top, max(0.4, cell - margins.left - margins.right), height)
            axes.append(figure.add_axes(_fraction(place, width, total)))
        y += line + margins.top + margins.bottom
    if title:
        text = escape.plot(title, width=90)
        figure.text(0.5, 1 - 0.13 / total, text, ha="center", va="center", fontweight="bold", fontsize=9)
    if legend:
        handles, labels = zip(*legend, strict=True)
        top = 1 - (0.04 + (0.24 if title else 0.0)) / total
        figure.legend(
            handles, labels, loc="upper center", bbox_to_anchor=(0.5, top), ncols=shape, fontsize=LEGEND,
            borderaxespad=0.0, columnspacing=1.2, handletextpad=0.5, borderpad=0.0,
        )  # fmt: skip
    for i, text in enumerate(reversed(words)):
        figure.text(0.1 / width, (0.05 + 0.125 * i) / total, text, fontsize=SMALL, color=MUTED, va="bottom")
    return figure, axes


def _fraction(
    place: tuple[float, float, float, float], width: float, total: float
) -> tuple[float, float, float, float]:
    x, y, w, h = place
    return x / width, 1 - (y + h) / total, w / width, h / total


def _legend_shape(labels: Sequence[str], inches: float) -> tuple[int, float]:
    """Columns of a legend that fit, and how high it becomes."""
    if not labels:
        return 1, 0.0
    for count in range(len(labels), 0, -1):
        rows, longer = divmod(len(labels), count)  # as matplotlib fills them: the first columns hold one more
        ends = [i * rows + min(i, longer) for i in range(count + 1)]
        sizes = [widest(labels[a:b], LEGEND) + 0.42 for a, b in pairwise(ends)]
        if sum(sizes) <= inches or count == 1:
            return count, 0.155 * (rows + (longer > 0)) + 0.08
    return 1, 0.0


def _wrapped(text: str, inches: float, size: float) -> list[str]:
    lines: list[str] = []
    for part in text.splitlines():
        line = ""
        for word in part.split():
            longer = f"{line} {word}".strip()
            if line and text_width(longer, size) > inches:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return lines


def model_entries(
    models: Sequence[str], looks: Sequence[Look], shown: Iterable[int], *, bars: bool = False
) -> list[Entry]:
    """Handles and names of the models for a legend."""
    out: list[Entry] = []
    for i in shown:
        look = looks[i]
        mark: Artist = (
            Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white")
            if bars
            else Line2D([], [], color=look.colour, marker=look.marker, linestyle="-", markersize=4.5)
        )
        out.append((mark, escape.plot(models[i])))
    return out


def marks(
    axes: Axes, x: npt.ArrayLike, y: npt.ArrayLike, looks: Sequence[Look], *, size: float = 15.0, edge: str = "face"
) -> None:
    """Draw one mark per look, in one call per shape: a call per mark takes most of the time of a figure.

    Marks may stand on the bound of a metric, where the axis ends.
    """
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    for marker in dict.fromkeys(look.marker for look in looks):
        mine = [i for i, look in enumerate(looks) if look.marker == marker]
        axes.scatter(
            across[mine], up[mine], s=size, marker=marker, c=[looks[i].colour for i in mine], edgecolors=edge,
            lw=0.3, clip_on=False, zorder=4,
        )  # fmt: skip


def bands(axes: Axes, n: int) -> None:
    """Shade every second of ``n`` rows."""
    rows = np.arange(0, n, 2)
    axes.barh(rows, 1.0, 1.0, color=BAND, lw=0, zorder=0, transform=axes.get_yaxis_transform())


def tidy(axes: Axes, *, size: float = SMALL) -> None:
    """Small ticks: panels are many."""
    axes.tick_params(labelsize=size, pad=2)
