"""Stacked bars: where the spread of each difference comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphnetz.records import Components
from graphnetz.records.examples import PARTS
from graphnetz.report import escape
from graphnetz.report.plots import base
from graphnetz.report.style import palette, styled

HATCHES = ("", "///", "\\\\\\", "...", "xxx")


@styled
def draw_components(found: Sequence[Components], ax: Axes | None = None) -> tuple[Figure, Any]:
    """Draw one bar per comparison, cut into the shares of seed, split, example and rest.

    Parameters
    ----------
    found
        Components of the comparisons to show.
    ax
        Axes to draw on; None makes a figure of its own.

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
    figure, axes = base.own_axes(ax, width=7.2, height=0.36 * len(drawn) + 1.1)
    y, left = np.arange(len(drawn), dtype=float), np.zeros(len(drawn))
    for part, look, hatch in zip(PARTS, palette(len(PARTS)), HATCHES, strict=True):
        share = np.array([c.shares.get(part, 0.0) for c in drawn])
        if not share.any():
            continue
        axes.barh(y, share, 0.7, left=left, color=look.colour, hatch=hatch, edgecolor="white", lw=0.4, label=part)
        left += share
    # Task and models on lines of their own: cut as one text, the middle one would be lost.
    lines = ((escape.plot(c.task, width=40), *(escape.plot(name, width=20) for name in (c.a, c.b))) for c in drawn)
    axes.set_yticks(y, [f"{task}\n{a} − {b}" for task, a, b in lines], fontsize=7.5)
    axes.set(xlim=(0, 1), xlabel="Share of the variance of the mean difference")
    axes.invert_yaxis()
    if ax is None:
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=len(PARTS))
    else:
        axes.legend()
    return figure, axes
