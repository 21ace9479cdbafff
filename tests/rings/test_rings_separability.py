"""Separability: statistics against scipy, nulls against enumeration, calibration under the null."""

import warnings
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.rings import RingsWarning, separability
from graphnetz.rings import _resampling as resampling
from graphnetz.rings._resampling import TwoSample
from graphnetz.rings.relation import order_groups
from graphnetz.rings.separability import adjust

MODES = ("o", "eg", "cg", "rg", "cf", "rf")
grid = st.lists(st.integers(0, 6), min_size=1, max_size=9).map(lambda v: np.array(v, dtype=float))


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RingsWarning)
        return separability(*args, **kwargs)


def all_labels(n_a, n_b):
    rows = np.zeros((0, n_a + n_b), dtype=np.int8)
    for chosen in combinations(range(n_a + n_b), n_a):
        row = np.zeros((1, n_a + n_b), dtype=np.int8)
        row[0, list(chosen)] = 1
        rows = np.concatenate([rows, row])
    return rows


@given(a=grid, b=grid)
@settings(max_examples=80, deadline=None)
def test_statistics_equal_scipy_with_ties(a, b):
    sample = TwoSample.of(a, b)
    assert resampling.ks_statistic(sample) == pytest.approx(stats.ks_2samp(a, b).statistic)
    ranks = stats.rankdata(np.concatenate([a, b]))
    count = resampling.ranksum_counts(sample, sample.is_a[None])[0]
    assert count == pytest.approx(2 * abs(ranks[: len(a)].sum() - len(a) * (len(a) + len(b) + 1) / 2))


def test_standardised_ranksum_equals_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=12), rng.normal(0.5, size=15)
    z = resampling.ranksum_statistic(TwoSample.of(a, b))
    assert z == pytest.approx(stats.ranksums(a, b).statistic)


@pytest.mark.parametrize("name", ["ks", "ranksum"])
@pytest.mark.parametrize("seed", range(4))
def test_p_converges_to_full_enumeration(name, seed):
    rng = np.random.default_rng(seed)
    a, b = np.round(rng.normal(0, 1, 5), 1 - seed % 2), np.round(rng.normal(0.8, 1, 6), 1 - seed % 2)
    sample = TwoSample.of(a, b)
    count = resampling.COUNTS[name]
    null = count(sample, all_labels(5, 6))
    exact = (null >= count(sample, sample.is_a[None])[0]).mean()
    if name == "ks" and len(np.unique(np.r_[a, b])) == 11:
        assert exact == pytest.approx(stats.ks_2samp(a, b, method="exact").pvalue)
    p = quiet({"a": a, "b": b}, statistic=name, permutations=40_000).comparisons[0].p
    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 40_000) + 1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_signed_rank_is_exact(seed):
    rng = np.random.default_rng(seed)
    d = np.round(rng.normal(0.4, 1, 8), 0 if seed % 2 else 3)
    value, p, kept = resampling.signed_rank_p(d)
    nonzero = d[d != 0]
    ranks = stats.rankdata(np.abs(nonzero))
    sums = np.array([np.dot(signs, ranks) for signs in product((0, 1), repeat=len(nonzero))])
    observed = ranks[nonzero > 0].sum()
    centre = ranks.sum() / 2
    assert value == observed
    assert kept == len(nonzero)
    assert p == pytest.approx((np.abs(sums - centre) >= abs(observed - centre) - 1e-9).mean())
    if len(set(np.abs(nonzero))) == len(nonzero) == len(d):
        assert p == pytest.approx(stats.wilcoxon(d, method="exact").pvalue)


def test_signed_rank_without_differences_is_undefined():
    result = quiet({"a": [1.0, 2, 3], "b": [1.0, 2, 3]}, statistic="signedrank")
    assert np.isnan(result.comparisons[0].p)
    assert result.groups == (("a", "b"),)


