"""Beside Nemenyi, and before the next run: witnesses from scipy and statsmodels."""

import json
import math
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from graphnetz._core.errors import UsageError
from graphnetz.analysis.planning import critical_difference, plan_from_pilot, plan_from_sd
from graphnetz.analysis.task_population import hierarchical_frame, population_tables, wilcoxon_frame
from graphnetz.cli.app import run_app
from graphnetz.records.examples import Components
from graphnetz.report import BenchmarkReport
from graphnetz.report.pagedata import build_page
from graphnetz.stats import hierarchical

MODELS = {"a": 0.80, "b": 0.78, "c": 0.70}


def scores(tasks=12, seeds=6, metric="test_acc"):
    rng = np.random.default_rng(0)
    rows = []
    for t in range(tasks):
        shift = rng.normal(0, 0.05)
        for model, mean in MODELS.items():
            own = mean + shift + rng.normal(0, 0.02)
            rows += [(f"t{t}", model, s, own + rng.normal(0, 0.01), metric, True) for s in range(seeds)]
    return pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric", "greater_is_better"])


@pytest.fixture(scope="module")
def report():
    return BenchmarkReport.from_scores(scores())


def test_wilcoxon_over_tasks_is_that_of_scipy(report):
    frame = wilcoxon_frame(report.analysis)
    means = scores().groupby(["task", "model"])["score"].mean().unstack()
    raw = [stats.wilcoxon(means[a], means[b], method="exact").pvalue for a, b in combinations("abc", 2)]
    assert frame["p_raw"].tolist() == pytest.approx(raw)
    assert frame["p_holm"].tolist() == pytest.approx(multipletests(raw, method="holm")[1])
    assert frame["different"].tolist() == [bool(p <= 0.05) for p in multipletests(raw, method="holm")[1]]


def test_the_hierarchical_view_is_that_of_the_differences(report):
    frame = hierarchical_frame(report.analysis, margin=0.01).set_index(["model_a", "model_b"])
    table = report.scores
    rows = [np.subtract(*table.paired(task, "a", "c")) for task in table.tasks]
    direct = hierarchical(rows, margin=0.01)
    assert frame.loc[("a", "c"), "p_a"] == pytest.approx(direct.p_right)
    assert frame.loc[("a", "c"), "p_a"] > 0.95
    assert np.allclose(frame[["p_a", "p_equal", "p_b"]].sum(axis=1), 1)


def test_only_shares_of_one_take_part():
    lower = BenchmarkReport.from_scores(scores(metric="test_mae").assign(greater_is_better=False))
    assert hierarchical_frame(lower.analysis).empty
    assert [name for name, _ in population_tables(lower.analysis)] == ["Every two models over tasks"]


def test_the_page_shows_both_and_small_reports_show_neither(report):
    names = [name for name, _ in build_page(report).tables]
    assert {"Every two models over tasks", "A task that was not measured"} <= set(names)
    assert population_tables(BenchmarkReport.from_scores(scores(tasks=2)).analysis) == []


def test_seeds_are_those_of_statsmodels(report):
    plan = plan_from_pilot(report.analysis, effect=0.01, power=0.8)
    table = report.scores
    for row in plan.tasks:
        spread = sorted(np.subtract(*table.paired(row.task, a, b)).std(ddof=1) for a, b in combinations("abc", 2))
        exact = TTestPower().solve_power(0.01 / spread[-1], power=0.8, alpha=0.05 / 3)
        assert row.seeds == math.ceil(exact - 1e-9)
        assert row.seeds_typical <= row.seeds <= row.seeds_high
    means = table.means()
    typical = np.median([(means[:, i] - means[:, j]).std(ddof=1) for i, j in combinations(range(3), 2)])
    exact = TTestPower().solve_power(0.01 / typical, power=0.8, alpha=0.05 / 3)
    assert plan.tasks_needed == math.ceil(exact - 1e-9)


def told(replication, **options):
    return BenchmarkReport.from_scores(scores(tasks=3, **options), replication=replication).analysis


def test_numbers_come_with_range_and_probability():
    analysis = told("resplit")
    plan = plan_from_pilot(analysis, effect=0.01, reach="dataset")
    row, table = plan.tasks[0], analysis.scores
    spread = max((np.subtract(*table.paired(row.task, a, b)) for a, b in combinations("abc", 2)), key=np.std)
    ends = spread.std(ddof=1) * np.sqrt(5 / stats.chi2(5).ppf([0.975, 0.025]))
    wanted = [math.ceil(TTestPower().solve_power(0.01 / sd, power=0.8, alpha=0.05 / 3) - 1e-9) for sd in ends]
    assert [row.seeds_low, row.seeds_high] == wanted
    assert row.said(0.01, 0.8) == (
        f"{row.seeds} splits ({wanted[0]} to {wanted[1]}) would detect 0.01 with 80 % probability"
    )


