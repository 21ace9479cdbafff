"""The tutorials run as they are printed."""

import hashlib
import re
import shlex
from pathlib import Path

import pytest

from graphnetz.cli.app import run_app

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
PROMISES = {
    "run.md": ("GCN", "All 2 shared (task, model) pairs have identical scores.", "Report:"),
    "model.md": ("TwoHops", "failed", "my own mistake"),
    "dataset.md": ("two groups", "on this dataset", "fixed split"),
}


def blocks(path):
    return re.findall(r"^```(python|sh)\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.S | re.M)


def test_every_tutorial_is_listed():
    assert {path.name for path in TUTORIALS.glob("*.md")} == set(PROMISES)


def files(folder):
    kept = [p for p in sorted(folder.rglob("*")) if p.is_file() and "paper" not in p.parts and p.name != "store.sqlite"]
    # The page links what its folder holds, and --paper adds to it.
    texts = {p: re.sub(rb'<p class="files"><b>[^<]*[Pp]aper:</b>.*?</p>\s*', b"", p.read_bytes()) for p in kept}
    return {str(p.relative_to(folder)): hashlib.sha256(text).hexdigest() for p, text in texts.items()}


@pytest.mark.parametrize("name", PROMISES)
def test_tutorial(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "tutorial"}
    for kind, text in blocks(TUTORIALS / name):
        if kind == "python":
            exec(compile(text, name, "exec"), scope)
        else:
            before = files(tmp_path / "runs" / "first")
            for line in text.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "graphnetz"
                assert run_app(arguments) == 0, line
            # Written again from the folder, every file is the same, the page with its provenance too.
            assert files(tmp_path / "runs" / "first") == before
    printed = capsys.readouterr().out
    for words in PROMISES[name]:
        assert words in printed, words
