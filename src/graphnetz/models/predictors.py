"""Baselines that fit themselves: what a graph network must beat before it is worth its cost.

A predictor has ``fit(split, rng)`` and ``score(split)``, which returns one array per part in the
order of ``split.targets``; task types evaluate it exactly as they evaluate an encoder.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from graphnetz.models.spec import ALL, register_model
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs

Scores = dict[str, np.ndarray]
_PARTS = ("train", "val", "test")


def _is_class(target: np.ndarray) -> bool:
    return target.ndim == 1 and np.issubdtype(target.dtype, np.integer)


def _undirected(split: Split) -> sp.csr_matrix:
    nodes, (row, col) = split.data.num_nodes, split.data.edge_index.numpy()
    matrix = sp.csr_matrix((np.ones(row.size), (row, col)), shape=(nodes, nodes))
    out: sp.csr_matrix = ((matrix + matrix.T) > 0).astype(float).tocsr()
    return out


@register_model(task_types={"node_cls", "graph_cls", "edge_cls", "graph_reg", "multi_reg"})
class Majority:
    """The commonest class, the commonest value of each label, or the median target.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import Majority
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> model = Majority()
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (8, 2)
    """

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Count the training targets."""
        target = split.targets["train"]
        if _is_class(target):
            counts = np.bincount(target, minlength=split.dims.out_channels)
            self.row = counts / counts.sum()
        elif split.kind == "multi":
            self.row = np.nanmean(target, axis=0) - 0.5
        else:
            self.row = np.median(target, axis=0)

    def score(self, split: Split) -> Scores:
        """Repeat the same row for every example."""
        return {part: np.tile(self.row, (len(split.targets[part]), 1)) for part in _PARTS}


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
        for part in _PARTS:
            a, b = split.part(part).index.numpy()
            score[part] = np.log1p(self.degree[a]) + np.log1p(self.degree[b])
        return score


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
        self.adjacency = _undirected(split)
        self.degree = np.asarray(self.adjacency.sum(axis=1)).ravel()

    def score(self, split: Split) -> Scores:
        """Score pairs; two nodes without neighbours share nothing."""
        score = {}
        for part in _PARTS:
            a, b = split.part(part).index.numpy()
            shared = np.asarray(self.adjacency[a].multiply(self.adjacency[b]).sum(axis=1)).ravel()
            union = self.degree[a] + self.degree[b] - shared
            score[part] = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
        return score


@register_model(task_types={"node_cls"})
class LabelPropagation:
    """Spread training labels over edges (Zhou et al., 2004); features are not looked at.

    Parameters
    ----------
    alpha
        Share of its neighbours in a node's new value; the rest is its own label.
    iterations
        Number of steps.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import LabelPropagation
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> model = LabelPropagation()
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (8, 2)
    """

    def __init__(self, alpha: float = 0.9, iterations: int = 50) -> None:
        self.alpha, self.iterations = alpha, iterations

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Propagate on one graph; several graphs share no edges, so the majority is all that is left."""
        self.row: np.ndarray | None = None
        if isinstance(split.data, PackedGraphs):
            baseline = Majority()
            baseline.fit(split, rng)
            self.row = baseline.row
            return
        nodes, classes = split.data.num_nodes, split.dims.out_channels
        adjacency = _undirected(split)
        scale = sp.diags(1.0 / np.sqrt(np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0)))
        walk = scale @ adjacency @ scale
        seed = np.zeros((nodes, classes))
        target = split.targets["train"]
        if split.kind == "multi":
            seed[split.train.numpy()] = target - 0.5
        else:
            seed[split.train.numpy(), target] = 1.0
        spread = seed.copy()
        for _ in range(self.iterations):
            spread = self.alpha * (walk @ spread) + (1 - self.alpha) * seed
        self.spread = spread

    def score(self, split: Split) -> Scores:
        """Read the propagated labels."""
        if self.row is not None:
            return {part: np.tile(self.row, (len(split.targets[part]), 1)) for part in _PARTS}
        return {part: self.spread[split.part(part).numpy()] for part in _PARTS}


@register_model(task_types=ALL)
class FeatureOnly:
    """Logistic or ridge regression on features alone: no edge is looked at.

    Graphs are described by mean features and size, pairs by the product of their ends' features,
    edges by both ends' features and their own attributes.

    Parameters
    ----------
    strength
        Inverse of the penalty on coefficients: smaller means simpler models.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import FeatureOnly
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> model = FeatureOnly()
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (8, 2)
    """

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Fit on the training part."""
        # Here, not above: a second of start-up that most runs do not need.
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        self.rows = design(split)
        target = split.targets["train"]
        labelled = split.kind == "multi"
        columns = target.T if labelled else [target]
        self.models: list[Any] = []
        classify = labelled or _is_class(target) or _is_binary(split)
        for column in columns:
            known = np.isfinite(column) if column.dtype.kind == "f" and column.ndim == 1 else np.ones(len(column), bool)
            if classify and np.unique(column[known]).size < 2:
                self.models.append(float(column[known][0]) - 0.5 if known.any() else 0.0)
                continue
            estimator = (
                LogisticRegression(C=self.strength, max_iter=300) if classify else Ridge(alpha=1.0 / self.strength)
            )
            model = make_pipeline(StandardScaler(), estimator)
            self.models.append(model.fit(self.rows["train"][known], column[known]))
        self.classify = classify

    def score(self, split: Split) -> Scores:
        """Decision values in the layout of the task type."""
        return {part: self._score(self.rows[part], split) for part in _PARTS}

    def _score(self, rows: np.ndarray, split: Split) -> np.ndarray:
        if not self.classify:
            out = np.asarray(self.models[0].predict(rows))
            return out if out.ndim == 2 else out[:, None]
        columns = [
            m.decision_function(rows) if not isinstance(m, float) else np.full(len(rows), m) for m in self.models
        ]
        if split.kind == "multi":
            return np.stack(columns, axis=1)
        if _is_binary(split):
            return np.asarray(columns[0])
        return _spread(columns[0], self.models[0].classes_, split.dims.out_channels)


