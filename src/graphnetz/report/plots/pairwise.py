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

from graphnetz._core.text import number
from graphnetz.records.analysis import Comparison
from graphnetz.report import escape
from graphnetz.report.colours import BAND
from graphnetz.report.plots import base
from graphnetz.report.style import styled

_EVIDENCE = LinearSegmentedColormap.from_list("evidence", ["#F7F4EA", "#E4D67E", "#8A7A00"])
_SIGNED = LinearSegmentedColormap.from_list("signed", ["#D55E00", "#FFFFFF", "#0072B2"])


@styled
def draw_pairwise_matrix(
    pairs: Sequence[Comparison],
    models: Sequence[str],
    ax: Axes | None = None,
    *,
    alpha: float = 0.05,
    max_cols: int = 3,
    pretty: Mapping[str, str] | None = None,
) -> tuple[Figure, Any]:
    """Draw one panel per task.

    The lower triangle holds the adjusted p-value, shaded by -log10 p; the upper triangle the mean
    difference row minus column. A frame marks significant pairs, so colour is not needed to read it.
    """
    tasks = list(dict.fromkeys(pair.task for pair in pairs))
    if not tasks:
        return base.message("There are no two models to compare on any task.")
    k = len(models)
    side = max(2.5, 0.62 * k + 1.0)
    if ax is not None and len(tasks) == 1:
        figure, only = base.own_axes(ax, width=side, height=side)
        drawn = [only]
    else:
        figure, drawn = base.panel_grid(len(tasks), max_cols=max_cols, width=side, height=side)
    for axes, task in zip(drawn, tasks, strict=True):
        _panel(axes, [pair for pair in pairs if pair.task == task], list(models))
        axes.set_title(escape.plot((pretty or {}).get(task, task), width=max(18, 7 * k)))
    if ax is None:
        figure.supxlabel(
            f"upper right: difference, row minus column · lower left: adjusted p · frame: p ≤ {alpha:g}, double "
            "frame: shown for new examples as well",
            fontsize=8,
            color="#555555",
        )
    return figure, drawn[0] if len(drawn) == 1 else np.array(drawn)


def _panel(axes: Axes, pairs: Sequence[Comparison], names: list[str]) -> None:
    seen = {name for pair in pairs for name in (pair.a, pair.b)}
    names = [name for name in names if name in seen]
    at = {name: i for i, name in enumerate(names)}
    k = len(names)
    image = np.ones((k, k, 4))
    largest = max((abs(pair.mean_diff) for pair in pairs if math.isfinite(pair.mean_diff)), default=0.0) or 1.0
    signed, evidence = TwoSlopeNorm(0.0, -1.6 * largest, 1.6 * largest), Normalize(0.0, 4.0, clip=True)
    texts: list[tuple[int, int, str, bool]] = []
    for pair in pairs:
        i, j = sorted((at[pair.a], at[pair.b]))
        diff = pair.mean_diff if at[pair.a] < at[pair.b] else -pair.mean_diff
        if math.isfinite(diff):
            image[i, j] = _SIGNED(signed(diff))
        if math.isfinite(pair.p_decided):
            image[j, i] = _EVIDENCE(evidence(-math.log10(max(pair.p_decided, 1e-300))))
        texts += [(i, j, number(diff, signed=True), pair.different), (j, i, _p(pair), pair.different)]
    axes.imshow(image, interpolation="nearest")
    size = 7.0 if k <= 6 else 6.2
    for row, col, text, bold in texts:
        dark = float(image[row, col, :3] @ (0.299, 0.587, 0.114)) < 0.52
        axes.text(
            col,
            row,
            text,
            ha="center",
            va="center",
            fontsize=size,
            color="white" if dark else "#222222",
            fontweight="bold" if bold else "normal",
            in_layout=False,  # it lies inside the panel
        )
    labels = [escape.plot(name, width=16) for name in names]
    axes.set_xticks(range(k), labels, rotation=35, ha="right")
    axes.set_yticks(range(k), labels)
    axes.tick_params(length=0, labelsize=7.5)
    axes.spines[:].set_visible(False)
    edges = np.arange(k - 1) + 0.5
    axes.vlines(edges, -0.5, k - 0.5, colors="white", lw=1.5)
    axes.hlines(edges, -0.5, k - 0.5, colors="white", lw=1.5)
    axes.add_collection(_frames([(col, row) for row, col, _, bold in texts if bold]))
    far = [sorted((at[pair.a], at[pair.b])) for pair in pairs if pair.reach == "source"]
    axes.add_collection(_frames([cell for i, j in far for cell in ((i, j), (j, i))], inset=0.06))


