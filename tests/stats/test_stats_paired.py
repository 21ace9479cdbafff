import itertools
import math

import numpy as np
import pytest
import scipy.stats as sps
from hypothesis import given
from hypothesis import strategies as st

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.stats import PAIRED_TESTS, adjust, corrected_interval, paired_test
from graphnetz.stats.paired import exact_signed_rank_p, hedges_factor, normal_signed_rank_p
from graphnetz.testing import check_paired_test

grid = st.integers(0, 40).map(lambda i: i / 1000)
pairs = st.lists(st.tuples(grid, grid), min_size=3, max_size=12)


def brute_force_wilcoxon(d):
    """Two-sided p by walking through all sign assignments of the non-zero mid-ranks."""
    d = np.asarray([v for v in d if v != 0])
    ranks = sps.rankdata(np.abs(d))
    observed = abs((np.sign(d) * ranks).sum())
    signs = np.array(list(itertools.product([-1, 1], repeat=d.size)))
    return (np.abs(signs @ ranks) >= observed - 1e-9).mean()


@pytest.mark.parametrize("n", [2, 5, 10, 30])
def test_paired_t_agrees_with_scipy(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(0.8, 0.02, n), rng.normal(0.79, 0.02, n)
    got, want = paired_test(a, b, level=0.9), sps.ttest_rel(a, b)
    assert (got.statistic, got.p) == pytest.approx((want.statistic, want.pvalue), rel=1e-9)
    assert (got.low, got.high) == pytest.approx(tuple(want.confidence_interval(0.9)), rel=1e-9)
    assert got.dz == pytest.approx((a - b).mean() / (a - b).std(ddof=1))
    assert (got.n, got.n_used, got.smallest_p, got.reason) == (n, n, 0.0, "")


@pytest.mark.parametrize("n", [3, 5, 10, 14, 20, 35, 50])
def test_wilcoxon_without_ties_agrees_with_scipys_exact_null(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=n), rng.normal(0.3, 1, size=n)
    got, want = paired_test(a, b, method="wilcoxon"), sps.wilcoxon(a, b, method="exact")
    assert got.p == pytest.approx(want.pvalue, rel=1e-9)
    total = n * (n + 1) / 2
    assert (total - abs(got.statistic)) / 2 == pytest.approx(want.statistic)
    assert got.smallest_p == pytest.approx(2.0 ** (1 - n))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_wilcoxon_with_ties_and_zeros_agrees_with_brute_force(d):
    got = paired_test(np.array(d) / 8, np.zeros(len(d)), method="wilcoxon")
    if not any(d):
        assert (got.p, got.statistic, got.n_used, got.reason) == (1.0, 0.0, 0, "")
        return
    assert got.p == pytest.approx(brute_force_wilcoxon(d), abs=1e-12)
    assert got.n_used == sum(v != 0 for v in d)
    assert got.smallest_p == pytest.approx(min(1.0, 2.0 ** (1 - got.n_used)))
    assert got.p >= got.smallest_p - 1e-15


@pytest.mark.parametrize("ties", [False, True])
def test_wilcoxon_above_the_exact_limit_agrees_with_scipys_corrected_normal(ties):
    rng = np.random.default_rng(5)
    d = rng.normal(0.2, 1, size=70)
    if ties:
        d = np.round(d * 4) / 4
    got = paired_test(d, np.zeros(70), method="wilcoxon")
    want = sps.wilcoxon(d, method="asymptotic", correction=True)
    assert got.p == pytest.approx(want.pvalue, rel=1e-9)


def test_the_two_nulls_meet_where_they_change_over():
    ranks = np.arange(1, 51.0)
    for extreme in (800.0, 850.0, 950.0):
        exact, normal = exact_signed_rank_p(ranks, extreme), normal_signed_rank_p(ranks, extreme)
        assert normal == pytest.approx(exact, abs=1e-3)


def test_rounding_noise_breaks_neither_ties_nor_zeros():
    a = np.array([0.81, 0.82, 0.83, 0.84, 0.7 + 0.1])
    b = np.array([0.80, 0.81, 0.82, 0.83, 0.8])
    assert len(set((a - b)[:4])) > 1  # the trap is there
    got = paired_test(a, b, method="wilcoxon")
    assert got.n_used == 4
    assert got.p == pytest.approx(2 / 16)
    assert abs(got.statistic) == 10
    same = paired_test(a[:4], b[:4], method="t")
    assert math.isnan(same.p)
    assert "standard deviation is 0" in same.reason


@given(pairs)
def test_sign_test_agrees_with_scipy(values):
    a, b = np.array(values).T
    got = paired_test(a, b, method="sign")
    up, down = int((a > b).sum()), int((a < b).sum())
    if up + down == 0:
        assert got.p == 1.0
        return
    assert got.p == pytest.approx(sps.binomtest(up, up + down).pvalue, rel=1e-9)
    assert got.n_used == up + down


@pytest.mark.parametrize("method", ["t", "wilcoxon", "sign", "corrected_t"])
def test_identical_columns_have_p_one_and_no_effect(method):
    a = np.array([0.7 + 0.1, 0.81, 0.1 + 0.2])
    got = paired_test(a, [0.8, 0.81, 0.3], method=method, test_ratio=0.1)
    assert (got.p, got.dz, got.hedges_g, got.mean_diff, got.low, got.high) == (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert got.reason == ""
    apart = paired_test(a, a - 0.3, method="t")
    assert math.isnan(apart.p)
    assert math.isnan(apart.dz)
    assert "standard deviation is 0" in apart.reason


def test_smallest_reachable_p_is_the_published_one():
    for n, smallest in ((10, 1 / 512), (5, 0.0625)):
        for method in ("wilcoxon", "sign"):
            got = paired_test(np.arange(1.0, n + 1), np.zeros(n), method=method)
            assert got.p == got.smallest_p == smallest
    assert adjust([1 / 512] * 6)[0] == pytest.approx(0.01171875)


@pytest.mark.parametrize("n", [3, 4, 10, 30])
def test_hedges_g_is_unbiased(n):
    # The mean of the noncentral t is known in closed form: dz = t / sqrt(n).
    for delta in (0.2, 1.0, -0.7):
        expected_dz = sps.nct.mean(n - 1, delta * math.sqrt(n)) / math.sqrt(n)
        assert hedges_factor(n - 1) * expected_dz == pytest.approx(delta, rel=1e-9)
    assert math.isnan(hedges_factor(1))


def test_corrected_t_uses_the_wider_factor_and_needs_the_ratio():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.8, 0.02, 10), rng.normal(0.78, 0.02, 10)
    d = a - b
    got = paired_test(a, b, method="corrected_t", test_ratio=0.125)
    t = d.mean() / math.sqrt((0.1 + 0.125) * d.var(ddof=1))
    assert got.statistic == pytest.approx(t)
    assert got.p == pytest.approx(2 * sps.t.sf(abs(t), 9), rel=1e-9)
    around = corrected_interval(d, 0.125)
    assert (got.low, got.high) == pytest.approx((around.low, around.high))
    assert got.p > paired_test(a, b).p
    unknown = paired_test(a, b, method="corrected_t")
    assert math.isnan(unknown.p)
    assert math.isnan(unknown.low)
    assert "n_test / n_train" in unknown.reason
    assert paired_test(a, b, method="t", test_ratio=0.125) == paired_test(a, b)


@given(pairs, st.sampled_from(["t", "wilcoxon", "sign", "corrected_t"]), st.randoms(use_true_random=False))
def test_swapping_models_flips_signs_and_shuffling_seeds_changes_nothing(values, method, random):
    a, b = np.array(values).T
    forward = paired_test(a, b, method=method, test_ratio=0.1)
    backward = paired_test(b, a, method=method, test_ratio=0.1)
    assert forward.p == pytest.approx(backward.p, rel=1e-9, nan_ok=True)
    assert forward.mean_diff == pytest.approx(-backward.mean_diff)
    assert (forward.low, forward.high) == pytest.approx((-backward.high, -backward.low), nan_ok=True)
    assert forward.dz == pytest.approx(-backward.dz, nan_ok=True)
    order = list(range(len(a)))
    random.shuffle(order)
    shuffled = paired_test(a[order], b[order], method=method, test_ratio=0.1)
    assert shuffled.p == pytest.approx(forward.p, rel=1e-9, nan_ok=True)
    assert shuffled.statistic == pytest.approx(forward.statistic, rel=1e-9, nan_ok=True)


@given(pairs, st.sampled_from(["t", "wilcoxon", "sign", "corrected_t"]), st.sampled_from([0.5, 100.0, 3.7]))
def test_p_does_not_depend_on_the_unit_of_the_metric(values, method, scale):
    a, b = np.array(values).T
    base = paired_test(a, b, method=method, test_ratio=0.1)
    scaled = paired_test(scale * a, scale * b, method=method, test_ratio=0.1)
    assert scaled.p == pytest.approx(base.p, rel=1e-6, nan_ok=True)
    assert scaled.hedges_g == pytest.approx(base.hedges_g, rel=1e-6, nan_ok=True)


def test_absent_pairs_and_short_inputs():
    got = paired_test([1.0, math.nan, 2.0, 4.0], [0.0, 1.0, math.nan, 1.0])
    assert got.n == 2
    assert got.mean_diff == 2.0
    empty = paired_test([math.nan], [1.0])
    assert empty.n == 0
    assert empty.reason
    one = paired_test([1.0], [0.5])
    assert math.isnan(one.p)
    assert "one shared seed" in one.reason
    with pytest.raises(UsageError, match="equal length"):
        paired_test([1.0, 2.0], [1.0])


def test_an_unknown_method_is_named_as_documented():
    with pytest.raises(UnknownNameError, match=r"^Unknown pairwise method 'wilcoxn'\. Did you mean 'wilcoxon'"):
        paired_test([1.0, 2.0], [2.0, 1.0], method="wilcoxn")


@pytest.mark.parametrize("name", list(PAIRED_TESTS))
def test_contract_of_every_paired_test(name):
    check_paired_test(name)


TABLE_2 = {  # Holm-adjusted paired t and Wilcoxon p-values of the GraphNetz paper (da Costa and Modenesi), Table 2
    "Cora": [(5.23e-4, 0.0117), (0.341, 0.547), (0.778, 0.713), (3.58e-5, 0.0117), (1.49e-4, 0.0117), (0.176, 0.264)],
    "CiteSeer": [
        (1.39e-4, 0.0117),
        (2.74e-4, 0.0117),
        (9.06e-6, 0.0117),
        (0.245, 0.164),
        (5.12e-5, 0.0117),
        (0.245, 0.164),
    ],
    "PubMed": [(1.08e-4, 0.0117), (0.444, 0.5), (0.48, 0.574), (1.93e-6, 0.0117), (7.14e-7, 0.0117), (0.0818, 0.0703)],
}


@pytest.mark.parametrize("task", list(TABLE_2))
def test_published_wilcoxon_column_is_a_holm_family_of_six_over_exact_ten_seed_p_values(task):
    """Each entry is Holm's multiplier times a whole number of sign patterns out of 2^10, as printed."""
    column = np.array([w for _, w in TABLE_2[task]])
    raw = np.empty(6)
    for place, index in enumerate(np.argsort(column, kind="stable")):
        raw[index] = round(column[index] / (6 - place) * 512) / 512
    assert raw.min() == paired_test(np.arange(1.0, 11), np.zeros(10), method="wilcoxon").p
    assert [f"{p:.3g}" for p in adjust(raw)] == [f"{p:.3g}" for p in column]


@pytest.mark.parametrize("task", list(TABLE_2))
def test_published_calls_agree_between_the_two_tests(task):
    t, w = (np.array(column) <= 0.05 for column in zip(*TABLE_2[task], strict=True))
    assert (t == w).all()


def test_table_two_in_structure():
    """Three tasks x four models x ten seeds give 18 rows; clear gaps reach 0.0117 on the Wilcoxon side."""
    rng = np.random.default_rng(4)
    for _task in range(3):
        scores = rng.normal(0, 0.002, (4, 10)) + np.array([0.79, 0.83, 0.81, 0.77])[:, None]
        rows = [(paired_test(scores[i], scores[j]), paired_test(scores[i], scores[j], method="wilcoxon"))
                for i, j in itertools.combinations(range(4), 2)]  # fmt: skip
        assert len(rows) == 6
        wilcoxon = adjust([w.p for _, w in rows])
        np.testing.assert_allclose(wilcoxon, 6 / 512)
        assert (adjust([t.p for t, _ in rows]) <= 0.05).all()