def test_a_pilot_that_does_not_reach_says_so():
    for replication, reach in (("init", "dataset"), ("resplit", "split"), ("unknown", "dataset")):
        row = plan_from_pilot(told(replication), effect=0.01, reach=reach).tasks[0]
        assert row.seeds is None
        assert "run a pilot whose seeds reach" in row.said(0.01, 0.8)
    assert plan_from_pilot(told("regenerate"), effect=0.01, reach="source").tasks[0].unit == "sample"
    with pytest.raises(UsageError, match="Unknown reach 'moon'"):
        plan_from_pilot(told("init"), effect=0.01, reach="moon")


def test_without_spread_no_power_is_stated():
    flat = scores(tasks=3)
    flat["score"] = flat.groupby(["task", "model"])["score"].transform("first")
    plan = plan_from_pilot(BenchmarkReport.from_scores(flat).analysis, effect=0.01)
    assert all(row.seeds is None and "no spread" in row.said(0.01, 0.8) for row in plan.tasks)


def test_several_seeds_on_one_fold_are_one_fold():
    frame = scores(tasks=3, seeds=10).assign(replication="fold", splits=5)
    analysis = BenchmarkReport.from_scores(frame).analysis
    row = plan_from_pilot(analysis, effect=0.01, reach="dataset").tasks[0]
    wide = frame[frame["task"] == row.task].pivot_table(index=frame["seed"] % 5, columns="model", values="score")
    assert row.pilot_seeds == 5
    assert row.sd == pytest.approx(max((wide[a] - wide[b]).std() for a, b in combinations("abc", 2)))


def test_new_examples_from_components_of_variance():
    """Brute force: the smallest number of test examples, or of seeds, at which a normal test has its power."""
    part = {"seed": 4e-5, "split": math.nan, "example": 0.08, "rest": 0.02, "n_seeds": 10, "n_splits": 10}
    pairs = [Components("t0", a, b, **part, n_examples=500) for a, b in combinations("abc", 2)]
    row = plan_from_pilot(told("resplit"), effect=0.02, reach="source", components=pairs).tasks[0]

    def detects(seeds, examples):
        error = math.sqrt(4e-5 / seeds + 0.08 / examples + 0.02 / (seeds * examples))
        return stats.norm.sf(stats.norm.ppf(1 - 0.05 / 6) - 0.02 / error) >= 0.8

    assert not detects(10, 500)
    assert row.examples == next(n for n in range(2, 10_000) if detects(10, n))
    assert row.seeds is None
    assert not detects(10**6, 500)
    assert "no number of splits suffices with 500 test examples" in row.said(0.02, 0.8)
    easy = plan_from_pilot(told("resplit"), effect=0.06, reach="source", components=pairs).tasks[0]
    assert easy.examples is not None
    assert easy.seeds is not None
    without = plan_from_pilot(told("resplit"), effect=0.02, reach="source").tasks[0]
    assert "need predictions per example" in without.said(0.02, 0.8)


def test_critical_difference_is_the_published_one():
    assert critical_difference(4, 14) == pytest.approx(2.569 * math.sqrt(4 * 5 / (6 * 14)), rel=1e-3)  # Demsar 2006
    assert math.isnan(critical_difference(1, 10))
    assert plan_from_sd(0.02, effect=0.01, models=5, tasks=12).critical_difference == pytest.approx(1.761, abs=1e-3)


def test_the_command(tmp_path, capsys):
    path = tmp_path / "scores.csv"
    scores(seeds=4).to_csv(path, index=False)
    assert run_app(["plan", "--effect", "0.01", "--from", str(path)]) == 0
    words = capsys.readouterr().out
    assert "To detect 0.01 with probability 0.8" in words
    assert re.search(r"t0 +these seeds +\d+ seeds \(\d+ to \d+\) would detect 0.01 with 80 % probability", words)
    assert re.search(r"Other tasks: \d+ tasks \(\d+ to \d+\) would detect", words)
    assert run_app(["plan", str(path), "--effect", "0.01", "--reach", "tasks", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["tasks_low"] < body["tasks_needed"] < body["tasks_high"]
    assert body["sentences"]["t0"].endswith("80 % probability")
    assert "Critical difference of mean ranks" in words
    assert run_app(["plan", "--effect", "0.01", "--sd", "0.02", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"][0]["seeds"] == 34
    assert run_app(["plan", "--effect", "0.01"]) == 2
    assert "--from DIR" in capsys.readouterr().err
