import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from calibration.simulate import monte_carlo_error
from calibration.simulate_sequential import NOISE, look_p, peeking_rates, sequential_rates
from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.records.seed_rule import SeedRule
from graphnetz.stats import SPENDING, adjust, decide, nominal_levels, paired_test, repeated_interval, tost
from graphnetz.stats._common import RELATIVE_TOLERANCE
from graphnetz.stats.boundaries import _beta_nodes, look_levels, unit_means
from graphnetz.stats.repeated import repeated_p
from graphnetz.stats.sequential import level_table, step_down, t_p

LOOKS = (5, 10, 15, 20, 25, 30)

# Lan and DeMets (1983) boundaries for two-sided 0.05, five equally spaced looks, known variance, as
# tabulated by Reboussin et al. (2000).
PUBLISHED = {
    "obrien_fleming": [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
    "pocock": [2.4380, 2.4268, 2.4101, 2.3966, 2.3859],
}


@pytest.mark.parametrize("name", list(PUBLISHED))
def test_with_many_seeds_the_levels_become_the_published_boundaries(name):
    levels = nominal_levels(tuple(200 * k for k in range(1, 6)), 0.05, name)
    np.testing.assert_allclose([-special.ndtri(level / 2) for level in levels], PUBLISHED[name], atol=2e-3)


def crossing_share(looks, levels, sides, replicates=60_000):
    x = np.random.default_rng(11).normal(size=(replicates, looks[-1]))
    crossed = np.zeros(replicates, dtype=bool)
    shares = []
    for n, level in zip(looks, levels, strict=True):
        t = x[:, :n].mean(axis=1) / x[:, :n].std(axis=1, ddof=1) * math.sqrt(n)
        p = 2 * special.stdtr(n - 1, -np.abs(t)) if sides == 2 else special.stdtr(n - 1, t)
        crossed |= p <= level
        shares.append(crossed.mean())
    return shares


@pytest.mark.parametrize("looks", [LOOKS, (3, 4, 5), (4, 6, 9), (5, 30)])
@pytest.mark.parametrize("sides", [1, 2])
def test_t_tests_spend_what_was_planned_at_every_look(looks, sides):
    """Brute-force witness for the Markov chain: steps of one, two, three and many seeds."""
    got = crossing_share(looks, nominal_levels(looks, 0.05, "pocock", sides), sides)
    for share, n in zip(got, looks, strict=True):
        planned = SPENDING["pocock"](0.05, n / looks[-1])
        assert share == pytest.approx(planned, abs=4 * monte_carlo_error(planned, 60_000))


def test_textbook_bounds_would_not_hold_for_t_statistics():
    known_variance = nominal_levels(tuple(20 * n for n in LOOKS), 0.05, "pocock")
    as_z = []
    x = np.random.default_rng(3).normal(size=(20_000, LOOKS[-1]))
    for n, level in zip(LOOKS, known_variance, strict=True):
        t = x[:, :n].mean(axis=1) / x[:, :n].std(axis=1, ddof=1) * math.sqrt(n)
        as_z.append(2 * special.ndtr(-np.abs(t)) <= level)
    assert np.any(as_z, axis=0).mean() > 0.1  # z-bounds on t statistics


@pytest.mark.parametrize(("a", "b"), [(2.5, 2.5), (15.0, 1.0), (1.5, 1.0), (2000.0, 1000.0), (0.5, 3.0), (7.0, 0.5)])
def test_quadrature_has_all_moments_of_the_beta_law_that_a_gauss_rule_has(a, b):
    nodes, weights = _beta_nodes(a, b, 6)
    moments = [float(weights @ nodes**k) for k in range(12)]
    assert moments == pytest.approx([1.0, *(float(stats.beta(a, b).moment(k)) for k in range(1, 12))], rel=1e-9)


@pytest.mark.parametrize("name", list(SPENDING))
@pytest.mark.parametrize("sides", [1, 2])
def test_contract_every_spending_rule_has_levels_that_grow_with_alpha(name, sides):
    """The condition of Maurer and Bretz (2013) for handing alpha on: no level may fall when alpha grows."""
    alphas = [0.05 / left for left in range(60, 0, -1)]
    table = np.array([nominal_levels(LOOKS, alpha, name, sides) for alpha in alphas])
    assert (np.diff(table, axis=0) >= 0).all()
    assert (table <= np.array(alphas)[:, None] + 1e-12).all()
    assert SPENDING[name](0.05, 1.0) == pytest.approx(0.05)
    assert nominal_levels((7,), 0.05, name, sides)[0] == pytest.approx(0.05, rel=2e-3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.2))
