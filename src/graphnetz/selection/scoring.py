"""How good a selection is, given what every model would have scored. Selectors never see these answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError

FloatArray = npt.NDArray[np.float64]

METRICS = ("auc", "mrr", "ndcg1", "regret", "hit1", "hit5", "hit10")
"""Keys of the selection metrics; regret is the only one where less is better."""


@dataclass(frozen=True)
class SelectionScores:
    """How well predictions order the models, one value per test graph.

    NaN for a graph with fewer than two observed models.

    Attributes
    ----------
    auc, mrr, ndcg1, regret, hit1, hit5, hit10
        The metrics defined in `selection_scores`; regret is the only one where less is better.

    Examples
    --------
    >>> from graphnetz.selection import selection_scores
    >>> selection_scores([[0.9, 0.5, 0.7]], [[1.0, 2.0, 0.0]]).mrr.tolist()
    [0.5]
    """

    auc: FloatArray
    mrr: FloatArray
    ndcg1: FloatArray
    regret: FloatArray
    hit1: FloatArray
    hit5: FloatArray
    hit10: FloatArray

    def mean(self) -> dict[str, float]:
        """Mean over graphs.

        Returns
        -------
        dict of float
            By metric.

        Examples
        --------
        >>> from graphnetz.selection import selection_scores
        >>> selection_scores([[0.9, 0.5], [0.5, 0.9]], [[1.0, 2.0], [1.0, 2.0]]).mean()["hit1"]
        0.5
        """
        return {key: float(np.nanmean(getattr(self, key))) for key in METRICS}

    def standard_error(self) -> dict[str, float]:
        """Standard error of the mean over graphs.

        Returns
        -------
        dict of float
            By metric; NaN with fewer than two graphs.

        Examples
        --------
        >>> from graphnetz.selection import selection_scores
        >>> selection_scores([[0.9, 0.5], [0.5, 0.9]], [[1.0, 2.0], [1.0, 2.0]]).standard_error()["hit1"]
        0.5
        """
        out = {}
        for key in METRICS:
            values = getattr(self, key)
            values = values[np.isfinite(values)]
            out[key] = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
        return out


def selection_scores(truth: npt.ArrayLike, scores: npt.ArrayLike) -> SelectionScores:
    """Score predictions against the true performances, over the observed entries of each graph.

    Parameters
    ----------
    truth
        Performances ``[graphs, models]``, greater is better, NaN where not observed.
    scores
        Predicted scores of the same shape; only their order within a graph matters.

    Returns
    -------
    SelectionScores
        One value per graph and metric.

    Notes
    -----
    The positive is the true best model (the first of several). AUC is
    ``1 - (greater + ties / 2) / (m - 1)``, MRR is ``1 / (greater + ties + 1)``, where greater and
    ties count the other models scored above and equal; NDCG@1 is the mean performance of the
    models tied at the top over the best performance; regret is the best performance less that mean;
    hit@k says whether the best model is among the first k, ties taken at their worst.

    Examples
    --------
    >>> from graphnetz.selection import selection_scores
    >>> selection_scores([[0.9, 0.5, 0.7]], [[1.0, 2.0, 0.0]]).auc.tolist()
    [0.5]
    """
    p, s = np.atleast_2d(np.asarray(truth, float)), np.atleast_2d(np.asarray(scores, float))
    if p.shape != s.shape:
        raise UsageError(f"truth has shape {p.shape} and scores {s.shape}. Give one score per graph and model.")
    seen = np.isfinite(p)
    if np.isnan(s[seen]).any():
        raise UsageError("The scores hold NaN where a performance is known. A selector must score every model.")
    count = seen.sum(axis=1)
    usable = count >= 2
    # What was never measured can neither be the best model nor count against one.
    low = np.where(seen, p, -np.inf)
    masked = np.where(seen, s, -np.inf)
    rows = np.arange(len(p))
    best = low.argmax(axis=1)
    at_best = masked[rows, best][:, None]
    greater = (masked > at_best).sum(axis=1)
    ties = ((masked == at_best) & seen).sum(axis=1) - 1
    top = (masked == masked.max(axis=1, keepdims=True)) & seen
    with np.errstate(all="ignore"):
        chosen = np.where(top, p, 0.0).sum(axis=1) / top.sum(axis=1)
        peak = low.max(axis=1)
        values = {
            "auc": 1 - (greater + ties / 2) / (count - 1),
            "mrr": 1 / (greater + ties + 1),
            "ndcg1": chosen / peak,
            "regret": peak - chosen,
            # Ties at their worst: equal scores for more than k models are no hit.
            **{f"hit{k}": (greater + ties < k).astype(float) for k in (1, 5, 10)},
        }
    return SelectionScores(**{key: np.where(usable, value, np.nan) for key, value in values.items()})
