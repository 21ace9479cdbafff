"""The gallery shows every figure, small, with code that runs."""

import importlib.util
import re
from pathlib import Path

from graphnetz.report.figures import FIGURES

ROOT = Path(__file__).parents[2]


def load():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "scripts" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_figure_has_a_picture_and_code_that_draws_it():
    gallery = load()
    report = gallery.example()
    pictures = gallery.pictures(report)
    assert set(pictures) == {f"{name}.png" for name in FIGURES}
    assert sum(map(len, pictures.values())) < 1_500_000
    text = gallery.page()
    assert set(re.findall(r"gallery/(\w+\.png)", text)) == set(pictures)
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(code, {"report": report})


def test_the_page_of_questions_names_figures_and_methods_that_exist():
    from graphnetz.report import example_report

    text = (ROOT / "docs" / "which-statistic.md").read_text(encoding="utf-8")
    report = example_report()
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ") and "call" not in line]
    assert len(rows) > 10
    for _, _, call, figure, *_ in rows:
        for path in re.findall(r"`report\.([\w.]+)", call):
            found = report
            for name in path.split("."):
                found = getattr(found, name)
        assert set(re.findall(r"`(\w+)`", figure)) <= set(FIGURES)
