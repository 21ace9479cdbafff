import itertools
import math

import numpy as np
import pytest
import scipy.stats as sps
from hypothesis import given, settings
from hypothesis import strategies as st

from graphnetz._core.errors import UsageError
from graphnetz.stats import adjust, holm_intervals, max_t_intervals, paired_test, sign_flip_p, simultaneous
from graphnetz.stats.simultaneous import SPARE

families = st.integers(1, 8).flatmap(
    lambda m: st.tuples(*(st.lists(st.floats(-5, 5), min_size=m, max_size=m) for _ in range(2)))
)


def pairs_of(scores):
    first, second = zip(*itertools.combinations(range(scores.shape[1]), 2), strict=True)
    return scores[:, list(first)] - scores[:, list(second)]


def test_bounds_by_hand():
    """One of two pairs rejected: its sides have alpha / 5 over the family, the other one alpha alone."""
    low, high, p, rejected = holm_intervals([0.1, 0.01], [0.01, 0.01], 9)
    raw = [2 * sps.t.sf(10, 9), 2 * sps.t.sf(1, 9)]
    np.testing.assert_allclose(p, [2 * raw[0], raw[1]], rtol=1e-9)
    assert rejected.tolist() == [True, False]
    half = 0.01 * sps.t.isf([SPARE * 0.05 / 4, 0.025], 9)
    np.testing.assert_allclose(low, [0.1 - half[0], 0.01 - half[1]], rtol=1e-9)
    np.testing.assert_allclose(high, [0.1 + half[0], 0.01 + half[1]], rtol=1e-9)
    both = holm_intervals([0.1, 0.05], [0.01, 0.01], 9)
    half = 0.01 * sps.t.isf(0.05 / 4, 9)  # all rejected: Bonferroni
    np.testing.assert_allclose(both[0], [0.1 - half, 0.05 - half], rtol=1e-9)
    weak = holm_intervals([0.1, -0.03], [0.01, 0.012], 9)  # p .034 after Holm; alone its interval would hold zero
    assert weak[3].all()
    assert (weak[0][1] < 0, weak[1][1]) == (True, 0.0)


@given(families, st.sampled_from([1, 2.5, 9]), st.booleans())
@settings(max_examples=60)
def test_star_and_interval_never_disagree(values, df, other_test):
    x, p = np.round(values[0], 1), np.abs(values[1]) / 5
    low, high, adjusted, rejected = holm_intervals(x, 1.0, df, p=p if other_test else None)
    raw = p if other_test else 2 * sps.t.sf(np.abs(x), df)
    np.testing.assert_allclose(adjusted, adjust(raw), rtol=1e-9)
    assert (rejected == ((adjusted <= 0.05) & (x != 0))).all()
    assert ((low <= x) & (x <= high)).all()
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    assert (low[rejected & (x > 0)] >= 0).all()
    assert (high[rejected & (x < 0)] <= 0).all()
    assert ((low < 0) & (high > 0))[~rejected].all()


def test_a_pair_without_test_counts_in_the_family_and_stays_undefined():
    low, high, p, rejected = holm_intervals([0.1, math.nan, 0.02], [0.01, math.nan, 0.01], [9, math.nan, 9])
    full = holm_intervals([0.1, 0.0, 0.02], [0.01, 1.0, 0.01], 9)
    for got, want in zip((low, high, p), full, strict=False):
        assert math.isnan(got[1])
        np.testing.assert_allclose(got[[0, 2]], want[[0, 2]])
    assert rejected.tolist() == [True, False, False]


def test_many_families_at_once_equal_one_by_one():
    rng = np.random.default_rng(0)
    x, e = rng.normal(0, 3, (20, 6)), rng.uniform(0.5, 2, (20, 6))
    whole = holm_intervals(x, e, 9)
    for i in range(20):
        for got, want in zip(holm_intervals(x[i], e[i], 9), whole, strict=True):
            np.testing.assert_array_equal(got, want[i])


def brute_force_flips(d):
    size = np.sqrt(d.shape[0] * (d**2).sum(axis=0))
    every = np.abs(np.array(list(itertools.product([1, -1], repeat=d.shape[0]))) @ d) / size
    largest = np.max(every, axis=1)
    return [(largest >= v - 1e-9).mean() for v in every[0]]


@pytest.mark.parametrize("seeds", [2, 5, 8])
def test_sign_flips_agree_with_enumeration(seeds):
    d = np.random.default_rng(seeds).normal(0.5, 1, (seeds, 4))
    d[:, 1] = 0.3
    assert sign_flip_p(d).tolist() == pytest.approx(brute_force_flips(d), abs=1e-12)
    assert sign_flip_p(d)[1] == 2.0 ** (1 - seeds)


