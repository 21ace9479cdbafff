"""Hard negatives for link prediction: false edges that look like true ones, the same for every model.

Random pairs of a sparse graph are far apart and share nothing, so that telling them from edges says little. Here every
true edge is ranked among false edges at either of its ends that have most neighbours in common, then the nearest ones
(the idea of HeaRT: Li et al., Evaluating graph neural networks for link prediction, 2023).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from graphnetz._core.errors import DataError
from graphnetz._core.rng import generator
from graphnetz.tasktypes.base import Split
from graphnetz.tasktypes.pairs import Pairs, grouped, member

CANDIDATES = 100
"""False edges that every true one is ranked against."""

_FAR = 64.0
"""Distances from here on count as no path."""


@dataclass(frozen=True)
class HardNegatives:
    """Replace the negatives of validation and test, as a task's ``after_split``; training is left as it is.

    Triples of a knowledge graph are ranked among all entities anyway, the hard ones included, and stay as they are.

    Parameters
    ----------
    count
        False edges per true one; fewer where a graph does not have that many at the ends of some edge.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph()))
    >>> hard = HardNegatives(10)(split, 0)
    >>> hard.n_test, hard.test.width, hard.metric
    (7, 11, 'mrr')
    """

    count: int = CANDIDATES

    def __call__(self, split: Split, seed: int) -> Split:
        """Return the split with hard negatives; a pure function of both."""
        if not isinstance(split.train, Pairs) or split.kind == "relational":
            return split
        nodes = int(split.data.num_nodes)
        true = {part: _positives(split, part) for part in ("train", "val", "test")}
        asked = np.concatenate([true["val"], true["test"]], axis=1)
        drawn = candidates(
            split.data.edge_index.numpy(), nodes, asked, known=np.concatenate(list(true.values()), axis=1),
            count=self.count, rng=generator("hard negatives", seed),
        )  # fmt: skip
        parts, cut = {}, true["val"].shape[1]
        for part, rows in (("val", slice(0, cut)), ("test", slice(cut, None))):
            parts[part] = grouped(true[part], drawn[:, rows], generator("order of candidates", part, seed))
        return dataclasses.replace(
            split,
            val=parts["val"],
            test=parts["test"],
            metric="mrr",
            targets={**split.targets, **{part: pairs.label.numpy() for part, pairs in parts.items()}},
            examples={**split.examples, **{part: pairs.ids(nodes) for part, pairs in parts.items()}},
            n_train=true["train"].shape[1],
            n_test=true["test"].shape[1],
            notes=(*split.notes, f"every test edge is ranked among {drawn.shape[2]} hard negatives of its own"),
            cache={},
        )


@dataclass(frozen=True)
class Then:
    """One change of a split after another."""

    first: object
    second: object

    def __call__(self, split: Split, seed: int) -> Split:
        """Return the split after both."""
        return self.second(self.first(split, seed), seed)  # type: ignore[operator,no-any-return]


def _positives(split: Split, part: str) -> np.ndarray:
    pairs: Pairs = split.part(part)
    return np.asarray(pairs.index.numpy()[:, split.targets[part] > 0.5])


def candidates(
    edge_index: np.ndarray,
    num_nodes: int,
    asked: np.ndarray,
    *,
    known: np.ndarray,
    count: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return false edges for every true one: half at its first end, half at its second, where there are so many.

    Parameters
    ----------
    edge_index
        The training graph; only what models may see makes a pair look like an edge.
    num_nodes
        Its nodes.
    asked
        True edges ``[2, edge]``.
    known
        All true edges: none of them is a candidate, in either direction.
    count
        How many, at most.
    rng
        Breaks ties.

    Returns
    -------
    ndarray
        ``[2, edge, candidate]``; the first end of a candidate is the first end of its edge, or its second end is.

    Examples
    --------
    >>> path = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
    >>> found = candidates(path, 6, np.array([[0], [1]]), known=path, count=4, rng=np.random.default_rng(0))
    >>> found[:, 0].T.tolist()  # node 2 is two steps from 0, node 3 two steps from 1
    [[0, 2], [3, 1], [0, 3], [4, 1]]
    """
    adjacency = _simple(edge_index, num_nodes)
    low, high = np.minimum(*known), np.maximum(*known)
    taken = np.unique(np.concatenate([low * num_nodes + high, _codes(adjacency, num_nodes)]))
    ends, place = np.unique(asked, return_inverse=True)
    place = place.reshape(asked.shape)
    listed = [_near(adjacency, int(end), taken, count, rng) for end in ends]
    width = min(count, *(len(listed[a]) + len(listed[b]) for a, b in place.T))
    if width < 1:
        raise DataError("This graph is so dense that an edge has no false one beside it to be ranked against.")
    out = np.empty((2, asked.shape[1], width), dtype=np.int64)
    for number, ((a, b), (at_a, at_b)) in enumerate(zip(asked.T, place.T, strict=True)):
        first, second = listed[at_a], listed[at_b]
        half = min(len(first), max(width - width // 2, width - len(second)))
        rows = [(a, w) for w in first[:half]] + [(w, b) for w in second[: width - half]]
        # Side by side, the nearest first: neither end comes before the other.
        order = np.argsort([*range(0, 2 * half, 2), *range(1, 2 * (width - half), 2)], kind="stable")
        out[:, number] = np.array(rows, dtype=np.int64)[order].T
    return out


def _simple(edge_index: np.ndarray, nodes: int) -> sp.csr_matrix:
    row, col = edge_index[:, edge_index[0] != edge_index[1]]
    matrix = sp.csr_matrix((np.ones(row.size), (row, col)), shape=(nodes, nodes))
    out: sp.csr_matrix = ((matrix + matrix.T) > 0).astype(np.float64).tocsr()
    return out


def _codes(adjacency: sp.csr_matrix, nodes: int) -> np.ndarray:
    row, col = sp.triu(adjacency, 1).nonzero()
    return np.asarray(row.astype(np.int64) * nodes + col)


def _near(adjacency: sp.csr_matrix, end: int, taken: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """False neighbours of one node, those first that share most neighbours with it, then the nearest."""
    nodes = adjacency.shape[0]
    shared = np.asarray((adjacency[end] @ adjacency).todense()).ravel()
    other = np.arange(nodes)
    free = ~member(taken, np.minimum(other, end) * nodes + np.maximum(other, end))
    free[end] = False
    looks = shared * (_FAR + 2)
    if np.count_nonzero(free & (shared > 0)) < count:  # otherwise all are two steps away
        steps = np.asarray(dijkstra(adjacency, directed=False, indices=np.array(end), unweighted=True))
        looks -= np.minimum(np.where(np.isfinite(steps), steps, _FAR + 1), _FAR + 1)
    looks += rng.random(nodes)  # less than one step
    places = np.flatnonzero(free)
    best = places[np.argsort(-looks[places], kind="stable")[:count]]
    return np.asarray(best, dtype=np.int64)
