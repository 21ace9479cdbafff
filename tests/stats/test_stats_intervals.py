import math

import numpy as np
import pytest
import scipy.stats as sps
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.weightstats import DescrStatsW

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.stats import INTERVALS, binomial_error, cluster_interval, corrected_interval, interval
from graphnetz.testing import check_interval

scores = st.lists(st.integers(0, 1000).map(lambda i: i / 1000), min_size=3, max_size=30)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_t_interval_agrees_with_scipy_and_statsmodels(n, level):
    x = np.random.default_rng(n).normal(0.8, 0.02, n)
    got = interval(x, level=level)
    low, high = sps.t.interval(level, n - 1, x.mean(), sps.sem(x))
    assert (got.low, got.high) == pytest.approx((low, high), abs=1e-12)
    assert (got.low, got.high) == pytest.approx(DescrStatsW(x).tconfint_mean(1 - level), abs=1e-12)
    assert got.half == pytest.approx((high - low) / 2, abs=1e-12)
    assert (got.n, got.mean, got.std, got.sem) == pytest.approx((n, x.mean(), x.std(ddof=1), sps.sem(x)))
    assert got.reason == ""


@pytest.mark.parametrize(("method", "scipy_name"), [("bootstrap", "percentile"), ("bca", "BCa")])
@pytest.mark.parametrize("n", [5, 10, 40])
def test_bootstrap_intervals_agree_with_scipy_on_the_same_resamples(method, scipy_name, n):
    x = np.random.default_rng(n).lognormal(size=n)
    got = interval(x, method=method, n_resamples=4000, seed=7)
    want = sps.bootstrap(
        (x,), np.mean, n_resamples=4000, method=scipy_name, rng=np.random.default_rng(7), vectorized=True
    ).confidence_interval
    assert (got.low, got.high) == pytest.approx((want.low, want.high), abs=1e-9)
    assert got.half == pytest.approx((want.high - want.low) / 2, abs=1e-9)
    assert ("too narrow" in got.reason) == (n < 20)


def test_bootstrap_in_blocks_draws_the_same_numbers(monkeypatch):
    x = np.random.default_rng(0).normal(size=11)
    whole = interval(x, method="bootstrap", n_resamples=999)
    monkeypatch.setattr("graphnetz.stats.intervals._CHUNK", 100)
    assert interval(x, method="bootstrap", n_resamples=999) == whole


@pytest.mark.parametrize("method", ["t", "bootstrap", "bca"])
def test_undefined_is_nan_with_a_reason(method):
    one = interval([0.7], method=method)
    assert one.n == 1
    assert one.mean == 0.7
    assert all(map(math.isnan, (one.std, one.sem, one.low, one.high, one.half)))
    assert "one seed" in one.reason
    none = interval([math.nan, math.nan], method=method)
    assert none.n == 0
    assert math.isnan(none.mean)
    assert none.reason
    same = interval([0.5, 0.5, 0.5], method=method)
    assert (same.low, same.high, same.half) == (0.5, 0.5, 0.0)
    assert "equal" in same.reason


def test_absent_seeds_are_dropped():
    assert interval([0.1, math.nan, 0.3, 0.2]) == interval([0.1, 0.3, 0.2])


@given(scores, st.sampled_from(["t", "bootstrap", "bca"]))
def test_interval_holds_the_mean_and_widens_with_the_level(x, method):
    narrow, wide = (interval(x, method=method, level=level, n_resamples=200) for level in (0.5, 0.9))
    if narrow.std > 0:
        assert wide.high - wide.low >= narrow.high - narrow.low - 1e-15
    assert min(x) - 1e-12 <= wide.low or method == "t"
    assert wide.low <= wide.high


@given(scores, st.sampled_from([0.25, 2.0, 8.0]), st.sampled_from([-1.0, 0.0, 0.5]))
def test_t_interval_moves_with_shift_and_scale(x, scale, shift):
    base, moved = interval(x), interval([scale * v + shift for v in x])
    assert moved.low == pytest.approx(scale * base.low + shift, abs=1e-9)
    assert moved.high == pytest.approx(scale * base.high + shift, abs=1e-9)


def test_corrected_interval_is_the_t_interval_with_the_wider_factor():
    x = np.random.default_rng(3).normal(0.8, 0.02, 10)
    got = corrected_interval(x, 1 / 8)
    half = sps.t.ppf(0.975, 9) * math.sqrt((1 / 10 + 1 / 8) * x.var(ddof=1))
    assert got.half == pytest.approx(half, abs=1e-12)
    assert got.method == "corrected_t"
    plain = interval(x)
    assert (corrected_interval(x, 0.0).low, corrected_interval(x, 0.0).high) == pytest.approx((plain.low, plain.high))
    unknown = corrected_interval(x, math.nan)
    assert math.isnan(unknown.half)
    assert "n_test" in unknown.reason


def test_cluster_interval_agrees_with_scipy_on_cluster_totals():
    """The mean is a ratio of cluster sums to cluster sizes, which scipy resamples in pairs."""
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(30), rng.integers(1, 9, 30))
    x = rng.standard_normal(30)[clusters] + 0.3 * rng.standard_normal(len(clusters))
    got = cluster_interval(x, clusters, n_resamples=40_000)
    sums, sizes = np.bincount(clusters, x), np.bincount(clusters)
    wanted = sps.bootstrap(
        (sums, sizes), lambda a, b, axis: a.sum(axis) / b.sum(axis), paired=True, method="percentile",
        n_resamples=40_000, rng=np.random.default_rng(5), vectorized=True,
    )  # fmt: skip
    assert got.mean == pytest.approx(x.mean())
    assert got.low == pytest.approx(wanted.confidence_interval.low, abs=0.02 * got.half)
    assert got.high == pytest.approx(wanted.confidence_interval.high, abs=0.02 * got.half)
    assert got.sem == pytest.approx(wanted.standard_error, rel=0.02)
    assert got.half > 1.5 * interval(x).half  # like values in a cluster carry less information
    assert not got.reason


def test_cluster_interval_says_when_it_is_undefined_or_doubtful():
    one = cluster_interval([0.1, 0.2, np.nan], ["a", "a", "b"])
    assert np.isnan(one.low)
    assert "one cluster" in one.reason
    assert "here 2" in cluster_interval([0.1, 0.2, 0.4], ["a", "a", "b"]).reason
    with pytest.raises(UsageError, match="one label per value"):
        cluster_interval([0.1, 0.2], ["a"])


def test_binomial_error_is_the_deviation_of_a_binomial_share():
    assert binomial_error(0.8, 1000) == pytest.approx(sps.binom(1000, 0.8).std() / 1000, abs=1e-15)
    assert math.isnan(binomial_error(0.8, 0))
    with pytest.raises(UsageError, match="between 0 and 1"):
        binomial_error(80.0, 1000)


def test_bad_arguments_say_what_to_do():
    with pytest.raises(UnknownNameError, match=r"Unknown interval method 'bcaa'\. Did you mean 'bca'"):
        interval([1.0, 2.0], method="bcaa")
    with pytest.raises(UsageError, match="level=95"):
        interval([1.0, 2.0], level=95)
    with pytest.raises(UsageError, match="n_resamples=0"):
        interval([1.0, 2.0], method="bootstrap", n_resamples=0)
    with pytest.raises(UsageError, match="one-dimensional"):
        interval([[1.0, 2.0]])


@pytest.mark.parametrize("name", list(INTERVALS))
def test_contract_of_every_interval(name):
    check_interval(name)
