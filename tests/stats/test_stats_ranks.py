import itertools
import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
import scipy.stats as sps
from autorank import autorank
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from statsmodels.stats.libqsturng import qsturng

from graphnetz._core.errors import UsageError
from graphnetz.stats import (
    adjust,
    friedman,
    friedman_chi2,
    nemenyi,
    paired_test,
    rank_rows,
    rank_stability,
    wilcoxon_holm,
)

tables = hnp.arrays(np.float64, st.tuples(st.integers(2, 8), st.integers(2, 6)), elements=st.integers(0, 5).map(float))


@given(tables, st.data())
def test_ranks_agree_with_scipy_and_sum_to_the_triangle(values, data):
    n, k = values.shape
    better = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    ranks = rank_rows(values, better)
    want = [sps.rankdata(-row if up else row) for row, up in zip(values, better, strict=True)]
    np.testing.assert_array_equal(ranks, want)
    np.testing.assert_allclose(ranks.sum(axis=1), k * (k + 1) / 2)


def test_direction_belongs_to_the_task_and_rounding_is_no_order():
    assert rank_rows([[0.9, 0.8], [0.1, 0.3]], [True, False]).tolist() == [[1, 2], [1, 2]]
    assert rank_rows([[0.1 + 0.2, 0.3, 0.4]], [True]).tolist() == [[2.5, 2.5, 1]]
    assert rank_rows([[1e30, 0.1, 0.2]], [False]).tolist() == [[3, 1, 2]]  # a diverged model ties nobody


def test_published_mean_ranks_give_the_published_figures():
    means = [2.10, 2.40, 2.60, 2.90]
    chi2 = friedman_chi2(means, 10)
    assert chi2 == pytest.approx(2.04)
    assert round(float(sps.chi2.sf(chi2, 3)), 2) == 0.56
    result = nemenyi(means, 10)
    assert round(result.cd, 2) == 1.48
    assert result.cliques == ((0, 1, 2, 3),)
    # A rank table with those means: the omnibus itself must say the same.
    rng = np.random.default_rng(0)
    orders = np.array(list(itertools.permutations([1.0, 2.0, 3.0, 4.0])))
    while True:
        table = orders[rng.integers(0, 24, 10)]
        if np.allclose(table.mean(axis=0), means):
            break
    got = friedman(table)
    assert (got.chi2, got.p_chi2) == pytest.approx((2.04, 0.5643, ), abs=1e-3)  # fmt: skip
    assert got.chi2_ties == pytest.approx(got.chi2)
    assert not got.rejected
    assert got.decided_by == "permutation"


@given(tables)
def test_friedman_with_ties_agrees_with_scipy(values):
    n, k = values.shape
    ranks = rank_rows(values, [True] * n)
    got = friedman(ranks, permutations=1)
    if (ranks == ranks[:, :1]).all():
        assert math.isnan(got.p)
        assert "tie" in got.reason
        assert not got.rejected
        return
    if k >= 3:
        want = sps.friedmanchisquare(*(-values).T)
        assert got.chi2_ties == pytest.approx(want.statistic, abs=1e-9)
        assert got.p_ties == pytest.approx(want.pvalue, abs=1e-9)
    assert got.chi2 <= got.chi2_ties + 1e-9
    # Iman-Davenport is the two-way analysis of variance on the ranks.
    treatment = n * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum() / (k - 1)
    residual = ((ranks - ranks.mean(axis=0)) ** 2).sum() / ((n - 1) * (k - 1))
    if residual > 1e-9:
        assert got.f == pytest.approx(treatment / residual, rel=1e-6, abs=1e-9)
        assert got.p_f == pytest.approx(sps.f.sf(treatment / residual, k - 1, (n - 1) * (k - 1)), rel=1e-6, abs=1e-9)
    else:
        assert math.isinf(got.f)
        assert got.p_f == 0.0


