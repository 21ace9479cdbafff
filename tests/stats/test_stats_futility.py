"""Giving up costs decisions, never error; p-values that survive looking often."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from calibration.simulate import monte_carlo_error
from calibration.simulate_sequential import NOISE, sequential_rates
from graphnetz._core.errors import UsageError
from graphnetz.stats import decide, look_schedule, nominal_levels, predictive_power
from graphnetz.stats.repeated import repeated_p
from graphnetz.stats.sequential import t_p

LOOKS = look_schedule(30)


@given(st.integers(5, 200), st.integers(2, 5))
def test_schedule_grows_by_a_fifth_and_ends_at_the_budget(budget, first):
    looks = look_schedule(budget, first=first)
    assert looks[0] == first
    assert looks[-1] == budget
    assert all(0 < b - a <= max(1, a // 5) for a, b in pairwise(looks))


def test_schedule_refuses_a_budget_below_its_first_look():
    with pytest.raises(UsageError, match="max_seeds=4"):
        look_schedule(4)


def test_predictive_power_is_what_a_simulation_of_the_future_finds():
    rng = np.random.default_rng(0)
    n, budget, level, margin = 8, 30, 0.01, 0.02
    for mean, sd in ((0.008, 0.012), (0.001, 0.009), (0.004, 0.03)):
        chance = predictive_power(
            np.array(mean), np.array(sd), np.array(float(n)), budget=budget, level=np.array(level),
            level_equivalence=np.array(level), margin=np.array(margin), test_ratio=np.array(0.0),
        )  # fmt: skip
        # The predictive law: a draw of the true mean given the data (t), then of the seeds that are left.
        # The rule takes the standard deviation as it is, and so does this check.
        centre = mean + sd / math.sqrt(n) * rng.normal(size=200_000) / np.sqrt(rng.chisquare(n - 1, 200_000) / (n - 1))
        scale = (centre - mean) / (sd / math.sqrt(n))
        later = mean + sd * math.sqrt(1 / n - 1 / budget) * scale
        error = sd / math.sqrt(budget)
        different = np.abs(later) > stats.t.isf(level / 2, budget - 1) * error
        equivalent = np.abs(later) + stats.t.isf(level, budget - 1) * error < margin
        seen = float((different | equivalent).mean())
        both = float((different & equivalent).mean())
        assert float(chance) == pytest.approx(min(1.0, seen + both), abs=0.006)


def test_no_spread_or_no_seeds_leave_no_chance():
    def chance(mean, sd, n):
        one = np.array(1.0)
        return float(
            predictive_power(
                mean * one, sd * one, n * one, budget=30, level=0.01 * one, level_equivalence=0.01 * one,
                margin=0.01 * one, test_ratio=0 * one,
            )
        )  # fmt: skip

    assert chance(0.0, 0.0, 5) == 0
    assert chance(0.5, 0.0, 5) == 1  # the sign-flip p of 30 equal differences is below any level
    assert chance(math.nan, math.nan, 1) == 0
    assert chance(0.5, 0.01, 5) > 0.999


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 0.6), st.integers(1, 6))
def test_giving_up_only_takes_claims_away(seed, futility, m):
    rng = np.random.default_rng(seed)
    rows = list(rng.normal(rng.normal(0, 0.01, (m, 1)), rng.uniform(0.002, 0.03, (m, 1)), (m, 30)))
    options = {"looks": LOOKS, "margin": 0.01, "spending": "pocock"}
    stubborn, willing = decide(rows, **options), decide(rows, **options, futility=futility)
    for never, some in zip(stubborn.comparisons, willing.comparisons, strict=True):
        assert not (some.different and not never.different and not never.equivalent)
        if some.decision == "undecided" and some.look < len(LOOKS):
            assert some.reason.startswith("given up")


def test_why_nothing_was_decided_is_said():
    flat = decide([np.full(30, 0.3)], looks=LOOKS, margin=0.01, futility=0.1).comparisons[0]
    assert (flat.decision, flat.reason) == ("different", "")
    failed = decide([np.full(30, np.nan)], looks=LOOKS, margin=0.01, futility=0.1).comparisons[0]
    assert "fewer than two seeds" in failed.reason
    noise = np.random.default_rng(1).normal(0.009, 0.05, 30)
    spent = decide([noise], looks=LOOKS, margin=0.01).comparisons[0]
    assert spent.reason == "the budget is spent"
    with pytest.raises(UsageError, match="futility=1"):
        decide([noise], looks=LOOKS, futility=1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.001, 0.01, 0.05, 0.2]))
def test_repeated_p_is_on_the_same_side_as_the_procedure(seed, alpha):
    rng = np.random.default_rng(seed)
    row = rng.normal(rng.uniform(-0.02, 0.02), 0.02, 30)
    p = repeated_p([t_p(row[:n]) for n in LOOKS], LOOKS)
    if abs(p / alpha - 1) > 0.01:  # the table is read by interpolation
        assert (p <= alpha) == decide([row], looks=LOOKS, alpha=alpha, spending="pocock").comparisons[0].different


def test_repeated_p_inverts_the_levels():
    for alpha in (1e-6, 0.003, 0.05, 0.3):
        levels = nominal_levels(LOOKS, alpha, "pocock")
        for look in (0, 4, len(LOOKS) - 1):
            p = [math.nan] * look + [levels[look]]
            assert repeated_p(p, LOOKS) == pytest.approx(alpha, rel=5e-3)
    assert repeated_p([0.9], LOOKS) == 1.0
    assert math.isnan(repeated_p([math.nan], LOOKS))


@pytest.mark.parametrize("noise", list(NOISE))
def test_the_rule_of_automatic_seeds_keeps_its_error_rates(noise):
    limit = 0.05 + 3 * monte_carlo_error(0.05, 1000)
    rule = {"looks": LOOKS, "spending": "pocock", "futility": 0.1, "benchmarks": 100}
    assert sequential_rates(noise, margin=math.nan, **rule).false_different <= limit
    edge = sequential_rates(noise, offsets=(0.0, 0.0, 0.01, 0.01, 0.01), **rule)
    assert edge.false_equivalent <= limit
    assert edge.interval_miss <= limit


def test_giving_up_saves_cells():
    rule = {"looks": LOOKS, "spending": "pocock", "benchmarks": 40, "margin": 0.002}
    never, some = sequential_rates(**rule), sequential_rates(**rule, futility=0.1)
    assert some.cells < 0.8 * never.cells
    assert some.false_different <= never.false_different
