"""Problems whose answer is a class of every arc of ``edge_index``; both arcs of an edge have the same, unless said."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from graphnetz.datasets.generators.algorithmic import solvers
from graphnetz.datasets.generators.algorithmic.draws import Rng, arcs, joined, marks, two
from graphnetz.datasets.generators.algorithmic.instances import made, problem
from graphnetz.datasets.generators.algorithmic.solvers import Bools, Floats


def _labelled(found: Bools, chosen: Bools, weight: Floats | None = None, **columns: np.ndarray) -> Data:
    """A graph whose arcs carry the entry of ``chosen`` as their class, and their weight where there is one."""
    if weight is not None:
        columns["edge_attr"] = weight[found][:, None]
    return made(found, edge_label=chosen[found].astype(np.int64), **columns)


def _weighted(rng: Rng, found: Bools) -> Floats:
    half = np.triu(rng.uniform(0.1, 1.0, found.shape) * found)
    return np.asarray(half + half.T)


def _both(pairs: np.ndarray, chosen: Bools, nodes: int) -> Bools:
    found = np.zeros((nodes, nodes), dtype=bool)
    found[pairs[chosen, 0], pairs[chosen, 1]] = True
    return np.asarray(found | found.T)


@problem
def bridges(rng: Rng, nodes: int) -> Data:
    """Which edges leave more components behind when they are taken out."""
    found = joined(rng, nodes, degree=2.4)
    pairs = np.argwhere(np.triu(found))
    return _labelled(found, _both(pairs, solvers.bridges(found, pairs), nodes))


@problem
def bfs_parent(rng: Rng, nodes: int) -> Data:
    """Which arcs lead from a parent to its child in the breadth-first tree of the marked node.

    Of several possible parents it is the one of highest priority, a random number beside the mark. Of the two arcs of
    an edge only the one away from the source can be such.
    """
    found, source, priority = joined(rng, nodes, degree=2.8), int(rng.integers(nodes)), rng.random(nodes)
    steps = solvers.hops(found)[source]
    chosen = np.zeros_like(found)
    for node in range(nodes):
        above = np.flatnonzero(found[node] & (steps == steps[node] - 1))
        if above.size:
            chosen[above[priority[above].argmax()], node] = True
    return _labelled(found, chosen, x=np.column_stack([marks(nodes, source), priority]))


@problem
def spanning_tree(rng: Rng, nodes: int) -> Data:
    """Which edges are in the spanning tree of least weight."""
    found = joined(rng, nodes, degree=4.0)
    weight = _weighted(rng, found)
    return _labelled(found, solvers.spanning_tree(weight), weight)


@problem
def shortest_path_tree(rng: Rng, nodes: int) -> Data:
    """Which arcs are the last step of the lightest path from the marked node to some other."""
    found, source = joined(rng, nodes, degree=3.4), int(rng.integers(nodes))
    weight = _weighted(rng, found)
    before, chosen = solvers.shortest_tree(weight, source), np.zeros_like(found)
    reached = np.flatnonzero(before >= 0)
    chosen[before[reached], reached] = True
    return _labelled(found, chosen, weight, x=marks(nodes, source))


@problem
def shortest_path(rng: Rng, nodes: int) -> Data:
    """Which edges are on the lightest path between the two marked nodes."""
    found = joined(rng, nodes, degree=3.0)
    weight, (a, b) = _weighted(rng, found), two(rng, nodes)
    before, chosen, step = solvers.shortest_tree(weight, a), np.zeros_like(found), b
    while step != a:
        chosen[step, before[step]] = chosen[before[step], step] = True
        step = int(before[step])
    return _labelled(found, chosen, weight, x=marks(nodes, a, b))


@problem
def strong_arcs(rng: Rng, nodes: int) -> Data:
    """Which arcs lie on a directed cycle: both ends are in one strong component."""
    found = arcs(rng, nodes, degree=1.5)
    _, member = solvers.components(found, strong=True)
    return _labelled(found, member[:, None] == member[None, :])


@problem
def heaviest_matching(rng: Rng, nodes: int) -> Data:
    """Which edges are in the matching of largest weight."""
    found = joined(rng, nodes, degree=3.0)
    weight, pairs = _weighted(rng, found), np.argwhere(np.triu(found))
    chosen = solvers.matching(pairs, weight[pairs[:, 0], pairs[:, 1]], nodes)
    return _labelled(found, _both(pairs, chosen, nodes), weight)
