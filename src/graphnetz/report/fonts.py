"""The bundled font without its layout tables, which matplotlib never reads but subsets for every PDF."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl
from matplotlib.font_manager import FontEntry, fontManager

FAMILY = "graphnetz DejaVu Sans"
_FACES = (
    ("DejaVuSans.ttf", "normal", 400),
    ("DejaVuSans-Bold.ttf", "normal", 700),
    ("DejaVuSans-Oblique.ttf", "oblique", 400),
)
_UNUSED = ("GPOS", "GSUB", "GDEF", "MATH", "FFTM")


@functools.cache
def lean_family() -> str:
    """Return the name of a font family with the same outlines, made once per process.

    Subsetting the layout tables takes three quarters of the time of writing a small PDF.
    """
    from fontTools.ttLib import TTFont

    folder = Path(tempfile.mkdtemp(prefix="graphnetz-fonts-"))
    _remove_at_exit(folder)
    for name, style, weight in _FACES:
        # The date inside the font stays as it was: the same cells give the same bytes.
        font = TTFont(Path(mpl.get_data_path()) / "fonts" / "ttf" / name, recalcTimestamp=False, lazy=True)
        for table in _UNUSED:
            if table in font:
                del font[table]
        font.save(folder / name)
        entry = FontEntry(
            fname=str(folder / name), name=FAMILY, style=style, variant="normal", weight=weight, stretch="normal",
            size="scalable",
        )  # fmt: skip
        fontManager.ttflist.append(entry)
    return FAMILY


def _remove_at_exit(folder: Path) -> None:
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child must not take the files from its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
