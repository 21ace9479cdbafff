"""Metrics of one ranking: positives against negatives that all of them share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphnetz.metrics.classes import _multilabel
from graphnetz.metrics.declared import Array, metric


def positive_score(score: Array) -> Array:
    """One ranking value per example from one or two columns of class scores.

    Parameters
    ----------
    score
        ``[example]``, ``[example, 1]`` or ``[example, 2]``.

    Returns
    -------
    ndarray
        ``[example]``; of two columns the second minus the first.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import positive_score
    >>> positive_score(np.array([[0.5, 2.0], [1.0, 0.0]])).tolist()
    [1.5, -1.0]
    """
    if score.ndim == 2 and score.shape[1] == 2:
        return np.asarray(score[:, 1] - score[:, 0])
    return score.reshape(-1)


def rank_auc(target: Array, score: Array) -> float:
    """ROC-AUC of one binary target by one sort: ties count one half, exactly.

    Parameters
    ----------
    target
        0/1 per example; 1 is the positive.
    score
        One value per example (or two class columns); greater means more likely positive.

    Returns
    -------
    float
        Between 0 and 1; NaN where one of the two classes is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import rank_auc
    >>> round(rank_auc(np.array([0, 1, 1]), np.array([0.1, 0.9, 0.05])), 3)
    0.5
    """
    truth = target.reshape(-1) > 0.5
    positives = np.sort(score[truth])
    negatives = np.sort(score[~truth])
    if positives.size == 0 or negatives.size == 0 or np.isnan(score).any():
        return float("nan")
    below = np.searchsorted(negatives, positives, side="left").sum(dtype=np.int64)
    below_or_tied = np.searchsorted(negatives, positives, side="right").sum(dtype=np.int64)
    return float((below + below_or_tied) / (2.0 * positives.size * negatives.size))


@metric("auc", "ROC-AUC", greater_is_better=True, bounds=(0.0, 1.0))
def roc_auc(target: Array, score: Array) -> float:
    """ROC-AUC; the mean over classes (one against the rest) or labels where there are several.

    As in OGB's evaluator, a label of which only one value is known among the examples does not count, and entries that
    are not known are left out.

    Parameters
    ----------
    target
        0/1 per example; 1 is the positive.
    score
        One value per example (or two class columns); greater means more likely positive.

    Returns
    -------
    float
        Between 0 and 1; NaN where it is undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import roc_auc
    >>> round(roc_auc(np.array([0, 1, 1]), np.array([0.1, 0.9, 0.05])), 3)
    0.5
    """
    return _each(rank_auc, target, score)


def rank_ap(target: Array, score: Array) -> float:
    """Average precision of one binary target, tied scores taken as one threshold.

    Parameters
    ----------
    target
        0/1 per example; 1 is the positive.
    score
        One value per example (or two class columns); greater means more likely positive.

    Returns
    -------
    float
        Between 0 and 1; NaN without positives.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import rank_ap
    >>> round(rank_ap(np.array([0, 1, 1]), np.array([0.1, 0.9, 0.05])), 3)
    0.833
    """
    truth = target.reshape(-1) > 0.5
    total = int(truth.sum())
    if total == 0 or np.isnan(score).any():
        return float("nan")
    order = np.argsort(-score, kind="stable")
    hits = np.cumsum(truth[order])
    last_of_tie = np.append(np.diff(score[order]) != 0, True)
    hits = hits[last_of_tie]
    seen = np.flatnonzero(last_of_tie) + 1
    recall_steps = np.diff(np.concatenate(([0], hits))) / total
    return float((recall_steps * hits / seen).sum())


@metric("ap", "average precision", greater_is_better=True, bounds=(0.0, 1.0))
def average_precision(target: Array, score: Array) -> float:
    """Average precision; the mean over classes (one against the rest) or labels where there are several.

    As in OGB's evaluator, a label of which only one value is known among the examples does not count, and entries that
    are not known are left out.

    Parameters
    ----------
    target
        0/1 per example; 1 is the positive.
    score
        One value per example (or two class columns); greater means more likely positive.

    Returns
    -------
    float
        Between 0 and 1; NaN where it is undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import average_precision
    >>> round(average_precision(np.array([0, 1, 1]), np.array([0.1, 0.9, 0.05])), 3)
    0.833
    """
    return _each(rank_ap, target, score)


def _each(compute: Callable[[Array, Array], float], target: Array, score: Array) -> float:
    """A binary ranking metric, averaged over the labels or classes on which it is defined."""
    if _multilabel(target, score):
        # As OGB does: a label counts where it is known to hold for some examples and not to hold for others.
        held, missing = target == 1, target == 0
        columns = np.flatnonzero(held.any(axis=0) & missing.any(axis=0))
        known = held | missing
        parts = [compute(target[known[:, c], c], score[known[:, c], c]) for c in columns]
    elif score.ndim == 2 and score.shape[1] > 2:
        truth = target.reshape(-1)
        parts = [compute((truth == c).astype(float), score[:, c]) for c in range(score.shape[1])]
    else:
        return compute(target, positive_score(score))
    return float(np.nanmean(parts)) if np.isfinite(parts).any() else float("nan")
