"""Evidence for new examples: which rule decides, in which words, and never outside the metric's range."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from graphnetz.analysis.advice import EXAMPLES, SEEDS, SPLITS, advise, cost_of, expected_width, with_more
from graphnetz.analysis.comparisons import compare
from graphnetz.analysis.components import components_of, components_table, components_words
from graphnetz.analysis.ladder import decided
from graphnetz.analysis.reach import (
    NOT_KEPT,
    difference_bounds,
    example_tests,
    example_words,
    source_evidence,
    why_none,
)
from graphnetz.records import Components, Contributions, ScoreTable
from graphnetz.records.analysis import CLAIMS, Evidence
from graphnetz.stats import crossed_components, paired_test
from graphnetz.stats.contributions import placements

PAIR = ("A", "B")


def records(replication="init", *, seeds=6, n=60, ratio=math.nan, splits=0, size=60, **facts):
    rng = np.random.default_rng(0)
    ease = rng.normal(0, 1, size)
    values = {}
    there = np.ones((seeds, size), bool) if replication == "init" else np.argsort(rng.random((seeds, size))) < n
    if replication == "fold":
        there = np.arange(size) % splits == (np.arange(seeds) % splits)[:, None]
    for model, shift in zip(PAIR, (0.9, 0.3), strict=True):
        hits = (shift + ease + rng.normal(size=(seeds, size)) > 0).astype(float)
        values[model] = np.where(there, hits, np.nan)
    number = (0,) * seeds if replication == "init" else tuple(i % splits if splits else i for i in range(seeds))
    scores = np.array([[np.nanmean(values[model], axis=1) for model in PAIR]])
    table = ScoreTable(
        ("t",), PAIR, tuple(range(seeds)), scores, (True,), ("test_acc",), (replication,), (ratio,), ("t",),
        splits=(splits,),
    )  # fmt: skip
    return table, Contributions("t", "test_acc", tuple(range(seeds)), number, np.arange(size), values, **facts)


def evidence(table, examples):
    return source_evidence(table, 0, [PAIR], examples)[PAIR]


def test_a_fixed_split_is_about_new_examples_of_this_training_part():
    table, examples = records()
    found = evidence(table, examples)
    crossed = crossed_components(examples.values["A"] - examples.values["B"], examples.splits)
    assert (found.reach, found.method, found.unit, found.n) == ("source", "crossed", "example", 60)
    assert (found.estimate, found.error, found.df, found.p) == (crossed.mean, crossed.error, crossed.df, crossed.p)
    assert found.about == "for new examples, this training part"
    assert found.p > paired_test(*table.values[0]).p  # seeds share their examples


def test_small_tests_of_resplits_take_the_wider_of_two_and_large_ones_the_crossed():
    table, examples = records("resplit", ratio=0.25, n=12, unit="graph")
    found = evidence(table, examples)
    corrected = paired_test(*table.paired("t", *PAIR), method="corrected_t", test_ratio=0.25)
    assert found.method == "crossed+corrected_t"
    assert found.about == "for new graphs from the same source"
    assert found.p == pytest.approx(corrected.p)
    wide, examples = records("resplit", ratio=10.0, n=54, unit="graph")
    found = evidence(wide, examples)
    assert (found.method, found.about) == ("crossed", "for new graphs, trained on parts of this dataset")


def test_folds_average_their_seeds_and_correct_by_their_number():
    table, examples = records("fold", seeds=10, splits=5)
    found = evidence(table, examples)
    corrected = paired_test(*table.paired("t", *PAIR), method="corrected_t", test_ratio=0.25)
    assert corrected.n == 5
    assert (found.p, found.n, found.unit) == (pytest.approx(corrected.p), 5, "fold")


def test_fresh_data_is_the_plain_test_and_one_graph_says_so():
    table, examples = records("regenerate")
    found = evidence(table, None)
    assert found.method == "t"
    assert found.p == pytest.approx(paired_test(*table.values[0]).p)
    assert (
        evidence(table, replace(examples, one_graph=True, unit="node")).about == "for new graphs from the same source"
    )
    table, examples = records(one_graph=True, unit="pair", ends=np.arange(120).reshape(60, 2) % 11)
    assert evidence(table, examples).about == "for other pairs of this graph, this training part"


@pytest.mark.parametrize(
    ("replication", "ratio", "reason"),
    [("init", math.nan, NOT_KEPT), ("resplit", 10.0, NOT_KEPT), ("resplit", math.nan, NOT_KEPT), ("resplit", 0.2, ""),
     ("fold", 0.25, ""), ("unknown", 0.2, "what a seed varies was not stated")],
)  # fmt: skip
def test_without_predictions_only_the_corrected_test_is_left(replication, ratio, reason):
    table, _ = records(
        "init" if replication == "unknown" else replication, ratio=ratio, splits=5 * (replication == "fold")
    )
    table = replace(table, replication=(replication,))
    found = evidence(table, None)
    assert found.reason == reason
    assert math.isnan(found.p) == bool(reason)
    assert math.isfinite(found.estimate)


def test_only_seeds_that_both_models_have_count():
    table, examples = records()
    a = examples.values["A"].copy()
    a[2] = np.nan
    gap = replace(examples, values={"A": a, "B": examples.values["B"]})
    keep = [0, 1, 3, 4, 5]
    whole = crossed_components((examples.values["A"] - examples.values["B"])[keep], [0] * 5)
    assert evidence(table, gap).p == pytest.approx(whole.p)


def test_pseudo_values_of_an_auc_are_tested_on_the_logit_scale():
    rng = np.random.default_rng(1)
    target = np.arange(200) < 60
    values, scores = {}, {}
    for model, shift in zip(PAIR, (4.0, 2.5), strict=True):
        rows = []
        for _ in range(5):
            score = shift * target + rng.normal(size=200)
            up, down = placements(score[target > 0], score[target == 0])
            row = np.full(200, up.mean())
            row[target] += (up - up.mean()) * 200 / 60
            row[~target] += (down - down.mean()) * 200 / 140
            rows.append(row)
        values[model], scores[model] = np.array(rows), np.array(rows).mean(axis=1)
    table = ScoreTable(
        ("t",), PAIR, tuple(range(5)), np.array([[scores[m] for m in PAIR]]), (True,), ("test_auc",), ("init",),
        (math.nan,), ("t",),
    )  # fmt: skip
    found = evidence(table, Contributions("t", "test_auc", tuple(range(5)), (0,) * 5, np.arange(200), values, "pseudo"))
    assert found.estimate == pytest.approx((scores["A"] - scores["B"]).mean())
    logits = {m: np.log(scores[m] / (1 - scores[m])) for m in PAIR}
    slope = {m: 1 / (scores[m] * (1 - scores[m]))[:, None] for m in PAIR}
    on = {m: logits[m][:, None] + (values[m] - scores[m][:, None]) * slope[m] for m in PAIR}
    whole = crossed_components(on["A"] - on["B"], [0] * 5)
    assert found.p == pytest.approx(whole.p)
    assert found.estimate / found.error == pytest.approx(whole.mean / whole.error)


def test_differences_stay_inside_what_the_metric_allows():
    assert difference_bounds("test_acc") == (-1.0, 1.0)
    assert difference_bounds("test_mae") == (-math.inf, math.inf)
    assert difference_bounds("of my own") == (-math.inf, math.inf)


def test_components_are_said_in_words_and_in_a_table():
    table, examples = records("resplit", ratio=1.0, n=30)
    found = components_of(table, 0, [PAIR], examples)[PAIR]
    assert sum((found.seed_share, found.split_share, found.example_share, found.rest_share)) == pytest.approx(1)
    words = components_words(found)
    assert words is not None
    assert "splits with their initialisation" in words.text
    assert set(words.claims) <= set(CLAIMS)
    assert "every split has one seed" in words.basis
    assert components_table([found]).rows[0][:3] == ("t", "A", "B")
    none = components_of(table, 0, [PAIR], None)[PAIR]
    assert (none.reason, components_words(none)) == (NOT_KEPT, None)


def test_every_seed_has_its_test_of_two_trained_models():
    _, examples = records()
    rows = example_tests(examples, *PAIR)
    assert [row["seed"] for row in rows] == list(range(6))
    assert {row["method"] for row in rows} == {"mcnemar"}
    assert len(example_tests(examples, *PAIR, seed=3)) == 1
    assert example_words(rows[0]).claims == ("example-test",)
    errors = replace(examples, values={m: v * 0.3 for m, v in examples.values.items()})
    assert example_tests(errors, *PAIR, seed=0)[0]["method"] == "permutation"
    assert example_tests(replace(examples, kind="pseudo"), *PAIR, seed=0)[0]["method"] == "pseudo"


def given(**changes):
    base = Components(
        "t", "A", "B", 1e-4, math.nan, 0.2, 0.2, n_seeds=5, n_splits=1, n_examples=200, n_tested=200.0, pool=200.0
    )
    return replace(base, **changes)


def test_expected_width_is_the_width_that_the_same_components_gave():
    table, examples = records(seeds=8, size=300)
    found = components_of(table, 0, [PAIR], examples)[PAIR]
    now = evidence(table, examples)
    # Seeds vary less here than their examples make them vary, and a component is no less than 0.
    assert expected_width(found) == pytest.approx(2 * stats.t.ppf(0.975, now.df) * now.error, rel=0.1)


def test_advice_follows_the_largest_component():
    assert advise(given(seed=1e-6), 1.0).options[0].what == EXAMPLES
    assert advise(given(seed=0.1, example=1e-3), 1.0, seconds=20).options[0].what == SEEDS
    many = given(seed=1e-6, split=0.01, n_seeds=20, n_splits=4, pool=1000.0, n_examples=600)
    assert advise(many, 1.0, seconds=40, fresh=0).options[0].what == SPLITS
    text = advise(given(seed=1e-6), 1.0).text
    assert text.startswith(
        "The next hour buys most by a larger test set: the interval of A - B for new examples narrows"
    )
    assert "the seconds of a cell" in advise(given(), math.nan).reason
    assert "more than there are" in advise(given(), 10.0, seconds=1).reason


def test_cost_of_a_width_is_the_least_number_that_reaches_it():
    c = given()
    seconds, amount = cost_of(c, 2.0, 0.9 * expected_width(c), EXAMPLES)
    assert seconds == 2.0 * c.n_seeds
    assert with_more(c, EXAMPLES, 0, fresh=amount).width <= 0.9 * expected_width(c)
    assert with_more(c, EXAMPLES, 0, fresh=amount - 1).width > 0.9 * expected_width(c)
    assert cost_of(c, 2.0, 0.3 * expected_width(c), SEEDS)[0] == math.inf


@pytest.mark.parametrize(
    ("method", "words"),
    [("mcnemar", "exact McNemar test"), ("permutation", "sign-flip test"), ("pseudo", "normal test of pseudo-values")],
)
def test_tests_over_examples_are_named_in_words(method, words):
    row = {"task": "t", "a": "A", "b": "B", "seed": 0, "method": method, "n": 1000, "mean_diff": 0.1, "p": 0.2}
    assert example_words(row).basis == f"{words} over 1,000 examples, p = 0.2 not corrected"


def test_predictions_of_two_models_that_fail_are_theirs():
    found = Contributions("t", "test_acc", (0,), (0,), np.arange(3), {"C": np.ones((1, 3))})
    assert why_none(found, ("A", "B")) == "the kept predictions of A and B do not give their scores"
    assert why_none(found, ("A", "C")) == "the kept predictions of A do not give its scores"


def test_a_further_claim_is_never_surer_than_the_nearer_one():
    """Many examples and few splits: the test over examples alone had p = 1e-9, that over splits 0.001."""
    table, _ = records("resplit", ratio=10.0, n=54)
    sure = Evidence("source", 0.2, 0.001, 500.0, 1e-9, n=500, unit="example", method="crossed", about="for new nodes")
    [pair] = decided(
        compare(table, alpha=0.05, method="t"), table, by="t", source=lambda task, asked: dict.fromkeys(asked, sure)
    )
    near, further = pair.claims
    assert 1e-9 < near.p < 0.05
    assert further.shown
    assert further.p == near.p
    assert further.low <= near.low < near.high <= further.high
