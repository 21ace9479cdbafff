"""The methods paper: its numbers are those of the stored results, and its text holds none of its own."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT / "docs" / "paper"
TEXT = (PAPER / "paper.tex").read_text(encoding="utf-8")
BODY = re.sub(r"(?m)(?<!\\)%.*$", "", TEXT.partition(r"\begin{document}")[2])


def script(name):
    if str(ROOT / "benchmarks") not in sys.path:
        sys.path.insert(0, str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def numbers():
    return script("paper_numbers")


def test_the_numbers_are_those_of_the_stored_results(numbers):
    written = (PAPER / "numbers.tex").read_text(encoding="utf-8")
    assert written == numbers.numbers(), "run: python benchmarks/paper_numbers.py"


def test_a_changed_result_changes_the_numbers(numbers, monkeypatch):
    before, stored = numbers.decisions(), numbers.stored
    changed = stored("decide_sooner.json") | {"cells": 1}
    monkeypatch.setattr(numbers, "stored", lambda name: changed if name == "decide_sooner.json" else stored(name))
    assert before["StudyCells"] != numbers.decisions()["StudyCells"] == "1"


def test_the_text_has_no_digit_of_its_own():
    bare = re.sub(
        r"\\(cite[pt]?|ref|label|includegraphics|input|bibliography|begin|end)\*?(\[[^]]*\])?(\{[^{}]*\})+", "", BODY
    )
    bare = re.sub(r"p\{\d+mm\}|\d*\.?\d*\\linewidth|width=[.\d]+", "", bare)
    found = [line.strip() for line in bare.splitlines() if re.search(r"\d", line)]
    assert found == [], "write a macro in benchmarks/paper_numbers.py"


def test_no_share_is_written_in_words():
    """A number word before such a noun would be a measurement that passes the macros by."""
    words = r"(two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|forty|fifty|hundred)"
    found = re.findall(rf"(?i)\b{words}[ ~-](percent|per cent|points|times as|seconds|minutes|hours|of \w+ are)", BODY)
    assert found == []


def test_every_macro_is_defined_and_used():
    defined = set(re.findall(r"\\newcommand\{\\(\w+)\}", (PAPER / "numbers.tex").read_text(encoding="utf-8")))
    used = set(re.findall(r"\\([A-Z]\w+)", TEXT))
    assert used <= defined | {"LaTeX"}, used - defined
    assert defined <= used, defined - used


def test_every_reference_is_cited_and_there():
    cited = {
        key.strip() for keys in re.findall(r"\\cite[pt]?(?:\[[^]]*\])?\{([^}]*)\}", BODY) for key in keys.split(",")
    }
    entries = re.findall(r"(?m)^@\w+\{(\w+),", (PAPER / "references.bib").read_text(encoding="utf-8"))
    assert len(set(entries)) == len(entries)
    assert cited == set(entries)
    labels = set(re.findall(r"\\label\{([^}]*)\}", BODY))
    assert set(re.findall(r"\\ref\{([^}]*)\}", BODY)) <= labels


def test_every_figure_is_drawn_by_its_command(tmp_path, monkeypatch):
    figures = script("paper_figures")
    assert set(re.findall(r"figures/(\w+)\.pdf", BODY)) == set(figures.FIGURES)
    monkeypatch.setattr(figures, "OUT", tmp_path)
    for name in figures.FIGURES:
        monkeypatch.setattr(sys, "argv", ["paper_figures.py", name])
        figures.main()
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.latex
def test_the_paper_compiles(tmp_path):
    if shutil.which("pdflatex") is None or shutil.which("bibtex") is None:
        pytest.skip("no pdflatex: make paper installs one")
    folder = shutil.copytree(PAPER, tmp_path / "paper")
    figures = script("paper_figures")
    figures.OUT = folder / "figures"
    sys.argv[1:], before = [], sys.argv[1:]
    figures.main()
    sys.argv[1:] = before
    for command in (["pdflatex"], ["bibtex"], ["pdflatex"], ["pdflatex"]):
        options = ["-interaction=nonstopmode", "-halt-on-error"] if command == ["pdflatex"] else []
        done = subprocess.run([*command, *options, "paper"], cwd=folder, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout[-2000:]
    log = (folder / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert "undefined" not in log
    pages = int(re.search(r"Output written on paper.pdf \((\d+) pages", log)[1])
    assert 6 <= pages <= 10
