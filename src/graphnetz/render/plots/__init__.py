"""Figures: records in, ``(figure, axes)`` out. One file per figure, imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.render.plots.bars": ("draw_bars",),
        "graphnetz.render.plots.critical": ("draw_critical_difference",),
        "graphnetz.render.plots.curves": ("draw_history", "draw_learning_curves"),
        "graphnetz.render.plots.dashboard": ("draw_dashboard",),
        "graphnetz.render.plots.forest": ("draw_forest",),
        "graphnetz.render.plots.generic": ("FIGURES", "draw_figure"),
        "graphnetz.render.plots.pairwise": ("draw_pairwise_list", "draw_pairwise_matrix"),
    },
)

if TYPE_CHECKING:
    from graphnetz.render.plots.bars import draw_bars as draw_bars
    from graphnetz.render.plots.critical import draw_critical_difference as draw_critical_difference
    from graphnetz.render.plots.curves import draw_history as draw_history
    from graphnetz.render.plots.curves import draw_learning_curves as draw_learning_curves
    from graphnetz.render.plots.dashboard import draw_dashboard as draw_dashboard
    from graphnetz.render.plots.forest import draw_forest as draw_forest
    from graphnetz.render.plots.generic import FIGURES as FIGURES
    from graphnetz.render.plots.generic import draw_figure as draw_figure
    from graphnetz.render.plots.pairwise import draw_pairwise_list as draw_pairwise_list
    from graphnetz.render.plots.pairwise import draw_pairwise_matrix as draw_pairwise_matrix
