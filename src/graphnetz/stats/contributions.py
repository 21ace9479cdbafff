"""What one example contributes to a score: influences, so that ``score + influence`` averages to the score.

An influence is ``n`` times the derivative of the score by the weight of the example (infinitesimal jackknife, Efron
1982); influences of one score sum to zero, and ``sum(influence**2) / n**2`` estimates the variance of the score. For
the area under the ROC curve this is the variance of DeLong, DeLong and Clarke-Pearson (1988).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]


def ratio_influence(part: Array, whole: Array) -> Floats:
    """Influence of every example on ``sum(part) / sum(whole)``.

    Accuracy, recall and F1 are such ratios.

    Parameters
    ----------
    part, whole
        What each example adds to numerator and denominator.

    Returns
    -------
    ndarray
        One value per example; zeros where the denominator is zero, because the score is a constant then.

    Examples
    --------
    >>> ratio_influence(np.array([1.0, 0.0]), np.array([1.0, 1.0])).tolist()
    [0.5, -0.5]
    """
    total = float(np.sum(whole))
    if total == 0:
        return np.zeros(len(part))
    found: Floats = len(part) * (part - np.sum(part) / total * whole) / total
    return found


def placements(positive: Array, negative: Array) -> tuple[Floats, Floats]:
    """Return the placements of DeLong: how far each positive stands above the negatives, and the other way round.

    Parameters
    ----------
    positive, negative
        Scores of the examples of either class, at least one of each.

    Returns
    -------
    tuple of ndarray
        Share of negatives below each positive, and share of positives above each negative; ties count one half. The
        mean of either is the area under the ROC curve.

    Examples
    --------
    >>> [part.tolist() for part in placements(np.array([0.9, 0.4]), np.array([0.1, 0.4]))]
    [[1.0, 0.75], [1.0, 0.75]]
    """
    above, below = np.sort(positive), np.sort(negative)
    lower = np.searchsorted(below, positive, "left") + np.searchsorted(below, positive, "right")
    upper = np.searchsorted(above, negative, "left") + np.searchsorted(above, negative, "right")
    return lower / (2.0 * below.size), 1.0 - upper / (2.0 * above.size)


def auc_influence(truth: Bools, score: Array) -> Floats:
    """Influence of every example on the area under the ROC curve.

    Parameters
    ----------
    truth
        Whether each example is a positive; both classes occur.
    score
        One value per example; greater means more likely positive.

    Returns
    -------
    ndarray
        One value per example.

    Examples
    --------
    >>> auc_influence(np.array([True, True, False, False]), np.array([0.9, 0.4, 0.1, 0.4])).tolist()
    [0.25, -0.25, 0.25, -0.25]
    """
    found = np.empty(len(truth))
    for rows, values in zip((truth, ~truth), placements(score[truth], score[~truth]), strict=True):
        found[rows] = len(truth) * (values - values.mean()) / values.size
    return found


def ap_influence(truth: Bools, score: Array) -> Floats:
    """Influence of every example on the average precision, tied scores taken as one threshold.

    Parameters
    ----------
    truth
        Whether each example is a positive; at least one is.
    score
        One value per example; greater means more likely positive.

    Returns
    -------
    ndarray
        One value per example.

    Examples
    --------
    >>> ap_influence(np.array([True, False, True]), np.array([3.0, 2.0, 1.0])).round(3).tolist()
    [0.417, -0.333, -0.083]
    """
    # Thresholds from the highest score on; an example counts at its own threshold and at every later one.
    _, turn = np.unique(-score, return_inverse=True)
    gained = np.bincount(turn, weights=truth)
    hits, seen = np.cumsum(gained), np.cumsum(np.bincount(turn))
    precision = hits / seen
    total = hits[-1]
    value = (gained * precision).sum() / total
    later_hits = np.cumsum((gained / seen)[::-1])[::-1]
    later_seen = np.cumsum((gained * precision / seen)[::-1])[::-1]
    change = truth * (precision[turn] + later_hits[turn] - value) - later_seen[turn]
    found: Floats = len(truth) * change / total
    return found


def r2_influence(target: Array, score: Array) -> Floats:
    """Influence of every example on the share of variance explained.

    Parameters
    ----------
    target, score
        True and predicted values ``[example, target]``; the true ones are not constant.

    Returns
    -------
    ndarray
        One value per example.

    Examples
    --------
    >>> r2_influence(np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]])).tolist()
    [0.5, -0.5]
    """
    wrong = np.square(target - score).sum(axis=1)
    spread = np.square(target - target.mean(axis=0)).sum(axis=1)
    return -ratio_influence(wrong, spread)
