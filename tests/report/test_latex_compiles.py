"""What we write for papers is compiled by a real pdfLaTeX, whatever names hold."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from graphnetz.datasets import CARDS
from graphnetz.report import latex
from graphnetz.report.bibliography import bibtex, references
from graphnetz.report.paper import write_paper

pytestmark = [
    pytest.mark.latex,
    pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex; make latex installs it"),
]

HOSTILE = (
    "</script><img src=x onerror=alert(1)>", "a_b$%", "=cmd()", "[red]", "y" * 300, "\u202eevil", "שלום", "\\input{x}",
    "^^5cinput", "#1~&{", "}", "*", "-", "Müller’s “best” – ½ × ∞", "\x00\x07", "😀", "",
)  # fmt: skip


def run(*program, cwd):
    done = subprocess.run(program, cwd=cwd, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def compiled(folder, name, *, passes=1):
    """Compile and return the log of the last pass; the first error stops it."""
    for _ in range(passes):
        code, log = run("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", name, cwd=folder)
        assert code == 0, log[-2500:]
    assert (folder / f"{name}.pdf").stat().st_size > 5_000
    return log


def no_loss(log):
    """Nothing undefined, nothing beyond the page."""
    assert "undefined" not in log
    assert "too large for page" not in log
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([0-9.]+)pt", log)]
    assert max(wide, default=0.0) < 20


def test_the_kit_compiles_with_its_references(mixed, tmp_path):
    datasets = {"cora": ("Cora_x", "Sen & others, 100 % of it, 2008."), "zinc": ("ZINC", "Irwin, 2012.")}
    folder = write_paper(mixed, tmp_path / "paper", datasets=datasets)
    compiled(folder, "paper")
    code, log = run("bibtex", "paper", cwd=folder)
    assert code == 0, log
    assert "Warning" not in log
    no_loss(compiled(folder, "paper", passes=2))


def test_hostile_names_compile(build, tmp_path):
    means = {task: {model: 0.5 + 0.01 * i for i, model in enumerate(HOSTILE[:6])} for task in HOSTILE}
    report = build(means, seeds=3)
    report.config["protocols"] = {task: {"optimiser": task, "lr": 0.1 * i} for i, task in enumerate(HOSTILE)}
    folder = write_paper(report, tmp_path / "paper", datasets={name: (name, name) for name in HOSTILE})
    compiled(folder, "paper")
    assert run("bibtex", "paper", cwd=folder)[0] == 0
    compiled(folder, "paper", passes=2)


def test_tables_compile_alone_and_long_ones_break_over_pages(build, tmp_path):
    rng = np.random.default_rng(0)
    few = build({"t": {f"model {i}": float(rng.random()) for i in range(12)}}, seeds=4)
    many = build({f"task {t}": {f"m{i}": float(rng.random()) for i in range(6)} for t in range(8)}, seeds=4)
    for name, report in (("few", few), ("many", many)):
        report.to_latex(tmp_path / f"{name}_results.tex")
        report.pairwise_to_latex(tmp_path / f"{name}_pairwise.tex")
        for part in ("results", "pairwise"):
            body = (tmp_path / f"{name}_{part}.tex").read_text()
            needs = "".join(re.findall(r"\\usepackage(?:\[[^]]*\])?\{[^}]*\}", body))
            text = f"\\documentclass{{article}}{needs}\\begin{{document}}{body}\\end{{document}}"
            (tmp_path / f"x_{name}_{part}.tex").write_text(text)
            no_loss(compiled(tmp_path, f"x_{name}_{part}", passes=2))
    assert "longtable" in latex.pairwise_latex([]).split("\n")[1]
    assert "\\begin{longtable}" in (tmp_path / "many_pairwise.tex").read_text()
    assert "\\begin{longtable}" not in (tmp_path / "few_results.tex").read_text()


def test_bibtex_takes_the_whole_bibliography(tmp_path):
    cards = {name: card.citation for name, card in CARDS.items()}
    (tmp_path / "all.bib").write_text(bibtex(references(), [], cards))
    (tmp_path / "x.aux").write_text("\\citation{*}\n\\bibstyle{plain}\n\\bibdata{all}\n")
    code, log = run("bibtex", "x", cwd=tmp_path)
    assert code == 0, log
    assert "Warning" not in log
    packages = "\\usepackage[T1]{fontenc}\\usepackage[utf8]{inputenc}\\usepackage{textcomp}"
    (tmp_path / "x.tex").write_text(
        f"\\documentclass{{article}}{packages}\\begin{{document}}\\nocite{{*}}\\bibliographystyle{{plain}}"
        "\\bibliography{all}\\end{document}"
    )
    compiled(tmp_path, "x")
