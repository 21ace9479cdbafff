import math
import sys

import numpy as np
import pytest
import scipy.stats as sps
from scipy import integrate

from calibration.across import new_task_rates
from calibration.simulate import hierarchical_rates, monte_carlo_error
from graphnetz._core.errors import UsageError
from graphnetz.stats import hierarchical
from graphnetz.stats.hierarchical import _log_likelihood, _log_student


@pytest.mark.parametrize(("freedom", "tolerance"), [(1, 0.12), (2, 0.03), (4, 0.01), (9, 0.003), (29, 1e-4)])
@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_likelihood_of_a_task_agrees_with_direct_integration(freedom, tolerance, tau):
    for offset in (0.0, 0.7, 2.0):

        def product(delta, offset=offset):
            return sps.t.pdf(offset - delta, freedom) * sps.norm.pdf(delta, 0, tau)

        want, _ = integrate.quad(product, -12 * tau, 12 * tau, epsabs=1e-12, limit=200, points=[0.0])
        got = math.exp(float(_log_likelihood(np.array([[offset]]), np.array([[tau]]), 1.0, freedom)[0, 0]))
        assert got / math.sqrt(2 * math.pi) == pytest.approx(want, rel=tolerance)


def test_with_exact_task_means_the_prediction_is_a_student_t(monkeypatch):
    """Flat mean and uniform spread give N - 2 degrees of freedom in closed form for a normal population."""
    monkeypatch.setattr(sys.modules["graphnetz.stats.hierarchical"], "_FREEDOMS", (math.inf,))
    rng = np.random.default_rng(0)
    means = rng.normal(0.01, 0.02, 12)
    tiny = 1e-6 * np.array([-1.0, 1.0] * 5)
    got = hierarchical([m + tiny for m in means], margin=0.005)
    width = math.sqrt(((means - means.mean()) ** 2).sum() / 10 * (1 + 1 / 12))
    law = sps.t(10, means.mean(), width)
    assert got.p_right == pytest.approx(law.sf(0.005), abs=2e-3)
    assert got.p_left == pytest.approx(law.cdf(-0.005), abs=2e-3)
    assert (got.new_low, got.new_high) == pytest.approx(law.interval(0.95), rel=0.01)
    around = sps.t(10, means.mean(), width / math.sqrt(13))
    assert (got.mean_low, got.mean_high) == pytest.approx(around.interval(0.95), abs=0.02 * width)
    assert got.mean == pytest.approx(means.mean(), rel=1e-3)


@pytest.mark.parametrize("nu", [1.0, 2.0, 4.0])
def test_a_heavy_population_agrees_with_direct_integration(monkeypatch, nu):
    """Exact task means from a t population: the posterior predictive by brute force on a plain grid."""
    monkeypatch.setattr(sys.modules["graphnetz.stats.hierarchical"], "_FREEDOMS", (nu,))
    means = np.array([-0.4, 0.1, 0.3, 0.5, 0.6, 0.9, 4.0])
    got = hierarchical([m + 1e-7 * np.array([-1.0, 1.0] * 5) for m in means])
    mu, tau = np.linspace(-12, 12, 1601)[:, None], np.exp(np.linspace(-5, 5, 400))[None, :]
    logs = np.log(tau) + sum(sps.t.logpdf(m, nu, mu, tau) for m in means)
    weight = np.exp(logs - logs.max())
    assert got.p_right == pytest.approx((weight * sps.t.sf(0, nu, mu, tau)).sum() / weight.sum(), abs=2e-3)


