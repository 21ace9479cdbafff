"""Figures: records in, ``(figure, axes)`` out. One file per figure."""

from graphnetz.render.plots.bars import draw_bars
from graphnetz.render.plots.critical import draw_critical_difference
from graphnetz.render.plots.curves import draw_history, draw_learning_curves
from graphnetz.render.plots.dashboard import draw_dashboard
from graphnetz.render.plots.forest import draw_forest
from graphnetz.render.plots.generic import FIGURES, draw_figure
from graphnetz.render.plots.pairwise import draw_pairwise_list, draw_pairwise_matrix

__all__ = [
    "FIGURES",
    "draw_bars",
    "draw_critical_difference",
    "draw_dashboard",
    "draw_figure",
    "draw_forest",
    "draw_history",
    "draw_learning_curves",
    "draw_pairwise_list",
    "draw_pairwise_matrix",
]