def _is_binary(split: Split) -> bool:
    """Pairs of link prediction carry float labels 0 and 1."""
    return isinstance(split.train, Pairs)


def _spread(decision: np.ndarray, classes: np.ndarray, width: int) -> np.ndarray:
    """Put decision values at their classes' columns; classes never seen stay at the bottom."""
    values = np.stack([-decision, decision], axis=1) if decision.ndim == 1 else decision
    out = np.full((len(values), width), values.min() - 1.0)
    out[:, classes.astype(int)] = values
    return out


def _x(data: Any) -> np.ndarray:
    x = data.node["x"] if isinstance(data, PackedGraphs) else data.x
    if x.is_floating_point():
        return np.asarray(x.double().numpy())
    return np.concatenate([np.eye(int(c.max()) + 1)[c.numpy()] for c in x.T], axis=1)


def design(split: Split) -> dict[str, np.ndarray]:
    """Feature rows of every part, in the order of ``split.targets``."""
    x = _x(split.data)
    if isinstance(split.train, Pairs):
        return {part: x[split.part(part).index[0]] * x[split.part(part).index[1]] for part in _PARTS}
    if split.unit == "edge":
        return _edge_rows(split, x)
    if not isinstance(split.data, PackedGraphs):
        return {part: x[split.part(part).numpy()] for part in _PARTS}
    if split.unit == "node" and split.dims.out_graph is None:
        return {part: x[split.examples[part]] for part in _PARTS}
    pointers = split.data.node_ptr.numpy()
    sizes = np.diff(pointers)
    means = np.add.reduceat(x, pointers[:-1], axis=0) / sizes[:, None]
    table = np.concatenate([means, np.log1p(sizes)[:, None]], axis=1)
    if split.dims.out_graph is None:
        return {part: table[split.part(part).numpy()] for part in _PARTS}
    return {part: _joint_rows(split, part, x, table) for part in _PARTS}


def _joint_rows(split: Split, part: str, x: np.ndarray, table: np.ndarray) -> np.ndarray:
    index = split.part(part)
    batch = split.data.select(index)
    return np.concatenate([x[batch.node_id.numpy()], table[index.numpy()][batch.batch.numpy()]], axis=1)


def _edge_rows(split: Split, x: np.ndarray) -> dict[str, np.ndarray]:
    packed = isinstance(split.data, PackedGraphs)
    rows = {}
    for part in _PARTS:
        if packed:
            batch = split.data.select(split.part(part))
            ends, attr, nodes = batch.edge_index.numpy(), batch.get("edge_attr"), batch.node_id.numpy()
            ends = nodes[ends]
        else:
            edges = split.part(part)
            attr = None if split.data.edge_attr is None else split.data.edge_attr[edges]
            ends = split.data.edge_index[:, edges].numpy()
        columns = [x[ends[0]], x[ends[1]]] + ([] if attr is None else [attr.double().numpy()])
        rows[part] = np.concatenate(columns, axis=1)
    return rows
