"""Names, files and commands that the pages mention are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from graphnetz._core.moved import MOVED

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
HISTORY = ROOT / "CHANGELOG.md"  # it names what was removed
FOLDERS = (ROOT, ROOT / "src", ROOT / "src" / "graphnetz", ROOT / "docs", ROOT / "src" / "graphnetz" / "engine")


def _groups() -> set[str]:
    text = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    return set(re.findall(r"\| `(graphnetz\.\w+)` \|$", text, re.MULTILINE)) | set(
        re.findall(r'entry-points\."(graphnetz\.\w+)"', text)
    )


def _is_there(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one, at its present place."""
    parts = name.split(".")
    if any(".".join(parts[1:count]) in MOVED for count in range(2, len(parts) + 1)):
        return False
    for count in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


def _missing_names(text: str) -> list[str]:
    return [name for name in set(re.findall(r"\bgraphnetz(?:\.[A-Za-z_]\w*)+", text)) if not _is_there(name)]


def _missing_files(text: str) -> list[str]:
    named = set(re.findall(r"`([\w./-]+\.(?:py|toml|csv|bib|json|sh|pyi))(?::\w+)?`", text))
    paths = [path for path in named if "/" in path and not path.startswith(("runs/", "../", "networks/"))]
    return [path for path in paths if not any((folder / path).exists() for folder in FOLDERS)]


@pytest.mark.parametrize("page", [page for page in PAGES if page != HISTORY], ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    assert [name for name in _missing_names(text) if name not in _groups()] == []
    assert _missing_files(text) == []


def test_the_check_finds_what_is_gone():
    assert _missing_names("see `graphnetz.stats.no_such_test` and graphnetz.stats.paired_test") == [
        "graphnetz.stats.no_such_test"
    ]
    assert _missing_names("graphnetz.benchmark.store, graphnetz.benchmark") == ["graphnetz.benchmark.store"]
    assert _missing_files("`engine/gone.py:run`, `engine/run.py`") == ["engine/gone.py"]
