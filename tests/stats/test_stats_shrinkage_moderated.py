import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats as sps
from scipy import special
from statsmodels.stats.anova import AnovaRM

from graphnetz._core.errors import UsageError
from graphnetz.stats import moderated_t, shrunken_gap
from graphnetz.stats.moderated import fit_prior, trigamma_inverse


def test_the_factor_is_that_of_the_analysis_of_variance():
    x = np.random.default_rng(0).normal([3, 1, 0, 0], 1, (6, 4))
    rows = [(s, m, x[s, m]) for s, m in itertools.product(range(6), range(4))]
    f = AnovaRM(pd.DataFrame(rows, columns=["seed", "model", "y"]), "y", "seed", ["model"]).fit().anova_table
    want = 1 - (1 + 3 / 15) / float(f["F Value"].iloc[0])
    assert shrunken_gap(x).factor == pytest.approx(want, rel=1e-9)


def test_gaps_shrink_and_follow_direction_and_columns():
    x = np.random.default_rng(1).normal([2, 1, 0, 0, 3], 1, (8, 5))
    got = shrunken_gap(x)
    assert got.order.tolist() == np.argsort(-x.mean(axis=0)).tolist()
    np.testing.assert_allclose(got.gap, x.mean(axis=0).max() - x.mean(axis=0))
    assert ((got.shrunken >= 0) & (got.shrunken <= got.gap)).all()
    assert got.shrunken[got.order[0]] == 0
    turned = shrunken_gap(-x, greater_is_better=False)
    np.testing.assert_allclose(turned.shrunken, got.shrunken)
    scaled = shrunken_gap(100 * x + 7)
    np.testing.assert_allclose(scaled.shrunken, 100 * got.shrunken, rtol=1e-9)
    missing = np.vstack([x, [9.0, math.nan, 0, 0, 0]])
    np.testing.assert_allclose(shrunken_gap(missing).shrunken, got.shrunken)


def test_noise_shrinks_to_nothing_and_certainty_not_at_all():
    rng = np.random.default_rng(2)
    assert np.mean([shrunken_gap(rng.normal(size=(10, 5)), draws=200).shrunken.max() for _ in range(40)]) < 0.1
    sure = np.tile([0.9, 0.6, 0.6], (4, 1)) + np.arange(4)[:, None] / 100
    np.testing.assert_allclose(shrunken_gap(sure).shrunken, [0, 0.3, 0.3], atol=1e-12)
    np.testing.assert_array_equal(shrunken_gap(np.full((4, 3), 0.8)).shrunken, 0)
    assert shrunken_gap([[0.8, 0.7]]).reason
    with pytest.raises(UsageError, match="seeds x models"):
        shrunken_gap([0.1])


@pytest.mark.parametrize("value", [1e-6, 0.01, 0.5, 3.0, 500.0, 1e7])
def test_trigamma_is_inverted(value):
    assert special.polygamma(1, trigamma_inverse(value)) == pytest.approx(value, rel=1e-9)


def test_the_prior_is_found_again_in_simulated_variances():
    """Variances drawn as the model says: s^2 = s0^2 F(d, d0)."""
    rng = np.random.default_rng(0)
    drawn = 0.3 * sps.f.rvs(9, 12, size=200_000, random_state=rng)
    weight, place = fit_prior(drawn, 9)
    assert weight == pytest.approx(12, rel=0.03)
    assert place == pytest.approx(0.3, rel=0.01)
    assert fit_prior(np.full(5, 0.2), 9)[0] == math.inf


def test_the_moments_of_the_log_variances_are_met():
    variance = np.array([0.5, 1.0, 4.0, 0.2, 2.5])
    weight, place = fit_prior(variance, 4)
    logs = np.log(variance)
    # Mean and variance of the logarithm of s0^2 F(d, d0).
    mean = math.log(place) + special.digamma(2) - math.log(2) - special.digamma(weight / 2) + math.log(weight / 2)
    assert logs.mean() == pytest.approx(mean, rel=1e-9)
    assert logs.var(ddof=1) == pytest.approx(special.polygamma(1, 2) + special.polygamma(1, weight / 2), rel=1e-9)


def pairs_of(x):
    return np.column_stack([x[:, i] - x[:, j] for i, j in itertools.combinations(range(x.shape[1]), 2)])


def test_equal_variances_pool_to_the_residuals_of_the_two_way_table():
    """Where the prior weighs infinitely, its df are those of the residuals of models x seeds."""
    for seed in range(20):
        d = pairs_of(np.random.default_rng(seed).normal(size=(10, 4)))
        got = moderated_t(d)
        if math.isinf(got.prior_df) and not got.reason:
            break
    assert got.df == 27
    np.testing.assert_allclose(got.error, math.sqrt(got.prior_variance / 10))
    np.testing.assert_allclose(got.p, 2 * sps.t.sf(np.abs(d.mean(axis=0) / got.error), 27), rtol=1e-9)


def test_guards_fall_back_to_plain_t():
    rng = np.random.default_rng(0)
    plain = pairs_of(rng.normal(size=(10, 5)))
    uneven = pairs_of(rng.normal(size=(10, 5)) * [1, 1, 1, 1, 30])
    outlier = pairs_of(rng.normal(size=(10, 5)) - 40 * (np.arange(50).reshape(10, 5) == 0))
    for d, word in ((uneven, "differ too much"), (outlier, ""), (plain[:2], "fewer than 3")):
        got = moderated_t(d)
        assert got.reason
        assert word in got.reason
        np.testing.assert_allclose(got.p, sps.ttest_1samp(d, 0).pvalue, rtol=1e-9)
    assert moderated_t(plain).reason == ""
    one = np.random.default_rng(3).normal(size=(12, 3))
    one[0] = 9.0  # the same seed stands out in all pairs, so the variances agree
    assert "stands out" in moderated_t(one).reason
