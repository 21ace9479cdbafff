"""The bundled font without its layout tables, which matplotlib never reads but subsets for every PDF."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.font_manager import FontEntry, fontManager

FAMILIES = ("graphnetz DejaVu Sans", "graphnetz DejaVu Sans, all letters")
_FACES = (
    ("DejaVuSans.ttf", "normal", 400),
    ("DejaVuSans-Bold.ttf", "normal", 700),
    ("DejaVuSans-Oblique.ttf", "oblique", 400),
)
_USUAL = (
    (0x20, 0x17F),
    (0x370, 0x3FF),
    (0x2010, 0x2044),
    (0x2070, 0x209C),
    (0x2190, 0x2199),
    (0x2200, 0x22FF),
    (0x2605, 0x2605),
)
"""Letters of western Europe and Greece, dashes and quotation marks, raised and lowered digits, arrows, mathematics."""

_UNUSED = ("GPOS", "GSUB", "GDEF", "MATH", "FFTM")


@functools.cache
def lean_family() -> list[str]:
    """Return the names of font families with the same outlines, made once per process.

    The first holds the letters that figures are written with, the second those of all scripts, for names in others.
    Every PDF cuts its fonts down to its letters: without layout tables that takes a quarter of the time, and with a few
    hundred letters instead of six thousand a small part of that.
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
        font.save(folder / f"all-{name}")
        _cut(font)
        font.save(folder / name)
        for family, file in zip(FAMILIES, (name, f"all-{name}"), strict=True):
            entry = FontEntry(
                fname=str(folder / file), name=family, style=style, variant="normal", weight=weight, stretch="normal",
                size="scalable",
            )  # fmt: skip
            fontManager.ttflist.append(entry)
    return list(FAMILIES)


def _cut(font: Any) -> None:
    """Leave the usual letters only, drawn and spaced as before."""
    from fontTools import subset

    options = subset.Options(glyph_names=True, recommended_glyphs=True, legacy_kern=True, notdef_outline=True)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[code for first, last in _USUAL for code in range(first, last + 1)])
    cutter.subset(font)


def _remove_at_exit(folder: Path) -> None:
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child must not take the files from its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
