"""Figures in notebooks: shown once, when the cell ends, whoever else plots and with whatever backend."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")


class Drawing(tuple[Any, Any]):
    """Figure and axes, as the documented functions return them; a notebook shows the figure."""

    __slots__ = ()

    def _repr_png_(self) -> bytes:
        return bytes(self[0]._repr_png_())

    def _ipython_display_(self) -> None:
        self[0]._ipython_display_()


class Pages(tuple[Any, ...]):
    """The pages of one figure; a notebook shows them one below the other."""

    __slots__ = ()

    def _ipython_display_(self) -> None:
        for page in self:
            page._ipython_display_()


PENDING: list[Any] = []
"""Figures that a notebook has not shown yet."""


def drawing(drawn: tuple[Figure, Any]) -> tuple[Figure, Any]:
    """Return figure and axes in a form that notebooks show at the end of the cell, also when it was assigned to names.

    Axes that the caller made belong to a figure that its own backend shows: these are returned as they are.
    """
    figure = drawn[0]
    if not hasattr(figure, "_ipython_display_"):
        return drawn
    shell = kernel()
    if shell is not None:
        PENDING.append(figure)
        if not getattr(shell, "_graphnetz_shows", False):
            shell._graphnetz_shows = True
            shell.events.register("post_execute", show_pending)
    return Drawing(drawn)


def shown(draw: Callable[P, tuple[Figure, Any]]) -> Callable[P, tuple[Figure, Any]]:
    """Make a notebook show what a documented function draws."""

    @functools.wraps(draw)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> tuple[Figure, Any]:
        return drawing(draw(*args, **kwargs))

    return wrapper


def kernel() -> Any:
    """The shell of a notebook, None elsewhere; IPython is not imported to find out."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    return shell if shell is not None and getattr(shell, "kernel", None) is not None else None


def show_pending() -> None:
    """Show the figures of this cell that were not shown by their own name."""
    for figure in list(PENDING):
        figure._ipython_display_()
    PENDING.clear()
