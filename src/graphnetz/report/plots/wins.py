"""Who wins against whom, over tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from graphnetz.report import escape
from graphnetz.report.colours import BETTER, INK, WORSE
from graphnetz.report.plots import base
from graphnetz.report.style import paper, styled

_SIGNED = LinearSegmentedColormap.from_list("wins", [WORSE, "#FFFFFF", BETTER])
_LINE = 0.13
"""Inches that a line of the smallest letters takes."""


@styled
def draw_win_rates(models: Sequence[str], wins: npt.ArrayLike, n_tasks: int, *, note: str = "") -> tuple[Figure, Axes]:
    """Draw the share of tasks on which the row is better than the column, models with most wins first."""
    share = np.array(wins, dtype=float)
    if len(models) < 2:
        return base.message("Win rates need two models that share at least two tasks.")
    np.fill_diagonal(share, np.nan)
    order = np.argsort(-np.nanmean(share, axis=1), kind="stable")
    share, k = share[np.ix_(order, order)], len(models)
    names = [escape.plot(models[i], width=18) for i in order]
    label = base.widest(names)
    wide = min(0.36, (paper().width - label - 0.24) / k)
    high = min(wide, max(_LINE, (paper().height - label - 0.8) / k))
    numbers = wide >= base.text_width("100") + 0.02
    words = (
        f"Percent of {n_tasks} tasks on which the mean of the row is better than that of the column; ties count half."
        + ("" if numbers else " Blue: more than half of them, orange: less.")
    )
    right = max(0.1, paper().width - wide * k - label - 0.12)
    figure, (axes,) = base.sheet(
        [high * k], margins=base.Margins(0.12 + label, right, 0.06, 0.16 + label),
        note="\n".join(filter(None, (words, note))),
    )  # fmt: skip
    axes.imshow(share, cmap=_SIGNED, vmin=-0.15, vmax=1.15, interpolation="nearest", aspect="auto")
    for (i, j), value in np.ndenumerate(share):
        if numbers and np.isfinite(value):
            axes.text(j, i, f"{100 * value:.0f}", ha="center", va="center", fontsize=base.SMALL, color=INK)
    axes.set_xticks(range(k), names, rotation=90)
    axes.set_yticks(range(k), names)
    axes.tick_params(length=0, labelsize=base.SMALL, pad=2)
    axes.spines[:].set_visible(False)
    edges = np.arange(k - 1) + 0.5
    axes.vlines(edges, -0.5, k - 0.5, colors="white", lw=1.0)
    axes.hlines(edges, -0.5, k - 0.5, colors="white", lw=1.0)
    return figure, axes