def test_bootstrap_interval_is_the_percentile_of_mean_differences():
    rng = np.random.default_rng(3)
    a, b = rng.normal(1, 1, 30), rng.normal(0, 1, 25)
    item = separability({"a": a, "b": b}, statistic="bootstrap", permutations=20_000).comparisons[0]
    reference = stats.bootstrap(
        (a, b),
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        confidence_level=0.99,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert item.low == pytest.approx(reference.low, abs=0.05)
    assert item.high == pytest.approx(reference.high, abs=0.05)


def test_relation_of_clear_cases():
    rng = np.random.default_rng(0)
    centre = dict(zip(MODES, (5.0, 0.0, 3.0, 3.0, -4.0, -8.0), strict=True))
    scores = {mode: rng.normal(value, 0.3, 40) for mode, value in centre.items()}
    for statistic in ("ks", "ranksum", "signedrank", "bootstrap"):
        result = separability(scores, statistic=statistic)
        assert result.relation == "o > cg/rg > eg > cf > rf"
    less = separability(scores, greater_is_better=False)
    assert less.relation == "rf < cf < eg < cg/rg < o"
    table = result.pairwise
    assert list(table.columns[:6]) == ["a", "b", "statistic", "p", "p_adj", "separable"]
    assert len(table) == 15
    assert table.separable.sum() == 14


def test_groups_are_chains_of_what_is_not_shown():
    above = [("d", "a"), ("d", "b"), ("d", "c"), ("a", "c")]  # a over c is shown, but b is told from neither
    assert order_groups("abcd", above) == (("d",), ("a", "b", "c"))
    assert order_groups("abcd", [*above, ("a", "b"), ("b", "c")]) == (("d",), ("a",), ("b",), ("c",))


def test_corrections_against_statsmodels():
    from statsmodels.stats.multitest import multipletests

    p = [0.001, 0.04, 0.02, 0.6, 0.011]
    np.testing.assert_allclose(adjust(p, "bonferroni"), multipletests(p, method="bonferroni")[1])
    np.testing.assert_allclose(adjust(p, "holm"), multipletests(p, method="holm")[1])
    assert adjust(p, "none") == p
    assert np.isnan(adjust([0.01, float("nan")], "holm")[1])


def test_it_says_when_alpha_cannot_be_reached():
    scores = {mode: np.arange(7) + 10.0 * i for i, mode in enumerate(MODES)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert separability(scores, permutations=1_500).notes == ()
    with pytest.warns(RingsWarning, match="at least 1500"):
        few = separability(scores, permutations=1_499)
    assert not any(few.separable)
    assert not few.reachable
    with pytest.warns(RingsWarning, match=r"smallest possible p is 0\.0022"):
        short = separability({mode: values[:6] for mode, values in scores.items()})
    assert not any(short.separable)
    with pytest.warns(RingsWarning, match="smallest possible p"):
        separability(scores, blocks=list(range(7)))
    with pytest.warns(RingsWarning, match="too narrow"):
        separability(scores, statistic="bootstrap")


def test_failed_runs_are_dropped_and_said():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 1, 30), rng.normal(5, 1, 30)
    a[:2] = np.nan
    with pytest.warns(RingsWarning, match="2 runs"):
        result = separability({"a": a, "b": b})
    assert result.runs == {"a": 28, "b": 30}
    with pytest.warns(RingsWarning):
        paired = separability({"a": a, "b": b}, statistic="signedrank")
    assert paired.runs == {"a": 28, "b": 28}


def test_same_seed_same_answer():
    rng = np.random.default_rng(0)
    scores = {mode: rng.normal(size=15) for mode in ("o", "eg", "rg")}
    first, again = quiet(scores), quiet(scores)
    other = quiet(scores, seed=1)
    assert [c.p for c in first.comparisons] == [c.p for c in again.comparisons]
    assert [c.p for c in first.comparisons] != [c.p for c in other.comparisons]


def test_clear_errors():
    with pytest.raises(UnknownNameError, match="Did you mean 'ks'"):
        separability({"a": [1.0], "b": [2.0]}, statistic="kss")
    with pytest.raises(UnknownNameError, match="correction"):
        separability({"a": [1.0], "b": [2.0]}, correction="bonf")
    with pytest.raises(UsageError, match="at least two"):
        separability({"a": [1.0]})
    with pytest.raises(UsageError, match="one label per run"):
        separability({"a": [1.0, 2], "b": [2.0, 3]}, blocks=[1])
    with pytest.raises(UsageError, match="equally many"):
        separability({"a": [1.0, 2], "b": [2.0]}, statistic="signedrank")
    with pytest.raises(UsageError, match="No finished run"):
        separability({"a": [float("nan")], "b": [2.0]})


def null_rates(draw, statistic, *, blocks=None, replicates=400, permutations=399, levels=(0.05, 0.2)):
    """Rejection rates of one comparison under the null."""
    p = np.array(
        [
            quiet(draw(seed), statistic=statistic, permutations=permutations, blocks=blocks, seed=seed).comparisons[0].p
            for seed in range(replicates)
        ]
    )
    return [(level, (p <= level).mean()) for level in levels]


def within(rate, level, replicates=400):
    return rate <= level + 3 * np.sqrt(level * (1 - level) / replicates)


@pytest.mark.parametrize("statistic", ["ks", "ranksum", "signedrank"])
@pytest.mark.parametrize("kind", ["normal", "tied", "skewed"])
def test_rejections_under_the_null_stay_below_the_level(statistic, kind):
    def draw(seed):
        rng = np.random.default_rng([seed, len(kind)])
        values = {"normal": rng.normal(size=(2, 10)), "skewed": rng.exponential(size=(2, 10))}
        values["tied"] = np.round(values["normal"] * 2) / 38
        return dict(zip("ab", values[kind], strict=True))

    for level, rate in null_rates(draw, statistic):
        assert within(rate, level), (level, rate)
        assert rate > 0.2 * level or kind == "tied"


@pytest.mark.parametrize("statistic", ["ks", "ranksum"])
def test_clustered_runs(statistic):
    """Runs share folds across modes: free permutation is conservative, swapping within runs is exact."""

    def draw(seed):
        rng = np.random.default_rng([seed, 5])
        fold = np.repeat(rng.normal(size=5) * 2, 4)
        return {mode: fold + rng.normal(size=20) for mode in "ab"}

    runs = [(fold, seed) for fold in range(5) for seed in range(4)]
    for level, rate in null_rates(draw, statistic):
        assert within(rate, level)
    blocked = null_rates(draw, statistic, blocks=runs)
    for level, rate in blocked:
        assert within(rate, level)
    level, rate = blocked[1]
    assert rate > level / 3  # and not merely silent


def test_own_fold_effects_need_whole_folds_to_be_exchanged():
    """With effects of (mode, fold), runs of a fold are one observation: only exchanging folds keeps the level."""
    folds = np.repeat(np.arange(12), 4)

    def draw(seed):
        rng = np.random.default_rng([seed, 6])
        return {mode: np.repeat(rng.normal(size=12), 4) + rng.normal(size=48) * 0.5 for mode in "ab"}

    rates = {}
    for exchange in ("runs", "blocks"):
        p = [
            quiet(draw(s), statistic="ranksum", permutations=199, blocks=folds, exchange=exchange, seed=s)
            .comparisons[0]
            .p
            for s in range(300)
        ]
        rates[exchange] = np.mean(np.array(p) <= 0.05)
    assert within(rates["blocks"], 0.05, 300)
    assert rates["blocks"] > 0.01
    assert rates["runs"] > 0.1
    with pytest.warns(RingsWarning, match="smallest possible p"):
        separability(draw(0), blocks=np.repeat(np.arange(4), 12), exchange="blocks")
    with pytest.raises(UsageError, match="together with blocks"):
        separability(draw(0), exchange="blocks")
    with pytest.raises(UsageError, match="equally many"):
        separability({"a": [1.0, 2, 3], "b": [1.0, 2, 4]}, blocks={"a": [0, 0, 1], "b": [0, 1, 1]}, exchange="blocks")


def test_swapping_within_runs_sees_small_paired_differences():
    rng = np.random.default_rng(0)
    fold = np.repeat(rng.normal(size=5) * 5, 6)
    a = fold + rng.normal(size=30) * 0.1
    b = fold + rng.normal(size=30) * 0.1 - 0.3
    free = quiet({"a": a, "b": b}, statistic="ranksum").comparisons[0].p
    swapped = quiet({"a": a, "b": b}, statistic="ranksum", blocks=list(range(30))).comparisons[0].p
    assert swapped < 0.001 < free


def test_blocks_of_several_runs_permute_inside_only():
    rng = np.random.default_rng(1)
    block_a, block_b = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1])
    rows = resampling.blocked_labels(block_a, block_b, size=500, rng=rng)
    blocks = np.r_[block_a, block_b]
    assert (rows[:, blocks == 0].sum(1) == 2).all()
    assert (rows[:, blocks == 1].sum(1) == 3).all()
    assert abs(rows[:, 0].mean() - 2 / 3) < 0.1
    runs, blocks = {"a": rng.normal(size=5), "b": rng.normal(size=3)}, {"a": [0, 0, 1, 1, 1], "b": [0, 1, 1]}
    with pytest.raises(UsageError, match="exchange='runs'"):
        quiet(runs, blocks=blocks)
    result = quiet(runs, blocks=blocks, exchange="runs")
    assert 0 < result.comparisons[0].p <= 1


def test_family_wise_error_with_fifteen_pairs():
    hits = 0
    for seed in range(150):
        rng = np.random.default_rng([seed, 77])
        scores = {mode: rng.normal(size=12) for mode in MODES}
        hits += any(quiet(scores, alpha=0.1, permutations=400, seed=seed).separable)
    assert within(hits / 150, 0.1, 150)
