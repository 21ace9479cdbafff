"""Diagnostics before tests: outside witnesses, and the false-alarm rates they promise."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import mstats
from statsmodels.robust.scale import mad
from statsmodels.stats.proportion import proportion_confint

from calibration import shapes
from graphnetz._core.errors import UsageError
from graphnetz.stats.diagnostics import (
    OUTLIER,
    asymmetry,
    collapse,
    few_items,
    iqm,
    outliers,
    rate_bound,
    robust_test,
    skewed,
    ties,
)

NORMAL = 0.8 + 0.02 * stats.norm.ppf((np.arange(10) + 0.5) / 10)


# Rates


@pytest.mark.parametrize(("k", "n"), [(0, 10), (2, 10), (9, 10), (10, 10), (0, 1), (7, 30)])
def test_rate_bound_is_the_one_sided_clopper_pearson_bound(k, n):
    exact = stats.binomtest(k, n, alternative="less").proportion_ci(0.95, method="exact").high
    assert rate_bound(k, n) == pytest.approx(exact, abs=1e-9)
    assert rate_bound(k, n) == pytest.approx(proportion_confint(k, n, alpha=0.1, method="beta")[1], abs=1e-9)


def test_no_failure_in_ten_runs_may_still_be_a_quarter_of_them():
    assert rate_bound(0, 10) == pytest.approx(1 - 0.05**0.1)
    assert math.isnan(rate_bound(0, 0))
    with pytest.raises(UsageError, match="k=3 of n=2"):
        rate_bound(3, 2)


# Collapse


@pytest.mark.parametrize("n", [6, 10, 20, 50])
@pytest.mark.parametrize("chance", [math.nan, 0.1])
def test_one_run_at_chance_is_found(n, chance):
    x = 0.8 + 0.01 * np.sin(np.arange(n))
    x[n // 2] = 0.1
    assert collapse(x, chance) == (n // 2,)
    assert collapse(1 - x, 1 - chance, greater_is_better=False) == (n // 2,)


def test_three_seeds_need_chance_to_tell_a_collapse():
    assert collapse([0.80, 0.81, 0.10]) == ()
    assert collapse([0.80, 0.81, 0.10], 0.1) == (2,)
    assert collapse([0.80, 0.81, 0.30], 0.1) == ()


def test_a_bad_run_far_above_chance_is_no_collapse():
    x = [*NORMAL[:9], 0.5]
    assert collapse(x) == (9,)
    assert collapse(x, 0.1) == ()


def test_where_most_runs_collapse_chance_tells_which():
    x = [0.80, 0.81, 0.79, *[0.1, 0.101, 0.1, 0.1, 0.1, 0.1, 0.1]]
    assert collapse(x, 0.1) == tuple(range(3, 10))
    assert collapse(x) == ()


def test_missing_runs_keep_their_place_and_rounding_is_no_collapse():
    assert collapse([0.8, math.nan, 0.81, 0.1, 0.82, 0.79, 0.8], 0.1) == (3,)
    assert collapse([0.8] * 9 + [0.79]) == ()
    assert collapse([0.8] * 10) == ()
    assert collapse([0.8, 0.81, 0.8, 0.82, 0.81, 0.8, 0.5], floor=0.1) == ()


@pytest.mark.parametrize("row", ["normal", "t3", "hetero", "items50"])
@pytest.mark.parametrize("chance", [math.nan, 0.1, 0.76])
def test_at_most_one_vector_in_a_hundred_is_called_collapsed_falsely(row, chance):
    rate = shapes.collapse_alarms(row, seeds=10, chance=chance, replicates=4000)
    assert rate <= 0.01 + 3 * math.sqrt(0.01 * 0.99 / 4000)


# Shape


def test_asymmetry_is_the_log_ratio_of_two_tails():
    x = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    half = 0.5  # half the smallest step
    expected = math.sqrt(5) * math.log((6.5 - 2 + half) / (2 - 0.5 + half))
    assert float(asymmetry(x)) == pytest.approx(expected)
    assert float(asymmetry(-x)) == pytest.approx(-expected)
    assert math.isnan(asymmetry(np.array([1.0, 2, 3, 4])))
    assert math.isnan(asymmetry(np.full(8, 0.8)))


def test_skew_sees_a_long_tail_and_agrees_with_the_third_moment():
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = np.exp(1.2 * rng.normal(size=50))
        if skewed(x):
            assert skewed(x) == np.sign(stats.skew(x)) == -skewed(-x)
    assert sum(skewed(np.exp(rng.normal(size=50))) for _ in range(100)) > 90
    # Accuracies on a grid of two values are no tail.
    assert skewed([0.81, 0.81, 0.80, 0.81, 0.80]) == 0


@pytest.mark.parametrize("n", [5, 8, 10, 20, 50])
def test_under_five_normal_samples_in_a_hundred_are_called_skewed(n):
    x = np.random.default_rng(n).normal(size=(4000, n))
    limit = 5.0 if n < 8 else 4.0
    assert (np.abs(asymmetry(x)) > limit).mean() < 0.045


def test_outliers_are_measured_by_the_median_absolute_deviation():
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = rng.standard_t(2, size=12)
        expected = np.flatnonzero(np.abs(x - np.median(x)) > OUTLIER * mad(x, c=1 / 1.4826))
        assert outliers(x) == tuple(expected)
    assert outliers([0.8] * 8 + [0.5]) == ()
    assert outliers([0.8, 0.9, 0.1]) == ()
    alarms = sum(bool(outliers(x)) for x in rng.normal(size=(2000, 8)))
    assert alarms < 0.02 * 2000


def test_ties_count_equal_scores_up_to_rounding():
    assert ties([0.1 + 0.2, 0.5, math.nan], [0.3, 0.4, 0.5]) == 0.5
    assert math.isnan(ties([math.nan], [1.0]))


def test_too_few_test_items():
    assert few_items(10_000, NORMAL)[2] is False
    step, error, few = few_items(50, NORMAL)
    assert (step, few) == (0.02, True)
    assert error == pytest.approx(math.sqrt(0.8 * 0.2 / 50))
    # Ten thousand items, but seeds that move by less than one of them.
    assert few_items(10_000, 0.8 + 1e-5 * np.arange(4))[2] is True
    assert math.isnan(few_items(0, NORMAL)[0])


# Robust test


@pytest.mark.parametrize("n", [8, 12, 24])
def test_trimmed_t_is_dual_to_the_interval_of_scipy(n):
    """The interval at level 1 - p ends at 0, in scipy's own form of Tukey and McLaughlin."""
    d = np.random.default_rng(n).standard_t(3, size=n) + 0.5
    found = robust_test(d, np.zeros(n))
    assert found.iqm == pytest.approx(stats.trim_mean(d, 0.25)) == pytest.approx(iqm(d))
    assert found.median == pytest.approx(np.median(d))
    low, high = mstats.trimmed_mean_ci(d, limits=(0.25, 0.25), inclusive=(True, True), alpha=found.p)
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-9)


