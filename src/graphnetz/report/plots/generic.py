"""Figures of Sections: plain JSON in, one drawing function per ``kind``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz._core.registry import Registry
from graphnetz.report import escape
from graphnetz.report.plots import base
from graphnetz.report.style import palette, styled

Draw = Callable[[Mapping[str, Any]], tuple[Figure, Axes]]
FIGURES: Registry[Draw] = Registry("figure kind", entry_points="graphnetz.figures", accepts=callable)


def draw_figure(kind: str, data: Mapping[str, Any]) -> tuple[Figure, Axes]:
    """Draw the figure data of a Section."""
    return FIGURES[kind](data)


def _finish(axes: Axes, data: Mapping[str, Any]) -> None:
    axes.set_xlabel(escape.plot(data.get("xlabel", ""), width=60))
    axes.set_ylabel(escape.plot(data.get("ylabel", ""), width=40))
    if data.get("title"):
        axes.set_title(escape.plot(data["title"], width=70))
    if data.get("xlim"):
        axes.set_xlim(*_floats(data["xlim"]))
    if data.get("ylim"):
        axes.set_ylim(*_floats(data["ylim"]))
    for draw, key in ((axes.axvline, "across"), (axes.axhline, "along")):
        for value in data.get(key, ()):
            draw(float(value), color="#555555", lw=1.0, ls="--", zorder=0)


def _floats(values: Any) -> Any:
    return np.array([np.nan if v is None else v for v in values], dtype=float)


@FIGURES.register("bar")
@styled
def bar(data: Mapping[str, Any]) -> tuple[Figure, Axes]:
    """``labels``, ``values``, optional ``low`` and ``high``: horizontal bars; ``lines``: name -> value to compare with.

    ``dots`` draws points in place of bars, for values that have no meaningful zero to start from.
    """
    labels, values = list(data["labels"]), _floats(data["values"])
    figure, axes = base.own_axes(None, width=6.4, height=0.28 * len(labels) + 1.0)
    y = np.arange(len(labels))
    if data.get("dots"):
        axes.plot(values, y, "o", color=palette(1)[0].colour, ms=5.5, zorder=3)
    else:
        axes.barh(y, values, color=palette(1)[0].colour, height=0.7)
    for (name, value), style in zip(data.get("lines", {}).items(), ("--", ":", "-."), strict=False):
        axes.axvline(value, color="#555555", lw=1.0, ls=style, zorder=0, label=escape.plot(name))
    if data.get("lines"):
        figure.legend(loc="outside upper center", ncols=3)
    if "low" in data and "high" in data:
        error = np.vstack([values - _floats(data["low"]), _floats(data["high"]) - values]).clip(min=0.0)
        axes.errorbar(values, y, xerr=error, fmt="none", ecolor="#222222", elinewidth=0.9, capsize=2)
    axes.set_yticks(y, [escape.plot(label) for label in labels])
    axes.invert_yaxis()
    axes.grid(True, axis="x")
    _finish(axes, data)
    return figure, axes


def _series(data: Mapping[str, Any], *, joined: bool) -> tuple[Figure, Axes]:
    series = data["series"]
    figure, axes = base.own_axes(None, width=6.4, height=3.6)
    for look, (name, points) in zip(palette(len(series)), series.items(), strict=True):
        x, y = _floats(points["x"]), _floats(points["y"])
        style = "-" if joined else ""
        label = escape.plot(name)
        shape = {"ms": 9, "mfc": "none"} if points.get("open") else {"ms": 4.5}
        axes.plot(x, y, color=look.colour, marker=look.marker, ls=style, lw=1.4, label=label, **shape)
        if "low" in points and "high" in points:
            axes.fill_between(x, _floats(points["low"]), _floats(points["high"]), color=look.colour, alpha=0.16, lw=0)
        for px, py, text in zip(x, y, points.get("text", ()), strict=False):
            axes.annotate(escape.plot(text), (px, py), xytext=(4, 3), textcoords="offset points", fontsize=7)
    axes.grid(True)
    if len(series) > 1:
        figure.legend(loc="outside upper center", ncols=min(4, len(series)))
    _finish(axes, data)
    return figure, axes


@FIGURES.register("line")
@styled
def line(data: Mapping[str, Any]) -> tuple[Figure, Axes]:
    """``series``: name -> {x, y, optional low, high}."""
    return _series(data, joined=True)


@FIGURES.register("scatter")
@styled
def scatter(data: Mapping[str, Any]) -> tuple[Figure, Axes]:
    """``series``: name -> {x, y, optional text}; ``xlim``, ``ylim``, and lines at ``across`` (x) and ``along`` (y).

    ``open`` series are drawn large and hollow: what lies under them is seen.
    """
    return _series(data, joined=False)


@FIGURES.register("heatmap")
@styled
def heatmap(data: Mapping[str, Any]) -> tuple[Figure, Axes]:
    """``rows``, ``columns``, ``values`` [rows][columns] with null for missing."""
    rows, columns = list(data["rows"]), list(data["columns"])
    values = np.array([_floats(row) for row in data["values"]])
    figure, axes = base.own_axes(None, width=0.7 * len(columns) + 2.2, height=0.34 * len(rows) + 1.4)
    image = axes.imshow(values, cmap="cividis", aspect="auto", interpolation="nearest")
    axes.set_xticks(range(len(columns)), [escape.plot(c, width=18) for c in columns], rotation=30, ha="right")
    axes.set_yticks(range(len(rows)), [escape.plot(r) for r in rows])
    axes.tick_params(length=0)
    if values.size <= 400:
        middle = np.nanmean([np.nanmin(values), np.nanmax(values)]) if np.isfinite(values).any() else 0.0
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                colour = "#222222" if value > middle else "white"
                axes.text(j, i, f"{value:.3g}", ha="center", va="center", fontsize=7, color=colour)
    figure.colorbar(image, ax=axes, label=escape.plot(data.get("label", "")))
    _finish(axes, data)
    return figure, axes


@FIGURES.register("grouped_bar")
@styled
def grouped_bar(data: Mapping[str, Any]) -> tuple[Figure, Axes]:
    """``labels`` (groups) and ``series``: name -> values, one per group; optional ``error``: name -> values."""
    labels, series = list(data["labels"]), data["series"]
    figure, axes = base.own_axes(None, width=max(5.0, 0.9 * len(labels) + 1.5), height=3.2)
    x = np.arange(len(labels), dtype=float)
    width = 0.8 / max(1, len(series))
    errors = data.get("error", {})
    for i, (look, (name, values)) in enumerate(zip(palette(len(series)), series.items(), strict=True)):
        at = x + (i - (len(series) - 1) / 2) * width
        error = _floats(errors[name]) if name in errors else None
        axes.bar(
            at,
            _floats(values),
            width * 0.92,
            yerr=error,
            color=look.colour,
            hatch=look.hatch,
            edgecolor="white",
            lw=0.4,
            ecolor="#222222",
            capsize=2,
            label=escape.plot(name),
        )
    axes.set_xticks(x, [escape.plot(label, width=18) for label in labels], rotation=20 if len(labels) > 4 else 0)
    axes.grid(True, axis="y")
    figure.legend(loc="outside upper center", ncols=min(5, len(series)))
    _finish(axes, data)
    return figure, axes
