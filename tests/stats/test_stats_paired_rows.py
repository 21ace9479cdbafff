"""Many pairs at once say what each pair says alone, and what scipy says."""

import math
from dataclasses import astuple

import numpy as np
import pytest
import scipy.stats as sps
from hypothesis import given, settings
from hypothesis import strategies as st

from graphnetz._core.errors import UsageError
from graphnetz.stats import paired_test, paired_test_rows
from graphnetz.stats._common import complete_rows
from graphnetz.stats.paired import standard_error
from graphnetz.stats.paired_rows import error_rows

METHODS = ("t", "moderated", "corrected_t", "wilcoxon", "sign")


def hostile(seed, pairs, seeds):
    """Scores with gaps, ties on a grid, identical, shifted, constant and tiny rows."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.7, 0.05, (2, pairs, seeds))
    kind = rng.integers(0, 8, pairs)
    a, b = (np.where((kind == 1)[:, None], np.round(x, 2), x) for x in (a, b))
    b = np.where((kind == 2)[:, None], a, b)
    b = np.where((kind == 3)[:, None], a + 0.02, b)
    a, b = (np.where((kind == 4)[:, None], 0.5 + shift, x) for shift, x in ((0.1, a), (0.0, b)))
    a, b = (np.where((kind == 5)[:, None], x * 1e-11, x) for x in (a, b))
    gaps = (rng.random((2, pairs, seeds)) < 0.25) & (kind >= 4)[:, None]
    return np.where(gaps[0], np.nan, a), np.where(gaps[1], np.inf, b)


def same(x, y):
    return all(p == q or (isinstance(p, float) and math.isnan(p) and math.isnan(q)) for p, q in zip(x, y, strict=True))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 3, 7, 8, 10, 17, 60]), st.sampled_from(METHODS))
def test_rows_have_the_bits_of_single_tests(seed, seeds, method):
    a, b = hostile(seed, 24, seeds)
    for ratio in (math.nan, 0.25):
        rows = paired_test_rows(a, b, method=method, level=0.9, test_ratio=ratio)
        for x, y, row in zip(a, b, rows, strict=True):
            alone = paired_test(x, y, method=method, level=0.9, test_ratio=ratio)
            assert same(astuple(row), astuple(alone)), (row, alone)


@pytest.mark.parametrize("n", [5, 10, 23])
def test_rows_agree_with_scipy(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(0.0, 1.0, (2, 30, n))
    t = sps.ttest_rel(a, b, axis=1)
    found = paired_test_rows(a, b)
    np.testing.assert_allclose([row.p for row in found], t.pvalue, rtol=1e-12)
    np.testing.assert_allclose([row.low for row in found], t.confidence_interval(0.95).low, rtol=1e-11)
    ranks = sps.wilcoxon(a, b, axis=1, method="exact")
    np.testing.assert_allclose([row.p for row in paired_test_rows(a, b, method="wilcoxon")], ranks.pvalue, rtol=1e-12)


def test_errors_are_those_of_single_pairs():
    a, b = hostile(3, 40, 10)
    for x, y, found in zip(a, b, error_rows(a, b, 0.1), strict=True):
        both = np.isfinite(x) & np.isfinite(y)
        want = standard_error((x - y)[both], 0.1) if both.sum() > 1 else math.nan
        assert found == want or (math.isnan(found) and math.isnan(want))


def test_no_rows_and_rows_without_seeds():
    assert paired_test_rows(np.empty((0, 5)), np.empty((0, 5))) == []
    assert paired_test_rows(np.empty((1, 0)), np.empty((1, 0)))[0].reason == "the two models share no seed"
    with pytest.raises(UsageError, match="pairs x seeds"):
        list(complete_rows(np.zeros(3), np.zeros(3)))