def _frames(cells: Sequence[tuple[int, int]], *, inset: float = 0.0) -> PolyCollection:
    corner = (0.44 - inset) * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    return PolyCollection([corner + cell for cell in cells], facecolors="none", edgecolors="#222222", linewidths=1.1)


def _p(pair: Comparison) -> str:
    p = pair.p_decided
    if math.isnan(p) or p == 0:
        return pair.p_words
    return "<.0001" if p < 1e-4 else f"{p:.4f}".lstrip("0") if p < 0.01 else f"{p:.3f}".lstrip("0")


@styled
def draw_pairwise_list(
    pairs: Sequence[Comparison],
    ax: Axes | None = None,
    *,
    alpha: float = 0.05,
    pretty: Mapping[str, str] | None = None,
) -> tuple[Figure, Axes]:
    """Draw one line per comparison: difference, its interval, filled when significant."""
    if not pairs:
        return base.message("There are no two models to compare on any task.")
    figure, axes = base.own_axes(ax, width=8.4, height=0.24 * len(pairs) + 1.2)
    diff = np.array([pair.mean_diff for pair in pairs])
    error = np.array([[pair.mean_diff - pair.sim_low, pair.sim_high - pair.mean_diff] for pair in pairs]).T.clip(
        min=0.0
    )
    y = np.arange(len(pairs), dtype=float)
    hit = np.array([pair.different for pair in pairs])
    for mask, face, colour, label in (
        (hit, "#0072B2", "#0072B2", f"adjusted p ≤ {alpha:g}"),
        (~hit, "white", "#8A8A8A", f"adjusted p > {alpha:g}, or not testable"),
    ):
        if mask.any():
            axes.errorbar(
                diff[mask],
                y[mask],
                xerr=error[:, mask],
                fmt="o",
                color=colour,
                mfc=face,
                ms=5,
                elinewidth=1.2,
                capsize=2,
                label=label,
                zorder=3,
            )
    axes.axvline(0.0, color="#444444", lw=0.9, zorder=2)
    names = pretty or {}
    axes.set_yticks(
        y,
        [
            f"{escape.plot(names.get(p.task, p.task), width=20)}: {escape.plot(p.a, width=18)}"
            f" − {escape.plot(p.b, width=18)}"
            for p in pairs
        ],
    )
    _task_bands(axes, pairs)
    for i, pair in enumerate(pairs):
        axes.text(
            1.01, i, _line_words(pair),
            transform=axes.get_yaxis_transform(), va="center", fontsize=7,
        )  # fmt: skip
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, labelsize=7.5)
    axes.set_xlabel("Mean difference, first minus second, with simultaneous interval · how far it is shown")
    axes.grid(True, axis="x")
    if ax is None:
        figure.legend(loc="outside upper center", ncols=2)
    return figure, axes


def _line_words(pair: Comparison) -> str:
    p = pair.p_words if pair.decided_by == "deterministic" else f"p = {pair.p_words}"
    return f"{p} · {pair.reach}" if pair.reach else p


def _task_bands(axes: Axes, pairs: Sequence[Comparison]) -> None:
    start, shade = 0, True
    for i in range(1, len(pairs) + 1):
        if i == len(pairs) or pairs[i].task != pairs[start].task:
            if shade:
                axes.axhspan(start - 0.5, i - 0.5, color=BAND, lw=0, zorder=0)
            start, shade = i, not shade
