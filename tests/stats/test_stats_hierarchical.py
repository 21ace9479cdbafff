import math

import numpy as np
import pytest
import scipy.stats as sps
from scipy import integrate

from calibration.simulate import hierarchical_rates, monte_carlo_error
from graphnetz._core.errors import UsageError
from graphnetz.stats import hierarchical
from graphnetz.stats.hierarchical import _log_likelihood


@pytest.mark.parametrize(("freedom", "tolerance"), [(1, 0.12), (2, 0.03), (4, 0.01), (9, 0.003), (29, 1e-4)])
@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_likelihood_of_a_task_agrees_with_direct_integration(freedom, tolerance, tau):
    for offset in (0.0, 0.7, 2.0):

        def product(delta, offset=offset):
            return sps.t.pdf(offset - delta, freedom) * sps.norm.pdf(delta, 0, tau)

        want, _ = integrate.quad(product, -12 * tau, 12 * tau, epsabs=1e-12, limit=200, points=[0.0])
        got = math.exp(float(_log_likelihood(np.array([[offset]]), np.array([[tau]]), 1.0, freedom)[0, 0]))
        assert got / math.sqrt(2 * math.pi) == pytest.approx(want, rel=tolerance)


def test_with_exact_task_means_the_prediction_is_a_student_t():
    """Flat mean and uniform spread give N - 2 degrees of freedom in closed form."""
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