def test_permutation_p_agrees_with_full_enumeration():
    values = np.array([[3.0, 1, 2], [3, 1, 2], [2, 1, 3], [3, 2, 2]])
    ranks = rank_rows(values, [True] * 4)
    rows = [list(itertools.permutations(row)) for row in ranks]
    spread = [(np.sum(choice, axis=0) ** 2).sum() for choice in itertools.product(*rows)]
    exact = np.mean(np.array(spread) >= (ranks.sum(axis=0) ** 2).sum() - 1e-9)
    got = friedman(ranks, permutations=40_000)
    assert got.p_permutation == pytest.approx(exact, abs=4 * math.sqrt(exact / 40_000))
    assert got.p == got.p_permutation
    assert friedman(ranks) .p == friedman(ranks).p  # fmt: skip


def test_large_tables_are_decided_by_f():
    rng = np.random.default_rng(1)
    got = friedman(rank_rows(rng.normal(size=(12, 5)) + np.arange(5), [True] * 12))
    assert got.decided_by == "f"
    assert math.isnan(got.p_permutation)
    assert got.p == got.p_f
    assert got.rejected


def test_too_little_to_rank_is_said():
    assert "at least 2 tasks" in friedman([[1.0, 2.0]]).reason
    assert math.isnan(friedman([[1.0], [1.0]]).p)
    with pytest.raises(UsageError, match="NaN in row"):
        rank_rows([[1.0, math.nan]], [True])
    with pytest.raises(UsageError, match="one per task"):
        rank_rows([[1.0, 2.0]], [True, False])
    with pytest.raises(UsageError, match="at least 2 models"):
        nemenyi([1.0], 3)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 10, 20])
@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_nemenyi_quantile_agrees_with_tables(k, alpha):
    published = {0.05: {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 10: 3.164},
                 0.1: {2: 1.645, 3: 2.052, 4: 2.291, 5: 2.459, 10: 2.920}}  # Demsar (2006), Table 5  # fmt: skip
    got = nemenyi(np.arange(1.0, k + 1), 10, alpha=alpha)
    assert got.q == pytest.approx(float(qsturng(1 - alpha, k, np.inf)) / math.sqrt(2), rel=2e-3)
    if k in published[alpha]:
        assert got.q == pytest.approx(published[alpha][k], abs=1.5e-3)
    assert got.cd == pytest.approx(got.q * math.sqrt(k * (k + 1) / 60))


def test_nemenyi_calls_agree_with_scikit_posthocs():
    rng = np.random.default_rng(8)
    values = rng.normal(size=(15, 5)) + np.array([0, 0.3, 0.8, 1.5, 2.5])
    ranks = rank_rows(values, [True] * 15)
    p = scikit_posthocs.posthoc_nemenyi_friedman(values).to_numpy()
    got = nemenyi(ranks.mean(axis=0), 15)
    means = ranks.mean(axis=0)
    for i, j in itertools.combinations(range(5), 2):
        assert (abs(means[i] - means[j]) > got.cd) == (p[i, j] < 0.05)


@given(st.lists(st.integers(10, 50).map(lambda i: i / 10), min_size=2, max_size=9), st.integers(2, 60))
def test_cliques_are_maximal_runs_within_the_critical_difference(means, n):
    got = nemenyi(means, n)
    assert sorted(got.order) == list(range(len(means)))
    assert [means[i] for i in got.order] == sorted(means)
    position = {model: place for place, model in enumerate(got.order)}

    def together(i, j):
        return abs(means[i] - means[j]) <= got.cd * (1 + 1e-12)

    for clique in got.cliques:
        places = [position[i] for i in clique]
        assert places == list(range(places[0], places[0] + len(places)))
        assert len(clique) >= 2
        assert together(clique[0], clique[-1])
        for edge in (places[0] - 1, places[-1] + 1):
            if 0 <= edge < len(means):
                assert not all(together(got.order[edge], member) for member in clique)
    for i, j in itertools.combinations(range(len(means)), 2):
        assert together(i, j) == any(i in clique and j in clique for clique in got.cliques)


