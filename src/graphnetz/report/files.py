"""Links of the page to the files that lie beside it."""

from __future__ import annotations

import re
from pathlib import Path

from graphnetz._core.paths import write_file

KINDS = frozenset({".csv", ".json", ".tex", ".pdf", ".md", ".bib", ".toml"})
FOLDERS = {"": "Tables and records", "figures": "Figures", "paper": "Paper", "paper/figures": "Figures of the paper"}
MOST = 300
"""Links of one group; a folder of more says how many there are."""
_PLACE = re.compile("<!-- files -->.*?<!-- /files -->", re.DOTALL)

Group = tuple[str, tuple[str, ...], int]


def files_of(folder: Path) -> tuple[Group, ...]:
    """Return what ``folder`` holds for tables, papers and programs, as (title, names, how many there are) by subfolder.

    Links are relative, so that a folder may be moved or sent; symbolic links are no part of it.
    """
    out = []
    for below, title in FOLDERS.items():
        here = folder / below
        found = sorted(path.name for path in here.glob("*") if path.suffix in KINDS and _plain(path))
        names = tuple(f"{below}/{name}" if below else name for name in found)
        if names:
            out.append((title, names[:MOST], len(names)))
    return tuple(out)


def _plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def link_files(folder: Path, name: str = "report.html") -> None:
    """Write the links of a page again, from what lies in its folder now."""
    from graphnetz.report.page import environment

    page = folder / name
    macros = environment().get_template("_page.html").module
    made = f"<!-- files -->{macros.files(files_of(folder))}<!-- /files -->"  # type: ignore[attr-defined]
    text = page.read_text(encoding="utf-8")
    write_file(page, _PLACE.sub(lambda _: made, text, count=1))
