"""Crossed components: by hand, by statsmodels, by resampling, by enumeration of dyads, and against the truth."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from calibration.source import graph_rates, share_bias, source_rates
from graphnetz.stats import crossed_components
from graphnetz.stats.components import design


def table(seed=0, rows=6, n=80, row=0.2, example=1.0, rest=0.5):
    rng = np.random.default_rng(seed)
    return rng.normal(0, row, (rows, 1)) + rng.normal(0, example, n) + rng.normal(0, rest, (rows, n))


@pytest.mark.parametrize("n", [80, 2])
def test_balanced_table_agrees_with_the_two_way_anova_of_statsmodels(n):
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    d = table(n=n, example=1.0 if n > 2 else 5.0)
    rows = len(d)
    frame = pd.DataFrame({"y": d.ravel(), "s": np.repeat(np.arange(rows), n), "e": np.tile(np.arange(n), rows)})
    squares = anova_lm(ols("y ~ C(s) + C(e)", frame).fit())["mean_sq"]
    of_row, of_example, rest = squares["C(s)"], squares["C(e)"], squares["Residual"]
    found = crossed_components(d, [0] * rows)
    assert found.rest == pytest.approx(rest, rel=1e-9)
    assert found.example == pytest.approx((of_example - rest) / rows, rel=1e-9)
    assert found.seed == pytest.approx((of_row - rest) / n, rel=1e-9)
    assert math.isnan(found.split)
    assert found.error**2 == pytest.approx((of_row + of_example - rest) / (rows * n), rel=1e-9)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.mean / found.error), found.df))


def test_owens_pigeonhole_bootstrap_gives_the_same_error():
    d = table(rows=12, n=150, row=0.3)
    rng = np.random.default_rng(1)
    means = []
    for _ in range(4000):
        by_row, by_column = (rng.multinomial(k, np.full(k, 1 / k)) for k in d.shape)
        means.append(by_row @ d @ by_column / d.size)
    found = crossed_components(d, [0] * 12)
    # The bootstrap counts the rest three times and divides by R and n where we divide by one less.
    extra = 2 * found.rest / d.size
    assert np.var(means) == pytest.approx(found.error**2 + extra, rel=0.12)


def test_unbalanced_table_agrees_with_products_written_out():
    rng = np.random.default_rng(2)
    d = np.where(rng.random((4, 30)) < 0.6, table(rows=4, n=30), np.nan)
    there = np.isfinite(d)
    total, expected, reuse = 0.0, 0.0, []
    for r in range(4):
        for s in range(4):
            if r == s:
                continue
            both = there[r] & there[s]
            n, m, o = there[r].sum(), there[s].sum(), both.sum()
            total += ((d[r] - np.nanmean(d[r])) * (d[s] - np.nanmean(d[s])))[both].sum()
            expected += o * (1 - 1 / n - 1 / m + o / (n * m))
            reuse.append(o / (n * m))
    found = crossed_components(d, [0, 1, 2, 3])
    assert found.example == pytest.approx(total / expected)
    assert found.pool == pytest.approx(1 / np.mean(reuse))
    assert found.mean == pytest.approx(np.mean([np.nanmean(row) for row in d]))


def test_dyadic_variance_agrees_with_all_pairs_of_pairs():
    rng = np.random.default_rng(3)
    ends = np.array([(i, j) for i in range(9) for j in range(i)] + [(0, 3), (2, 1)])
    at = rng.normal(size=9)
    d = at[ends[:, 0]] + at[ends[:, 1]] + rng.normal(0, 0.1, (5, len(ends)))
    u = (d - d.mean(axis=1, keepdims=True)) / len(ends)
    touch = np.array([[bool(set(p) & set(q)) for q in ends.tolist()] for p in ends.tolist()])
    whole = np.mean([u[r] @ touch @ u[s] for r in range(5) for s in range(5) if r != s]) * 9 / 8
    found = crossed_components(d, [0] * 5, ends=ends)
    assert found.widest == "dyadic"
    assert found.error**2 == pytest.approx(d.mean(axis=1).var(ddof=1) / 5 + whole)


def test_blocks_count_from_fifty_on_and_only_where_they_widen():
    rng = np.random.default_rng(4)
    blocks = np.repeat(np.arange(60), 5)
    d = rng.normal(size=60)[blocks] + rng.normal(0, 0.2, (4, 300))
    plain, blocked = crossed_components(d, [0] * 4), crossed_components(d, [0] * 4, blocks=blocks)
    assert (blocked.widest, plain.widest) == ("blocks", "iid")
    assert blocked.error > 1.8 * plain.error
    assert crossed_components(d, [0] * 4, blocks=blocks // 2).widest == "iid"


def test_several_seeds_per_split_tell_seed_and_split_apart():
    found = share_bias(splits=5, per_split=6, n=100, pool=500, components=(4e-3, 4e-3, 0.3, 0.5), replicates=300)
    for truth, mean in found.values():
        assert abs(mean - truth) <= 0.2 * truth + 0.02
    one_each = crossed_components(table(rows=4), [0, 1, 2, 3])
    assert math.isnan(one_each.split)
    assert one_each.n_splits == 4


def test_folds_share_no_example_and_fall_back_to_the_plain_error():
    d = np.where(np.repeat(np.eye(5, dtype=bool), 20, axis=1), table(rows=5, n=100), np.nan)
    found = crossed_components(d, range(5))
    means = np.nanmean(d, axis=1)
    assert found.error == pytest.approx(max(means.std(ddof=1) / math.sqrt(5), 0))
    assert math.isnan(found.rest)
    assert math.isinf(found.pool)
    nested = crossed_components(table(rows=5), range(5), nested=True)
    assert nested.error == pytest.approx(table(rows=5).mean(axis=1).std(ddof=1) / math.sqrt(5))


def test_undefined_has_a_reason_and_identical_models_have_p_one():
    assert crossed_components(np.zeros((3, 9)), [0] * 3).p == 1.0
    constant = crossed_components(np.full((3, 9), 0.5), [0] * 3)
    assert math.isnan(constant.p)
    assert "same on every example" in constant.reason
    assert "one seed" in crossed_components(table(rows=1), [0]).reason
    assert crossed_components(np.full((2, 3), np.nan), [0, 0]).reason == "the two models share no seed"
    with pytest.raises(ValueError, match="one split per seed"):
        design(np.ones((2, 3)), [0])


def test_two_deterministic_models_on_a_fixed_split_have_the_error_of_their_examples():
    d = np.tile(table(rows=1), (5, 1))
    found = crossed_components(d, [0] * 5)
    assert found.error == pytest.approx(d[0].std(ddof=1) / math.sqrt(d.shape[1]))


@pytest.mark.parametrize(("kind", "seeds", "ratio"), [("init", 3, 1), ("init", 10, 1), ("resplit", 5, 0.5), ("resplit", 10, 10), ("fold", 5, 0.25)])  # fmt: skip
def test_equal_models_are_called_different_for_new_examples_in_at_most_five_percent(kind, seeds, ratio):
    rates = source_rates(kind, seeds=seeds, n=100, ratio=ratio, replicates=400)
    assert rates["rejected"] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
    assert rates["covered"] >= 0.93 - 0.02


def test_losses_that_hang_together_along_edges_keep_their_size_with_blocks_and_dyads():
    assert graph_rates("blocks", replicates=300) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
    assert graph_rates("dyadic", use=False, replicates=100) > 0.3  # what the plain error would have claimed