def test_sampled_flips_agree_with_enumeration():
    d = np.random.default_rng(1).normal(0.25, 1, (17, 3))
    assert sign_flip_p(d).tolist() == pytest.approx(brute_force_flips(d), abs=0.015)
    assert sign_flip_p(np.full((20, 1), 0.2))[0] <= 2 / 20_000
    assert math.isnan(sign_flip_p([[math.nan]])[0])


def test_a_constant_difference_is_a_difference():
    """0.80 against 0.50 on every seed "shows no significant change" (fault E)."""
    a = np.full(10, 0.8) + np.linspace(0, 0.05, 10)
    d = np.column_stack([a - (a - 0.3), a - a, np.random.default_rng(0).normal(0, 0.01, 10)])
    got = simultaneous(d, scale=1.0)
    assert got.constant.tolist() == [True, False, False]
    assert got.rejected.tolist() == [True, False, False]
    assert got.p_adjusted[0] == 2 / 1024
    assert (got.low[0], got.high[0]) == pytest.approx((0.3, 0.3))
    assert (got.p_adjusted[1], got.low[1], got.high[1]) == (1.0, 0.0, 0.0)
    few = simultaneous(d[:5], scale=1.0)  # 2 / 32 is not enough: untestable, so no interval either
    assert few.p_adjusted[0] == 0.0625
    assert not few.rejected[0]
    assert math.isnan(few.low[0])


@pytest.mark.parametrize("seeds", [3, 9])
def test_the_record_holds_what_paired_tests_say(seeds):
    rng = np.random.default_rng(seeds)
    scores = rng.normal([0, 0, 1, 4], 1, (seeds, 4))
    d = pairs_of(scores)
    d[0, 2] = math.nan
    got = simultaneous(d)
    singles = [paired_test(column, np.zeros(seeds)) for column in d.T]
    np.testing.assert_allclose(got.p, [one.p for one in singles], rtol=1e-9)
    np.testing.assert_allclose(got.p_adjusted, adjust([one.p for one in singles]), rtol=1e-9)
    assert got.n.tolist() == [one.n for one in singles]
    assert got.method == "holm"
    want = holm_intervals(got.estimate, got.error, got.df)
    np.testing.assert_allclose(got.low, want[0])
    clipped = simultaneous(d, bounds=(-0.5, 0.5))
    assert clipped.low.min() >= -0.5
    assert clipped.high.max() <= 0.5


def test_max_t_critical_values_agree_with_known_ones():
    """One pair: Student's t. Independent pairs: Sidak. Copies of one pair: Student's t again."""
    rng = np.random.default_rng(4)
    q, _ = np.linalg.qr(np.column_stack([np.ones(12), rng.normal(size=(12, 4))]))
    apart = q[:, 1:]  # centred and orthogonal: the sample correlation is the identity
    for d, want in (
        (apart[:, :1], sps.t.isf(0.0225, 11)),
        (np.tile(apart[:, :1], 5), sps.t.isf(0.0225, 11)),
        (apart, sps.t.isf((1 - 0.955**0.25) / 2, 11)),
    ):
        low, high, _, _ = max_t_intervals(d, draws=40_000)
        error = d.std(axis=0, ddof=1) / math.sqrt(12)
        np.testing.assert_allclose((high - low) / 2 / error, want, rtol=0.03)


@pytest.mark.parametrize("place", range(12))
def test_max_t_is_narrower_and_agrees_with_holm_wherever_it_is_used(place):
    rng = np.random.default_rng(place)
    d = pairs_of(rng.normal(0, 1, (12, 5)) + rng.choice([0, 0, 1.2, 6], 5))
    got, holm = simultaneous(d), simultaneous(d, draws=0)
    assert (got.rejected == holm.rejected).all()
    assert (got.rejected == ((got.low >= 0) | (got.high <= 0))).all()
    np.testing.assert_array_equal(got.p_adjusted, holm.p_adjusted)
    if got.method == "max_t":
        assert ((got.high - got.low) / got.error).sum() < ((holm.high - holm.low) / holm.error).sum()
    else:
        np.testing.assert_array_equal(got.low, holm.low)


def test_max_t_p_and_interval_come_from_one_number():
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = rng.normal(rng.normal(0, 0.7, 3), 1, (10, 3))
        low, high, p, rejected = max_t_intervals(d, draws=500)
        assert (rejected == (p <= 0.045)).all()
        assert (rejected == ~((low <= 0) & (high >= 0))).all()
    with pytest.raises(UsageError, match="without spread"):
        max_t_intervals([[1.0], [1.0]])
    with pytest.raises(UsageError, match="seeds x pairs"):
        simultaneous([0.1, 0.2])
