"""Embeddings learned without labels: spectral, GraRep, and what turns any of them into predictions.

Pairs are scored by the dot product of their ends; nodes are classified by a linear model on the
embedding, fitted on the training nodes (the protocol of GLEMOS, Park et al., 2023).
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, eigsh, svds

from graphnetz.models.heuristics import adjacency_of
from graphnetz.models.predictors import Majority, Scores, _spread
from graphnetz.models.spec import register_model
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs


class Embedding(abc.ABC):
    """A predictor from one vector per node; subclasses say how to find the vectors."""

    @abc.abstractmethod
    def embed(self, adjacency: sp.csr_matrix, rng: np.random.Generator) -> np.ndarray:
        """Return one row per node of an undirected simple graph."""

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Embed the training graph; for nodes, fit one linear model per label."""
        self.fallback: Majority | None = None
        if isinstance(split.data, PackedGraphs):  # vectors of separate graphs have no common axes
            self.fallback = Majority()
            self.fallback.fit(split, rng)
            return
        self.z = self.embed(adjacency_of(split), rng)
        self.models: list[Any] = []
        if isinstance(split.train, Pairs):
            return
        from sklearn.linear_model import LogisticRegression  # a second of start-up that most runs do not need

        rows, target = self._rows(split, "train"), split.targets["train"]
        for column in target.T if split.kind == "multi" else [target]:
            if np.unique(column).size < 2:
                self.models.append(float(column[0]) - 0.5)
            else:
                self.models.append(LogisticRegression(max_iter=300).fit(rows, column))

    def score(self, split: Split) -> Scores:
        """Score pairs or nodes in the layout of the task type."""
        if self.fallback is not None:
            return self.fallback.score(split)
        return {part: self._score(split, part) for part in split.targets}

    def score_all(self, given: np.ndarray, relation: np.ndarray, tails: bool) -> np.ndarray:
        """Score every node as the other end of given ones; relations and directions are not looked at."""
        return np.asarray(self.z[given] @ self.z.T)

    def _rows(self, split: Split, part: str) -> np.ndarray:
        scale = self.z.std(axis=0)
        return np.asarray((self.z / np.where(scale > 0, scale, 1.0))[split.part(part).numpy()])

    def _score(self, split: Split, part: str) -> np.ndarray:
        if isinstance(split.train, Pairs):
            a, b = split.part(part).index.numpy()
            return np.asarray((self.z[a] * self.z[b]).sum(axis=1))
        rows = self._rows(split, part)
        columns = [
            np.full(len(rows), m) if isinstance(m, float) else np.asarray(m.decision_function(rows))
            for m in self.models
        ]
        if split.kind == "multi":
            return np.stack(columns, axis=1)
        return _spread(columns[0], self.models[0].classes_, split.dims.out_channels)


@register_model(task_types={"node_cls", "link_pred"})
class SpectralEmbedding(Embedding):
    """Leading eigenvectors of the normalised adjacency, the trivial one left out (Luo et al., 2003).

    Parameters
    ----------
    num_components
        Number of eigenvectors.
    tolerance
        Accuracy asked of the eigenvalue solver.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import SpectralEmbedding
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> model = SpectralEmbedding(num_components=4)
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (8, 2)
    """

    def __init__(self, num_components: int = 16, tolerance: float = 1e-3) -> None:
        self.num_components, self.tolerance = num_components, tolerance

    def embed(self, adjacency: sp.csr_matrix, rng: np.random.Generator) -> np.ndarray:
        """Return eigenvectors divided by the root of the degree."""
        nodes = adjacency.shape[0]
        root = np.sqrt(np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0))
        scale = sp.diags(1.0 / root)
        matrix = scale @ adjacency @ scale
        wanted = min(self.num_components + 1, nodes - 1)
        start = rng.uniform(-1.0, 1.0, nodes)
        if nodes <= 2 * wanted + 2:
            vectors = np.linalg.eigh(matrix.toarray())[1][:, ::-1][:, :wanted]
        else:
            try:
                vectors = eigsh(matrix, k=wanted, which="LA", v0=start, tol=self.tolerance, maxiter=50 * nodes)[1]
            except ArpackNoConvergence as error:  # what has converged is still a basis
                vectors = error.eigenvectors
            vectors = vectors[:, ::-1]
        return np.asarray(vectors[:, 1:] / root[:, None] * np.sqrt(nodes))


@register_model(task_types={"node_cls", "link_pred"})
class GraRep(Embedding):
    """Factors of positive log transition probabilities of 1 to ``power`` steps (Cao et al., 2015).

    Parameters
    ----------
    num_components
        Factors kept per step.
    power
        Largest number of steps.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import GraRep
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> model = GraRep(num_components=4)
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (8, 2)
    """

    def __init__(self, num_components: int = 32, power: int = 2) -> None:
        self.num_components, self.power = num_components, power

    def embed(self, adjacency: sp.csr_matrix, rng: np.random.Generator) -> np.ndarray:
        """Return the factors of every step side by side."""
        nodes = adjacency.shape[0]
        step = sp.diags(1.0 / np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0)) @ adjacency
        reached, parts = sp.identity(nodes, format="csr"), []
        for _ in range(self.power):
            reached = (reached @ step).tocsr()
            parts.append(self._factors(reached, rng))
        return np.concatenate(parts, axis=1)

    def _factors(self, reached: sp.csr_matrix, rng: np.random.Generator) -> np.ndarray:
        nodes = reached.shape[0]
        arrivals = np.asarray(reached.sum(axis=0)).ravel()
        table = reached.tocoo()
        value = np.log(table.data / arrivals[table.col]) + np.log(nodes)
        keep = value > 0
        positive = sp.csr_matrix((value[keep], (table.row[keep], table.col[keep])), shape=(nodes, nodes))
        rank = min(self.num_components, nodes - 2)
        if rank < 1 or positive.nnz == 0:
            return np.zeros((nodes, 1))
        left, strength, _ = svds(positive, k=rank, v0=rng.uniform(-1.0, 1.0, nodes), tol=1e-3)
        order = np.argsort(-strength)
        return np.asarray(left[:, order] * np.sqrt(strength[order]))