def test_a_single_look_is_ordinary_holm(p, alpha):
    levels = alpha / np.arange(1, len(p) + 1)
    got = step_down(np.array([p]), levels, np.zeros(1, dtype=np.intp))[0]
    adjusted = adjust(p)
    clear = np.abs(adjusted - alpha) > 1e-9
    assert (got == (adjusted <= alpha))[clear].all()


def test_a_rejection_hands_its_share_on():
    levels = level_table(LOOKS, 2, 0.05, "pocock", 2)
    between = (levels[1, 0] + levels[1, 1]) / 2  # too large for alpha / 2, small enough for alpha
    alone = step_down(np.array([[between, 0.9]]), levels[1], np.zeros(1, dtype=np.intp))
    after = step_down(np.array([[between, math.nan]]), levels[1], np.ones(1, dtype=np.intp))
    assert not alone.any()
    assert after.tolist() == [[True, False]]


def benchmark(seed=0, n=30, sd=0.004):
    rng = np.random.default_rng(seed)
    return [rng.normal(shift, sd, n) for shift in (0.0, 0.002, 0.02, -0.03)]


def test_decisions_are_what_single_tests_say_at_their_looks():
    rows = benchmark()
    got = decide(rows, looks=LOOKS, margin=0.01, spending="pocock")
    assert [item.decision for item in got.comparisons] == ["equivalent", "equivalent", "different", "different"]
    assert got.next_look is None
    assert got.open == ()
    for row, item in zip(rows, got.comparisons, strict=True):
        seen = row[: LOOKS[item.look - 1]]
        assert item.n == seen.size
        assert item.mean_diff == pytest.approx(seen.mean())
        assert item.p == pytest.approx(paired_test(seen, 0 * seen).p, rel=1e-9)
        assert item.p_equivalence == pytest.approx(tost(seen, 0 * seen, margin=0.01).p, rel=1e-9)
        assert item.different == (item.decision == "different")
        assert item.low < item.mean_diff < item.high
        if item.different:
            assert item.p <= item.level


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(0, 40))
def test_replaying_more_data_never_changes_a_decision(seed, extra):
    """Data that arrive after a comparison closed are ignored; earlier states are prefixes of later ones."""
    rows = benchmark(seed, n=30, sd=0.01)
    options = {"looks": LOOKS, "margin": 0.01, "spending": "pocock"}
    whole = decide(rows, **options)
    cut = min(30, 5 + extra)
    part = decide([row[:cut] for row in rows], **options)
    for early, late in zip(part.comparisons, whole.comparisons, strict=True):
        if early.decision in ("different", "equivalent"):
            assert early == late
        elif cut < 30:
            assert early.decision == "open"
            assert late.look >= early.look
    assert (part.next_look is None) == (not part.open)


def test_closed_comparisons_may_have_fewer_seeds():
    rows = benchmark()
    options = {"looks": LOOKS, "margin": 0.01, "spending": "pocock"}
    full = decide(rows, **options)
    short = [row[: LOOKS[item.look - 1]] for row, item in zip(rows, full.comparisons, strict=True)]
    assert decide(short, **options) == full


def test_families_are_separate_and_open_comparisons_ask_for_the_next_look():
    rows = benchmark()
    alone = decide(rows[:2], looks=LOOKS, margin=0.01)
    both = decide(rows, looks=LOOKS, margin=0.01, families=["cora", "cora", "mutag", "mutag"])
    assert both.comparisons[:2] == alone.comparisons
    early = decide([row[:7] for row in rows], looks=LOOKS)
    assert early.next_look == 10
    assert early.open == (0, 1, 2, 3)
    assert all(math.isinf(item.high) or item.high > item.low for item in early.comparisons)
    before = decide([row[:3] for row in rows], looks=LOOKS)
    assert before.next_look == 5
    assert {item.decision for item in before.comparisons} == {"open"}