def test_wilcoxon_holm_is_pairwise_wilcoxon_over_tasks_with_holm():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20, 4)) + np.array([0, 0.1, 1.0, 3.0])
    better = [True] * 12 + [False] * 8
    got = wilcoxon_holm(values, better, 0.05)
    sign = np.where(better, 1, -1)
    raw = [sps.wilcoxon(sign * values[:, i], sign * values[:, j]).pvalue for i, j in got.pairs]
    np.testing.assert_allclose(got.p_raw, raw, atol=1e-9)
    np.testing.assert_allclose(got.p_adjusted, adjust(raw))
    assert (got.rejected == (got.p_adjusted <= 0.05)).all()
    for clique in got.cliques:
        for pair in itertools.combinations(sorted(clique), 2):
            assert not got.rejected[got.pairs.index(pair)]
    assert "cannot reach" in wilcoxon_holm(values[:5], better[:5]).reason
    assert got.reason == ""
    assert paired_test(values[:5, 0], values[:5, 1], method="wilcoxon").smallest_p * 6 > 0.05


def test_wilcoxon_cliques_are_the_maximal_sets_of_pairs_that_are_not_apart():
    """C ties with A and with B, which are told apart and stand next to each other in the order of mean ranks."""
    rng = np.random.default_rng(6)
    broken = 0
    for _ in range(60):
        spread = rng.lognormal(0, 1.5, 5)
        got = wilcoxon_holm(rng.normal(size=(9, 5)) * spread + rng.normal(0, 1, 5), [True] * 9, 0.3)
        graph = nx.Graph([pair for pair, apart in zip(got.pairs, got.rejected, strict=True) if not apart])
        assert {frozenset(c) for c in got.cliques} == {frozenset(c) for c in nx.find_cliques(graph)}
        place = {model: i for i, model in enumerate(got.order)}
        broken += any(place[c[-1]] - place[c[0]] >= len(c) for c in got.cliques)
    assert broken > 5  # cliques with a gap do occur


def test_rank_stability_agrees_with_a_plain_loop():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(7, 3)) + np.array([0, 0.5, 1.0])
    better = [True, False] * 3 + [True]
    got = rank_stability(values, better, n_resamples=500, seed=4)
    ranks = rank_rows(values, better)
    draws = np.random.default_rng(4).multinomial(7, np.full(7, 1 / 7), size=500)
    means = np.array([np.repeat(ranks, draw, axis=0).mean(axis=0) for draw in draws])
    best = np.zeros(3)
    for row in means:
        winners = np.isclose(row, row.min())
        best += winners / winners.sum()
    np.testing.assert_allclose(got.p_best, best / 500, atol=1e-12)
    np.testing.assert_allclose(got.mean_rank_low, np.quantile(means, 0.025, axis=0), atol=1e-12)
    np.testing.assert_allclose(got.mean_rank_high, np.quantile(means, 0.975, axis=0), atol=1e-12)
    np.testing.assert_allclose(got.p_order + got.p_order.T, 1.0)
    assert got.p_best.sum() == pytest.approx(1.0)


def test_a_dominant_model_is_best_in_every_resample():
    got = rank_stability([[0.9, 0.5, 0.1]] * 4, [True] * 4, n_resamples=50)
    assert got.p_best.tolist() == [1, 0, 0]
    assert got.p_order[0].tolist() == [0.5, 1, 1]
    assert got.mean_rank_low.tolist() == got.mean_rank_high.tolist() == [1, 2, 3]


def test_critical_difference_agrees_with_autorank():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.normal(size=(15, 5)) + np.array([0, 0.3, 0.8, 1.5, 2.5]), columns=list("abcde"))
    theirs = autorank(frame, alpha=0.05, force_mode="nonparametric", order="descending")
    ranks = rank_rows(frame.to_numpy(), [True] * 15)
    assert nemenyi(ranks.mean(axis=0), 15).cd == pytest.approx(theirs.cd, rel=1e-3)  # its table has 3 decimals
    np.testing.assert_allclose(theirs.rankdf.meanrank.sort_index(), ranks.mean(axis=0))
