"""Ranking metrics against scikit-learn and brute force, ties included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from graphnetz._core.errors import DataError, UsageError
from graphnetz.kernels import average_precision, average_precision_pairs, hits_at_k, roc_auc, roc_auc_pairs

labelled = st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=1, max_size=60)


@given(labelled)
def test_auc_and_average_precision_equal_sklearn(items):
    truth = np.array([flag for flag, _ in items])
    scores = np.array([score for _, score in items], dtype=np.float64) / 3.0
    if 0 < truth.sum() < truth.size:
        assert roc_auc(truth, scores) == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    else:
        assert math.isnan(roc_auc(truth, scores))
    if truth.any():
        assert average_precision(truth, scores) == pytest.approx(average_precision_score(truth, scores), abs=1e-12)
    else:
        assert math.isnan(average_precision(truth, scores))


@given(st.lists(st.integers(0, 6), max_size=20), st.lists(st.integers(0, 6), max_size=20), st.integers(1, 25))
def test_pairs_and_hits_by_brute_force(positive, negative, k):
    if not positive:
        assert math.isnan(hits_at_k(positive, negative, k=k))
        return
    limit = sorted(negative, reverse=True)[k - 1] if len(negative) >= k else -math.inf
    assert hits_at_k(positive, negative, k=k) == pytest.approx(np.mean([score > limit for score in positive]))
    if negative:
        wins = [(a > b) + 0.5 * (a == b) for a in positive for b in negative]
        assert roc_auc_pairs(positive, negative) == pytest.approx(np.mean(wins), abs=1e-12)


def test_order_of_the_scores_does_not_matter():
    rng = np.random.default_rng(0)
    high, low = rng.normal(1, 1, 5000).astype(np.float32).round(2), rng.normal(0, 1, 7000).astype(np.float32).round(2)
    shuffled = rng.permutation(high), rng.permutation(low)
    assert roc_auc_pairs(high, low) == roc_auc_pairs(*shuffled)
    assert average_precision_pairs(high, low) == average_precision_pairs(*shuffled)
    truth = np.r_[np.ones(5000), np.zeros(7000)]
    assert roc_auc(truth, np.r_[high, low]) == pytest.approx(roc_auc_score(truth, np.r_[high, low]), abs=1e-12)


def test_undefined_is_nan_and_nonsense_is_refused():
    assert math.isnan(roc_auc([0, 1], [float("nan"), 1.0]))
    assert math.isnan(average_precision([0, 1], [0.0, float("nan")]))
    assert math.isnan(hits_at_k([float("nan")], [1.0], k=1))
    with pytest.raises(DataError, match="one score per label"):
        roc_auc([0, 1], [0.5])
    with pytest.raises(DataError, match="binary"):
        roc_auc([0, 2], [0.5, 0.1])
    with pytest.raises(UsageError, match="k = 0"):
        hits_at_k([1], [0], k=0)
