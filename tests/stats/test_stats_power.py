import math

import numpy as np
import pytest
import scipy.stats as sps
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from graphnetz._core.errors import UsageError
from graphnetz.stats import minimum_detectable_effect, power, power_analysis, sd_interval, seeds_needed, seeds_range
from graphnetz.stats.power import _tail

solve = TTestPower()


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30, 200])
@pytest.mark.parametrize("effect", [0.1, 0.5, 1.0, 2.0])
def test_power_agrees_with_statsmodels(n, effect):
    for alpha in (0.05, 0.01):
        want = solve.power(effect, n, alpha)
        got = power(effect, 1.0, n, alpha=alpha)
        if np.isnan(want):  # its far tail underflows, with older versions of scipy sooner
            assert got == pytest.approx(1.0, abs=1e-5)
        else:
            assert got == pytest.approx(want, abs=1e-9)
    assert power(-effect, 1.0, n) == power(effect, 1.0, n)
    assert power(3 * effect, 3.0, n) == pytest.approx(power(effect, 1.0, n))


def test_power_by_simulation():
    rng = np.random.default_rng(0)
    d = rng.normal(0.01, 0.012, (20_000, 10))
    rejected = sps.ttest_1samp(d, 0, axis=1).pvalue <= 0.05
    assert rejected.mean() == pytest.approx(power(0.01, 0.012, 10), abs=0.01)


@pytest.mark.parametrize("n", [3, 10, 40])
def test_minimum_detectable_effect_inverts_power_and_agrees_with_statsmodels(n):
    effect = minimum_detectable_effect(0.02, n)
    assert power(effect, 0.02, n) == pytest.approx(0.8, abs=1e-9)
    assert effect / 0.02 == pytest.approx(solve.solve_power(nobs=n, alpha=0.05, power=0.8), rel=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.05, 3), st.floats(0.5, 0.95))
def test_seeds_needed_is_the_smallest_number_that_suffices(effect, target):
    n = seeds_needed(effect, 1.0, power=target)
    assert power(effect, 1.0, n) >= target
    assert n == 2 or power(effect, 1.0, n - 1) < target


def test_correlated_runs_may_never_reach_the_target():
    assert seeds_needed(0.01, 0.01, test_ratio=0.125) is not None
    assert seeds_needed(0.002, 0.01, test_ratio=0.125) is None
    assert seeds_needed(0.0, 0.01) is None
    assert seeds_needed(1e-6, 1.0, max_n=1000) is None
    assert power(0.01, 0.01, 10, test_ratio=0.1) < power(0.01, 0.01, 10)


def test_sd_interval_agrees_with_the_chi_square_quantiles_and_covers():
    x = np.random.default_rng(1).normal(size=12)
    ss = ((x - x.mean()) ** 2).sum()
    want = math.sqrt(ss / sps.chi2.ppf(0.975, 11)), math.sqrt(ss / sps.chi2.ppf(0.025, 11))
    assert sd_interval(x, 0.95) == pytest.approx(want, rel=1e-9)
    assert all(map(math.isnan, sd_interval([1.0])))
    draws = np.random.default_rng(2).normal(0, 3, (2000, 8))
    inside = [low <= 3 <= high for low, high in map(sd_interval, draws)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


def test_power_analysis_uses_the_spread_and_never_the_mean():
    d = np.random.default_rng(5).normal(0, 0.01, 10)
    got, shifted = power_analysis(d, 0.01), power_analysis(d + 0.3, 0.01)
    assert got.sd == pytest.approx(shifted.sd)
    assert got.power == pytest.approx(shifted.power)
    assert got.sd_low < got.sd < got.sd_high
    assert got.power_low < got.power < got.power_high
    assert got.mde_low < got.mde < got.mde_high
    assert got.seeds_low <= got.seeds <= got.seeds_high
    assert got.power == power(0.01, got.sd, 10)
    assert got.seeds == seeds_needed(0.01, got.sd)
    assert "at least 2" in power_analysis([0.1], 0.01).reason


def test_nothing_is_said_of_power_without_spread():
    """Three identical columns "would have been detected with 80 % probability" (fault E)."""
    assert math.isnan(power(0.1, 0.0, 10))
    assert math.isnan(minimum_detectable_effect(0.0, 10))
    assert seeds_needed(0.01, 0.0) is None
    a = np.array([0.81, 0.82, 0.83])
    for still in ([0.0] * 5, a - (a - 0.01), [0.3] * 10):
        got = power_analysis(still, 0.01)
        assert all(map(math.isnan, (got.power, got.mde, got.power_low, got.mde_high)))
        assert (got.seeds, got.seeds_low, got.seeds_high) == seeds_range(still, 0.01) == (None, None, None)
        assert "no power can be stated" in got.reason
    noise = 1e-5 + np.array([0.0, 1e-16, -1e-16])  # equal for scores of size 1, not by themselves
    assert power_analysis(noise, 0.01, scale=1.0).reason
    assert not power_analysis(noise, 1e-5).reason


def test_the_range_of_seeds_follows_from_the_interval_of_the_spread():
    d = np.random.default_rng(3).normal(0.1, 0.02, 10)
    low, high = sd_interval(d)
    want = tuple(seeds_needed(0.02, sd) for sd in (d.std(ddof=1), low, high))
    assert seeds_range(d, 0.02) == want
    for n, sd in zip(want, (d.std(ddof=1), low, high), strict=True):
        assert solve.power(0.02 / sd, n, 0.05) >= 0.8


def test_edges():
    assert math.isnan(power(0.1, 1.0, 1))
    assert power(0.0, 1.0, 10) == 0.05
    assert power(50.0, 1.0, 50) == 1.0
    with pytest.raises(UsageError, match="above alpha"):
        seeds_needed(0.1, 1.0, power=0.01)
    with pytest.raises(UsageError, match="negative"):
        power(0.1, -1.0, 10)


@pytest.mark.parametrize("df", [1, 2, 9, 29, 999, 9999])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 45, 1e-7])
def test_tails_are_those_of_scipy_wherever_the_shift(df, alpha):
    critical = float(sps.t.ppf(1 - alpha / 2, df))
    for shift in (-300.0, -37.0, -8.0, -1.0, -0.01, 0.01, 1.0, 5.0, 8.0, 37.0, 300.0, 2000.0):
        want = float(sps.nct.sf(critical, df, shift))
        if np.isnan(want):  # scipy gives up there
            want = float(shift > critical)
        assert _tail(df, shift, critical) == pytest.approx(want, rel=1e-12, abs=1e-300)


@settings(deadline=None, max_examples=60)
@given(
    st.floats(0.004, 40), st.sampled_from([0.05, 0.05 / 45, 1e-6, 0.3]), st.sampled_from([0.5, 0.8, 0.999]),
    st.sampled_from([0.0, 0.1, 2.0]), st.sampled_from([2, 3, 50, 3000]),
)  # fmt: skip
def test_seeds_needed_agrees_with_counting_up(effect, alpha, target, ratio, most):
    got = seeds_needed(effect, 1.0, alpha=alpha, power=target, max_n=most, test_ratio=ratio)
    if got is None:
        assert power(effect, 1.0, most, alpha=alpha, test_ratio=ratio) < target
    else:
        assert power(effect, 1.0, got, alpha=alpha, test_ratio=ratio) >= target
        assert got == 2 or power(effect, 1.0, got - 1, alpha=alpha, test_ratio=ratio) < target


def test_an_effect_a_hundred_orders_above_the_spread_needs_two_seeds():
    assert seeds_needed(1e200, 1e-100) == 2
    assert seeds_needed(1e-200, 1e100, max_n=1000) is None
