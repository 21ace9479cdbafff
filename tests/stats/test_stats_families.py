"""Short forms of the simulations of families; benchmarks/calibrate.py runs the long ones."""

import numpy as np
import pytest

from calibration.families import (
    LAYOUTS,
    ROWS,
    coverage_of_simultaneous,
    decide,
    draw_pairs,
    exaggeration,
    false_claims,
    moderated_rates,
    seeds_range_coverage,
)
from calibration.simulate import monte_carlo_error
from graphnetz.stats import seeds_needed, seeds_range, simultaneous

HELD = ("normal", "t3", "heteroscedastic 1:10")


@pytest.mark.parametrize("row", list(ROWS))
def test_contract_every_row_has_mean_zero(row):
    x = ROWS[row](np.random.default_rng(0), (40_000, 2, 3)).reshape(-1, 3)
    assert (np.abs(x.mean(axis=0)) < 5 * x.std(axis=0) / np.sqrt(len(x))).all()


def test_the_batch_is_what_the_product_says():
    rng = np.random.default_rng(0)
    d, _ = draw_pairs("50 test items", "all equal", models=4, seeds=3, replicates=60, rng=rng)
    low, high, rejected, _ = decide(d, alpha=0.05, draws=0)
    for i in range(60):
        one = simultaneous(d[i], scale=1.0, draws=0)
        np.testing.assert_allclose(low[i], one.low, atol=1e-9)
        np.testing.assert_allclose(high[i], one.high, atol=1e-9)
        assert (rejected[i] == one.rejected).all()


@pytest.mark.parametrize("row", HELD)
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_all_intervals_of_a_task_hold_together(row, layout):
    for models, seeds in ((3, 10), (5, 3), (9, 5)):
        got = coverage_of_simultaneous(row, layout, models=models, seeds=seeds, replicates=2000)
        assert got["closed"] >= 0.95 - 3 * monte_carlo_error(0.95, 2000)
        assert got["strict"] >= 0.94 - 3 * monte_carlo_error(0.94, 2000)
        assert got["false"] <= 0.05 + 3 * monte_carlo_error(0.05, 2000)
        assert got["contradictions"] == 0


@pytest.mark.parametrize("layout", ["all equal", "one better"])
def test_max_t_intervals_hold_together(layout):
    got = coverage_of_simultaneous("normal", layout, models=4, seeds=10, draws=4000, replicates=250)
    assert got["max_t"] > (0.5 if layout == "all equal" else 0)
    assert got["closed"] >= 0.95 - 3 * monte_carlo_error(0.95, 250)
    assert got["strict"] >= 0.94 - 3 * monte_carlo_error(0.94, 250)
    assert got["contradictions"] == 0


def test_a_model_that_collapses_breaks_claims_about_means():
    assert false_claims("one collapses in 1 of 20", replicates=1000) > 0.1  # why rule 5 words them otherwise


@pytest.mark.parametrize("layout", ["one", "steps"])
def test_shrunken_gaps_are_not_exaggerated(layout):
    for models, seeds, gap in ((3, 3, 1), (9, 5, 1), (5, 5, 4)):
        got = exaggeration(gap, layout=layout, models=models, seeds=seeds, replicates=300)
        assert got["shrunken"] <= 1.2
        if gap == 1:
            assert got["observed"] > 1.15


def test_moderation_holds_its_size_and_gains_power():
    got = moderated_rates(replicates=600)
    assert got["moderated_size"] <= 0.05 + 3 * monte_carlo_error(0.05, 600)
    assert got["gain"] > 1.25


def test_ranges_of_seeds_hold_the_true_number():
    assert seeds_range_coverage("normal", replicates=4000) >= 0.95 - 3 * monte_carlo_error(0.95, 4000)
    assert seeds_range_coverage("t3", replicates=4000) < 0.93  # heavy tails hide the spread from ten seeds
    rng = np.random.default_rng([0, 10])
    d = ROWS["normal"](rng, (60, 10, 2))
    d, spread = d[..., 0] - d[..., 1], np.sqrt(2)
    need = seeds_needed(spread, spread)
    held = [low <= need <= high for _, low, high in (seeds_range(x, spread) for x in d)]
    assert np.mean(held) == seeds_range_coverage("normal", replicates=60)
