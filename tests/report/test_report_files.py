"""Reports leave and come back: JSON, pickle, tables of scores, the run folder."""

import json
import pickle
import random
import re

import numpy as np
import pandas as pd
import pytest

from graphnetz._core.errors import DataError, UnknownNameError, UsageError
from graphnetz.cli.app import run_app
from graphnetz.plotting import plot_benchmark, plot_grouped_bars, plot_history
from graphnetz.records.analysis import REACHES
from graphnetz.records.task import REPLICATIONS
from graphnetz.records.task_info import REPLICATION_WORDS
from graphnetz.report import BenchmarkReport

FILES = {
    "results.json", "provenance.json", "summary.csv", "summary.md", "pairwise.csv", "pairwise_both.csv", "costs.csv",
    "results.tex", "pairwise.tex", "report.html", "digest.json",
}  # fmt: skip
FIGURES = (
    "dashboard", "bars", "forest", "pairwise_matrix", "pairwise_list", "critical_difference", "learning_curves",
    "rank_sets", "dots", "profiles", "win_rates", "pareto",
)  # fmt: skip
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "=cmd()",
    "a_b$%",
    "[red]",
    "z" * 300,
    "\u202eabc",
    "שלום",
    "../../up",
)


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def without_provenance(data):
    return re.sub(rb"<!-- provenance -->.*<!-- /provenance -->", b"", data, flags=re.S)


def test_folder_is_complete_and_the_same_whatever_order_cells_came_in(mixed, tmp_path):
    shuffled = list(mixed.results)
    random.Random(1).shuffle(shuffled)
    other = BenchmarkReport.from_results(
        shuffled,
        tasks=mixed.tasks,
        models=mixed.models,
        seeds=mixed.seeds,
        config={**mixed.config, "root": "/elsewhere", "workers": 7},
        absent=mixed.absent,
        sections=mixed.sections,
        provenance={"date": "2031-01-01"},
    )
    first, second = contents(mixed.write(tmp_path / "a")), contents(other.write(tmp_path / "b"))
    assert FILES | {f"figures/{n}.{f}" for n in FIGURES for f in ("pdf", "png")} == set(first)
    for name, data in first.items():
        if name == "provenance.json":
            assert data != second[name]
        elif name == "report.html":
            assert without_provenance(data) == without_provenance(second[name])
        elif name != "costs.csv":
            assert data == second[name], name
    for word in (b"somewhere", b"somebody", b"2026-01-01"):
        assert word not in first["results.json"]
    assert b"2026-01-01" in first["provenance.json"]


def test_hostile_names_survive_every_file(build, tmp_path):
    means = {task: {model: 0.5 + 0.01 * i for i, model in enumerate(HOSTILE[:3])} for task in HOSTILE}
    report = build(means, seeds=3, config={"title": HOSTILE[0], "baselines": [HOSTILE[1]]})
    files = contents(report.write(tmp_path / "out"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]
    page = files["report.html"].decode()
    assert "<img src=x" not in page
    assert page.count("<script") == 1
    table = pd.read_csv(tmp_path / "out" / "pairwise.csv")
    assert set(table["task"].str[0]) & set("=+-@") == set()
    assert len(table) == len(HOSTILE) * 3
    assert "\u202e" not in files["summary.md"].decode()
    assert re.search(r"(?<!\\)_b", files["results.tex"].decode().split("begin{tabular}")[1]) is None
    assert "<img" not in report._repr_html_()


def test_json_round_trip(mixed, tmp_path):
    text = mixed.to_json(tmp_path / "r.json")
    again = BenchmarkReport.from_json(tmp_path / "r.json")
    assert again.to_json() == text
    assert BenchmarkReport.from_json(text).to_json() == text
    pd.testing.assert_frame_equal(again.summary(), mixed.summary())
    pd.testing.assert_frame_equal(again.pairwise(), mixed.pairwise())
    assert again.verdicts() == mixed.verdicts()
    assert again.histories == mixed.histories
    assert again.sections == mixed.sections
    raw = json.loads(text)
    assert (raw["schema"], raw["schema_version"]) == ("graphnetz.report", 2)
    slim = BenchmarkReport.from_json(mixed.to_json(histories=False))
    pd.testing.assert_frame_equal(slim.summary(), mixed.summary())


def test_bare_histories_round_trip():
    report = BenchmarkReport((0, 1), {"t": {"A": [{"test_acc": [0.1, 0.2]}, {"test_acc": [0.1, 0.3]}]}})
    again = BenchmarkReport.from_json(report.to_json())
    assert again.final_metrics() == report.final_metrics()
    assert again.histories == report.histories


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("{}", "not a graphnetz report"),
        ('{"schema": "graphnetz.report", "schema_version": 99}', "schema version 99"),
        ('{"schema": "graphnetz.report", "schema_version": 1}', "does not follow its schema"),
        ('{"schema": "graphnetz.report", "schema_version": 1, "tasks": [{"name": "t"}]}', "does not follow"),
        ("no/such/file.json", "Cannot read the report 'no/such/file.json'"),
    ],
)
def test_foreign_json_is_refused_in_one_sentence(text, words):
    with pytest.raises(DataError, match=words):
        BenchmarkReport.from_json(text)


