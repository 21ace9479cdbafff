"""Metrics computed again from the predictions that a run kept, and what cannot be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UnknownNameError
from graphnetz.engine.predictions import DECIDED, RANKED
from graphnetz.metrics import METRICS, positive_score
from graphnetz.records import CellResult, Predictions

TOLERANCE = 1e-5
"""Relative difference that scores kept as float32 may make in a metric."""

_ERRORS = frozenset({"mae", "mse", "rmse", "log_mse", "r2"})


@dataclass(frozen=True)
class Rescored:
    """One metric of one cell: what was published, what its predictions give.

    ``verdict`` is ``agrees``, ``differs``, or ``not possible`` with the reason.
    """

    task: str
    model: str
    seed: int
    metric: str
    published: float
    now: float
    verdict: str
    reason: str = ""


class NotPossibleError(Exception):
    """Why a metric cannot be computed from what was kept."""


def rescore(
    result: CellResult, kept: Predictions | None, tied: Callable[[str], bool] = lambda _: False
) -> list[Rescored]:
    """Compute the metrics of a cell again.

    Parameters
    ----------
    result
        The cell as published.
    kept
        What it predicted; None where that was not kept.
    tied
        Whether a model's score is the expectation over answers that it cannot choose between.

    Returns
    -------
    list of Rescored
        One record per metric.

    Examples
    --------
    >>> kept = Predictions(np.array([7, 9]), np.array([0, 1]), np.array([0, 0], dtype=np.uint8))
    >>> cell = CellResult("", "cora", "GCN", 0, metric="test_acc", metrics={"test_acc": 0.6, "val_acc": 0.5})
    >>> [(found.metric, found.now, found.verdict) for found in rescore(cell, kept)]
    [('test_acc', 0.5, 'differs'), ('val_acc', nan, 'not possible')]
    """
    out = []
    for metric, published in result.metrics.items():
        head = (result.task, result.model, result.seed, metric, published)
        try:
            now = _value(metric, result, kept)
        except NotPossibleError as error:
            out.append(Rescored(*head, math.nan, "not possible", str(error)))
            continue
        same = now == published or (math.isnan(now) and math.isnan(published))
        if same or abs(now - published) <= TOLERANCE * max(1.0, abs(published)):
            out.append(Rescored(*head, now, "agrees"))
        elif why := _doubt(metric.removeprefix("test_"), result, kept, tied):
            out.append(Rescored(*head, now, "not possible", why))
        else:
            out.append(Rescored(*head, now, "differs"))
    return out


def _value(metric: str, result: CellResult, kept: Predictions | None) -> float:
    part, _, key = metric.partition("_")
    if part != "test":
        raise NotPossibleError("only predictions for test examples are kept")
    if kept is None:
        raise NotPossibleError("no predictions were kept")
    if not kept.complete:
        raise NotPossibleError(f"only a sample of {len(kept.example)} of {kept.total} examples was kept")
    if result.protocol is not None and result.protocol.compat:
        raise NotPossibleError("it is a mean over batches, which are not kept")
    try:
        compute = METRICS[key].compute
    except UnknownNameError:
        raise NotPossibleError(f"the metric {key!r} is not known here") from None
    if key == "loss":
        raise NotPossibleError("losses are written by the training loop")
    target, score = np.asarray(kept.target), np.asarray(kept.score)
    if kept.ranked:
        of_ranks = METRICS[key].of_ranks
        if of_ranks is None:
            raise NotPossibleError(f"{key} needs the scores of all pairs, and only ranks of the true edges were kept")
        return float(of_ranks(score.astype(np.float64)))
    if kept.node_columns:
        return _of_nodes_and_graphs(compute, kept)
    if score.dtype.kind == "u":
        if key not in DECIDED:
            raise NotPossibleError(f"{key} needs scores, and only predicted classes were kept")
        score = _one_hot(score.reshape(-1), int(max(score.max(initial=0), target.max(initial=0))) + 1)
    elif score.ndim == 1 and key not in DECIDED | RANKED | _ERRORS and not key.startswith("hits@"):
        raise NotPossibleError(f"{key} needs more than one score per example")
    return float(compute(target, score if score.dtype.kind != "f" else score.astype(np.float64)))


def _one_hot(classes: npt.NDArray[Any], count: int) -> npt.NDArray[np.float64]:
    return np.asarray(np.eye(max(count, 2))[classes], dtype=np.float64)


def _of_nodes_and_graphs(compute: Callable[[Any, Any], float], kept: Predictions) -> float:
    """Targets of nodes from every row, those of their graphs from the first row of each."""
    if kept.blocks is None:
        raise NotPossibleError("which nodes form a graph was not kept")
    target, score = np.asarray(kept.target), np.asarray(kept.score, dtype=np.float64)
    first = np.unique(kept.blocks, return_index=True)[1]
    columns = [compute(target[:, c], score[:, c]) for c in range(kept.node_columns)]
    columns += [compute(target[first, c], score[first, c]) for c in range(kept.node_columns, target.shape[1])]
    return float(np.mean(columns))


def _doubt(key: str, result: CellResult, kept: Predictions | None, tied: Callable[[str], bool]) -> str:
    """Why a difference proves nothing: equal answers, of which the cell was given the mean."""
    if tied(result.model):
        return "the score is the expectation over answers that the model cannot choose between"
    if kept is not None and (key in RANKED or key.startswith("hits@")):
        score: npt.NDArray[Any] = np.asarray(kept.score)
        value = positive_score(score) if score.ndim == 1 or score.shape[1] <= 2 else score.max(axis=1)
        if len(np.unique(value)) < len(value):
            return "scores are equal at the precision that was kept"
    return ""
