"""Baselines that fit themselves: what a graph network must beat before it is worth its cost.

A predictor has ``fit(split, rng)`` and ``score(split)``, which returns one array per part in the
order of ``split.targets``; task types evaluate it exactly as they evaluate an encoder. One that cannot
choose between several answers has ``guesses(split)``, a list of them, and is given the mean of their metrics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphnetz.models.spec import ALL, register_model
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs

Scores = dict[str, np.ndarray]


def _is_class(target: np.ndarray) -> bool:
    return target.ndim == 1 and np.issubdtype(target.dtype, np.integer)


@register_model(task_types={"node_cls", "graph_cls", "edge_cls", "graph_reg", "multi_reg"})
class Majority:
    """The commonest class, the commonest value of each label, or the median target, of training and validation.

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

    inductive = True
    """It looks at no edge and at no feature of a node that it is not trained on."""

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Count the targets of training and validation: there is nothing else to choose with the latter."""
        target = np.concatenate([split.targets["train"], split.targets["val"]])
        self.tied: tuple[int, ...] = ()
        if _is_class(target):
            counts = np.bincount(target, minlength=split.dims.out_channels)
            self.row = counts / counts.sum()
            self.tied = tuple(np.flatnonzero(counts == counts.max()).tolist())
        elif split.kind == "multi":
            self.row = np.nanmean(target, axis=0) - 0.5
        else:
            self.row = np.median(target, axis=0)

    def score(self, split: Split) -> Scores:
        """Repeat the same row for every example."""
        return _repeated(self.row, split)

    def guesses(self, split: Split) -> list[Scores]:
        """One answer per class that is as common as the commonest: each is as good a guess as the others.

        Masks with equally many examples of every class say nothing about which class is common. Metrics of a cell
        are means over these answers, which is the expected score of guessing among the tied classes.
        """
        if len(self.tied) < 2:
            return [self.score(split)]
        return [_repeated(self.row + np.eye(self.row.size)[place], split) for place in self.tied]


def _repeated(row: np.ndarray, split: Split) -> Scores:
    return {part: np.tile(row, (len(split.targets[part]), 1)) for part in split.targets}


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

    inductive = True
    """It looks at no edge and at no feature of a node that it is not trained on."""

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Fit on the training part: one model per label or target, one for all classes."""
        self.rows = self._design(split, rng)
        target = split.targets["train"]
        labelled = split.kind == "multi"
        self.classify = labelled or _is_class(target) or _is_binary(split)
        self.models: list[Any] = []
        for column in target.T if target.ndim == 2 else [target]:
            known = np.isfinite(column) if column.dtype.kind == "f" else np.ones(len(column), bool)
            if self.classify and np.unique(column[known]).size < 2:
                self.models.append(float(column[known][0]) - 0.5 if known.any() else 0.0)
                continue
            self.models.append(self._estimator(split, rng).fit(self.rows["train"][known], column[known]))

    def _design(self, split: Split, rng: np.random.Generator) -> Scores:
        del rng
        return design(split)

    def _estimator(self, split: Split, rng: np.random.Generator) -> Any:
        # Here, not above: a second of start-up that most runs do not need.
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        del split, rng
        linear = LogisticRegression(C=self.strength, max_iter=300) if self.classify else Ridge(alpha=1 / self.strength)
        return make_pipeline(StandardScaler(), linear)

    def score(self, split: Split) -> Scores:
        """Decision values in the layout of the task type."""
        return {part: self._score(rows, split) for part, rows in self.rows.items()}

    def _score(self, rows: np.ndarray, split: Split) -> np.ndarray:
        columns = [
            np.full(rows.shape[0], m) if isinstance(m, float)
            else np.asarray(m.decision_function(rows) if self.classify else m.predict(rows))
            for m in self.models
        ]  # fmt: skip
        if split.kind == "multi" or not self.classify:
            return np.stack(columns, axis=1)
        if _is_binary(split):
            return columns[0]
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


def design(split: Split, x: np.ndarray | None = None) -> Scores:
    """Rows of every part in the order of ``split.targets``, made of one row ``x`` per node: its features by default."""
    x = _x(split.data) if x is None else x
    if isinstance(split.train, Pairs):
        if len(x) == x.shape[1] and np.array_equal(x, np.eye(len(x))):
            x = x[:, :1]  # two different names multiply to zero in every column
        return {part: x[split.part(part).index[0]] * x[split.part(part).index[1]] for part in split.targets}
    if split.unit == "edge":
        return _edge_rows(split, x)
    if not isinstance(split.data, PackedGraphs):
        return {part: x[split.part(part).numpy()] for part in split.targets}
    if split.unit == "node" and split.dims.out_graph is None:
        return {part: x[split.examples[part]] for part in split.targets}
    pointers = split.data.node_ptr.numpy()
    sizes = np.diff(pointers)
    means = np.add.reduceat(x, pointers[:-1], axis=0) / sizes[:, None]
    table = np.concatenate([means, np.log1p(sizes)[:, None]], axis=1)
    if split.dims.out_graph is None:
        return {part: table[split.part(part).numpy()] for part in split.targets}
    return {part: _joint_rows(split, part, x, table) for part in split.targets}


def _joint_rows(split: Split, part: str, x: np.ndarray, table: np.ndarray) -> np.ndarray:
    index = split.part(part)
    batch = split.data.select(index)
    return np.concatenate([x[batch.node_id.numpy()], table[index.numpy()][batch.batch.numpy()]], axis=1)


def _edge_rows(split: Split, x: np.ndarray) -> dict[str, np.ndarray]:
    packed = isinstance(split.data, PackedGraphs)
    rows = {}
    for part in split.targets:
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
