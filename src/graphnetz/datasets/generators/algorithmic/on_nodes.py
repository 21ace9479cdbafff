"""Problems whose answer is a class of every node.

A column of marks names the nodes that a problem speaks of; random numbers in ``x`` are weights, which make the answer
unique. Counts are capped, so that larger graphs have no class that training has not shown.
"""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from graphnetz.datasets.generators.algorithmic import solvers
from graphnetz.datasets.generators.algorithmic.draws import Rng, acyclic, arcs, halves, joined, marks, sparse, two
from graphnetz.datasets.generators.algorithmic.instances import made, problem
from graphnetz.datasets.generators.algorithmic.solvers import Ints

FARTHEST, DEEPEST, MOST_LEVELS = 5, 4, 4
"""Distances, core numbers and levels from here on are one class."""


def _capped(values: np.ndarray, most: int) -> Ints:
    return np.asarray(np.minimum(values, most), dtype=np.int64)


@problem
def reachability(rng: Rng, nodes: int) -> Data:
    """Which nodes can be reached from the marked one along arcs."""
    found, source = arcs(rng, nodes, degree=1.3), int(rng.integers(nodes))
    y = np.isfinite(solvers.hops(found)[source]).astype(np.int64)
    return made(found, x=marks(nodes, source), y=y)


@problem
def same_component(rng: Rng, nodes: int) -> Data:
    """Which nodes lie in the component of the marked one."""
    found, source = sparse(rng, nodes, degree=1.6), int(rng.integers(nodes))
    _, member = solvers.components(found)
    return made(found, x=marks(nodes, source), y=(member == member[source]).astype(np.int64))


@problem
def distance(rng: Rng, nodes: int) -> Data:
    """How many steps each node is from the marked one; five and more are one class."""
    found, source = joined(rng, nodes, degree=2.4), int(rng.integers(nodes))
    return made(found, x=marks(nodes, source), y=_capped(solvers.hops(found)[source], FARTHEST))


@problem
def core_number(rng: Rng, nodes: int) -> Data:
    """The largest k for which the node lies in a subgraph of smallest degree k; four and more are one class."""
    found = sparse(rng, nodes, degree=rng.uniform(1.5, 6.0))
    return made(found, y=_capped(solvers.core_numbers(found), DEEPEST))


@problem
def articulation(rng: Rng, nodes: int) -> Data:
    """Which nodes hold their component together."""
    found = joined(rng, nodes, degree=2.6)
    return made(found, y=solvers.cut_nodes(found).astype(np.int64))


@problem
def vertex_cover(rng: Rng, nodes: int) -> Data:
    """Which nodes are in the lightest set that touches every edge; weights are in ``x``."""
    found, weight = joined(rng, nodes, degree=3.0), rng.uniform(0.5, 1.5, nodes)
    chosen = solvers.vertex_cover(np.argwhere(np.triu(found)), weight)
    return made(found, x=weight[:, None], y=chosen.astype(np.int64))


@problem
def dominating_set(rng: Rng, nodes: int) -> Data:
    """Which nodes are in the lightest set that every node is in or beside; weights are in ``x``."""
    found, weight = joined(rng, nodes, degree=3.0), rng.uniform(0.5, 1.5, nodes)
    return made(found, x=weight[:, None], y=solvers.dominating_set(found, weight).astype(np.int64))


@problem
def topological_level(rng: Rng, nodes: int) -> Data:
    """The length of the longest path that ends in each node of an acyclic graph; four and more are one class."""
    found = acyclic(rng, nodes, degree=1.3)
    level = solvers.levels(found)
    assert level is not None
    return made(found, y=_capped(level, MOST_LEVELS))


@problem
def minimum_cut(rng: Rng, nodes: int) -> Data:
    """Which nodes stay on the side of the first mark when the fewest edges are cut that part it from the second."""
    found, side = halves(rng, nodes, degree=3.4, between=int(rng.integers(1, 3)))
    source, sink = (int(rng.choice(np.flatnonzero(side == half))) for half in (0, 1))
    return made(found, x=marks(nodes, source, sink), y=solvers.flow(found, source, sink)[1].astype(np.int64))


@problem
def centre(rng: Rng, nodes: int) -> Data:
    """Which nodes have the smallest eccentricity: their farthest node is as near as it can be."""
    found = joined(rng, nodes, degree=2.4)
    eccentricity = solvers.hops(found).max(axis=1)
    return made(found, y=(eccentricity == eccentricity.min()).astype(np.int64))


@problem
def betweenness(rng: Rng, nodes: int) -> Data:
    """Which nodes lie on more than the mean share of shortest paths."""
    found = joined(rng, nodes, degree=2.6)
    share = solvers.betweenness(found)
    return made(found, y=(share > share.mean() + 1e-9).astype(np.int64))


@problem
def between_marks(rng: Rng, nodes: int) -> Data:
    """Which nodes lie on some shortest path between the two marked ones, their ends included."""
    found = joined(rng, nodes, degree=2.6)
    a, b = two(rng, nodes)
    steps = solvers.hops(found)
    return made(found, x=marks(nodes, a, b), y=(steps[a] + steps[b] == steps[a, b]).astype(np.int64))
