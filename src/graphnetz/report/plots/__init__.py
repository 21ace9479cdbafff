"""Figures: records in, ``(figure, axes)`` out. One file per figure, imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.report.plots.bars": ("draw_bars",),
        "graphnetz.report.plots.critical": ("draw_critical_difference",),
        "graphnetz.report.plots.curves": ("draw_history", "draw_learning_curves"),
        "graphnetz.report.plots.dashboard": ("draw_dashboard",),
        "graphnetz.report.plots.forest": ("draw_forest",),
        "graphnetz.report.plots.generic": ("FIGURES", "draw_figure"),
        "graphnetz.report.plots.pairwise": ("draw_pairwise_list", "draw_pairwise_matrix"),
    },
)

if TYPE_CHECKING:
    from graphnetz.report.plots.bars import draw_bars as draw_bars
    from graphnetz.report.plots.critical import draw_critical_difference as draw_critical_difference
    from graphnetz.report.plots.curves import draw_history as draw_history
    from graphnetz.report.plots.curves import draw_learning_curves as draw_learning_curves
    from graphnetz.report.plots.dashboard import draw_dashboard as draw_dashboard
    from graphnetz.report.plots.forest import draw_forest as draw_forest
    from graphnetz.report.plots.generic import FIGURES as FIGURES
    from graphnetz.report.plots.generic import draw_figure as draw_figure
    from graphnetz.report.plots.pairwise import draw_pairwise_list as draw_pairwise_list
    from graphnetz.report.plots.pairwise import draw_pairwise_matrix as draw_pairwise_matrix
