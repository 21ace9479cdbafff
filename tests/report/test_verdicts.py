"""The report in words."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from graphnetz.report import BenchmarkReport


def one(report, task="t"):
    return next(v for v in report.verdicts() if v.about == task)


def test_tie_names_both_seeds_and_the_seeds_that_would_do(build):
    report = build({"t": {"GCN": 0.8, "GraphSAGE": 0.8005}}, sd=0.012)
    text = report.verdict("t")
    found = one(report)
    assert found.level == "tied"
    assert "cannot be told apart on this split at 10 seeds" in text
    assert "Holm over 1 comparison of this task" in text
    assert "seeds vary the initialisation only" in text
    needed = int(text.split(" seeds would detect a difference of 0.01")[0].rsplit(" ", 1)[1])
    sd = np.subtract(*report.final_metrics()["t"].values()).std(ddof=1)

    def power(n):
        crit, shift = stats.t.ppf(0.975, n - 1), 0.01 / sd * np.sqrt(n)
        return stats.nct.sf(crit, n - 1, shift) + stats.nct.cdf(-crit, n - 1, shift)

    assert power(needed) >= 0.8 > power(needed - 1)


def test_tie_with_enough_seeds_says_so(build):
    report = build({"t": {"A": 0.8, "B": 0.8}}, sd=0.001)
    assert "a true difference of 0.01 would have been detected" in report.verdict("t")


def test_clear_winner(build):
    report = build({"t": {"A": 0.9, "B": 0.8, "C": 0.7}}, sd=0.005)
    assert one(report).level == "different"
    assert "A is better than every other model on this split, first B (difference +0.098" in report.verdict("t")


def test_winner_of_an_error_metric_is_the_smallest(build):
    report = build({"t": {"A": 0.9, "B": 0.8}}, sd=0.005, metric="test_mae")
    assert "B is better than A on this split (difference -0.098" in report.verdict("t")


@pytest.mark.parametrize(
    ("replication", "words"),
    [("resplit", "random splits of this dataset"), ("fold", "folds of this dataset"), ("regenerate", "the generator")],
)
def test_scope_follows_replication(build, replication, words):
    report = build({"t": {"A": 0.9, "B": 0.8}}, sd=0.005, replication=replication)
    assert words in report.verdict("t")
    assert ("corrected resampled t test" in report.verdict("t")) == (replication in ("resplit", "fold"))


def test_wilcoxon_at_five_seeds_is_a_limit_of_the_design(build):
    means = {m: 0.5 + 0.1 * i for i, m in enumerate("ABCD")}
    report = build({"t": means}, seeds=5, sd=1e-4, pairwise_method="wilcoxon")
    found = one(report)
    assert found.level == "untestable"
    assert "smallest possible Wilcoxon p is 0.0625, after Holm over 6 comparisons 0.375" in found.text
    assert "At least 8 seeds are needed" in found.text
    assert 6 * 2.0**-7 <= 0.05 < 6 * 2.0**-6
    by_t = build({"t": means}, seeds=5, sd=1e-4)
    assert one(by_t).level == "different"
    assert "no Wilcoxon test can reach 0.05" in by_t.verdict()


def test_one_seed_and_lonely_models(build):
    assert "One seed gives no interval and no test" in build({"t": {"A": 0.8, "B": 0.7}}, seeds=1).verdict("t")
    assert "Only A has results" in build({"t": {"A": 0.8}}).verdict("t")


def test_constant_difference_has_no_test():
    rows = [("t", m, s, x, "test_acc", True) for m, x in (("A", 0.5), ("B", 0.7)) for s in range(5)]
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric", "greater_is_better"])
    text = BenchmarkReport.from_scores(frame).verdict("t")
    assert "B differs from A by the same amount on every seed" in text


def test_tasks_that_no_model_solves_are_named(build):
    config = {"baselines": ["Majority", "LogisticRegression"]}
    report = build(
        {
            "easy": {"GCN": 0.9, "Majority": 0.5, "LogisticRegression": 0.6},
            "hard": {"GCN": 0.5, "Majority": 0.5, "LogisticRegression": 0.5},
            "trap": {"GCN": 0.7, "Majority": 0.5, "LogisticRegression": 0.9},
        },
        config=config,
    )
    assert "No model beats the baselines after Holm on hard and trap." in report.verdict()
    assert "No model beats Majority and LogisticRegression" in report.verdict("hard")
    assert "No model beats" not in report.verdict("easy")


def test_across_tasks(build):
    means = {f"t{i}": {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.6, "E": 0.5} for i in range(12)}
    report = build(means, sd=0.001)
    text = report.verdict()
    assert report.verdicts()[0].level == "different"
    assert "A and B lead together (Iman-Davenport" in text
    assert "A ranks better than C, D and E" in text
    same = build({f"t{i}": {"A": 0.8, "B": 0.8} for i in range(3)})
    assert "cannot be told apart (Friedman (permutation)" in same.verdict()
    assert "needs at least 2 tasks" in build({"t": {"A": 0.8, "B": 0.8}}).verdict()


def test_dependent_blocks_are_flagged(build):
    means = {"cora": {"A": 0.8, "B": 0.7}, "cora_link": {"A": 0.9, "B": 0.8}, "other": {"A": 0.8, "B": 0.7}}
    report = build(means, blocks={"cora": "cora", "cora_link": "cora"})
    assert "stand on the same graph: cora and cora_link" in report.verdict()
    assert "same graph" not in build(means).verdict()


def test_models_left_out_and_failures_are_named(mixed):
    text = mixed.verdict()
    assert "Not ranked, because missing on some task: GIN" in text
    assert "1 cell failed" in text


def test_same_scores_same_words(build):
    means = {"t": {"A": 0.8, "B": 0.801, "C": 0.7}, "u": {"A": 0.8, "B": 0.79, "C": 0.7}}
    assert build(means).verdicts() == build(means).verdicts()


def test_unknown_split_ratio_is_admitted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [("t", m, s, rng.normal(0.8, 0.01), "test_acc", True, "resplit") for m in "AB" for s in range(5)],
        columns=["task", "model", "seed", "score", "metric", "greater_is_better", "replication"],
    )
    assert "is not corrected for runs that share training data" in BenchmarkReport.from_scores(frame).verdict("t")


def test_a_model_that_wins_on_shared_seeds_is_not_called_worse():
    """B beats A on every seed that both have; A has the better mean only because its bad seeds are missing."""
    rng = np.random.default_rng(0)
    level = np.array([0.9] * 5 + [0.3] * 5)
    rows = [("t", "A", s, level[s] + rng.normal(0, 1e-3), "test_acc", True) for s in range(6)]
    rows += [("t", "B", s, level[s] + 0.05 + rng.normal(0, 1e-3), "test_acc", True) for s in range(10)]
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric", "greater_is_better"])
    report = BenchmarkReport.from_scores(frame)
    pair = report.comparisons()[0]
    assert (pair.different, pair.better) == (True, "B")
    assert report.grid().rows[0].cells[0].mark == "best"
    found = one(report)
    assert found.level == "warning"
    assert "A is better" not in found.text
    assert "On the seeds that both have, B is better than A" in found.text
