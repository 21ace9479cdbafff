"""Renderers: records in; figures, LaTeX, Markdown, CSV and HTML out. No statistics here."""

from graphnetz.render.page import PageData, render_page
from graphnetz.render.style import save_figure, set_plot_style

__all__ = ["PageData", "render_page", "save_figure", "set_plot_style"]
