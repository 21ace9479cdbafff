"""Metrics against scikit-learn, and their algebra."""

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphnetz.metrics import METRICS, hits_at, label_of, lookup
from graphnetz.testing import check_metric

coarse = st.integers(-3, 3).map(float)  # few values, so that ties happen


@st.composite
def binary(draw):
    n = draw(st.integers(2, 40))
    y = draw(arrays(np.int64, n, elements=st.integers(0, 1)))
    s = draw(arrays(np.float64, n, elements=coarse))
    return y, s


@given(binary())
@settings(max_examples=150, deadline=None)
def test_ranking_metrics_equal_sklearn(case):
    y, s = case
    auc, ap = METRICS["auc"].compute(y, s), METRICS["ap"].compute(y, s)
    if len(set(y)) < 2:
        assert np.isnan(auc)
    else:
        assert auc == pytest.approx(sk.roc_auc_score(y, s), abs=1e-12)
    if y.sum():
        assert ap == pytest.approx(sk.average_precision_score(y, s), abs=1e-12)


@given(binary())
@settings(max_examples=60, deadline=None)
def test_auc_flips_with_the_sign_and_ignores_monotone_maps(case):
    y, s = case
    a = METRICS["auc"].compute(y, s)
    if np.isnan(a):
        return
    assert METRICS["auc"].compute(y, -s) == pytest.approx(1 - a)
    assert METRICS["auc"].compute(y, np.exp(s) * 3 + 1) == pytest.approx(a)


@given(st.integers(2, 5), st.integers(3, 40), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_class_metrics_equal_sklearn(classes, n, seed):
    rng = np.random.default_rng(seed)
    y, s = rng.integers(0, classes, n), rng.normal(size=(n, classes))
    guess = s.argmax(1)
    assert METRICS["acc"].compute(y, s) == pytest.approx(sk.accuracy_score(y, guess))
    present = np.isin(guess, y)  # scikit-learn warns when a class is only predicted
    if present.all():
        assert METRICS["balanced_acc"].compute(y, s) == pytest.approx(sk.balanced_accuracy_score(y, guess))
    assert METRICS["macro_f1"].compute(y, s) == pytest.approx(sk.f1_score(y, guess, average="macro", zero_division=0))


def test_multiclass_auc_is_one_against_the_rest():
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 4, 200), rng.normal(size=(200, 4))
    p = np.exp(s) / np.exp(s).sum(1, keepdims=True)
    assert METRICS["auc"].compute(y, p) == pytest.approx(sk.roc_auc_score(y, p, multi_class="ovr"))
    assert METRICS["ap"].compute(y, p) == pytest.approx(sk.average_precision_score(y, p, average="macro"))


def test_multilabel_leaves_missing_labels_out():
    rng = np.random.default_rng(1)
    y, s = rng.integers(0, 2, (60, 3)).astype(float), rng.normal(size=(60, 3))
    y[:10, 0] = np.nan
    expected = np.mean([sk.roc_auc_score(y[10:, 0], s[10:, 0]), *(sk.roc_auc_score(y[:, c], s[:, c]) for c in (1, 2))])
    assert METRICS["auc"].compute(y, s) == pytest.approx(expected)
    assert METRICS["micro_f1"].compute(np.nan_to_num(y), s) == pytest.approx(
        sk.f1_score(np.nan_to_num(y).astype(int), (s > 0).astype(int), average="micro")
    )


def test_regression_metrics_equal_sklearn():
    rng = np.random.default_rng(2)
    y, s = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    assert METRICS["mae"].compute(y, s) == pytest.approx(sk.mean_absolute_error(y, s))
    assert METRICS["rmse"].compute(y, s) == pytest.approx(np.sqrt(sk.mean_squared_error(y, s)))
    assert METRICS["r2"].compute(y[:, :1], s[:, :1]) == pytest.approx(sk.r2_score(y[:, 0], s[:, 0]))
    assert np.isnan(METRICS["r2"].compute(np.ones((5, 1)), s[:5, :1]))


@given(binary(), st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_hits_counts_positives_above_the_kth_negative(case, k):
    y, s = case
    if not y.sum():
        return
    negatives = sorted(s[y == 0], reverse=True)
    brute = np.mean([p > negatives[k - 1] if len(negatives) >= k else True for p in s[y == 1]])
    assert hits_at(k)(y, s) == pytest.approx(brute)


@given(binary())
@settings(max_examples=80, deadline=None)
def test_mrr_by_brute_force(case):
    y, s = case
    positives, negatives = s[y == 1], s[y == 0]
    if not len(positives) or not len(negatives):
        return
    brute = np.mean([1 / (1 + (negatives > p).sum() + (negatives == p).sum() / 2) for p in positives])
    assert METRICS["mrr"].compute(y, s) == pytest.approx(brute)


def test_lookup_knows_the_split_prefix_and_directions_are_declared():
    assert lookup("test_mae") is METRICS["mae"]
    assert lookup("val_balanced_acc").key == "balanced_acc"
    assert not lookup("train_loss").greater_is_better
    assert label_of("test_auc") == "Test ROC-AUC"
    assert label_of("something") == "something"
    lower = {name for name, m in METRICS.items() if not m.greater_is_better}
    assert {"mae", "rmse", "mse", "loss"} <= lower
    assert not lower & {"acc", "auc", "ap", "f1", "mrr", "hits@10"}


@pytest.mark.parametrize("name", [n for n in METRICS if n != "loss"])  # losses are recorded, never computed
def test_contract_of_every_metric(name):
    check_metric(name)
