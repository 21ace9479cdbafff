"""An e-process may be read after every seed: its witnesses are quadrature and simulation."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from calibration.simulate import monte_carlo_error
from calibration.simulate_sequential import NOISE, sequential_rates
from graphnetz._core.errors import UsageError
from graphnetz.records.seed_rule import SeedRule
from graphnetz.stats import anytime_levels, anytime_p, decide, e_value, repeated_interval
from graphnetz.stats.repeated import repeated_p

RULE = SeedRule(None, mode="anytime", first_look=3)


@pytest.mark.parametrize(("t", "n", "effect"), [(0.7, 4, 1.0), (3.2, 6, 2.0), (-2.1, 15, 0.5), (5.0, 10, 4.0)])
def test_e_value_is_the_mixture_of_noncentral_t_densities(t, n, effect):
    """The definition: the density of t over effects drawn from N(0, effect^2), over that of no effect."""

    def weighted(d):
        return stats.nct.pdf(t, n - 1, d * math.sqrt(n)) * stats.norm.pdf(d, scale=effect)

    mixed = integrate.quad(weighted, -8 * effect, 8 * effect, limit=400)[0]
    assert float(e_value(t, n, effect=effect)) == pytest.approx(mixed / stats.t.pdf(t, n - 1), rel=1e-6)


def test_it_is_a_martingale_and_seldom_ever_large():
    x = np.random.default_rng(5).normal(size=(20_000, 200)) * np.random.default_rng(6).uniform(0.1, 9, (20_000, 1))
    n = np.arange(1, 201)
    total, square = x.cumsum(axis=1), (x**2).cumsum(axis=1)
    variance = (square - total**2 / n)[:, 1:] / (n[1:] - 1)
    e = e_value((total / n)[:, 1:] / np.sqrt(variance / n[1:]), n[1:])
    assert float(e[:, 1].mean()) == pytest.approx(1.0, abs=0.05)
    for alpha in (0.05, 0.01):
        ever = float((e >= 1 / alpha).any(axis=1).mean())
        assert ever <= alpha + 3 * monte_carlo_error(alpha, 20_000)
        assert ever > alpha / 6  # not vacuous


def test_levels_p_and_interval_say_the_same():
    rng = np.random.default_rng(2)
    for n in (4, 7, 12, 30):
        d = rng.normal(0.01, 0.01, n)
        test = stats.ttest_1samp(d, 0.0)
        e = float(e_value(test.statistic, n))
        for alpha in (0.2, 0.05, 0.004):
            (level,) = anytime_levels((n,), alpha)
            assert (e >= 1 / alpha) == (test.pvalue <= level)
            low, high = repeated_interval(d, level)[1:]
            assert (e >= 1 / alpha) == (low > 0 or high < 0)
        assert anytime_p([test.pvalue], (n,)) == pytest.approx(min(1.0, 1 / e), rel=1e-6)
    assert repeated_p([0.9, 1e-6], (3, 12), spending="anytime") == anytime_p([0.9, 1e-6], (3, 12))
    assert anytime_levels((2,), 0.05) == (0.0,)
    assert math.isnan(anytime_p([math.nan], (5,)))
    assert float(e_value(math.inf, 5)) == pytest.approx(21.0**2)
    with pytest.raises(UsageError, match="effect=0"):
        e_value(1.0, 5, effect=0.0)


def test_a_larger_budget_continues_a_run_without_changing_what_is_decided():
    rows = [np.random.default_rng(seed).normal(shift, 0.01, 60) for seed, shift in enumerate((0.02, 0.004, 0.0))]
    short, long = (decide(rows, looks=range(3, budget + 1), margin=0.01, spending="anytime") for budget in (20, 60))
    for early, late in zip(short.comparisons, long.comparisons, strict=True):
        assert early.decision == "undecided" or early == late


@pytest.mark.parametrize("noise", list(NOISE))
def test_false_claims_stay_under_alpha_with_a_look_after_every_seed(noise):
    limit = 0.05 + 3 * monte_carlo_error(0.05, 1000)
    rule = {"looks": RULE.looks, "spending": "anytime", "benchmarks": 100}
    assert sequential_rates(noise, margin=math.nan, **rule).false_different <= limit
    edge = sequential_rates(noise, offsets=(0.0, 0.0, 0.01, 0.01, 0.01), **rule)
    assert edge.false_equivalent <= limit
    assert edge.interval_miss <= limit
