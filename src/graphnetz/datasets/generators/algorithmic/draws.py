"""Random graphs for the problems, as boolean matrices: sparse, connected, directed, in two halves."""

from __future__ import annotations

import numpy as np

from graphnetz.datasets.generators.algorithmic.solvers import Bools, Ints
from graphnetz.graphs.random_graphs import connected, uniform

Rng = np.random.Generator


def matrix(pairs: Ints, nodes: int, *, directed: bool = False) -> Bools:
    """Return the matrix of pairs ``[2, E]``."""
    found = np.zeros((nodes, nodes), dtype=bool)
    found[pairs[0], pairs[1]] = True
    return found if directed else found | found.T


def sparse(rng: Rng, nodes: int, *, degree: float) -> Bools:
    """Draw a graph of a mean degree; it may fall apart."""
    return matrix(uniform(rng, nodes, edges=round(nodes * degree / 2), directed=False), nodes)


def joined(rng: Rng, nodes: int, *, degree: float) -> Bools:
    """Draw a connected graph of a mean degree."""
    return matrix(connected(rng, nodes, edges=round(nodes * degree / 2)), nodes)


def arcs(rng: Rng, nodes: int, *, degree: float) -> Bools:
    """Draw a directed graph of a mean out-degree."""
    return matrix(uniform(rng, nodes, edges=round(nodes * degree), directed=True), nodes, directed=True)


def acyclic(rng: Rng, nodes: int, *, degree: float) -> Bools:
    """Draw a directed graph without cycles: arcs from earlier to later in a hidden order."""
    order = rng.permutation(nodes)
    return np.asarray(np.triu(sparse(rng, nodes, degree=2 * degree))[np.ix_(order, order)])


def halves(rng: Rng, nodes: int, *, degree: float, between: int) -> tuple[Bools, Ints]:
    """Draw two connected halves with some edges between them, and the half of every node."""
    side = rng.permutation(np.arange(nodes) % 2)
    found = np.zeros((nodes, nodes), dtype=bool)
    for half in (0, 1):
        mine = np.flatnonzero(side == half)
        found[np.ix_(mine, mine)] = joined(rng, len(mine), degree=degree)
    first, second = np.flatnonzero(side == 0), np.flatnonzero(side == 1)
    for place in rng.choice(len(first) * len(second), size=min(between, len(first) * len(second)), replace=False):
        a, b = first[place // len(second)], second[place % len(second)]
        found[a, b] = found[b, a] = True
    return found, side


def two(rng: Rng, nodes: int) -> tuple[int, int]:
    """Draw two different nodes."""
    a, b = rng.choice(nodes, size=2, replace=False)
    return int(a), int(b)


def marks(nodes: int, *chosen: int) -> np.ndarray:
    """Return one column per chosen node: 1 at it and 0 elsewhere."""
    return np.asarray(np.eye(nodes)[:, list(chosen)])
