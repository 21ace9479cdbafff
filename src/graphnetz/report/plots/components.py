"""Stacked bars: where the spread of each difference comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from graphnetz.records import Components
from graphnetz.records.examples import PARTS
from graphnetz.report import escape
from graphnetz.report.plots import base
from graphnetz.report.style import palette, paper, styled

HATCHES = ("", "///", "\\\\\\", "...", "xxx")
_ROW = 0.3


def rows_of_a_page() -> int:
    """How many comparisons a page holds."""
    return max(1, int((paper().height - 1.0) / _ROW))


@styled
def draw_components(found: Sequence[Components], ax: Axes | None = None, *, note: str = "") -> tuple[Figure, Any]:
    """Draw one bar per comparison, cut into the shares of seed, split, example and rest.

    Parameters
    ----------
    found
        Components of the comparisons to show.
    ax
        Axes to draw on; None makes a figure of its own.
    note
        Words below the figure.

    Returns
    -------
    tuple of Figure and Axes
        A figure that says why where there is nothing to draw.

    Examples
    --------
    >>> found = Components("cora", "GCN", "MLP", seed_share=0.2, split_share=0.0, example_share=0.7, rest_share=0.1)
    >>> figure, axes = draw_components([found])
    >>> len(axes.patches)
    3
    """
    drawn = [c for c in found if math.isfinite(c.example_share)]
    if not drawn:
        return base.message(next((c.reason for c in found if c.reason), "There are no components of variance."))
    # Task and models on lines of their own: cut as one text, the middle one would be lost.
    lines = ((escape.plot(c.task, width=40), *(escape.plot(name, width=20) for name in (c.a, c.b))) for c in drawn)
    names = [f"{task}\n{a} − {b}" for task, a, b in lines]
    parts = [(part, look, hatch) for part, look, hatch in zip(PARTS, palette(len(PARTS)), HATCHES, strict=True)
             if any(c.shares.get(part, 0.0) for c in drawn)]  # fmt: skip
    if ax is None:
        words = " ".join(filter(None, ("Variance of the mean difference of the two models.", note)))
        patches = [Patch(facecolor=look.colour, hatch=hatch, edgecolor="white") for _, look, hatch in parts]
        legend = list(zip(patches, (part for part, _, _ in parts), strict=True))
        margins = base.Margins(0.12 + base.widest(names), 0.15, 0.06, 0.42)
        figure, (axes,) = base.sheet([_ROW * len(drawn)], margins=margins, legend=legend, note=words)
    else:
        figure, axes = base.own_axes(ax, width=1, height=1)
    y, left = np.arange(len(drawn), dtype=float), np.zeros(len(drawn))
    for part, look, hatch in parts:
        share = np.array([c.shares.get(part, 0.0) for c in drawn])
        axes.barh(y, share, 0.7, left=left, color=look.colour, hatch=hatch, edgecolor="white", lw=0.4, label=part)
        left += share
    axes.set_yticks(y, names, fontsize=base.SMALL)
    axes.set(xlim=(0, 1), ylim=(len(drawn) - 0.5, -0.5))
    axes.set_xlabel("Share of variance", fontsize=7.5)
    axes.tick_params(axis="x", labelsize=base.SMALL)
    if ax is not None:
        axes.legend()
    return figure, axes
