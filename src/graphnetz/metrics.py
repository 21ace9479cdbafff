"""Metrics: declared once with their direction, computed over a whole split in plain NumPy.

History keys carry the split in front: ``test_acc``, ``val_auc``; `lookup` finds the declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UnknownNameError
from graphnetz._core.registry import Registry

Array = npt.NDArray[Any]
SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class Metric:
    """A declared metric.

    Parameters
    ----------
    key
        Short name; history keys carry the split in front, such as ``test_acc``.
    label
        Readable name.
    greater_is_better
        Direction.
    bounds
        Smallest and largest possible value.
    compute
        ``compute(target, score)`` returns NaN where the metric is undefined. ``score`` holds one row
        of class scores per example (classification), one value per pair (binary ranking) or one value
        per target (regression).

    Examples
    --------
    >>> from graphnetz.metrics import METRICS
    >>> METRICS["mae"].label, METRICS["mae"].greater_is_better
    ('MAE', False)
    """

    key: str
    label: str
    greater_is_better: bool
    bounds: tuple[float, float]
    compute: Callable[[Array, Array], float]


METRICS: Registry[Metric] = Registry(
    "metric", entry_points="graphnetz.metrics", accepts=Metric, named="key", decorator="metric"
)
"""Metrics by key; `metric` adds one, plug-ins by entry point."""


def metric(
    key: str, label: str, *, greater_is_better: bool, bounds: tuple[float, float]
) -> Callable[[Callable[[Array, Array], float]], Callable[[Array, Array], float]]:
    """Declare the decorated function ``(target, score) -> float`` as a metric.

    Parameters
    ----------
    key, label
        Short and readable name.
    greater_is_better
        Direction.
    bounds
        Smallest and largest possible value.

    Returns
    -------
    callable
        Decorator that files the function in `METRICS` and returns it unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import METRICS, metric
    >>> @metric("worst", "worst error", greater_is_better=False, bounds=(0.0, np.inf))
    ... def worst(target, score):
    ...     return float(np.abs(target - score).max())
    >>> removed = METRICS.remove("worst")  # leave the registry as it was
    """

    def declare(compute: Callable[[Array, Array], float]) -> Callable[[Array, Array], float]:
        METRICS.add(key, Metric(key, label, greater_is_better, bounds, compute))
        return compute

    return declare


def lookup(history_key: str) -> Metric:
    """Return the metric behind a history key.

    Parameters
    ----------
    history_key
        Such as ``test_mae`` or ``train_loss``; a key without split works too.

    Returns
    -------
    Metric
        The declaration; an unknown key is answered with the nearest known ones.

    Examples
    --------
    >>> from graphnetz.metrics import lookup
    >>> lookup("test_mae").key
    'mae'
    """
    split, _, key = history_key.partition("_")
    return METRICS[key if split in SPLITS and key else history_key]


def label_of(history_key: str) -> str:
    """Return a readable name of a history key.

    Parameters
    ----------
    history_key
        Such as ``test_auc``.

    Returns
    -------
    str
        Unknown keys come back as they are.

    Examples
    --------
    >>> from graphnetz.metrics import label_of
    >>> label_of("test_auc"), label_of("my_own_key")
    ('Test ROC-AUC', 'my_own_key')
    """
    split, _, _ = history_key.partition("_")
    try:
        name = lookup(history_key).label
    except UnknownNameError:
        return history_key
    return f"{split.capitalize()} {name}" if split in SPLITS else name


def _classes(score: Array) -> Array:
    """Predicted classes: argmax over rows, or the sign of a single logit."""
    return score.argmax(axis=1) if score.ndim == 2 and score.shape[1] > 1 else (score.reshape(-1) > 0).astype(np.int64)


def _multilabel(target: Array, score: Array) -> bool:
    return target.ndim == 2 and target.shape[1] > 1 and score.shape == target.shape


@metric("loss", "loss", greater_is_better=False, bounds=(0.0, np.inf))
def loss(target: Array, score: Array) -> float:
    """Placeholder for recorded losses: they are written by the training loop, never recomputed.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        Always NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import loss
    >>> round(loss(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    nan
    """
    return float("nan")


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
        known = np.isfinite(target)
        parts = [compute(target[k, c], score[k, c]) for c, k in enumerate(known.T)]
    elif score.ndim == 2 and score.shape[1] > 2:
        truth = target.reshape(-1)
        parts = [compute((truth == c).astype(float), score[:, c]) for c in range(score.shape[1])]
    else:
        return compute(target, positive_score(score))
    return float(np.nanmean(parts)) if np.isfinite(parts).any() else float("nan")


@metric("mae", "MAE", greater_is_better=False, bounds=(0.0, np.inf))
def mean_absolute_error(target: Array, score: Array) -> float:
    """Mean absolute error over all targets.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        At least 0, in units of the target; NaN without targets.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import mean_absolute_error
    >>> round(mean_absolute_error(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    0.5
    """
    return float(np.abs(target.reshape(score.shape) - score).mean()) if target.size else float("nan")


@metric("rmse", "RMSE", greater_is_better=False, bounds=(0.0, np.inf))
def root_mean_square_error(target: Array, score: Array) -> float:
    """Root mean square error over all targets.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        At least 0, in units of the target; NaN without targets.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import root_mean_square_error
    >>> round(root_mean_square_error(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    0.645
    """
    return float(np.sqrt(np.square(target.reshape(score.shape) - score).mean())) if target.size else float("nan")


@metric("mse", "MSE", greater_is_better=False, bounds=(0.0, np.inf))
def mean_square_error(target: Array, score: Array) -> float:
    """Mean square error over all targets.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        At least 0, in squared units of the target; NaN without targets.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import mean_square_error
    >>> round(mean_square_error(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    0.417
    """
    return float(np.square(target.reshape(score.shape) - score).mean()) if target.size else float("nan")


@metric("log_mse", "log10 MSE", greater_is_better=False, bounds=(-np.inf, np.inf))
def log_mean_square_error(target: Array, score: Array) -> float:
    """Decimal logarithm of the mean square error.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        NaN for an exact fit, whose logarithm is minus infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import log_mean_square_error
    >>> round(log_mean_square_error(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    -0.38
    """
    error = mean_square_error(target, score)
    return float(np.log10(error)) if error > 0 else float("nan")


@metric("r2", "R squared", greater_is_better=True, bounds=(-np.inf, 1.0))
def r_squared(target: Array, score: Array) -> float:
    """Share of variance explained.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        At most 1; NaN for constant targets.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import r_squared
    >>> round(r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    0.375
    """
    truth = target.reshape(score.shape)
    spread = float(np.square(truth - truth.mean(axis=0)).sum())
    return 1.0 - float(np.square(truth - score).sum()) / spread if spread > 0 else float("nan")


def _one_ranking(target: Array, score: Array) -> tuple[Array, Array]:
    """Values of positives and negatives; none of a table of labels or where a value is undefined."""
    value = positive_score(score)
    if _multilabel(target, score) or np.isnan(value).any():
        return np.empty(0), np.empty(0)
    truth = target.reshape(-1) > 0.5
    return value[truth], value[~truth]


def hits_at(k: int) -> Callable[[Array, Array], float]:
    """Make the metric hits@k: the share of positives scored strictly above the k-th best negative.

    This is OGB's definition. A table of labels is not one ranking: there the value is NaN.

    Parameters
    ----------
    k
        Place of the negative to beat.

    Returns
    -------
    callable
        ``(target, score) -> float``.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import hits_at
    >>> hits_at(1)(np.array([1, 1, 0, 0]), np.array([0.9, 0.3, 0.5, 0.1]))
    0.5
    """

    def compute(target: Array, score: Array) -> float:
        positives, negatives = _one_ranking(target, score)
        if positives.size == 0:
            return float("nan")
        if negatives.size < k:
            return 1.0
        bar = np.partition(negatives, -k)[-k]
        return float((positives > bar).mean())

    return compute


for _k in (10, 20, 50, 100):
    metric(f"hits@{_k}", f"Hits@{_k}", greater_is_better=True, bounds=(0.0, 1.0))(hits_at(_k))


@metric("mrr", "MRR", greater_is_better=True, bounds=(0.0, 1.0))
def mean_reciprocal_rank(target: Array, score: Array) -> float:
    """Mean over positives of 1 / (rank among all negatives), ties at their mean rank.

    Parameters
    ----------
    target
        0/1 per example; 1 is the positive.
    score
        One value per example (or two class columns); greater means more likely positive.

    Returns
    -------
    float
        Between 0 and 1; NaN for a table of labels, which is not one ranking.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import mean_reciprocal_rank
    >>> round(mean_reciprocal_rank(np.array([0, 1, 1]), np.array([0.1, 0.9, 0.05])), 3)
    0.75
    """
    positives, negatives = _one_ranking(target, score)
    if positives.size == 0 or negatives.size == 0:
        return float("nan")
    negatives = np.sort(negatives)
    above = negatives.size - np.searchsorted(negatives, positives, side="right")
    tied = np.searchsorted(negatives, positives, side="right") - np.searchsorted(negatives, positives, side="left")
    return float((1.0 / (1.0 + above + tied / 2.0)).mean())
