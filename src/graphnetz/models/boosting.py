"""Boosted trees on features and on the means of the neighbours' features: strong where features are a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphnetz.models.predictors import FeatureOnly, Scores, _x, design
from graphnetz.models.spec import ALL, register_model
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs

WIDEST = 32
"""Columns of features that trees are grown on; of more, such as words, the leading components are taken."""


@register_model(task_types=ALL)
class GradientBoosting(FeatureOnly):
    """Boosted trees on a node's features, the means of its neighbours' and its degree (GraphLand's strong baseline).

    Graphs are described by means over their nodes and their size, edges by both ends and their attributes, pairs by
    both ends without the edge between them, their likeness and the neighbours that they share.

    Parameters
    ----------
    rounds
        Number of trees per class, label or target.
    rate
        Share of each tree that is added.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import GradientBoosting
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> model = GradientBoosting(rounds=5)
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (8, 2)
    """

    inductive = False
    """It describes nodes by their neighbours, test nodes among them."""

    def __init__(self, rounds: int = 50, rate: float = 0.12) -> None:
        self.rounds, self.rate = rounds, rate

    def _design(self, split: Split, rng: np.random.Generator) -> Scores:
        x, adjacency = _narrow(split, rng), _neighbours(split)
        if isinstance(split.train, Pairs):
            return {part: _pair_rows(split.part(part), x, adjacency) for part in split.targets}
        degree = np.asarray(adjacency.sum(axis=1))
        return design(split, np.hstack([x, adjacency @ x / np.maximum(degree, 1.0), np.log1p(degree)]))

    def _estimator(self, split: Split, rng: np.random.Generator) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        options: dict[str, Any] = {
            "max_iter": self.rounds, "learning_rate": self.rate, "max_leaf_nodes": 15, "early_stopping": False,
            # Of four examples per class, leaves of twenty would learn nothing.
            "min_samples_leaf": int(np.clip(len(split.targets["train"]) // 25, 2, 20)),
            "random_state": int(rng.integers(2**31)),
        }  # fmt: skip
        if self.classify:
            return HistGradientBoostingClassifier(**options)
        loss = "absolute_error" if split.metric == "mae" else "squared_error"
        return HistGradientBoostingRegressor(loss=loss, **options)


def _narrow(split: Split, rng: np.random.Generator) -> np.ndarray:
    """Features, or the leading components of many; not of several graphs, where test graphs may not be seen."""
    x = _x(split.data)
    if x.shape[1] <= WIDEST or isinstance(split.data, PackedGraphs):
        return x
    from sklearn.utils.extmath import randomized_svd

    left, size, _ = randomized_svd(sp.csr_matrix(x), WIDEST, n_iter=4, random_state=int(rng.integers(2**31)))
    return np.asarray(left * size)


def _neighbours(split: Split) -> sp.csr_matrix:
    """Ones between nodes of one graph that share an edge, in any direction, without self-loops."""
    data = split.data
    row, col = data.edge_index.numpy()
    nodes = data.node["x"].size(0) if isinstance(data, PackedGraphs) else data.num_nodes
    if isinstance(data, PackedGraphs):  # stored ids count from each graph's own 0
        shift = np.repeat(data.node_ptr[:-1].numpy(), np.diff(data.edge_ptr.numpy()))
        row, col = row + shift, col + shift
    apart = row != col
    ones = sp.csr_matrix((np.ones(apart.sum()), (row[apart], col[apart])), shape=(nodes, nodes))
    out: sp.csr_matrix = ((ones + ones.T) > 0).astype(float).tocsr()
    return out


def _pair_rows(pairs: Pairs, x: np.ndarray, adjacency: sp.csr_matrix) -> np.ndarray:
    """Describe pairs as if they had no edge: that of a training pair is in the graph, that of a test pair is not."""
    a, b = pairs.index.numpy()
    edge = np.asarray(adjacency[a, b]).ravel()[:, None]
    degree, total = np.asarray(adjacency.sum(axis=1)), adjacency @ x
    ends = [(degree[i] - edge, total[i] - edge * x[j], x[i]) for i, j in ((a, b), (b, a))]
    means = [np.hstack([own, around / np.maximum(size, 1.0)]) for size, around, own in ends]
    sizes = np.log1p(np.hstack([ends[0][0], ends[1][0]]))
    weights = [np.ones(len(degree)), 1.0 / np.log(np.maximum(degree.ravel(), 2.0))]
    shared = [np.asarray((adjacency[a] @ sp.diags(w)).multiply(adjacency[b]).sum(axis=1)) for w in weights]
    # An unordered pair must be described the same way from both ends; a relation has a head and a tail.
    if pairs.relation is not None:
        rows = [*means, sizes, pairs.relation.numpy()[:, None]]
    else:
        rows = [means[0] * means[1], np.abs(means[0] - means[1]), np.sort(sizes, axis=1)]
    return np.hstack([*rows, sizes.sum(axis=1, keepdims=True), *shared])
