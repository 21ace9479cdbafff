"""LaTeX says what was run, and its options show the same numbers as the frames."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from graphnetz._core.errors import UnknownNameError
from graphnetz.report import BenchmarkReport, example_report, latex
from graphnetz.report.paper import methods_tex, write_paper


def cells(text):
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "&" in line][1:]
    return {row.split(" & ")[0]: row.removesuffix(r" \\").split(" & ")[2:] for row in rows}


def test_percent_sd_and_second_are_those_of_the_frame():
    report = example_report()
    found = cells(latex.summary_latex(report.grid(), percent=True, spread="sd", second=True))
    wide = report.frame("cells").pivot_table(index="task", columns="model", values="score", aggfunc=["mean", "std"])
    for task, scale, digits in (("cora", 100, 1), ("zinc", 1, 3)):
        for model, cell in zip(report.scores.models, found[task], strict=True):
            mean, std = re.findall(r"\d+\.\d+", cell)
            assert float(mean) == pytest.approx(scale * wide["mean"].loc[task, model], abs=0.51 * 10**-digits)
            assert float(std) == pytest.approx(scale * wide["std"].loc[task, model], abs=0.51 * 10**-digits)
    assert [r"\underline" in cell for cell in found["cora"]] == [False, True, False]
    assert [r"\underline" in cell for cell in found["zinc"]] == [False, True, False]  # lower is better
    assert "standard deviation" in latex.summary_latex(report.grid(), spread="sd")
    with pytest.raises(UnknownNameError, match="Known: interval, sd"):
        latex.summary_latex(report.grid(), spread="sem")


def test_shades_are_the_standings_whatever_the_options():
    report = example_report()
    for options in ({}, {"percent": True}, {"spread": "sd", "second": True}):
        for task, row in cells(latex.summary_latex(report.grid(), **options)).items():
            place = report.analysis.standings[task]
            marks = dict(zip(report.scores.models, row, strict=True))
            assert [model for model, cell in marks.items() if "{khaki}" in cell] == [place.best]
            assert {model for model, cell in marks.items() if "{almond}" in cell} == set(place.tied)


@pytest.fixture
def searched(build):
    report = build({"cora": {"GCN": 0.8, "GAT": 0.7}}, seeds=5)
    wins = {"GCN": 4, "GAT": 3}
    report.results = [
        replace(cell, trace=({"lr": 0.01, "model.dropout": 0.5, "val_acc": 0.9 if cell.seed < wins[cell.model] else 0.1},
                             {"lr": 0.001, "model.dropout": 0.0, "val_acc": 0.5}))
        for cell in report.results
    ]  # fmt: skip
    space = {"lr": [0.01, 0.001], "weight_decay": [], "model": {"dropout": [0.0, 0.5]}, "n_random": None, "seed": 0}
    report.config = {**report.config, "search": space}
    return report


def test_methods_name_the_search_what_it_chose_and_how_far_claims_reach(searched):
    text = methods_tex(searched, {})
    assert "over the whole grid (lr in 0.01, 0.001; dropout in 0.0, 0.5)" in text
    assert "GCN lr 0.01, dropout 0.5 (4 of 5 cells); GAT lr 0.01, dropout 0.5 (3 of 5 cells)" in text
    assert "1 of 1 comparisons for other initialisations on the same split" in text
    assert "simultaneous" in text
    assert "search" not in methods_tex(example_report(), {})


def test_the_section_says_the_verdicts(searched, tmp_path, monkeypatch):
    monkeypatch.setattr("graphnetz.report.paper.write_figures", lambda *_, **__: None)
    folder = write_paper(searched, tmp_path)
    text = (folder / "paper.tex").read_text()
    for verdict in searched.verdicts():
        assert verdict.text.split("(")[0].strip()[:40] in text
    assert text.count("paragraph{cora}") == 1


def test_many_models_stand_in_blocks_that_can_be_read(build):
    """Eleven columns scaled to a line had letters of 3 points."""
    models = [f"Model{i:02d}" for i in range(11)]
    means = {t: {m: 0.5 + 0.03 * i for i, m in enumerate(models)} for t in ("cora", "citeseer")}
    report = build(means, seeds=5)
    text = latex.summary_latex(report.grid())
    assert r"\begin{tabular}{llcccc}" in text
    rows = [
        line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r"\\") and "&" in line
    ]
    assert {len(row) for row in rows} == {6}
    assert [name for row in rows if row[0] == "Task" for name in row[2:] if name] == models
    shown = [cell for row in rows if row[0] == "cora" for cell in row[2:] if cell]
    assert [float(re.search(r"\d\.\d+", cell)[0]) for cell in shown] == pytest.approx(
        [report.summary().loc[("cora", m), "mean"] for m in models], abs=0.00051
    )


def test_methods_group_settings_and_name_every_way_to_the_source(build):
    report = build({"a": {"GCN": 0.8, "GAT": 0.7}, "b": {"GCN": 0.8, "GAT": 0.7}, "c": {"GCN": 0.8, "GAT": 0.7}})
    report.config = {**report.config, "protocols": {
        "a": {"lr": 0.1, "batch_size": 64}, "b": {"lr": 0.1, "batch_size": 32}, "c": {"lr": 0.1, "batch_size": 32},
    }}  # fmt: skip
    text = methods_tex(report, {})
    assert "All cells were trained with learning rate 0.1." in text
    assert "On a: graphs per batch at most 64." in text
    assert "On b and c: graphs per batch at most 32." in text
    assert "new examples from the same source was asked" not in text  # seeds vary the initialisation, nothing was kept
    resplit = methods_tex(build({"t": {"GCN": 0.8, "GAT": 0.7}}, replication="resplit"), {})
    assert r"was asked by the corrected resampled $t$-test~\cite{nadeau2003}." in resplit


def test_methods_name_crossed_effects_where_predictions_were_kept():
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product([["GCN", "MLP"], range(4), range(60)], names=["model", "seed", "example"])
    frame = index.to_frame(index=False).assign(task="outside")
    frame["target"] = frame["example"] % 2
    frame["prediction"] = np.where(rng.random(len(frame)) < 0.8, frame["target"], 1 - frame["target"])
    text = methods_tex(BenchmarkReport.from_predictions(frame, replication="init"), {})
    assert "from the kept predictions by crossed random effects of runs and test examples" in text
    assert "nadeau2003" not in text
