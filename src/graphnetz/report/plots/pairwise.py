"""Pairwise comparisons: a significance matrix per task, or one line per comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphnetz._core.grouping import grouped
from graphnetz._core.text import number
from graphnetz.records.analysis import Comparison
from graphnetz.report import escape
from graphnetz.report.colours import BETTER, INK, UNDECIDED, WORSE
from graphnetz.report.plots import base
from graphnetz.report.style import paper, styled

_EVIDENCE = LinearSegmentedColormap.from_list("evidence", ["#F7F4EA", "#E4D67E", "#8A7A00"])
_SIGNED = LinearSegmentedColormap.from_list("signed", [WORSE, "#FFFFFF", BETTER])
_NUMBERS = 6
"""Models up to which a matrix writes its numbers; more are shown by colour and arrows."""
_TOP = 0.24


def _cell(models: int) -> tuple[float, float]:
    """Width and height of a cell in inches."""
    side = max(0.114, min(0.2, 2.3 / models))
    return (0.5, 0.27) if models <= _NUMBERS else (side, side)


def _label(models: Sequence[str]) -> float:
    return 0.07 + base.widest(_short(name) for name in models)


def _short(name: str) -> str:
    return escape.plot(name, width=16)


def tasks_of_a_page(models: Sequence[str]) -> int:
    """How many matrices a page holds."""
    (wide, high), label = _cell(len(models)), _label(models)
    lines = (paper().height - 0.8) / (high * len(models) + label + _TOP + 0.06)
    return base.columns(wide * len(models) + label + 0.02) * max(1, int(lines))


@styled
def draw_pairwise_matrix(
    pairs: Sequence[Comparison],
    models: Sequence[str],
    ax: Axes | None = None,
    *,
    alpha: float = 0.05,
    max_cols: int = 3,
    pretty: Mapping[str, str] | None = None,
    note: str = "",
) -> tuple[Figure, Any]:
    """Draw one panel per task.

    The lower triangle holds the adjusted p-value, shaded by -log10 p; the upper triangle the mean difference row minus
    column, blue where the row is the better model, whatever the direction of the metric. A frame marks significant
    pairs, and where there are too many models for numbers an arrow up or down, so colour is not needed to read it.
    """
    tasks = list(dict.fromkeys(pair.task for pair in pairs))
    if not tasks:
        return base.message("There are no two models to compare on any task.")
    by_task = grouped(pairs, lambda pair: pair.task)
    k = len(models)
    if ax is not None and len(tasks) == 1:
        figure, only = base.own_axes(ax, width=1, height=1)
        drawn = [only]
    else:
        (wide, high), label = _cell(k), _label(models)
        cols = min(len(tasks), base.columns(wide * k + label + 0.02, max_cols))
        margins = base.Margins(label, max(0.05, paper().width / cols - wide * k - label), _TOP, label + 0.06)
        words = "\n".join(filter(None, (_key(k, alpha), note)))
        figure, drawn = base.sheet([high * k] * len(tasks), cols=cols, margins=margins, note=words)
    for axes, task in zip(drawn, tasks, strict=True):
        _panel(axes, by_task[task], list(models))
        axes.set_title(escape.plot((pretty or {}).get(task, task), width=max(18, 5 * k)), fontsize=8, loc="left", pad=3)
    return figure, drawn[0] if len(drawn) == 1 else np.array(drawn)


def _key(k: int, alpha: float) -> str:
    upper = "Upper right: difference, row minus column; blue: the row is better, orange: it is worse"
    if k > _NUMBERS:
        shown = f"arrow: shown (adjusted p ≤ {alpha:g}), framed for new examples too"
        return (
            f"{upper}; the darker, the larger on this task; {shown}. Lower left: adjusted p, the darker, the smaller."
        )
    frame = f"Frame: adjusted p ≤ {alpha:g}, double frame: shown for new examples as well"
    return f"{upper}. Lower left: adjusted p. {frame}."


def _panel(axes: Axes, pairs: Sequence[Comparison], names: list[str]) -> None:
    seen = {name for pair in pairs for name in (pair.a, pair.b)}
    names = [name for name in names if name in seen]
    at = {name: i for i, name in enumerate(names)}
    k = len(names)
    image = np.ones((k, k, 4))
    largest = max((abs(pair.mean_diff) for pair in pairs if math.isfinite(pair.mean_diff)), default=0.0) or 1.0
    signed, evidence = TwoSlopeNorm(0.0, -1.6 * largest, 1.6 * largest), Normalize(0.0, 4.0, clip=True)
    texts: list[tuple[int, int, str, bool]] = []
    arrows: dict[str, list[tuple[int, int]]] = {"^": [], "v": []}
    for pair in pairs:
        i, j = sorted((at[pair.a], at[pair.b]))
        diff = pair.mean_diff if at[pair.a] < at[pair.b] else -pair.mean_diff
        good = diff if pair.greater_is_better else -diff
        if math.isfinite(diff):
            image[i, j] = _SIGNED(signed(good))
        if math.isfinite(pair.p_decided):
            image[j, i] = _EVIDENCE(evidence(-math.log10(max(pair.p_decided, 1e-300))))
        texts += [(i, j, number(diff, signed=True), pair.different), (j, i, _p(pair), pair.different)]
        if pair.different:
            arrows["^" if good > 0 else "v"].append((j, i))
    axes.imshow(image, interpolation="nearest", aspect="auto")
    far = [sorted((at[pair.a], at[pair.b])) for pair in pairs if pair.reach == "source"]
    if k <= _NUMBERS:
        _write(axes, texts, image)
        axes.add_collection(_frames([(col, row) for row, col, _, bold in texts if bold]))
        axes.add_collection(_frames([cell for i, j in far for cell in ((i, j), (j, i))], inset=0.06))
    else:
        for marker, cells in arrows.items():
            axes.scatter([j for j, _ in cells], [i for _, i in cells], marker=marker, s=9, color=INK, lw=0)
        axes.scatter([j for _, j in far], [i for i, _ in far], marker="s", s=26, fc="none", ec=INK, lw=0.6)
    labels = [_short(name) for name in names]
    axes.set_xticks(range(k), labels, rotation=90)
    axes.set_yticks(range(k), labels)
    axes.tick_params(length=0, labelsize=base.SMALL, pad=2)
    axes.spines[:].set_visible(False)
    edges = np.arange(k - 1) + 0.5
    axes.vlines(edges, -0.5, k - 0.5, colors="white", lw=1.0)
    axes.hlines(edges, -0.5, k - 0.5, colors="white", lw=1.0)


def _write(axes: Axes, texts: Sequence[tuple[int, int, str, bool]], image: Any) -> None:
    for row, col, text, bold in texts:
        dark = float(image[row, col, :3] @ (0.299, 0.587, 0.114)) < 0.52
        axes.text(
            col, row, text, ha="center", va="center", fontsize=base.SMALL, color="white" if dark else INK,
            fontweight="bold" if bold else "normal",
        )  # fmt: skip


def _frames(cells: Sequence[tuple[int, int]], *, inset: float = 0.0) -> PolyCollection:
    corner = np.array([0.47 - inset / 2, 0.44 - inset]) * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    return PolyCollection([corner + cell for cell in cells], facecolors="none", edgecolors="#222222", linewidths=1.1)


def _p(pair: Comparison) -> str:
    p = pair.p_decided
    if math.isnan(p) or p == 0:
        return pair.p_words
    return "<.0001" if p < 1e-4 else f"{p:.4f}".lstrip("0") if p < 0.01 else f"{p:.3f}".lstrip("0")


_ROW, _LIST_TOP, _LIST_BOTTOM = 0.15, 0.26, 0.4


def pages_of_a_list(pairs: Sequence[Comparison]) -> list[list[Comparison]]:
    """Cut a list into pages of whole tasks; a task that is longer than a page is cut as well."""
    room = paper().height - 0.7
    most = max(1, int((room - _LIST_TOP - _LIST_BOTTOM) / _ROW))
    pages: list[list[Comparison]] = [[]]
    left = room
    for mine in grouped(pairs, lambda pair: pair.task).values():
        for start in range(0, len(mine), most):
            part = mine[start : start + most]
            height = _ROW * len(part) + _LIST_TOP + _LIST_BOTTOM
            if height > left and pages[-1]:
                pages.append([])
                left = room
            pages[-1] += part
            left -= height
    return pages


@styled
def draw_pairwise_list(
    pairs: Sequence[Comparison],
    ax: Axes | None = None,
    *,
    alpha: float = 0.05,
    pretty: Mapping[str, str] | None = None,
    note: str = "",
) -> tuple[Figure, Any]:
    """Draw one line per comparison: difference and simultaneous interval, one panel and one axis per task.

    A filled mark is a difference that is shown: blue where the first model is the better one, orange where the second
    is, whatever the direction of the metric. With ``ax`` given, all tasks go there.
    """
    if not pairs:
        return base.message("There are no two models to compare on any task.")
    names = pretty or {}
    panels = {task: list(mine) for task, mine in grouped(pairs, lambda pair: pair.task).items()}
    if ax is not None:
        figure, axes = base.own_axes(ax, width=1, height=1)
        _lines(axes, pairs, [f"{escape.plot(names.get(p.task, p.task), width=20)}: {_two(p)}" for p in pairs])
        axes.set_xlabel("Mean difference, first minus second, with simultaneous interval · how far it is shown")
        return figure, axes
    left = 0.12 + base.widest(map(_two, pairs))
    right = 0.14 + base.widest(map(_line_words, pairs))
    figure, drawn = base.sheet(
        [_ROW * len(mine) for mine in panels.values()],
        margins=base.Margins(left, right, _LIST_TOP, _LIST_BOTTOM),
        legend=_list_legend(alpha), note=note,
    )  # fmt: skip
    for axes, (task, mine) in zip(drawn, panels.items(), strict=True):
        _lines(axes, mine, list(map(_two, mine)))
        axes.set_title(
            base.fitted(names.get(task, task), paper().width - left, 8, bold=True), fontsize=8, loc="left", pad=3
        )
        side = "positive" if mine[0].greater_is_better else "negative"
        axes.set_xlabel(f"first − second; {side}: first is better", fontsize=base.SMALL, labelpad=1)
    return figure, drawn[0] if len(drawn) == 1 else np.array(drawn)


def _two(pair: Comparison) -> str:
    width = 18 if paper().width > 5 else 10
    return f"{escape.plot(pair.a, width=width)} − {escape.plot(pair.b, width=width)}"


def _list_legend(alpha: float) -> list[base.Entry]:
    words = {
        "first better": (BETTER, BETTER), "second better": (WORSE, WORSE),
        f"not shown (adjusted p > {alpha:g}, or not testable)": (UNDECIDED, "white"),
    }  # fmt: skip
    return [
        (Line2D([], [], color=colour, marker="o", mfc=face, markersize=4.5), text)
        for text, (colour, face) in words.items()
    ]


def _lines(axes: Axes, pairs: Sequence[Comparison], labels: Sequence[str]) -> None:
    diff = np.array([pair.mean_diff for pair in pairs])
    low, high = (np.array([getattr(pair, name) for pair in pairs]) for name in ("sim_low", "sim_high"))
    error = np.array([diff - low, high - diff]).clip(min=0.0)
    kind = np.array([0 if not pair.different else 1 if pair.better == pair.a else 2 for pair in pairs])
    y = np.arange(len(pairs), dtype=float)
    for value, (colour, face) in enumerate(((UNDECIDED, "white"), (BETTER, BETTER), (WORSE, WORSE))):
        mask = kind == value
        if mask.any():
            axes.errorbar(
                diff[mask], y[mask], xerr=error[:, mask], fmt="o", color=colour, mfc=face, ms=4.2, elinewidth=1.2,
                capsize=1.6, zorder=3,
            )  # fmt: skip
    axes.axvline(0.0, color="#444444", lw=0.9, zorder=2)
    axes.set_yticks(y, labels)
    for i, pair in enumerate(pairs):
        axes.text(1.01, i, _line_words(pair), transform=axes.get_yaxis_transform(), va="center", fontsize=base.SMALL)
    base.bands(axes, len(pairs))
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.set_xlim(*base.limits(np.r_[diff, low, high, 0.0], room=0.05))
    axes.tick_params(axis="y", length=0)
    base.tidy(axes)
    axes.grid(True, axis="x")


def _line_words(pair: Comparison) -> str:
    p = pair.p_words if pair.decided_by == "deterministic" else f"p = {pair.p_words}"
    return f"{p} · {pair.reach}" if pair.reach else p
