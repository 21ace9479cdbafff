"""Metrics of decisions: what the predicted classes say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphnetz.metrics.declared import Array, metric


def _classes(score: Array) -> Array:
    """Predicted classes: argmax over rows, or the sign of a single logit."""
    return score.argmax(axis=1) if score.ndim == 2 and score.shape[1] > 1 else (score.reshape(-1) > 0).astype(np.int64)


def _multilabel(target: Array, score: Array) -> bool:
    return target.ndim == 2 and target.shape[1] > 1 and score.shape == target.shape


@metric("acc", "accuracy", greater_is_better=True, bounds=(0.0, 1.0))
def accuracy(target: Array, score: Array) -> float:
    """Share of right predictions; per label for multi-label targets, unknown (NaN) entries left out.

    Parameters
    ----------
    target
        True classes ``[example]``, or 0/1 labels ``[example, label]`` with NaN where unknown.
    score
        Class scores ``[example, class]``, or one logit per label.

    Returns
    -------
    float
        Between 0 and 1; NaN without examples.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import accuracy
    >>> round(accuracy(np.array([0, 1, 1]), np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])), 3)
    0.667
    """
    if target.size == 0:
        return float("nan")
    if _multilabel(target, score):
        known = np.isfinite(target)
        return float(((score > 0) == (target > 0.5))[known].mean()) if known.any() else float("nan")
    return float((_classes(score) == target.reshape(-1)).mean())


@metric("balanced_acc", "balanced accuracy", greater_is_better=True, bounds=(0.0, 1.0))
def balanced_accuracy(target: Array, score: Array) -> float:
    """Mean recall over the classes that occur; for multi-label targets the mean over labels of their own value.

    Parameters
    ----------
    target
        True classes ``[example]``, or 0/1 labels ``[example, label]`` with NaN where unknown.
    score
        Class scores ``[example, class]``, or one logit per label.

    Returns
    -------
    float
        Between 0 and 1; NaN without examples.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import balanced_accuracy
    >>> round(balanced_accuracy(np.array([0, 1, 1]), np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])), 3)
    0.75
    """
    if _multilabel(target, score):
        return _mean_over_labels(lambda truth, guess: _mean_recall(truth > 0.5, guess > 0), target, score)
    return _mean_recall(target.reshape(-1), _classes(score)) if target.size else float("nan")


@metric("macro_f1", "macro F1", greater_is_better=True, bounds=(0.0, 1.0))
def macro_f1(target: Array, score: Array) -> float:
    """Unweighted mean F1 over classes that occur in targets or predictions, or over labels with a known entry.

    Parameters
    ----------
    target
        True classes ``[example]``, or 0/1 labels ``[example, label]`` with NaN where unknown.
    score
        Class scores ``[example, class]``, or one logit per label.

    Returns
    -------
    float
        Between 0 and 1; NaN without examples.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import macro_f1
    >>> round(macro_f1(np.array([0, 1, 1]), np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])), 3)
    0.667
    """
    if target.size == 0:
        return float("nan")
    if _multilabel(target, score):
        return _mean_over_labels(lambda truth, guess: _f1(truth > 0.5, guess > 0), target, score)
    truth, guess = target.reshape(-1), _classes(score)
    return float(np.mean([_f1(truth == c, guess == c) for c in np.union1d(truth, guess)]))


@metric("micro_f1", "micro F1", greater_is_better=True, bounds=(0.0, 1.0))
def micro_f1(target: Array, score: Array) -> float:
    """F1 over all label decisions at once, unknown (NaN) entries left out.

    Parameters
    ----------
    target
        True classes ``[example]``, or 0/1 labels ``[example, label]`` with NaN where unknown.
    score
        Class scores ``[example, class]``, or one logit per label.

    Returns
    -------
    float
        Between 0 and 1; the accuracy where examples have one class each.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import micro_f1
    >>> round(micro_f1(np.array([0, 1, 1]), np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])), 3)
    0.667
    """
    if _multilabel(target, score):
        known = np.isfinite(target)
        return _f1(target[known] > 0.5, score[known] > 0) if known.any() else float("nan")
    return accuracy(target, score)


@metric("f1", "F1", greater_is_better=True, bounds=(0.0, 1.0))
def binary_f1(target: Array, score: Array) -> float:
    """F1 of class 1; for multi-label targets that of all their decisions, which is micro F1.

    Parameters
    ----------
    target
        True classes ``[example]``, or 0/1 labels ``[example, label]`` with NaN where unknown.
    score
        Class scores ``[example, class]``, or one logit per label.

    Returns
    -------
    float
        Between 0 and 1; NaN without examples.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import binary_f1
    >>> round(binary_f1(np.array([0, 1, 1]), np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])), 3)
    0.667
    """
    if _multilabel(target, score):
        return micro_f1(target, score)
    return _f1(target.reshape(-1) == 1, _classes(score) == 1) if target.size else float("nan")


def _mean_over_labels(compute: Callable[[Array, Array], float], target: Array, score: Array) -> float:
    """Mean over the labels that have a known entry, each computed on its known entries."""
    known = np.isfinite(target)
    parts = [compute(target[rows, c], score[rows, c]) for c, rows in enumerate(known.T) if rows.any()]
    return float(np.mean(parts)) if parts else float("nan")


def _mean_recall(truth: Array, guess: Array) -> float:
    return float(np.mean([(guess[truth == c] == c).mean() for c in np.unique(truth)]))


def _f1(truth: Array, guess: Array) -> float:
    hit = float((truth & guess).sum())
    total = float(truth.sum() + guess.sum())
    return 2 * hit / total if total else 0.0
