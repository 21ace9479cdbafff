"""What is said about runs before they are tested: collapse, failures, and what cannot be tested."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from graphnetz.analysis import analyse
from graphnetz.analysis.comparisons import compare
from graphnetz.analysis.diagnostics import (
    diagnose,
    diagnose_pair,
    diagnostic_verdicts,
    dot_panels,
    failure_rates,
    scored_worst,
    without_collapse,
)
from graphnetz.records import CellResult, ScoreTable
from graphnetz.records.analysis import CLAIMS, Facts
from graphnetz.records.diagnostics import KINDS
from graphnetz.report import TaskInfo

SEEDS = 10


def table_of(rows, *, greater_is_better=True):
    values = np.array([list(rows.values())], dtype=float)
    return ScoreTable(
        tasks=("cora",), models=tuple(rows), seeds=tuple(range(values.shape[2])), values=values,
        greater_is_better=(greater_is_better,), metrics=("test_acc",), replication=("init",), test_ratio=(math.nan,),
        blocks=("cora",),
    )  # fmt: skip


def noise(mean, seed, sd=0.01):
    return mean + sd * np.random.default_rng(seed).normal(size=SEEDS)


@pytest.fixture
def table():
    gin = noise(0.82, 1)
    gin[[3, 7]] = 0.1, 0.101
    return table_of({"GCN": noise(0.80, 0), "GIN": gin, "Majority": np.full(SEEDS, 0.1)})


INFOS = {"cora": TaskInfo("test_acc", "Test accuracy", n_test=1000)}


def failure(model, seed):
    return CellResult(f"{model}{seed}", "cora", model, seed, "failed", "test_acc", error="boom")


def test_collapse_is_named_with_its_seeds_its_scores_and_its_bound(table):
    (item,) = [item for item in diagnose(table, INFOS, baselines=("Majority",)) if item.kind == "collapse"]
    assert (item.model, item.seeds, item.blocks) == ("GIN", (3, 7), False)
    assert (
        item.text == "GIN collapses on seeds 3 and 7 (0.100 to 0.101; Majority scores 0.100): 2 of 10 runs, up to 51 %"
    )


def test_claims_are_about_runs_without_collapse(table):
    """With the two collapsed runs nothing is shown; without them GIN is better, and its rate stands beside it."""
    before = {(p.a, p.b): p for p in compare(table, alpha=0.05, method="t")}
    found = diagnose(table, INFOS, baselines=("Majority",))
    kept = without_collapse(table, found)
    after = {(p.a, p.b): p for p in compare(kept, alpha=0.05, method="t")}
    assert before["GCN", "GIN"].mean_diff > 0
    assert not before["GCN", "GIN"].significant
    assert after["GCN", "GIN"].mean_diff < 0
    assert after["GCN", "GIN"].significant
    assert after["GCN", "GIN"].n == 8
    assert kept.reasons["cora", "GIN"] == "collapsed on seeds 3 and 7"
    assert np.isnan(kept.cell("cora", "GIN")[[3, 7]]).all()
    assert np.isfinite(table.values).all()  # the table that came is not changed
    (verdict,) = diagnostic_verdicts(found)
    assert verdict.claims == ("collapse",)
    assert verdict.text.endswith("up to 51 %. Claims are about runs without collapse.")


def test_a_model_that_mostly_collapses_is_not_testable(table):
    values = table.values.copy()
    values[0, 1, :7] = 0.1
    (item,) = [
        i for i in diagnose(replace(table, values=values), INFOS, baselines=("Majority",)) if i.kind == "collapse"
    ]
    assert item.blocks
    (verdict,) = diagnostic_verdicts([item])
    assert verdict.claims == ("collapse", "not-testable")
    assert verdict.text.endswith("Comparisons with it are not claimed with these seeds.")


def test_lower_is_better_collapses_upwards():
    mae = {"GCN": noise(0.3, 0), "GIN": noise(0.3, 1)}
    mae["GIN"][4] = 1.5
    (item,) = diagnose(table_of(mae, greater_is_better=False), {"cora": TaskInfo("test_mae", "Test MAE")})
    assert (item.kind, item.seeds) == ("collapse", (4,))
    (item,) = diagnose(table_of(mae), {"cora": TaskInfo("test_mae")})
    assert (item.kind, item.seeds) == ("outlier", (4,))


def test_failures_show_their_rate_even_where_there_is_none(table):
    values = table.values.copy()
    values[0, 0, [1, 5]] = np.nan
    thinned = replace(table, values=values)
    cells = [failure("GCN", 5), failure("GCN", 1)]
    rates = failure_rates(thinned, cells)
    assert str(rates["cora", "GCN"]) == "2 of 10 runs, up to 51 %"
    assert str(rates["cora", "GIN"]) == "0 of 10 runs, up to 26 %"
    item = next(item for item in diagnose(thinned, INFOS, cells, ("Majority",)) if item.kind == "failures")
    assert item.text == "GCN failed on seeds 1 and 5: 2 of 10 runs, up to 51 %"
    (verdict,) = diagnostic_verdicts([item])
    assert verdict.claims == ("failures",)
    assert verdict.text.endswith("Claims are about runs that both finish.")


def test_failures_scored_worst_change_the_winner():
    """Fault A: a model that crashes on the hard seeds has the best mean of its survivors only."""
    steady = noise(0.80, 0)
    steady[[2, 6]] = 0.60
    crasher = steady - 0.02
    crasher[[2, 6]] = np.nan
    table = table_of({"steady": steady, "crasher": crasher})
    assert table.means()[0].argmax() == 1
    worst = scored_worst(table, {("cora", "crasher"): (2, 6)})
    assert worst.cell("cora", "crasher")[2] == 0.60
    assert worst.means()[0, 1] < worst.means()[0, 0]
    assert np.array_equal(scored_worst(table).values, worst.values)
    upside = scored_worst(replace(table, greater_is_better=(False,)))
    assert upside.cell("cora", "crasher")[2] == steady.max()


def test_a_tie_with_the_worst_result_takes_the_first_place_from_nobody():
    """A model whose every run failed was said to have the best mean, were its failures scored as the worst result."""
    same = np.full(SEEDS, 0.444)
    found = analyse(
        table_of({"Broken": np.full(SEEDS, np.nan), "MLP": same}),
        facts=Facts(tasks=INFOS, cells=[failure("Broken", seed) for seed in range(SEEDS)]),
    )
    assert found.standings_worst == {"cora": "MLP"}
    assert not any("Failures decide" in verdict.text for verdict in found.verdicts)
    assert "decide" not in found.headline.distrust.text


def test_a_model_that_never_ran_is_not_scored_worst(table):
    values = table.values.copy()
    values[0, 0] = np.nan
    assert np.isnan(scored_worst(replace(table, values=values)).cell("cora", "GCN")).all()
    all_failed = scored_worst(replace(table, values=values), {("cora", "GCN"): range(SEEDS)})
    assert (all_failed.cell("cora", "GCN") == 0.1).all()


def test_a_long_tail_counts_only_against_the_claim():
    tail = np.array([-3.0, -2.9, -2.8, -2.7, -2.6, -2.5, -2.4, -1.0, -0.5, 0.5])
    against = diagnose_pair(tail, np.zeros(10), task="cora", a="GCN", b="MLP")
    assert (against.skew, against.testable, against.flagged) == (1, False, True)
    along = diagnose_pair(tail + 6, np.zeros(10))
    assert (along.skew, along.testable, along.flagged) == (1, True, True)
    (verdict,) = diagnostic_verdicts([], [against, along])
    assert verdict.claims == ("not-testable",)
    assert verdict.level == "untestable"
    assert verdict.text == (
        "Seen but not claimed: GCN minus MLP (-1.990, this sign on 9 of 10 seeds); the differences have a long tail "
        "towards the other sign, and a test of the mean of so few of them then errs too often. More seeds can decide."
    )
    iqm = stats.trim_mean(tail, 0.25)
    assert verdict.basis == f"median -2.550, IQM {iqm:+.3f}, trimmed t p = {against.robust_p:.3g}"


def test_a_report_names_what_it_sees_and_does_not_claim():
    """It was counted in the headline and found nowhere: neither which two, nor how large, nor why."""
    tail = np.array([-0.40, -0.399, -0.398, -0.397, -0.30])
    best, low = 0.9 + noise(0.0, 3)[:5] / 10, 0.1 + noise(0.0, 4)[:5] / 10
    found = analyse(table_of({"Best": best, "A": 0.8 + tail, "B": np.full(5, 0.8) + 0 * tail, "Low": low}))
    held = [pair for pair in found.comparisons if pair.doubt and not pair.different]
    assert [(pair.a, pair.b) for pair in held] == [("A", "B"), ("A", "Best")]
    assert all(pair.reason.startswith("the differences have a long tail towards the other sign") for pair in held)
    (said,) = [verdict for verdict in found.verdicts if verdict.claims == ("not-testable",)]
    assert said.text.startswith("Seen but not claimed: A minus B (-0.379, this sign on 5 of 5 seeds); ")
    assert any("A could not be tested against Best: the differences have a long tail" in v.text for v in found.verdicts)
    assert "2 differences are seen but not claimed" in found.headline.distrust.text


def test_a_pair_is_not_claimed_for_the_reason_that_holds():
    """A model that mostly collapses was said to have a long tail."""
    rows = {"Majority": noise(0.1, 5, 0.001), "GIN": np.r_[[0.1] * 7, 0.80, 0.81, 0.82], "GCN": noise(0.9, 6, 0.001)}
    found = analyse(table_of(rows), facts=Facts(tasks=INFOS, baselines=("Majority",)))
    held = {pair.doubt for pair in found.comparisons if pair.involves("GIN")}
    assert held == {"GIN collapses on too many seeds"}


def test_a_pair_without_shared_seeds_is_a_record_too():
    empty = diagnose_pair([math.nan, 1.0], [1.0, math.nan])
    assert empty.n == 0
    assert math.isnan(empty.mean)
    assert empty.testable


def test_few_items_ties_and_skew_are_remarked_but_block_nothing():
    grid = np.round(noise(0.8, 0, 0.05) * 50) / 50
    other = grid.copy()
    other[:3] -= 0.02
    long = 0.8 - 0.01 * np.exp(np.linspace(-2, 2, SEEDS))
    rows = {"A": grid, "B": other, "C": long}
    found = diagnose(table_of(rows), {"cora": TaskInfo("test_acc", n_test=50)})
    texts = {item.kind: item.text for item in found}
    assert texts["ties"] == "A scores the same as B on at least 50 % of seeds"
    assert texts["few-items"].startswith("50 test items: accuracies move in steps of 0.020 and carry a test-set error")
    assert "long lower tail" in texts["skew"]
    assert not any(item.blocks for item in found)
    assert [KINDS.index(item.kind) for item in found] == sorted(KINDS.index(item.kind) for item in found)
    assert diagnostic_verdicts(found) == ()


def test_every_claim_is_one_that_is_calibrated(table):
    values = table.values.copy()
    values[0, 1, :7] = 0.1
    found = diagnose(replace(table, values=values), INFOS, [failure("GCN", 11)], ("Majority",))
    made = {claim for verdict in diagnostic_verdicts(found) for claim in verdict.claims}
    assert made == {"collapse", "failures", "not-testable"}
    assert made <= set(CLAIMS)


def test_dot_panels_hold_every_run(table):
    found = diagnose(table, INFOS, [failure("GCN", 11)], ("Majority",))
    (panel,) = dot_panels(table, INFOS, found)
    gcn, gin, _ = panel.rows
    assert (panel.task, panel.label, panel.greater_is_better) == ("cora", "Test accuracy", True)
    assert gin.collapsed == (3, 7)
    assert gcn.failed == (11,)
    assert len(gin.values) == 10
    assert gin.mean == pytest.approx(np.delete(table.cell("cora", "GIN"), [3, 7]).mean())