def test_pickle_drops_what_cannot_travel(mixed):
    mixed.config["loader"] = lambda root: root
    mixed.summary()
    again = pickle.loads(pickle.dumps(mixed))
    pd.testing.assert_frame_equal(again.summary(), mixed.summary())
    assert isinstance(again.config["loader"], str)


def frame(**changes):
    base = {
        "task": ["t"] * 4,
        "model": ["A", "A", "B", "B"],
        "seed": [0, 1, 0, 1],
        "score": [0.8, 0.9, 0.7, np.nan],
        "metric": ["test_acc"] * 4,
        "greater_is_better": ["true"] * 4,
    }
    return pd.DataFrame({**base, **changes})


def test_scores_from_elsewhere():
    report = BenchmarkReport.from_scores(frame())
    assert report.seeds == (0, 1)
    assert report.summary().loc[("t", "A"), "mean"] == pytest.approx(0.85)
    assert report.summary().loc[("t", "B"), "n_seeds"] == 1
    assert len(report.failures) == 1
    known = BenchmarkReport.from_scores(frame(metric=["val_mae"] * 4).drop(columns="greater_is_better"))
    assert known.grid().rows[0].greater_is_better is False


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": [0, 0, 0, 1]}, "more than once"),
        ({"seed": ["x", 1, 0, 1]}, "column 'seed' holds 'x'"),
        ({"seed": [0.5, 1, 0, 1]}, "Give a whole number"),
        ({"greater_is_better": ["true", "false", "true", "true"]}, "several values of greater_is_better"),
        ({"greater_is_better": ["maybe"] * 4}, "greater_is_better='maybe'"),
        ({"greater_is_better": [None] * 4, "metric": ["foo"] * 4}, "no greater_is_better"),
    ],
)
def test_wrong_scores_are_named(changes, words):
    with pytest.raises(DataError, match=words):
        BenchmarkReport.from_scores(frame(**changes))


def test_missing_columns_and_empty_tables_are_named():
    with pytest.raises(DataError, match="lack the column score"):
        BenchmarkReport.from_scores(frame().drop(columns="score"))
    with pytest.raises(DataError, match="no row"):
        BenchmarkReport.from_scores(frame().iloc[:0])


def test_report_methods_draw_and_write(mixed, tmp_path):
    pretty = {"cora": "Cora graph"}
    figures = [
        mixed.plot(title="t", pretty_tasks=pretty),
        mixed.plot_forest(sort_within=True, pretty_tasks=pretty),
        mixed.plot_pairwise(pretty_tasks=pretty),
        mixed.plot_pairwise(layout="list", method="wilcoxon"),
        mixed.plot_critical_difference(title="x"),
        mixed.plot_learning_curves(metric_key="train_loss"),
        mixed.plot_dashboard(),
        plot_benchmark(mixed, path=tmp_path / "bench"),
        plot_history(mixed["cora"]["GAT"], keys=["train_loss"]),
        plot_grouped_bars({"g": {"a": 1.0, "b": 2.0}}, errors={"g": {"a": 0.1}}),
    ]
    assert all(len(pair) == 2 for pair in figures)
    assert (tmp_path / "bench.pdf").exists()
    assert "Cora graph" in mixed.to_latex(tmp_path / "r.tex", pretty_tasks=pretty).read_text()
    assert "Wilcoxon" in mixed.pairwise_to_latex(tmp_path / "p.tex", method="wilcoxon").read_text()
    assert "overlaps" in mixed.to_latex(tmp_path / "o.tex", tie_rule="overlap").read_text()