def test_differences_without_spread():
    same, shift = np.zeros(30), np.full(30, 0.3)
    for margin in (None, 1e-9, 0.02):  # identical scores are equivalent within any margin, at the first look
        item = decide([same], looks=LOOKS, margin=margin, spending="pocock").comparisons[0]
        assert (item.decision, item.look, item.p) == ("equivalent", 1, 1.0)
    for spending in ("pocock", "obrien_fleming", "anytime"):
        item = decide([shift, -shift], looks=LOOKS, margin=0.02, spending=spending, futility=0.1).comparisons[0]
        levels = look_levels(LOOKS, 0.05 / 2, spending)
        first = next(n for n, level in zip(LOOKS, levels, strict=True) if 2.0 ** (1 - n) <= level)
        assert (item.decision, item.n, item.p) == ("different", first, 2.0 ** (1 - first))
    # 5 equal differences are not enough at a level of 0.01: 2 of 32 sign patterns are as far out.
    early = decide([shift[:5]], looks=LOOKS, spending="pocock").comparisons[0]
    assert (early.decision, early.p) == ("open", 0.0625)
    within = decide([np.full(30, 0.01)], looks=LOOKS, margin=0.02, spending="pocock").comparisons[0]
    assert within.equivalent
    assert within.n >= 10
    few = decide([shift[:5]], looks=(3, 5), futility=0.1).comparisons[0]
    assert (few.decision, few.look) == ("undecided", 1)
    assert "the same every time" in few.reason


def test_failed_seeds():
    row = benchmark()[2].copy()
    row[[1, 7]] = np.nan
    item = decide([row], looks=LOOKS, spending="pocock").comparisons[0]
    assert item.n == np.isfinite(row[: LOOKS[item.look - 1]]).sum()
    assert math.isnan(item.p_equivalence)


def test_repeated_interval_is_the_t_interval_of_its_level():
    d = benchmark()[2]
    mean, low, high = repeated_interval(d, 0.013)
    test = paired_test(d, 0 * d, level=1 - 0.013)
    assert (mean, low, high) == pytest.approx((test.mean_diff, test.low, test.high), rel=1e-9)
    assert repeated_interval(d, 0.0)[1:] == (-math.inf, math.inf)


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(UsageError, match="no schedule"):
        decide([[0.1] * 9], looks=(5, 5))
    with pytest.raises(UsageError, match="margin=0"):
        decide([[0.1] * 9], looks=(5, 9), margin=0.0)
    with pytest.raises(UsageError, match="one per comparison"):
        decide([[0.1] * 9], looks=(5, 9), families=["a", "b"])
    with pytest.raises(UnknownNameError, match="Did you mean 'pocock'"):
        decide([[0.1] * 9], looks=(5, 9), spending="pocok")


def test_simulators_use_the_product_p_values():
    d = np.random.default_rng(0).normal(0.01, 0.01, (4, 12))
    p, q = look_p(d, 10, 0.2, 0.02)
    for row, one, other in zip(d, p, q, strict=True):
        seen = row[:10]
        assert one == pytest.approx(paired_test(seen, 0 * seen, method="corrected_t", test_ratio=0.2).p, rel=1e-9)
        assert other == pytest.approx(tost(seen, 0 * seen, margin=0.02, test_ratio=0.2).p, rel=1e-9)


@pytest.mark.parametrize("noise", list(NOISE))
@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
def test_false_decisions_stay_under_alpha(noise, spending):
    limit = 0.05 + 3 * monte_carlo_error(0.05, 1500)
    null = sequential_rates(noise, spending=spending, margin=math.nan, benchmarks=150)
    assert null.false_different <= limit
    edge = sequential_rates(noise, spending=spending, offsets=(0.0, 0.0, 0.01, 0.01, 0.01), benchmarks=150)
    assert edge.false_equivalent <= limit
    assert edge.interval_miss <= limit


def test_peeking_without_rules_is_what_the_rules_prevent():
    rates = peeking_rates(benchmarks=300)
    assert rates["one pair, alpha at every look"] > 0.13
    assert rates["ordinary Holm at every look"] > 0.10
    assert rates["one pair, nominal levels"] <= 0.05 + 3 * monte_carlo_error(0.05, 3000)


