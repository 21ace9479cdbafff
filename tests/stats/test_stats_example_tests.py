"""Tests of two trained models: scipy, statsmodels, enumeration and quadratic placements as witnesses."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from calibration.source import example_test_rates
from graphnetz.stats import delong_test, example_test
from graphnetz.stats.contributions import placements
from graphnetz.stats.example_tests import EXACT_FLIPS


def test_mcnemar_agrees_with_statsmodels_and_binomtest():
    from statsmodels.stats.contingency_tables import mcnemar

    rng = np.random.default_rng(0)
    x, y = rng.random(200) < 0.7, rng.random(200) < 0.6
    cells = [[int((x & y).sum()), int((x & ~y).sum())], [int((~x & y).sum()), int((~x & ~y).sum())]]
    found = example_test(x, y, "mcnemar")
    assert found.p == pytest.approx(mcnemar(cells, exact=True).pvalue)
    assert found.p == pytest.approx(stats.binomtest(cells[0][1], cells[0][1] + cells[1][0]).pvalue)
    assert found.n_used == cells[0][1] + cells[1][0]
    assert example_test(x, y, "permutation").p == pytest.approx(found.p)


def test_sign_flips_agree_with_enumeration_and_with_scipy():
    rng = np.random.default_rng(1)
    d = rng.normal(0.3, 1, 9)
    flips = [abs(np.dot(signs, np.abs(d))) for signs in itertools.product((-1, 1), repeat=9)]
    exact = np.mean(np.array(flips) >= abs(d.sum()) - 1e-12)
    assert example_test(d, np.zeros(9)).p == pytest.approx(exact)
    many = rng.normal(0.15, 1, EXACT_FLIPS + 80)
    witness = stats.permutation_test(
        (many, np.zeros_like(many)), lambda a, b, axis: (a - b).mean(axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=9999, rng=np.random.default_rng(2),
    )  # fmt: skip
    assert example_test(many, np.zeros_like(many), seed=3).p == pytest.approx(witness.pvalue, abs=0.015)
    huge = rng.normal(0.02, 1, 5000)
    assert example_test(huge, np.zeros(5000)).p == pytest.approx(stats.ttest_1samp(huge, 0).pvalue, abs=0.005)


def test_delong_agrees_with_quadratic_placements_and_mann_whitney():
    rng = np.random.default_rng(4)
    target = rng.random(90) < 0.4
    x, y = np.round(target + rng.normal(size=90), 1), target * 0.5 + rng.normal(size=90)

    def slow(score):
        kernel = (score[target][:, None] > score[~target]) + 0.5 * (score[target][:, None] == score[~target])
        return kernel.mean(axis=1), kernel.mean(axis=0)

    for score in (x, y):
        for fast, witness in zip(placements(score[target], score[~target]), slow(score), strict=True):
            np.testing.assert_allclose(fast, witness)
        auc = stats.mannwhitneyu(score[target], score[~target]).statistic / (target.sum() * (~target).sum())
        assert placements(score[target], score[~target])[0].mean() == pytest.approx(auc)
    covariance = sum(np.cov(a, b) / len(a) for a, b in zip(slow(x), slow(y), strict=True))
    spread = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found = delong_test(target, x, y)
    assert found.statistic == pytest.approx(found.mean_diff / spread)
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(found.statistic)))


def test_pseudo_values_are_tested_by_their_mean_in_standard_errors():
    rng = np.random.default_rng(3)
    x, y = rng.normal(0.3, 1, 80), rng.normal(0, 1, 80)
    found = example_test(x, y, "pseudo")
    assert found.statistic == pytest.approx(stats.ttest_1samp(x - y, 0).statistic)
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(found.statistic)))
    assert example_test(y, x, "pseudo").p == found.p


def test_undefined_has_a_reason_and_wrong_kinds_are_named():
    assert "too few" in delong_test([0, 1] * 10, np.arange(20), np.arange(20)).reason
    assert delong_test([0, 1] * 30, np.arange(60), np.arange(60)).p == 1.0
    assert example_test([1, 0], [1, 0], "mcnemar").p == 1.0
    assert example_test([np.nan], [1.0]).reason == "the two models share no test example"
    with pytest.raises(ValueError, match="mcnemar"):
        example_test([1], [0], "macnemar")
    with pytest.raises(ValueError, match="0/1"):
        example_test([0.5], [0.1], "mcnemar")


@pytest.mark.parametrize("kind", ["mcnemar", "permutation", "pseudo", "delong"])
def test_equal_models_differ_in_at_most_five_percent(kind):
    assert example_test_rates(kind, replicates=300) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
