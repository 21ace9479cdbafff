"""The heuristic for tours: an edge is on the tour when it leads to one of the two nearest cities."""

from __future__ import annotations

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz.models.predictors import Scores
from graphnetz.models.spec import register_model
from graphnetz.tasktypes import Split


@register_model(task_types={"edge_cls"}, name="bgnn.NearestNeighbours")
class NearestNeighbours:
    """Score 1 for the ``k`` shortest edges that leave a city, else 0 (k = 2 in the paper, F1 0.693).

    Distances are those between the node features, which are coordinates.

    Examples
    --------
    >>> from graphnetz import get_split
    >>> from graphnetz.datasets import task_of
    >>> split = get_split(task_of("random_tsp", "edge_cls"))
    >>> model = NearestNeighbours()
    >>> model.fit(split, np.random.default_rng(0))
    >>> sorted(set(model.score(split)["test"].argmax(axis=1).tolist()))
    [0, 1]
    """

    def __init__(self, k: int = 2) -> None:
        if k < 1:
            raise UsageError(f"k must be at least 1, got {k}.")
        self.k = k

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Learn nothing."""

    def score(self, split: Split) -> Scores:
        """Two columns, not on the tour and on the tour, one row per edge."""
        out: Scores = {}
        for part in ("train", "val", "test"):
            data = split.data.select(split.part(part)) if hasattr(split.data, "select") else split.data
            source, target = data.edge_index.numpy()
            x = data.x.numpy().astype(float)
            length = np.linalg.norm(x[source] - x[target], axis=1)
            order = np.lexsort((length, source))
            first = np.r_[True, np.diff(source[order]) != 0]
            rank = np.empty(len(source), dtype=int)
            rank[order] = np.arange(len(source)) - np.maximum.accumulate(np.where(first, np.arange(len(source)), 0))
            near = (rank < self.k).astype(float)
            out[part] = np.stack([1.0 - near, near], axis=1)
        return out
