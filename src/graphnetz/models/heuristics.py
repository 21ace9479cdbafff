"""Link predictors that count neighbours: each one's, or those that two nodes share."""

from __future__ import annotations

import abc

import numpy as np
import scipy.sparse as sp
import torch

from graphnetz.models.predictors import Scores
from graphnetz.models.spec import register_model
from graphnetz.tasktypes import Split


def adjacency_of(split: Split) -> sp.csr_matrix:
    """The undirected simple training graph: ones, no self-loops."""
    data = split.data
    nodes = int(data.num_nodes)
    row, col = data.edge_index.numpy()
    row, col = row[row != col], col[row != col]
    matrix = sp.csr_matrix((np.ones(row.size), (row, col)), shape=(nodes, nodes))
    out: sp.csr_matrix = ((matrix + matrix.T) > 0).astype(float).tocsr()
    return out


class _Shared(abc.ABC):
    """Sum over shared neighbours of a weight that falls with their degree."""

    @staticmethod
    @abc.abstractmethod
    def weight(degree: np.ndarray) -> np.ndarray:
        """Weight of a shared neighbour."""

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Weigh the training graph."""
        self.adjacency = adjacency_of(split)
        degree = np.asarray(self.adjacency.sum(axis=1)).ravel()
        self.weighted = (self.adjacency @ sp.diags(self.weight(degree))).tocsr()

    def score(self, split: Split) -> Scores:
        """Score pairs; two nodes that share nothing get 0."""
        out = {}
        for part in split.targets:
            a, b = split.part(part).index.numpy()
            out[part] = np.asarray(self.weighted[a].multiply(self.adjacency[b]).sum(axis=1)).ravel()
        return out

    def score_all(self, given: np.ndarray, relation: np.ndarray, tails: bool) -> np.ndarray:
        """Score every node as the other end of given ones; relations and directions are not looked at."""
        return np.asarray((self.weighted[given] @ self.adjacency.T).todense())


@register_model(task_types={"link_pred"})
class ResourceAllocation(_Shared):
    """Sum of 1 / degree over shared neighbours (Zhou, Lu and Zhang, 2009).

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import ResourceAllocation
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph()))
    >>> model = ResourceAllocation()
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (14,)
    """

    @staticmethod
    def weight(degree: np.ndarray) -> np.ndarray:
        """One over the degree."""
        return np.asarray(1.0 / np.maximum(degree, 1.0))


@register_model(task_types={"link_pred"})
class AdamicAdar(_Shared):
    """Sum of 1 / log(degree) over shared neighbours (Adamic and Adar, 2003).

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import AdamicAdar
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph()))
    >>> model = AdamicAdar()
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (14,)
    """

    @staticmethod
    def weight(degree: np.ndarray) -> np.ndarray:
        """One over the logarithm; a shared neighbour has degree 2 at least."""
        return np.asarray(1.0 / np.log(np.maximum(degree, 2.0)))


@register_model(task_types={"link_pred"})
class DegreeProduct:
    """Preferential attachment: the product of training degrees.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import DegreeProduct
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph()))
    >>> model = DegreeProduct()
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (14,)
    """

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Count training degrees."""
        self.degree = torch.bincount(split.data.edge_index[0], minlength=split.data.num_nodes).numpy().astype(float)

    def score(self, split: Split) -> Scores:
        """Score pairs; the logarithm keeps the order and the range small."""
        score = {}
        for part in split.targets:
            a, b = split.part(part).index.numpy()
            score[part] = np.log1p(self.degree[a]) + np.log1p(self.degree[b])
        return score

    def score_all(self, given: np.ndarray, relation: np.ndarray, tails: bool) -> np.ndarray:
        """Score every node as the other end of given ones; relations and directions are not looked at."""
        each = np.log1p(self.degree)
        return np.asarray(each[given][:, None] + each[None, :])


@register_model(task_types={"link_pred"})
class Jaccard:
    """Shared neighbours over all neighbours, from training edges.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import Jaccard
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph()))
    >>> model = Jaccard()
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (14,)
    """

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Keep the training adjacency."""
        self.adjacency = adjacency_of(split)
        self.degree = np.asarray(self.adjacency.sum(axis=1)).ravel()

    def score(self, split: Split) -> Scores:
        """Score pairs; two nodes without neighbours share nothing."""
        score = {}
        for part in split.targets:
            a, b = split.part(part).index.numpy()
            shared = np.asarray(self.adjacency[a].multiply(self.adjacency[b]).sum(axis=1)).ravel()
            union = self.degree[a] + self.degree[b] - shared
            score[part] = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
        return score

    def score_all(self, given: np.ndarray, relation: np.ndarray, tails: bool) -> np.ndarray:
        """Score every node as the other end of given ones; relations and directions are not looked at."""
        shared = np.asarray((self.adjacency[given] @ self.adjacency.T).todense())
        union = self.degree[given][:, None] + self.degree[None, :] - shared
        return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))
