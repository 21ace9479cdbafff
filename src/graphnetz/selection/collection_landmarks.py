"""Landmarks of a collection of graphs: what ridge regressions, colour counts and small forests reach in seconds.

Fitted on the training graphs of the bank's splits and scored on the validation graphs; test graphs are never looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator
from graphnetz.graphs.colours import colour_counts, start_colours, unit_rows
from graphnetz.selection.collection import LEAST_GRAPHS, Collection
from graphnetz.selection.collection_features import per_graph, rings_facts
from graphnetz.selection.splits import graph_split

FloatArray = npt.NDArray[np.float64]

_SCORES = ("majority", "mean_features", "summed_features", "degrees", "colours_1", "colours_3", "structure", "forest")
_FACTS = (
    "log_classes",
    "log_training",
    "class_entropy",
    "complementarity",
    "structural_diversity",
    "feature_diversity",
)
_SHAPE = (
    "log_graphs",
    "log_nodes",
    "log_degree",
    "size_cv",
    "clustering",
    "components",
    "has_features",
    "log_features",
)
COLLECTION_LANDMARKS = (*_SCORES, *_FACTS, *_SHAPE)
"""Names of the landmarks of graph classification; the last eight describe size and shape."""

MOST_GRAPHS, MOST_NODES = 1500, 150_000
"""Graphs, and their nodes, up to which a collection is looked at as a whole; a larger one by a random part."""


def collection_landmarks(held: Any, *, splits: int = 3) -> FloatArray:
    """Return the landmarks of a collection, means over splits.

    Parameters
    ----------
    held
        A `Collection`.
    splits
        How many splits of the bank are averaged.

    Returns
    -------
    numpy.ndarray
        In the order of `COLLECTION_LANDMARKS`.

    Examples
    --------
    >>> from graphnetz.selection.collection import as_collection
    >>> from graphnetz.testing.examples import rings_and_stars
    >>> shapes = as_collection(rings_and_stars(60))
    >>> found = dict(zip(COLLECTION_LANDMARKS, collection_landmarks(shapes), strict=True))
    >>> bool(found["degrees"] > found["majority"])
    True
    """
    if not isinstance(held, Collection):
        raise UsageError("Graph classification asks for many graphs with a class each, not one graph.")
    parts = [graph_split(held.labels, seed) for seed in range(splits)]
    seen = part_of(held)
    rows = _Rows(seen)
    kept = seen.positions
    scores = np.mean([_reached(rows, *(_placed(kept, split[name]) for name in ("train", "val"))) for split in parts], 0)
    structure, rings = rows.structure, rings_facts(seen.held)
    share = np.bincount(held.labels) / held.num_graphs
    mean_nodes, degree = structure[:, 0].mean(), structure[:, 3].mean()
    facts = [
        np.log(held.classes), np.log(len(parts[0]["train"])), float(-(share * np.log(np.maximum(share, 1e-12))).sum()),
        *(0.0 if value != value else value for value in rings[::2]),
    ]  # fmt: skip
    shape = [
        np.log(held.num_graphs), np.log(mean_nodes), np.log(max(degree, 0.1)), structure[:, 0].std() / mean_nodes,
        structure[:, 6].mean(), np.log(structure[:, 8].mean()), float(held.width > 0), np.log1p(held.width),
    ]  # fmt: skip
    return np.array([*scores, *facts, *shape])


class _Seen:
    """The part of a collection that is looked at, and where its graphs stand in the whole."""

    def __init__(self, held: Collection, positions: npt.NDArray[np.int64]) -> None:
        self.held, self.positions = held, positions


def part_of(held: Collection, *, graphs: int = MOST_GRAPHS, nodes: int = MOST_NODES) -> _Seen:
    """The collection, or random graphs of one that is too large; at least a few, however large they are."""
    order = generator("collection-part", held.num_graphs, held.num_nodes).permutation(held.num_graphs)
    fits = int((np.cumsum(held.sizes[order]) <= nodes).sum())
    count = min(max(fits, LEAST_GRAPHS), graphs, held.num_graphs)
    if count == held.num_graphs:
        return _Seen(held, np.arange(count))
    chosen = np.sort(order[:count])
    return _Seen(held.take(chosen), chosen)


def _placed(kept: npt.NDArray[np.int64], part: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.isin(kept, part))


class _Rows:
    """Tables that describe every graph, computed once for all splits."""

    def __init__(self, seen: _Seen) -> None:
        held = self.held = seen.held
        self.labels = held.labels
        self.structure = per_graph(held)
        union, degree, nodes, x = held.union, held.union.simple_degree, held.num_nodes, held.features
        start, used = start_colours(x, nodes)
        values = np.log1p(degree)[:, None].astype(np.float64) if x is None else _narrow(np.asarray(x, dtype=np.float64))
        adjacency = sp.csr_matrix((np.ones(len(union.indices)), union.indices, union.indptr), shape=(nodes, nodes))
        around = (adjacency @ values) / np.maximum(degree, 1)[:, None]
        size = np.log1p(held.sizes)[:, None]
        means = self._pooled(values) / held.sizes[:, None]
        self.mean = np.hstack([means, size])
        self.total = np.hstack([_compressed(self._pooled(values)), size])
        spread = np.sqrt(np.maximum(self._pooled(values**2) / held.sizes[:, None] - means**2, 0.0))
        both = self._pooled(around * values) / held.sizes[:, None]
        self.everything = np.hstack([self.structure, means, spread, both])
        count = held.num_graphs
        alike = np.zeros(nodes, dtype=np.int64)
        self.degrees = unit_rows(colour_counts(alike, held.arcs, held.owner, count, 1))
        self.colours = [unit_rows(colour_counts(start, held.arcs, held.owner, count, turns)) for turns in (1, 3)]
        self.beside = None if used or x is None else self.mean

    def _pooled(self, values: FloatArray) -> FloatArray:
        count = self.held.num_graphs
        return np.stack([np.bincount(self.held.owner, weights=column, minlength=count) for column in values.T], axis=1)


def _narrow(values: FloatArray, most: int = 64) -> FloatArray:
    """The columns that vary most."""
    if values.shape[1] <= most:
        return values
    return values[:, np.sort(np.argsort(-values.var(axis=0), kind="stable")[:most])]


def _compressed(values: FloatArray) -> FloatArray:
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))


def _reached(rows: _Rows, train: npt.NDArray[np.int64], held: npt.NDArray[np.int64]) -> list[float]:
    """Accuracy of every simple method on the validation graphs of one split."""
    y = rows.labels
    classes = int(y.max()) + 1
    wanted = np.eye(classes)[y[train]] - np.bincount(y[train], minlength=classes) / len(train)
    prior = np.bincount(y[train], minlength=classes) / len(train)

    def correct(scores: FloatArray) -> float:
        return float((scores.argmax(axis=1) == y[held]).mean())

    def ridge(kernel: FloatArray, asked: FloatArray, penalty: float) -> float:
        return correct(asked @ np.linalg.solve(kernel + penalty * np.eye(len(train)), wanted) + prior)

    def linear(table: FloatArray) -> float:
        centre, spread = table[train].mean(axis=0), table[train].std(axis=0)
        z = (table - centre) / np.where(spread > 1e-9, spread, 1.0)
        return ridge(z[train] @ z[train].T, z[held] @ z[train].T, 1.0)

    def counted(table: Any, beside: FloatArray | None = None) -> float:
        own, asked = (np.asarray((table[part] @ table[train].T).todense()) for part in (train, held))
        if beside is not None:
            centre, spread = beside[train].mean(axis=0), beside[train].std(axis=0)
            z = (beside - centre) / np.where(spread > 1e-9, spread, 1.0) / 10
            own, asked = own + z[train] @ z[train].T, asked + z[held] @ z[train].T
        return ridge(own, asked, 0.1)

    majority = correct(np.tile(prior, (len(held), 1)))
    return [
        majority, linear(rows.mean), linear(rows.total), counted(rows.degrees),
        *(counted(table, rows.beside) for table in rows.colours), _forest(rows.structure, y, train, held),
        _forest(rows.everything, y, train, held),
    ]  # fmt: skip


def _forest(table: FloatArray, y: Any, train: Any, held: Any) -> float:
    from sklearn.ensemble import ExtraTreesClassifier

    forest = ExtraTreesClassifier(60, min_samples_leaf=2, random_state=0).fit(table[train], y[train])
    return float((forest.predict(table[held]) == y[held]).mean())
