"""node2vec (Grover and Leskovec, 2016) with walks and skip-gram of our own."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphnetz._core.errors import UsageError
from graphnetz.models.embeddings import Embedding
from graphnetz.models.spec import register_model


@register_model(task_types={"node_cls", "link_pred"})
class Node2Vec(Embedding):
    """Skip-gram vectors of second-order random walks.

    Parameters
    ----------
    dimensions
        Width of the vectors.
    walk_length, walks_per_node
        Nodes per walk, walks that start at each node.
    context_size
        Nodes of a walk, to each side together, that count as near: half of it on each side.
    p, q
        Return and in-out parameter; 1 and 1 is an unbiased walk.
    negatives, epochs, rate
        Negative samples per pair, passes over the walks, first learning rate.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import Node2Vec
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> model = Node2Vec(dimensions=8, epochs=1)
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (8, 2)
    """

    def __init__(
        self, dimensions: int = 32, walk_length: int = 20, context_size: int = 10, walks_per_node: int = 10,
        p: float = 1.0, q: float = 1.0, negatives: int = 1, epochs: int = 3, rate: float = 0.05,
    ) -> None:  # fmt: skip
        if p <= 0 or q <= 0:
            raise UsageError(f"p and q must be above 0, got {p} and {q}.")
        self.dimensions, self.walk_length, self.context_size = dimensions, walk_length, context_size
        self.walks_per_node, self.p, self.q = walks_per_node, p, q
        self.negatives, self.epochs, self.rate = negatives, epochs, rate

    def embed(self, adjacency: sp.csr_matrix, rng: np.random.Generator) -> np.ndarray:
        """Walk, then learn vectors that tell which nodes a walk visits close together."""
        from graphnetz.models import _walks

        adjacency.sort_indices()
        nodes = adjacency.shape[0]
        starts = np.tile(np.arange(nodes), self.walks_per_node)
        seeds = rng.integers(0, 2**31 - 1, 2)
        rows = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
        paths = _walks.walks(*rows, starts, self.walk_length, float(self.p), float(self.q), int(seeds[0]))
        inner = ((rng.random((nodes, self.dimensions)) - 0.5) / self.dimensions).astype(np.float32)
        outer = np.zeros_like(inner)
        rates = self.rate * (1.0 - np.arange(self.epochs) / self.epochs)
        _walks.skip_gram(
            paths, inner, outer, max(self.context_size // 2, 1), self.negatives, rates.astype(np.float64), int(seeds[1])
        )
        return inner.astype(np.float64)
