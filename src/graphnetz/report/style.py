"""How figures look, and how they are saved: the same cells give the same bytes."""

from __future__ import annotations

import functools
import importlib
import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.paths import write_file
from graphnetz.report.colours import COLOURS, MARKERS, look_of
from graphnetz.report.fonts import lean_family
from graphnetz.report.notebook import PENDING

_MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "up": "^", "down": "v", "plus": "P", "left": "<", "right": ">",
}  # fmt: skip
_HATCHES = ("", "///", "...", "xxx")

DPI = 150.0


@dataclass(frozen=True)
class Size:
    """Paper that figures are drawn for: inches as printed, and pixels per inch of PNG files."""

    width: float
    height: float
    dpi: float = DPI


SIZES = {"column": Size(3.35, 8.8), "page": Size(6.7, 8.8), "slide": Size(6.7, 3.77, 288.0)}
"""One column of two, the width of a page, and 16:9; fonts are as large as they say at this size."""

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
    looks = []
    for i in range(n):
        colour, marker = look_of(i)
        hatch = _HATCHES[(i // len(COLOURS)) % len(_HATCHES)]
        looks.append(Look(COLOURS[colour], _MARKERS[MARKERS[marker]], hatch))
    return looks


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
    8.0
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


_size: ContextVar[Size] = ContextVar("size", default=SIZES["page"])


def paper() -> Size:
    """The size that figures are drawn for now."""
    return _size.get()


@contextmanager
def sized(name: str) -> Iterator[Size]:
    """Draw for one of `SIZES`."""
    if name not in SIZES:
        raise unknown_name("size", name, SIZES)
    token = _size.set(SIZES[name])
    try:
        yield SIZES[name]
    finally:
        _size.reset(token)


class ShownFigure(Figure):
    """A figure of ours: matplotlib shows those of ``pyplot`` only, and ours stay out of its global state."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110, bbox_inches="tight")
        return buffer.getvalue()

    def _ipython_display_(self) -> None:
        """Show it now. IPython asks for this first, so a formatter of another backend shows nothing beside it."""
        PENDING[:] = [figure for figure in PENDING if figure is not self]
        display: Any = importlib.import_module("IPython.display").display  # there is a notebook, or nobody would ask
        width, height = (round(96 * side) for side in self.get_size_inches())
        facts = {"image/png": {"width": width, "height": height}}
        display({"image/png": self._repr_png_(), "text/plain": repr(self)}, metadata=facts, raw=True)


def new_figure(width: float, height: float) -> Figure:
    """Return a figure that no window system or global state knows of, and that notebooks show."""
    figure = ShownFigure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def page_files(pages: Sequence[Figure], name: str, *, formats: Iterable[str], dpi: float = DPI) -> dict[str, bytes]:
    """Return the files of a figure by name: one PDF of all pages, PNGs that are numbered where there are several."""
    files = {}
    if "png" in formats:
        digits = len(str(len(pages)))
        for i, page in enumerate(pages):
            number = f"-{i + 1:0{digits}d}" if len(pages) > 1 else ""
            files[f"{name}{number}.png"] = figure_bytes(page, "png", dpi=dpi, tight=False)
    if "pdf" in formats:
        files[f"{name}.pdf"] = _pdf(pages)
    return files


def _pdf(pages: Sequence[Figure]) -> bytes:
    from matplotlib.backends.backend_pdf import PdfPages

    buffer = io.BytesIO()
    with mpl.rc_context(drawing_style()), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # One file for all pages: its fonts are embedded once, which is most of the work of a small PDF.
        with PdfPages(buffer, metadata=_METADATA["pdf"]) as file:
            for page in pages:
                _draw_once(page, "pdf", file, DPI)
    return buffer.getvalue()


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


def _draw_once(fig: Figure, fmt: str, buffer: Any, dpi: float) -> None:
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