def test_learning_curves_average_over_seeds(cells):
    from graphnetz.analysis.curves import curve_panels

    runs = [[0.1, 0.2, 0.3], [0.3, 0.4]]
    (panel,) = curve_panels({"t": {"A": [{"k": r} for r in runs]}}, {"t": "k"}, {"t": "K"}, level=0.95)
    assert panel.curves[0].mean == pytest.approx([0.2, 0.3, 0.3])
    assert np.isnan(panel.curves[0].low[2])  # one seed is left: no interval


def test_nothing_finished_still_writes(cells, tmp_path):
    from dataclasses import replace

    from graphnetz.report import TaskInfo

    failed = [replace(r, status="timeout", metrics={}, history={}, error="") for r in cells({"t": {"A": 0.1}}, seeds=2)]
    report = BenchmarkReport.from_results(failed, tasks={"t": TaskInfo("test_acc")}, models=("A",), seeds=(0, 1))
    page = (report.write(tmp_path / "r") / "report.html").read_text()
    assert "No model finished on this task" in page
    assert "the cell ended as timeout" in page


def test_scores_from_elsewhere_do_not_say_what_a_seed_varies():
    """They were taken for initialisations on one split, and claims said so."""
    plain = BenchmarkReport.from_scores(frame())
    (task,) = plain.scores.tasks
    assert plain.task_info[task].replication == "unknown"
    assert plain.task_info[task].reach == "unknown"
    assert {cell.replication for cell in plain.results} == {"unknown"}
    for told in ("resplit", {task: "resplit"}):
        assert BenchmarkReport.from_scores(frame(), replication=told).task_info[task].reach == "dataset"
    column = frame(replication=["fold"] * 4)
    assert BenchmarkReport.from_scores(column).task_info[task].replication == "fold"
    assert BenchmarkReport.from_scores(column, replication="fold").task_info[task].replication == "fold"
    with pytest.raises(DataError, match="'fold' in its column, and 'init' was told"):
        BenchmarkReport.from_scores(column, replication="init")
    with pytest.raises(UsageError, match="Unknown replication 'seeds'"):
        BenchmarkReport.from_scores(frame(), replication="seeds")
    with pytest.raises(UnknownNameError, match="nothing"):
        BenchmarkReport.from_scores(frame(), replication={"nothing": "init"})


def test_the_command_is_told_what_a_seed_varies(tmp_path, capsys):
    path = tmp_path / "scores.csv"
    frame(score=[0.8, 0.7, 0.6, 0.5]).to_csv(path, index=False)
    assert run_app(["report", str(path), "--no-figures", "--replication", "resplit", "--json"]) == 0
    assert {task["replication"] for task in json.loads(capsys.readouterr().out)["tasks"]} == {"resplit"}
    assert run_app(["report", str(tmp_path / "scores"), "--replication", "resplit"]) == 2
    assert "is for tables" in capsys.readouterr().err


@pytest.mark.parametrize("name", REPLICATIONS)
def test_every_replication_stands_on_the_ladder(name):
    words = REPLICATION_WORDS[name]
    assert set(words) == {"reach", "unit", "scope", "holds", "seed"}
    assert words["reach"] in (*REACHES, "unknown")


def test_many_seeds_on_folds_need_the_number_of_folds():
    """150 seeds on 5 folds were counted as 150 folds, for this dataset and for new examples."""
    rng = np.random.default_rng(0)
    rows = [("t", m, s, x, "test_acc") for m in "AB" for s, x in enumerate(rng.normal(0.8, 0.01, 150))]
    table = pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric"])
    with pytest.raises(DataError, match="150 seeds on folds, and nobody said how many folds"):
        BenchmarkReport.from_scores(table, replication="fold")
    (pair,) = BenchmarkReport.from_scores(table.assign(splits=5), replication="fold").comparisons()
    assert pair.n == 5
    (pair,) = BenchmarkReport.from_scores(table.assign(splits=0), replication="fold").comparisons()
    assert pair.n == 150
    few = table[table["seed"] < 10]
    assert BenchmarkReport.from_scores(few, replication="fold").comparisons()[0].n == 10
