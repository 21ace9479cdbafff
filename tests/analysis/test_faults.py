"""The faults that a review of the first edition found, with its numbers: each was a failing test first."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from graphnetz.analysis import AnalysisOptions, analyse
from graphnetz.records import ScoreTable
from graphnetz.report import BenchmarkReport

COLUMNS = ["task", "model", "seed", "score", "metric", "greater_is_better", "replication", "test_ratio", "splits"]


def report_of(scores, *, replication="init", ratio=math.nan, splits=0, metric="test_acc", **settings):
    """A report from ``scores[model]``: one value per seed, NaN for a failed cell; or ``scores[task][model]``."""
    tasks = scores if isinstance(next(iter(scores.values())), dict) else {"t": scores}
    rows = [
        (task, model, seed, value, metric, metric != "test_mae", replication, ratio, splits)
        for task, models in tasks.items()
        for model, values in models.items()
        for seed, value in enumerate(values)
    ]
    return BenchmarkReport.from_scores(pd.DataFrame(rows, columns=COLUMNS), **settings)


def table_of(values, **facts):
    """``values[task, model, seed]`` as a table."""
    n, k, s = values.shape
    given = {"replication": ("init",) * n, "test_ratio": (math.nan,) * n} | facts
    names = tuple(f"t{i}" for i in range(n))
    return ScoreTable(
        names, tuple("ABCDEFGHI"[:k]), tuple(range(s)), values, (True,) * n, ("test_acc",) * n, blocks=names, **given
    )


# A: the best of each model's own surviving seeds


@pytest.fixture
def crasher():
    """B is 0.02 worse than A on every seed that both finish, and fails on the four hard ones."""
    rng = np.random.default_rng(0)
    level = np.array([0.85, 0.86, 0.84, 0.85, 0.86, 0.84, 0.7, 0.71, 0.7, 0.69])
    a = level + rng.normal(0, 0.001, 10)
    b = np.where(level > 0.8, a - 0.02 + rng.normal(0, 0.001, 10), np.nan)
    return {"A": a, "B": b}


def test_a_crashing_model_is_never_first(crasher):
    report = report_of({f"t{i}": crasher for i in range(8)})
    assert np.nanmean(crasher["B"]) > crasher["A"].mean()
    assert {place.best for place in report.analysis.standings.values()} == {"A"}
    assert report.mean_ranks().to_dict() == {"A": 1.0, "B": 2.0}
    marks = dict(zip(report.scores.models, (cell.mark for cell in report.grid().rows[0].cells), strict=True))
    assert marks == {"A": "best", "B": ""}
    text = report.verdict("t0")
    assert "A is better than B" in text
    assert "B is better" not in text


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_no_verdict_contradicts_its_own_test_when_runs_fail(share):
    """At 5 % random failures 3.6 % of verdicts did."""
    rng = np.random.default_rng(1)
    values = (
        0.7 + rng.normal(0, 0.01, (400, 5, 1)) + rng.normal(0, 0.03, (400, 1, 10)) + rng.normal(0, 0.005, (400, 5, 10))
    )
    values[rng.random(values.shape) < share] = np.nan
    found = analyse(table_of(values))
    wrong = 0
    for task, place in found.standings.items():
        for pair in found.grouped[task]:
            if pair.involves(place.best) and pair.beats(pair.other(place.best)):
                wrong += 1
    assert wrong == 0
    for t, task in enumerate(found.scores.tasks):
        place, seeds = found.standings[task], found.scores.common(task)[1]
        unbeaten = [
            m
            for m in found.scores.common(task)[0]
            if not any(p.beats(p.other(m)) for p in found.grouped[task] if p.involves(m))
        ]
        means = {m: found.scores.values[t, found.scores.models.index(m)][seeds].mean() for m in unbeaten}
        assert not means or place.best == max(means, key=means.get)


# B: the wrong test for what the words state


def test_random_splits_are_decided_by_the_plain_test_over_splits():
    """`digits_knn`: n_test / n_train is 43, FeatureOnly 0.805 and Majority 0.099 could not be told apart."""
    rng = np.random.default_rng(2)
    report = report_of(
        {"FeatureOnly": rng.normal(0.805, 0.06, 10), "Majority": rng.normal(0.099, 0.004, 10)},
        replication="resplit",
        ratio=43.0,
    )
    pair = report.comparisons()[0]
    assert (pair.decided_by, pair.different, pair.better) == ("t", True, "FeatureOnly")
    assert "FeatureOnly is better than Majority on this dataset (10 random splits" in report.verdict("t")
    assert -1 <= pair.sim_low <= pair.sim_high <= 1
    # The corrected test stays in its own columns.
    assert pair.p_corrected > 0.05


def test_no_bound_leaves_the_range_of_the_metric():
    report = report_of({"A": [0.99, 0.2, 0.97], "B": [0.02, 0.95, 0.01]}, replication="resplit", ratio=43.0)
    pair = report.comparisons()[0]
    assert (pair.sim_low, pair.sim_high) == (-1.0, 1.0)


# E: constant differences


def test_a_constant_difference_is_a_difference():
    rng = np.random.default_rng(3)
    a = rng.normal(0.8, 0.05, 10)
    report = report_of({"A": a, "B": a - 0.3}, replication="resplit")
    pair = report.comparisons()[0]
    assert (pair.different, pair.better, pair.decided_by) == (True, "A", "sign-flip")
    assert pair.p_decided == pytest.approx(2 / 2**10)
    text = report.verdict("t")
    assert "the same difference on every seed" in text
    assert "cannot be told apart" not in text


def test_a_constant_difference_on_few_seeds_is_untestable():
    a = np.array([0.7, 0.75, 0.8, 0.72])
    report = report_of({"A": a, "B": a - 0.1}, replication="resplit")
    assert not report.comparisons()[0].different
    assert "4 seeds are too few" in report.verdict("t")


def test_deterministic_models_on_a_fixed_split_need_no_test():
    report = report_of({"A": [0.8] * 6, "B": [0.5] * 6})
    pair = report.comparisons()[0]
    assert (pair.different, pair.decided_by) == (True, "deterministic")
    assert "both are deterministic" in report.verdict("t")
    assert "deterministic" in next(v for v in report.verdicts() if v.about == "t").claims


def test_identical_scores_are_not_told_apart_and_promise_nothing():
    rng = np.random.default_rng(4)
    a = rng.normal(0.8, 0.02, 10)
    report = report_of({"A": a, "B": a, "C": a})
    assert {pair.p_decided for pair in report.comparisons()} == {1.0}
    assert not any(pair.different for pair in report.comparisons())
    text = report.verdict("t")
    assert "have the same score on every seed" in text
    assert "probability" not in text
    assert report.equivalence(1e-6)["equivalent"].all()


# F: intervals that hold together


def test_star_and_interval_never_disagree():
    rng = np.random.default_rng(5)
    for method in ("t", "wilcoxon"):
        values = 0.7 + rng.normal(0, 0.01, (100, 5, 1)) + rng.normal(0, 0.01, (100, 5, 8))
        found = analyse(table_of(values), AnalysisOptions(method=method))
        for pair in found.comparisons:
            if pair.different:
                assert not pair.sim_low < 0 < pair.sim_high
            else:
                assert pair.sim_low <= 0 <= pair.sim_high or not pair.testable
            assert pair.sim_low <= pair.mean_diff <= pair.sim_high or not pair.testable


# G: seeds that would do


def test_the_seeds_that_would_do_come_with_a_range_and_a_probability():
    rng = np.random.default_rng(6)
    report = report_of({"A": rng.normal(0.8, 0.012, 10), "B": rng.normal(0.8, 0.012, 10)})
    text = report.verdict("t")
    found = re.search(
        r"(\d+) seeds \((\d+) to ([\d,]+)\) would detect a difference of 0.01 with 80 % probability", text
    )
    assert found
    seeds, low, high = (int(group.replace(",", "")) for group in found.groups())
    assert low < seeds < high


# H: what was random


def test_a_verdict_says_how_far_it_reaches():
    rng = np.random.default_rng(7)
    scores = {"A": rng.normal(0.8, 0.01, 10), "B": rng.normal(0.7, 0.01, 10)}
    words = {
        "init": ("split", "on this split (10 seeds"),
        "resplit": ("dataset", "on this dataset (10 random splits"),
        "fold": ("dataset", "on this dataset (10 folds"),
        "regenerate": ("source", "for new data from this generator (10 samples"),
        "unknown": ("unknown", "over these seeds (10 seeds"),
    }
    for replication, (reach, text) in words.items():
        report = report_of(scores, replication=replication)
        assert report.comparisons()[0].claims[0].evidence.reach == reach
        assert report.pairwise()["reach"].tolist() == ["source" if replication == "fold" else reach]
        assert f"A is better than B {text}" in report.verdict("t")
        assert f"better-{reach}" in next(v for v in report.verdicts() if v.about == "t").claims


def test_folds_are_the_units_whatever_the_seeds():
    """Thirty seeds on five folds are five units."""
    rng = np.random.default_rng(8)
    effect = np.tile([0.02, -0.02, 0.03, -0.01, -0.02], 6)
    noise = rng.normal(0, 0.001, (2, 30))
    report = report_of({"A": 0.8 + effect + noise[0], "B": 0.8 + noise[1]}, replication="fold", ratio=0.25, splits=5)
    pair = report.comparisons()[0]
    assert (pair.n, pair.different) == (5, False)
