"""Renderers: records in; figures, LaTeX, Markdown, CSV and HTML out. No statistics here.

Names are resolved on first use: a run that draws nothing must not wait for matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.render.page": ("PageData", "render_page"),
        "graphnetz.render.style": ("save_figure", "set_plot_style"),
    },
)

if TYPE_CHECKING:
    from graphnetz.render.page import PageData as PageData
    from graphnetz.render.page import render_page as render_page
    from graphnetz.render.style import save_figure as save_figure
    from graphnetz.render.style import set_plot_style as set_plot_style
