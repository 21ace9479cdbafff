"""How figures look, and how they are saved: the same cells give the same bytes."""

from __future__ import annotations

import functools
import importlib
import io
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from graphnetz._core.errors import UsageError
from graphnetz._core.paths import write_file
from graphnetz.report.fonts import lean_family

# Okabe and Ito (2008), its yellow darkened to be readable on white, then three of Paul Tol's muted set.
_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#8A7A00",
    "#5A5A5A",
    "#882255",
    "#44AA99",
    "#332288",
)
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "h", "p")
_HATCHES = ("", "///", "...", "xxx")

DPI = 150.0

STYLE: dict[Any, Any] = dict(
    mpl.rc_params_from_file(Path(__file__).with_name("figures.mplstyle"), use_default_template=False)
)

_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}

_CANVASES = {
    "pdf": "backend_pdf.FigureCanvasPdf",
    "png": "backend_agg.FigureCanvasAgg",
    "svg": "backend_svg.FigureCanvasSVG",
}
"""Imported when a format is written: a page has no PDF, and its backend takes as long as the page's own charts."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Look:
    """Colour, marker and hatch of one model: never colour alone."""

    colour: str
    marker: str
    hatch: str


def palette(n: int) -> list[Look]:
    """Return ``n`` distinguishable looks, stable in their order."""
    size = len(_COLOURS)
    return [
        Look(_COLOURS[i % size], _MARKERS[(i + i // size) % len(_MARKERS)], _HATCHES[(i // size) % len(_HATCHES)])
        for i in range(n)
    ]


def set_plot_style() -> None:
    """Make the figures that follow look like those of the report.

    Changes matplotlib's global settings; ``matplotlib.rcdefaults()`` undoes it.

    Examples
    --------
    >>> import matplotlib
    >>> from graphnetz import set_plot_style
    >>> with matplotlib.rc_context():  # only for this block
    ...     set_plot_style()
    ...     matplotlib.rcParams["font.size"]
    9.0
    """
    mpl.rcParams.update(STYLE)


_lean: ContextVar[bool] = ContextVar("lean", default=False)


@contextmanager
def lean_fonts() -> Iterator[None]:
    """Draw with the quick form of the font; only for figures that are written at once and thrown away."""
    token = _lean.set(True)
    try:
        yield
    finally:
        _lean.reset(token)


def drawing_style() -> dict[Any, Any]:
    """`STYLE`, with the font that `lean_fonts` asks for."""
    return STYLE | {"font.family": lean_family()} if _lean.get() else STYLE


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Run a drawing function under `drawing_style`, leaving the caller's settings alone."""

    @functools.wraps(draw)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(drawing_style()):
            return draw(*args, **kwargs)

    return wrapper


def new_figure(width: float, height: float) -> Figure:
    """Return a figure that no window system or global state knows of."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def figure_files(fig: Figure, *, dpi: float = DPI, formats: Iterable[str] = ("png", "pdf")) -> dict[str, bytes]:
    """Return ``fig`` in every format, laid out once: the first format computes the layout, the others take it over."""
    fig.dpi = dpi
    files = {}
    for fmt in formats:
        files[fmt] = figure_bytes(fig, fmt, dpi=dpi, tight=False)
        fig.set_layout_engine("none")
    return files


def figure_bytes(fig: Figure, fmt: str, *, dpi: float = DPI, tight: bool = True) -> bytes:
    """Return ``fig`` as PDF, PNG or SVG without date, version or random identifiers.

    ``tight`` cuts the margins, which draws the figure twice; a figure with a layout needs no cutting.
    """
    if fmt not in _METADATA:
        raise UsageError(f"Unknown figure format {fmt!r}. Known: {', '.join(_METADATA)}.")
    buffer = io.BytesIO()
    with mpl.rc_context(drawing_style()), warnings.catch_warnings():
        # Letters outside the bundled font are drawn as boxes; the tables carry the full name.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        if tight:
            fig.savefig(buffer, format=fmt, dpi=dpi, metadata=_METADATA[fmt])
        else:
            _draw_once(fig, fmt, buffer, dpi)
    return buffer.getvalue()


def _canvas(fmt: str) -> Any:
    module, name = _CANVASES[fmt].split(".")
    return getattr(importlib.import_module(f"matplotlib.backends.{module}"), name)


def _draw_once(fig: Figure, fmt: str, buffer: io.BytesIO, dpi: float) -> None:
    """Write ``fig`` through the format's own canvas: ``savefig`` draws every figure twice."""
    canvas, resolution = fig.canvas, fig.dpi
    options: dict[str, Any] = {"pil_kwargs": {"compress_level": 3}} if fmt == "png" else {}
    try:
        fig.dpi = dpi
        getattr(_canvas(fmt)(fig), f"print_{fmt}")(buffer, metadata=_METADATA[fmt], **options)
    finally:
        fig.dpi = resolution
        fig.set_canvas(canvas)


def save_figure(
    fig: Figure,
    path: str | Path,
    formats: Iterable[str] = ("pdf", "png"),
    dpi: float = DPI,
    *,
    tight: bool = True,
) -> list[Path]:
    """Write ``fig`` beside ``path`` in every format and return the files.

    The files hold no date and no random identifier, so the same figure gives the same bytes.

    Parameters
    ----------
    fig
        Any matplotlib figure.
    path
        Path without suffix; a ``.pdf``, ``.png`` or ``.svg`` suffix adds that format.
    formats
        Formats to write.
    dpi
        Resolution of PNG files.
    tight
        Cut empty margins.

    Returns
    -------
    list of Path
        The files written, one per format.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> from graphnetz import save_figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figure(Figure(), f"{folder}/empty", formats=["png"])]
    ['empty.png']
    """
    target = Path(path)
    wanted = list(dict.fromkeys(formats))
    suffix = target.suffix.lstrip(".").lower()
    if suffix in _METADATA:
        target = target.with_suffix("")
        wanted = list(dict.fromkeys([suffix, *wanted]))
    written = []
    for fmt in wanted:
        data = figure_bytes(fig, fmt, dpi=dpi, tight=tight)
        file = target.with_name(f"{target.name}.{fmt}")
        written.append(write_file(file, data))
    return written
