import math

import numpy as np
import pytest
import scipy.stats as sps
from baycomp.multiple import SignedRankTest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_paired

from graphnetz._core.errors import UsageError
from graphnetz.stats import bayes_signed_rank, tost, welch_interval
from graphnetz.stats.bayes import region_shares

vectors = st.lists(st.integers(-20, 20).map(lambda i: i / 1000), min_size=3, max_size=15)


@pytest.mark.parametrize("n", [2, 5, 10, 40])
def test_tost_agrees_with_statsmodels(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(0.8, 0.01, n), rng.normal(0.801, 0.01, n)
    p, lower, upper = ttost_paired(a, b, -0.01, 0.01)
    got = tost(a, b, margin=0.01)
    assert got.p == pytest.approx(p, abs=1e-9)
    assert (got.p_low, got.p_high) == pytest.approx((lower[1], upper[1]), abs=1e-9)
    assert (got.low, got.high) == pytest.approx(DescrStatsW(a - b).tconfint_mean(0.1), abs=1e-9)


@given(vectors, st.floats(0.001, 0.02))
def test_equivalent_exactly_when_the_interval_lies_inside_the_margin(d, margin):
    got = tost(d, np.zeros(len(d)), margin=margin)
    if len(set(d)) == 1:
        # All signs of d - margin agree: binomial witness; identical scores need no seeds to be equivalent.
        chance = sps.binomtest(0, len(d), 0.5, alternative="less").pvalue if any(d) else 0.0
        want = (chance if d[0] > -margin else 1.0, chance if d[0] < margin else 1.0)
        assert (got.p_low, got.p_high) == want
        assert got.equivalent == (max(want) <= 0.05)
        assert bool(got.reason) == (chance > 0.05) == math.isnan(got.low)
        return
    slack = min(abs(got.low + margin), abs(got.high - margin))
    if slack > 1e-9:
        assert got.equivalent == (got.low > -margin and got.high < margin)
    assert tost(np.zeros(len(d)), d, margin=margin).p == pytest.approx(got.p)


def test_tost_with_shared_training_data_is_harder_and_margins_are_asked_for():
    a, b = np.random.default_rng(0).normal(0, 0.01, (2, 10))
    assert tost(a, b, margin=0.02, test_ratio=0.1).p > tost(a, b, margin=0.02).p
    d = a - b
    error = math.sqrt((0.1 + 0.1) * d.var(ddof=1))
    assert tost(a, b, margin=0.02, test_ratio=0.1).p_high == pytest.approx(sps.t.cdf((d.mean() - 0.02) / error, 9))
    with pytest.raises(UsageError, match="margin=0"):
        tost(a, b, margin=0.0)
    with pytest.raises(TypeError):
        tost(a, b)
    assert "at least 2" in tost([1.0], [1.0], margin=1.0).reason


def test_identical_scores_are_equivalent_within_any_margin():
    got = tost([0.8, 0.9], [0.8, 0.9], margin=1e-9)
    assert (got.equivalent, got.p, got.low, got.high, got.reason) == (True, 0.0, 0.0, 0.0, "")


@pytest.mark.parametrize("rope", [0.0, 0.004, 0.01])
def test_signed_rank_shares_agree_with_baycomp_draw_by_draw(rope):
    d = np.random.default_rng(1).normal(0.004, 0.01, 12)
    theirs = SignedRankTest.sample(np.zeros(12), d, rope, nsamples=200, random_state=3)
    weights = np.random.RandomState(3).dirichlet([0.5] + [1.0] * 12, 200)
    ours = region_shares(weights, np.concatenate([[0.0], d]), rope)
    np.testing.assert_allclose(ours[:, 2], theirs[:, 2], atol=1e-12)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0)
    if rope:
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("rope", [0.0, 0.005])
def test_signed_rank_probabilities_agree_with_baycomp(rope):
    d = np.random.default_rng(6).normal(0.003, 0.01, 10)
    got = bayes_signed_rank(d, rope=rope, n_samples=20_000)
    left, inside, right = SignedRankTest(np.zeros(10), d, rope, nsamples=20_000, random_state=0).probs()
    assert (got.p_left, got.p_rope, got.p_right) == pytest.approx((left, inside, right), abs=0.02)


@settings(deadline=None, max_examples=30)
@given(vectors, st.sampled_from([0.0, 0.003]))
def test_flipping_signs_swaps_left_and_right(d, rope):
    got = bayes_signed_rank(d, rope=rope, n_samples=500)
    flipped = bayes_signed_rank([-v for v in d], rope=rope, n_samples=500)
    assert (got.p_left, got.p_rope, got.p_right) == pytest.approx((flipped.p_right, flipped.p_rope, flipped.p_left))
    assert got.p_left + got.p_rope + got.p_right == pytest.approx(1.0)


def test_signed_rank_edges():
    same = bayes_signed_rank([0.0] * 5)
    assert (same.p_left, same.p_right) == (0.5, 0.5)
    assert bayes_signed_rank([0.0] * 5, rope=0.01).p_rope == 1.0
    assert bayes_signed_rank([0.1] * 8, rope=0.01).p_right > 0.99
    assert bayes_signed_rank([]).reason
    with pytest.raises(UsageError, match="rope=-1"):
        bayes_signed_rank([0.1], rope=-1)


def test_welch_interval_agrees_with_scipy_and_statsmodels():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.81, 0.01, 10), rng.normal(0.80, 0.03, 6)
    got = welch_interval(a.mean(), a.std(ddof=1), 10, b.mean(), b.std(), 6)
    want = sps.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert (got.low, got.high) == pytest.approx((want.low, want.high), abs=1e-12)
    again = CompareMeans(DescrStatsW(a), DescrStatsW(b)).tconfint_diff(usevar="unequal")
    assert (got.low, got.high) == pytest.approx(again, abs=1e-9)
    assert got.diff == pytest.approx(a.mean() - b.mean())
    same = welch_interval(a.mean(), a.std(), 10, b.mean(), b.std(ddof=1), 6, ddof_a=0, ddof_b=1)
    assert (same.low, same.high) == pytest.approx((got.low, got.high))


@pytest.mark.parametrize(
    ("ours", "sd", "wide", "verdict"),
    [
        (0.81, 0.005, None, "compatible"),
        (0.90, 0.005, None, "differs"),
        (0.82, 0.200, None, "too wide to say"),
        (0.81, 0.005, 0.001, "too wide to say"),
        (0.82, 0.200, 1.0, "compatible"),
    ],
)
def test_verdicts(ours, sd, wide, verdict):
    assert welch_interval(ours, sd, 10, 0.811, 0.004, 10, wide=wide).verdict == verdict


def test_published_without_spread_cannot_be_judged():
    got = welch_interval(0.8, 0.01, 10, 0.8, math.nan, 1)
    assert got.verdict == "too wide to say"
    assert math.isnan(got.low)
    assert got.reason
    assert welch_interval(0.8, 0.0, 10, 0.8, 0.0, 10).verdict == "compatible"
    with pytest.raises(UsageError, match="negative"):
        welch_interval(0.8, -0.1, 10, 0.8, 0.1, 10)


def test_an_interval_that_ends_at_zero_holds_it():
    half = welch_interval(0.0, 1.0, 10, 0.0, 1.0, 10, wide=9.0).high
    for mean, end in ((half, "low"), (-half, "high")):
        found = welch_interval(mean, 1.0, 10, 0.0, 1.0, 10, wide=9.0)
        assert getattr(found, end) == 0.0
        assert found.verdict == "compatible"
