"""Hits and reciprocal ranks: of positives against shared negatives, or of each among candidates of its own.

Both are defined as in the evaluators of the Open Graph Benchmark (Hu et al., 2020). Against shared negatives hits@k
asks a positive to lie strictly above the k-th best negative, which counts a tie as a miss. Among candidates of its own
a positive has a rank, at the mean of the places that tied candidates share, and hits@k asks for a rank of at most k.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphnetz.metrics.classes import _multilabel
from graphnetz.metrics.declared import Array, metric
from graphnetz.metrics.ranking import positive_score


def ranks_among(positive: Array, candidates: Array) -> Array:
    """Return the rank of every positive among candidates of its own.

    Parameters
    ----------
    positive
        Scores ``[query]``; greater is better.
    candidates
        Scores ``[query, candidate]`` of what each is ranked against, without the positive itself; minus infinity for
        a candidate that does not count.

    Returns
    -------
    ndarray
        1 is the best; tied candidates share the mean of their places. NaN where a score is not a number, because a
        comparison with NaN would call it the best.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import ranks_among
    >>> ranks_among(np.array([0.5, 0.2]), np.array([[0.9, 0.5, 0.1], [0.1, 0.0, -np.inf]])).tolist()
    [2.5, 1.0]
    """
    own = positive[:, None]
    rank = 1.0 + ((candidates > own).sum(axis=1) + (candidates >= own).sum(axis=1)) / 2.0
    broken = ~np.isfinite(positive) | np.isnan(candidates).any(axis=1)
    return np.where(broken, np.nan, rank)


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


def ranked_within(k: int) -> Callable[[Array], float]:
    """Make hits@k of ranks: the share of positives that are among the first k of their own candidates.

    Parameters
    ----------
    k
        The last place that counts.

    Returns
    -------
    callable
        ``(rank) -> float``; NaN without ranks, or where one is not a number.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import ranked_within
    >>> ranked_within(3)(np.array([1.0, 3.0, 3.5, 80.0]))
    0.5
    """
    return lambda rank: float((rank <= k).mean()) if rank.size and not np.isnan(rank).any() else float("nan")


for _k in (1, 3, 10, 20, 50, 100):
    metric(f"hits@{_k}", f"Hits@{_k}", greater_is_better=True, bounds=(0.0, 1.0), of_ranks=ranked_within(_k))(
        hits_at(_k)
    )


def mean_of_inverse(rank: Array) -> float:
    """Return the mean reciprocal rank of positives that are each ranked among candidates of their own.

    Parameters
    ----------
    rank
        As `ranks_among` gives them.

    Returns
    -------
    float
        Between 0 and 1; NaN without ranks, or where one is not a number.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import mean_of_inverse
    >>> mean_of_inverse(np.array([1.0, 2.0]))
    0.75
    """
    return float((1.0 / rank).mean()) if rank.size else float("nan")


@metric("mrr", "MRR", greater_is_better=True, bounds=(0.0, 1.0), of_ranks=mean_of_inverse)
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
