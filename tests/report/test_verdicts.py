"""The report in words."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from graphnetz.analysis import verdicts
from graphnetz.report import BenchmarkReport


def one(report, task="t"):
    return next(v for v in report.verdicts() if v.about == task)


def test_tie_names_both_seeds_and_the_seeds_that_would_do(build):
    report = build({"t": {"GCN": 0.8, "GraphSAGE": 0.8005}}, sd=0.012)
    text = report.verdict("t")
    found = one(report)
    assert found.level == "tied"
    assert "GCN cannot be told apart from GraphSAGE, which has the best mean, on this split (10 seeds; " in text
    assert "Holm over 1 comparison of this task" in text
    assert "seeds vary the initialisation only" in text
    needed = int(re.search(r"(\d+) seeds \(\d+ to \d+\) would detect a difference of 0.01 with 80 %", text)[1])
    sd = np.subtract(*report.final_metrics()["t"].values()).std(ddof=1)

    def power(n):
        crit, shift = stats.t.ppf(0.975, n - 1), 0.01 / sd * np.sqrt(n)
        return stats.nct.sf(crit, n - 1, shift) + stats.nct.cdf(-crit, n - 1, shift)

    assert power(needed) >= 0.8 > power(needed - 1)


def test_tie_with_enough_seeds_says_so(build):
    report = build({"t": {"A": 0.8, "B": 0.8}}, sd=0.001)
    assert "; 3 seeds (2 to 3) would detect a difference of 0.01 with 80 %" in report.verdict("t")


def test_clear_winner(build):
    report = build({"t": {"A": 0.9, "B": 0.8, "C": 0.7}}, sd=0.005)
    assert one(report).level == "different"
    assert "A is better than every other model on this split (10 seeds; nearest B: +0.098" in report.verdict("t")


def test_winner_of_an_error_metric_is_the_smallest(build):
    report = build({"t": {"A": 0.9, "B": 0.8}}, sd=0.005, metric="test_mae")
    assert "B is better than A on this split (10 seeds; -0.098" in report.verdict("t")


@pytest.mark.parametrize(
    ("replication", "words"),
    [("resplit", "random splits of this dataset"), ("fold", "folds of this dataset"), ("regenerate", "the generator")],
)
def test_scope_follows_replication(build, replication, words):
    report = build({"t": {"A": 0.9, "B": 0.8}}, sd=0.005, replication=replication)
    assert words in report.verdict("t")
    assert "paired t test" in report.verdict("t")


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


def test_models_without_spread_differ_without_a_test():
    rows = [("t", m, s, x, "test_acc", True) for m, x in (("A", 0.5), ("B", 0.7)) for s in range(6)]
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric", "greater_is_better"])
    frame["replication"] = "init"
    text = BenchmarkReport.from_scores(frame).verdict("t")
    assert "B is better than A on this split" in text
    assert "the same difference on every seed, both are deterministic" in text


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
    assert "No model is shown to beat the baselines on hard and trap." in report.verdict()
    every = build(
        {f"trap {i}": {"GCN": 0.7, "Majority": 0.5, "LogisticRegression": 0.9} for i in range(4)}, config=config
    )
    assert "No model is shown to beat the baselines on any of the 4 tasks." in every.verdict()
    assert "No model is shown to beat all of Majority and LogisticRegression" in report.verdict("hard")
    assert "No model" not in report.verdict("easy")


def test_across_tasks(build):
    means = {f"t{i}": {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.6, "E": 0.5} for i in range(12)}
    report = build(means, sd=0.001)
    text = report.verdict()
    assert report.verdicts()[0].level == "different"
    assert "Across tasks A is not shown behind any model (Iman-Davenport" in text
    assert "A may be placed 1, B 2, C 3, D 4, E 5 of 5; A is shown to be first alone" in text
    assert "lead together" not in text
    assert "resampled" not in text  # a share of resampled lists is no probability of being best
    few = build({f"t{i}": means["t0"] for i in range(5)}, sd=0.001).verdict()
    assert "A, B and C are not shown behind any model" in few
    assert "5 independent tasks cannot show a place at 0.05" in few
    assert "A ranks better than C, D and E" in text
    same = build({f"t{i}": {"A": 0.8, "B": 0.8} for i in range(3)})
    assert "are not shown to differ (Friedman (permutation)" in same.verdict()
    level = build({"x": {"A": 0.9, "B": 0.5}, "y": {"A": 0.5, "B": 0.9}}, sd=0.001)
    assert "A and B share the best one, 1.50." in level.verdict()
    assert level.analysis.headline.leads.text.startswith("Both models share the mean rank 1.50")
    assert "needs at least 2 tasks" in build({"t": {"A": 0.8, "B": 0.8}}).verdict()


def test_dependent_blocks_are_flagged(build):
    means = {"cora": {"A": 0.8, "B": 0.7}, "cora_link": {"A": 0.9, "B": 0.8}, "other": {"A": 0.8, "B": 0.7}}
    report = build(means, blocks={"cora": "cora", "cora_link": "cora"})
    assert "stand on the same graph: cora and cora_link" in report.verdict()
    assert "same graph" not in build(means).verdict()


def test_models_left_out_and_failures_are_named(mixed):
    text = mixed.verdict()
    assert "Not ranked, because missing on some task or on the seeds that others share: GIN" in text
    assert "1 cell failed" in text


def test_same_scores_same_words(build):
    means = {"t": {"A": 0.8, "B": 0.801, "C": 0.7}, "u": {"A": 0.8, "B": 0.79, "C": 0.7}}
    assert build(means).verdicts() == build(means).verdicts()


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
    assert [cell.mark for cell in report.grid().rows[0].cells] == ["", "best"]
    found = one(report)
    assert found.level == "different"
    assert "B is better than A" in found.text


def test_the_lead_is_over_the_second_mean_whoever_is_tied():
    """B, second by mean, is shown worse; C, third, is not: the lead that is printed is the one over B."""
    rng = np.random.default_rng(1)
    base = rng.normal(0.8, 0.02, 10)
    b, c = base - 0.010 + rng.normal(0, 0.002, 10), base - 0.02 + rng.normal(0, 0.05, 10)
    c += base.mean() - 0.012 - c.mean()
    report = BenchmarkReport.from_scores(long({"A": base, "B": b, "C": c}), replication="init")
    text = report.verdict("t")
    assert "C cannot be told apart from A" in text
    assert "A is better than B" in text
    assert "lead over the second mean corrected for having picked the best " in text


def test_what_the_test_speaks_of_does_not_deny_a_further_reach():
    rng = np.random.default_rng(0)
    rows = [
        ("t", model, seed, i, 1, int(x))
        for model, rate in (("A", 0.9), ("B", 0.6))
        for seed in range(5)
        for i, x in enumerate(rng.random(300) < rate)
    ]
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "example", "target", "prediction"])
    text = BenchmarkReport.from_predictions(frame, replication="init").verdict("t")
    assert "also for new examples, this training part" in text
    assert "it holds for this one split" not in text
    assert "the test over seeds speaks of this one split" in text


def test_deterministic_models_are_not_said_to_be_corrected():
    report = BenchmarkReport.from_scores(long({"A": [0.8] * 10, "B": [0.5] * 10}), replication="init")
    assert one(report).basis.startswith("no test is needed; ")
    assert "Holm" not in one(report).basis


def test_each_reason_stands_with_the_models_it_is_about():
    rng = np.random.default_rng(2)
    scores = {"A": rng.normal(0.9, 0.01, 10), "B": rng.normal(0.7, 0.01, 10), "C": rng.normal(0.6, 0.01, 10)}
    report = BenchmarkReport.from_scores(long(scores), replication="init")
    place = report.analysis.standings["t"]
    against = {pair.other("A"): pair for pair in report.analysis.comparisons if pair.involves("A")}
    against = {name: _silent(pair, f"the predictions of {name} are gone") for name, pair in against.items()}
    further, _ = verdicts._further(place, against)
    assert further == (
        "; for new examples, this training part: not assessed against B, the predictions of B are gone; "
        "not assessed against C, the predictions of C are gone"
    )


def _silent(pair, reason):
    near, far = pair.claims
    return replace(pair, claims=(near, replace(far, evidence=replace(far.evidence, reason=reason))))


def long(scores):
    rows = [("t", model, seed, x, "test_acc") for model, row in scores.items() for seed, x in enumerate(row)]
    return pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric"])


def test_a_cell_without_a_number_does_not_deny_the_mean_beside_it():
    scores = {"A": np.linspace(0.7, 0.8, 10), "B": [*np.linspace(0.6, 0.7, 9), np.nan]}
    report = BenchmarkReport.from_scores(long(scores), replication="init")
    assert report.summary().loc[("t", "B"), "status"] == "failed on 1 seed: its score is not a number"