def test_trimmed_t_by_hand():
    d = np.array([-5.0, 0.0, 1.0, 2.0, 3.0, 40.0])
    winsorised = np.array([0.0, 0.0, 1.0, 2.0, 3.0, 3.0])
    t = 1.5 / (winsorised.std(ddof=1) / (4 / 6 * math.sqrt(6)))
    assert robust_test(d, np.zeros(6)).p == pytest.approx(2 * stats.t.sf(t, 3))


def test_no_robust_p_without_seeds_or_spread():
    few = robust_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    assert (few.median, few.iqm) == (2.0, 2.0)
    assert math.isnan(few.p)
    assert "at least 6" in few.reason
    assert "constant" in robust_test([1.0] * 8, [0.0] * 8).reason
    assert math.isnan(iqm([]))


# What the flags promise, in a short form of `make calibrate`

REPLICATES = 4000


def allowed(rate):
    return rate + 3 * math.sqrt(rate * (1 - rate) / REPLICATES)


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("models", [3, 5])
def test_claims_about_runs_without_collapse_are_false_in_at_most_five_percent(seeds, models):
    found = shapes.collapse_rates(seeds=seeds, models=models, replicates=REPLICATES)
    assert found["claims"] <= allowed(0.05)
    assert found["bound"] >= 0.95


def test_a_frequent_collapse_misleads_the_plain_test_only():
    found = shapes.collapse_rates(seeds=20, share=0.3, replicates=REPLICATES)
    assert found["plain"] > 0.5
    assert found["claims"] <= allowed(0.05)
    assert found["bound"] >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / REPLICATES)


def test_dropping_collapsed_runs_gives_the_power_back():
    found = shapes.collapse_rates(seeds=10, effect=1.6, replicates=REPLICATES)
    assert found["claims"] > found["plain"] + 0.2


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize(("row", "promise"), [("lognormal0.5-10", 0.07), ("lognormal1-1", 0.10), ("lognormal1-2", 0.1)])
def test_unflagged_claims_of_a_skewed_model(seeds, row, promise):
    assert shapes.skew_rates(row, seeds=seeds, replicates=REPLICATES)["unflagged"] <= promise


@pytest.mark.parametrize(("row", "effect"), [("normal", 1.6), ("t3", 2.2), ("hetero", 4.0), ("items50", 5.0)])
@pytest.mark.parametrize("seeds", [5, 10, 20])
def test_the_flag_costs_at_most_a_fiftieth_of_the_power(row, effect, seeds):
    found = shapes.skew_rates(row, seeds=seeds, effect=effect * math.sqrt(10 / seeds), replicates=REPLICATES)
    assert found["unflagged"] >= 0.975 * found["plain"]


def test_vectorised_p_is_scipys():
    x = np.random.default_rng(0).normal(size=(3, 8))
    x[0, 2] = np.nan
    expected = [stats.ttest_1samp(row[np.isfinite(row)], 0).pvalue for row in x]
    assert shapes._p(x) == pytest.approx(expected)
