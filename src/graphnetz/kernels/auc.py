"""Exact ROC-AUC, average precision and Hits@K by sorting; NumPy only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError, UsageError

Scores = npt.ArrayLike


def _split(y_true: Scores, scores: Scores) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    truth, values = np.asarray(y_true).ravel(), np.asarray(scores).ravel()
    if truth.size != values.size:
        raise DataError(f"There are {truth.size} labels and {values.size} scores. Pass one score per label.")
    flags = truth.astype(bool) if truth.dtype != np.bool_ else truth
    if truth.size and not np.array_equal(flags.astype(truth.dtype), truth):
        raise DataError("Labels other than 0 and 1 came. Pass a binary target.")
    return values[flags], values[~flags]


def roc_auc(y_true: Scores, scores: Scores) -> float:
    """Area under the ROC curve; ties count one half. NaN without both classes or with a NaN score.

    Examples
    --------
    >>> roc_auc([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    0.75
    """
    return roc_auc_pairs(*_split(y_true, scores))


def roc_auc_pairs(positive: Scores, negative: Scores) -> float:
    """ROC-AUC from the scores of positives and negatives: one sort and two searches.

    The count of pairs is an integer, so the result does not depend on the order of the scores.
    """
    high, low = np.asarray(positive).ravel(), np.asarray(negative).ravel()
    if not high.size or not low.size or _undefined(high, low):
        return float("nan")
    ordered, queries = np.sort(low), np.sort(high)  # sorted queries keep the searches in the cache
    twice = ordered.searchsorted(queries, side="left").sum() + ordered.searchsorted(queries, side="right").sum()
    return float(twice) / (2.0 * high.size * low.size)


def average_precision(y_true: Scores, scores: Scores) -> float:
    """Average precision, with equal scores forming one threshold. NaN without a positive.

    Examples
    --------
    >>> average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.8333333333333333
    """
    return average_precision_pairs(*_split(y_true, scores))


def average_precision_pairs(positive: Scores, negative: Scores) -> float:
    """Average precision from the scores of positives and negatives."""
    high, low = np.sort(np.asarray(positive).ravel()), np.sort(np.asarray(negative).ravel())
    if not high.size or _undefined(high, low):
        return float("nan")
    # Every positive stands for the threshold at its own score; ties share one, hence the left search.
    true = high.size - high.searchsorted(high, side="left")
    false = low.size - low.searchsorted(high, side="left")
    return float(np.mean(true / (true + false)))


def hits_at_k(positive: Scores, negative: Scores, *, k: int) -> float:
    """Share of positives that score above the k-th best negative; 1 with fewer than ``k`` negatives.

    A tie with that negative is no hit, as in the OGB evaluator (Hu et al., 2020).
    """
    if k < 1:
        raise UsageError(f"Hits@K got k = {k}; allowed are whole numbers from 1. Pass such a number.")
    high, low = np.asarray(positive).ravel(), np.asarray(negative).ravel()
    if not high.size or _undefined(high, low):
        return float("nan")
    if low.size < k:
        return 1.0
    return float(np.mean(high > np.partition(low, low.size - k)[low.size - k]))


def _undefined(*arrays: npt.NDArray[Any]) -> bool:
    return any(array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in arrays)