@pytest.mark.parametrize("nu", [2.0, 8.0])
@pytest.mark.parametrize(("tau", "tolerance"), [(3.0, 0.1), (10.0, 0.01)])
def test_the_sum_of_two_t_is_close_to_the_one_that_stands_for_it(nu, tau, tolerance):
    """Seed error 1 with 9 degrees of freedom: near enough where tasks differ more than the mean over seeds errs."""
    for offset in (0.0, 1.0, 3.0, 8.0):

        def product(delta, offset=offset):
            return sps.t.pdf(offset - delta, 9) * sps.t.pdf(delta, nu, 0, tau)

        want, _ = integrate.quad(product, -80, 80, limit=400, points=[0.0, offset])
        got = math.exp(float(_log_student(np.array(offset), np.array(tau), 1.0, nu))) / math.sqrt(2 * math.pi)
        assert got == pytest.approx(want, rel=tolerance)


def test_one_unusual_task_does_not_widen_what_is_expected_of_all():
    rng = np.random.default_rng(5)
    rows = [rng.normal(0.02, 0.004, 8) for _ in range(9)]
    odd = hierarchical([*rows, rng.normal(-0.3, 0.004, 8)])
    assert hierarchical(rows).p_right > 0.98
    assert odd.p_right > 0.88  # a normal population says 0.46


@pytest.mark.parametrize("population", ["t2", "mixture"])
def test_stated_probabilities_are_near_the_truth(population):
    rates = new_task_rates(population, replicates=120)
    assert abs(rates["gap"]) <= 0.05
    assert rates["worst_bin"] <= 0.05 + 0.03  # Monte Carlo


def test_swapping_models_swaps_the_sides_and_units_do_not_matter():
    rng = np.random.default_rng(1)
    rows = [rng.normal(0.01, 0.01, 6) for _ in range(8)]
    got, swapped = hierarchical(rows, margin=0.004), hierarchical([-r for r in rows], margin=0.004)
    assert (got.p_left, got.p_rope, got.p_right) == pytest.approx((swapped.p_right, swapped.p_rope, swapped.p_left))
    assert (got.new_low, got.new_high) == pytest.approx((-swapped.new_high, -swapped.new_low))
    percent = hierarchical([100 * r for r in rows], margin=0.4)
    assert percent.p_right == pytest.approx(got.p_right, abs=1e-9)
    assert percent.tau == pytest.approx(100 * got.tau)
    shuffled = hierarchical(rows[::-1], margin=0.004)
    assert shuffled.p_right == pytest.approx(got.p_right, abs=1e-12)


def test_probabilities_add_up_and_shared_splits_widen():
    rng = np.random.default_rng(2)
    rows = [rng.normal(0.003, 0.01, 10) for _ in range(10)]
    got, shared = hierarchical(rows, margin=0.01), hierarchical(rows, margin=0.01, test_ratio=0.2)
    assert got.p_left + got.p_rope + got.p_right == pytest.approx(1.0)
    assert shared.mean_high - shared.mean_low > got.mean_high - got.mean_low
    assert hierarchical(rows, margin=0.02).p_rope > got.p_rope


def test_too_little_is_said():
    got = hierarchical([[0.1, 0.2], [0.1], [0.3, 0.1]])
    assert got.n_tasks == 2
    assert math.isnan(got.p_right)
    assert "at least 3 tasks" in got.reason
    same = hierarchical([[0.1, 0.1]] * 4, margin=0.01)
    assert same.p_right == 1.0
    assert same.reason
    with pytest.raises(UsageError, match="margin=-1"):
        hierarchical([[0.1, 0.2]] * 4, margin=-1)
    with pytest.raises(UsageError, match="one per task"):
        hierarchical([[0.1, 0.2]] * 4, test_ratio=[0.1])
    zeros = hierarchical([[0.0, 0.0], [0.0, 0.0], [0.001, -0.001], [0.002, 0.001]], margin=0.01)
    assert zeros.p_rope > 0.8


def test_new_tasks_fall_where_predicted():
    rates = hierarchical_rates(tasks=8, replicates=60)
    slack = 3 * monte_carlo_error(0.95, 60)
    assert rates["new_task"] >= 0.95 - slack
    assert rates["mean"] >= 0.95 - slack
    assert rates["p_right"] == pytest.approx(rates["share_right"], abs=3 * monte_carlo_error(0.5, 60))
