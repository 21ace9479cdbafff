"""Short forms of the simulations; benchmarks/calibrate.py runs the long ones."""

import numpy as np
import pytest

from calibration.simulate import (
    POPULATIONS,
    bootstrap_rows,
    coverage,
    detection_rate,
    equivalence_rate,
    familywise_rates,
    friedman_rates,
    monte_carlo_error,
    null_differences,
    resampling_rates,
    student_rows,
    t_p_rows,
    wilcoxon_p_rows,
)
from graphnetz.stats import adjust, interval, paired_test, power


def test_batch_formulas_equal_the_product_functions():
    rng = np.random.default_rng(0)
    x = rng.lognormal(size=(20, 9))
    low, high = student_rows(x, 0.9)
    for row, lo, hi in zip(x, low, high, strict=True):
        got = interval(row, level=0.9)
        assert (got.low, got.high) == pytest.approx((lo, hi), abs=1e-12)
        assert paired_test(row - 1, 0 * row).p == pytest.approx(t_p_rows(row - 1), rel=1e-9)
        assert paired_test(row - 1, 0 * row, method="wilcoxon").p == pytest.approx(wilcoxon_p_rows(row - 1), rel=1e-9)
        corrected = paired_test(row - 1, 0 * row, method="corrected_t", test_ratio=0.2)
        assert corrected.p == pytest.approx(t_p_rows(row - 1, 0.2), rel=1e-9)


@pytest.mark.parametrize("method", ["bootstrap", "bca"])
def test_batch_bootstrap_equals_the_product_function_on_the_same_resamples(method):
    x = np.random.default_rng(1).lognormal(size=(6, 12))
    drawn = np.random.default_rng(5).integers(0, 12, (3000, 12))
    weights = (drawn[:, :, None] == np.arange(12)).mean(axis=1).T
    low, high = bootstrap_rows(x, 0.95, weights=weights, accelerate=method == "bca")
    for row, lo, hi in zip(x, low, high, strict=True):
        got = interval(row, method=method, n_resamples=3000, seed=5)
        assert (got.low, got.high) == pytest.approx((lo, hi), abs=1e-9)


@pytest.mark.parametrize("name", list(POPULATIONS))
def test_contract_every_population_has_the_mean_it_claims(name):
    draw, truth = POPULATIONS[name]
    x = draw(np.random.default_rng(0), (400_000,))
    assert x.mean() == pytest.approx(truth, abs=5 * x.std() / np.sqrt(x.size))


@pytest.mark.parametrize("n", [5, 10, 30])
def test_t_intervals_cover_normal_scores_as_promised(n):
    assert coverage("t", "normal", n, replicates=20_000) == pytest.approx(0.95, abs=0.01)


def test_bootstrap_intervals_are_too_narrow_at_ten_seeds():
    t, percentile, bca = (coverage(m, "normal", 10, n_resamples=1000) for m in ("t", "bootstrap", "bca"))
    assert percentile < t - 0.02
    assert bca < t - 0.02
    assert coverage("t", "lognormal", 10) < 0.9


@pytest.mark.parametrize("method", ["t", "wilcoxon"])
@pytest.mark.parametrize("effect", [0.0, 0.02])
def test_holm_within_a_task_holds_the_family_wise_rate(method, effect):
    rates = familywise_rates(method, effect=effect, replicates=600)
    limit = 0.05 + 3 * monte_carlo_error(0.05, 6000)
    assert rates["per_task"] <= limit
    assert rates["report"] <= 0.05 + 3 * monte_carlo_error(0.05, 600)
    if effect == 0 and method == "t":
        assert rates["report_by_task"] > 0.2  # why the family is named in every verdict


def test_familywise_rate_is_that_of_the_product_functions():
    rng = np.random.default_rng(3)
    d = null_differences((1, 2, 3, 8), rng, effect=0.02, grid=0.001)
    p = np.nan_to_num(t_p_rows(d), nan=1.0)
    for task in range(2):
        single = [paired_test(row, 0 * row).p for row in d[0, task]]
        np.testing.assert_allclose(adjust(single), adjust(p[0, task]), rtol=1e-9)


def test_shared_splits_break_the_plain_t_test_and_the_correction_repairs_it():
    rates = resampling_rates(replicates=20_000)
    assert rates["t"] == pytest.approx(0.155, abs=0.012)
    assert rates["corrected_t"] == pytest.approx(0.05, abs=0.006)


@pytest.mark.parametrize(("n", "k"), [(5, 4), (10, 4), (12, 6)])
def test_friedman_decision_holds_its_level(n, k):
    rates = friedman_rates(n, k, replicates=4000, permutations=10_000)
    slack = 3.5 * monte_carlo_error(0.05, 4000)
    assert rates["permutation"] <= 0.05 + slack
    assert rates["f"] <= 0.07
    assert rates["nemenyi_after_omnibus"] <= 0.05 + slack


def test_equivalence_and_power_are_what_they_say():
    assert equivalence_rate(replicates=20_000) <= 0.05 + 3 * monte_carlo_error(0.05, 20_000)
    predicted = power(0.01, 0.012, 10)
    assert detection_rate(0.01, 0.012, 10, replicates=20_000) == pytest.approx(predicted, abs=0.011)