def test_stopping_early_saves_cells_and_shared_splits_stay_safe():
    clear = sequential_rates(offsets=(0.0, 0.02, 0.04, 0.06, 0.08), spending="pocock", benchmarks=50)
    assert clear.cells < 0.35
    assert clear.decided > 0.99
    assert clear.agreement > 0.99
    shared = sequential_rates(correlation=0.1, margin=math.nan, spending="pocock", benchmarks=150)
    assert shared.false_different <= 0.05 + 3 * monte_carlo_error(0.05, 1500)


AUTO, ANYTIME = SeedRule(0.01), SeedRule(None, mode="anytime", first_look=3)


def folds(rule, benchmarks, **options):
    given = {"looks": rule.looks_of(5), "spending": rule.levels, "futility": 0.1, "margin": math.nan, "splits": 5}
    return sequential_rates(offsets=(0.0, 0.0), benchmarks=benchmarks, **given | options).false_different


def test_thirty_seeds_on_five_folds_are_five_folds():
    """Half of the variance belongs to the folds: counting seeds finds 22 % false differences."""
    naive = folds(AUTO, 400, looks=AUTO.looks, aware=False)
    assert naive == pytest.approx(0.22, abs=0.02)
    for rule in (AUTO, ANYTIME):
        for share in (0.0, 0.5, 0.95):
            assert folds(rule, 400, split_share=share) <= 0.05 + 3 * monte_carlo_error(0.05, 4000)


def test_units_are_means_per_fold_and_later_rounds_have_shares_of_their_own():
    d = np.random.default_rng(0).normal(0.0, 0.01, 20)
    d[7] = np.nan
    expected = [np.nanmean(d[fold::5]) for fold in range(5)]
    np.testing.assert_allclose(unit_means(d, 5), expected)
    np.testing.assert_array_equal(unit_means(d[:4], 5), d[:4])
    looks = AUTO.looks_of(5)
    assert looks == (5, 10, 20, 30)
    levels = look_levels(looks, 0.05, "pocock", splits=5)
    np.testing.assert_allclose(levels, [0.045, 0.0025, 0.00125, 0.00125], rtol=2e-3)
    assert sum(levels) == pytest.approx(0.05, rel=2e-3)
    assert AUTO.looks_of(20) == (5, 6, 7, 8, 9, 10, 12, 14, 16, 19, 20)
    assert SeedRule(0.01, max_seeds=8).looks_of(10) == (5, 6, 7, 8)
    assert sum(look_levels(ANYTIME.looks_of(5), 0.05, "anytime", splits=5)) < 0.05
    item = decide([d], looks=looks, spending="pocock", splits=5).comparisons[0]
    assert (item.look, item.seeds, item.n) == (3, 20, 5)
    assert item.p == pytest.approx(paired_test(np.array(expected), np.zeros(5)).p, rel=1e-9)
    assert repeated_p([0.9, 0.0025], looks, splits=5) == pytest.approx(0.05, rel=5e-3)
    with pytest.raises(UsageError, match="within a round over 5 splits"):
        decide([d], looks=(5, 12), splits=5)


def test_more_seeds_on_the_same_folds_do_not_decide_what_the_folds_leave_open():
    fold = np.array([0.02, -0.03, 0.05, 0.04, -0.01])
    d = np.tile(fold, 6) + np.random.default_rng(1).normal(0, 1e-4, 30)
    assert paired_test(d, 0 * d).p < 0.05  # seeds counted as folds
    item = decide([d], looks=AUTO.looks_of(5), spending="pocock", splits=5).comparisons[0]
    assert item.decision == "undecided"


def test_two_differences_have_a_test_and_equal_ones_count_as_zero_up_to_the_tolerance():
    assert t_p([1.0, 2.5]) == pytest.approx(stats.ttest_1samp([1.0, 2.5], 0.0).pvalue)
    assert t_p([RELATIVE_TOLERANCE] * 4) == 1.0
    assert t_p([1.5 * RELATIVE_TOLERANCE] * 4) == 2 / 2**4
