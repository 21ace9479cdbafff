"""Problems with one answer per graph: yes or no, a small number, or a real one.

Graphs of both answers are drawn alike in size and number of edges, so that counting says little.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch_geometric.data import Data

from graphnetz.datasets.generators.algorithmic import solvers
from graphnetz.datasets.generators.algorithmic.draws import Rng, acyclic, halves, joined, marks, sparse, two
from graphnetz.datasets.generators.algorithmic.instances import answer, made, problem
from graphnetz.datasets.generators.algorithmic.solvers import Bools

TRIES = 2_000
"""Draws of a graph before one of the wanted kind must have come."""


def _until(draw: Callable[[], Bools], wanted: Callable[[Bools], bool]) -> Bools:
    """Draw graphs until one is as wanted."""
    for _ in range(TRIES):
        if wanted(found := draw()):
            return found
    raise RuntimeError("No graph of the wanted kind came up.")


def _coin(rng: Rng) -> int:
    return int(rng.integers(2))


@problem
def cycle(rng: Rng, nodes: int) -> Data:
    """Whether a directed graph has a cycle: one arc of an acyclic graph is turned until it closes one, or does not."""
    wanted = _coin(rng)

    def turned() -> Bools:
        found = acyclic(rng, nodes, degree=1.3)
        a, b = np.argwhere(found)[rng.integers(found.sum())]
        found[a, b], found[b, a] = False, True
        return found

    return made(_until(turned, lambda g: (solvers.levels(g) is None) == wanted), y=answer(wanted))


@problem
def bipartite(rng: Rng, nodes: int) -> Data:
    """Whether two colours suffice: all edges but one join two sides, and that one does or does not."""
    wanted = _coin(rng)

    def draw() -> Bools:
        side = rng.permutation(np.arange(nodes) % 2)
        found = joined(rng, nodes, degree=2.8)
        found &= side[:, None] != side[None, :]
        same = bool(rng.integers(2))
        free = np.argwhere(np.triu(~found & ((side[:, None] == side[None, :]) == same), 1))
        a, b = free[rng.integers(len(free))]
        found[a, b] = found[b, a] = True
        return found

    return made(_until(draw, lambda g: solvers.is_bipartite(g) == wanted), y=answer(wanted))


@problem
def connected(rng: Rng, nodes: int) -> Data:
    """Whether a graph of two halves is one piece: one edge is between them, or inside one of them."""
    wanted = _coin(rng)

    def draw() -> Bools:
        found, side = halves(rng, nodes, degree=2.6, between=wanted)
        if not wanted:
            free = np.argwhere(np.triu(~found & (side[:, None] == side[None, :]), 1))
            if len(free):
                a, b = free[rng.integers(len(free))]
                found[a, b] = found[b, a] = True
        return found

    return made(_until(draw, lambda g: (solvers.components(g)[0] == 1) == wanted), y=answer(wanted))


@problem
def eulerian(rng: Rng, nodes: int) -> Data:
    """Whether one closed walk takes every edge once: all degrees are even, or two of them are odd."""
    wanted = _coin(rng)

    def draw() -> Bools:
        found = np.zeros((nodes, nodes), dtype=bool)
        for _ in range(3):  # sums of closed walks have even degrees
            ring = rng.permutation(nodes)[: int(rng.integers(3, nodes + 1))]
            ahead = np.roll(ring, -1)
            found[ring, ahead] ^= True
            found[ahead, ring] ^= True
        if not wanted:
            a, b = two(rng, nodes)
            found[a, b] = found[b, a] = not found[a, b]
        return found

    return made(_until(draw, lambda g: solvers.components(g)[0] == 1), y=answer(wanted))


@problem
def chromatic_number(rng: Rng, nodes: int) -> Data:
    """How few colours suffice: two, three or four."""
    wanted = int(rng.integers(2, 5))
    degree = {2: 2.1, 3: 3.2, 4: 5.6}[wanted]

    def draw() -> Bools:
        found = joined(rng, nodes, degree=degree)
        if wanted == 2:  # a random graph of this size is hardly ever bipartite: keep the edges between two sides
            side = solvers.hops(found)[0] % 2
            found &= side[:, None] != side[None, :]
        return found

    return made(_until(draw, lambda g: solvers.colours(g, most=4) == wanted), y=answer(wanted - 2))


@problem
def clique_number(rng: Rng, nodes: int) -> Data:
    """How large the largest clique is: two, three, four or five; it is planted where there is none."""
    wanted = int(rng.integers(2, 6))

    def draw() -> Bools:
        found = joined(rng, nodes, degree=2.2 if wanted == 2 else 2.6)
        if wanted > 2:
            chosen = rng.choice(nodes, size=wanted, replace=False)
            found[np.ix_(chosen, chosen)] = True
            np.fill_diagonal(found, False)
        return found

    return made(_until(draw, lambda g: solvers.largest_clique(g) == wanted), y=answer(wanted - 2))


@problem
def perfect_matching(rng: Rng, nodes: int) -> Data:
    """Whether all nodes can be matched in pairs along edges."""
    wanted, nodes = _coin(rng), nodes + nodes % 2

    def full(found: Bools) -> bool:
        pairs = np.argwhere(np.triu(found))
        return bool(2 * solvers.matching(pairs, np.ones(len(pairs)), nodes).sum() == nodes)

    degree = 2.6 + 0.02 * nodes
    return made(_until(lambda: joined(rng, nodes, degree=degree), lambda g: full(g) == wanted), y=answer(wanted))


@problem
def triangles(rng: Rng, nodes: int) -> Data:
    """How many triangles there are, over the number of nodes."""
    found = sparse(rng, nodes, degree=rng.uniform(2.0, 6.0))
    return made(found, y=answer(solvers.triangles(found) / nodes))


@problem
def maximum_flow(rng: Rng, nodes: int) -> Data:
    """How many paths that share no edge join the two marked nodes: the value of a flow with unit capacities."""
    found, side = halves(rng, nodes, degree=3.4, between=int(rng.integers(1, 5)))
    source, sink = (int(rng.choice(np.flatnonzero(side == half))) for half in (0, 1))
    return made(found, x=marks(nodes, source, sink), y=answer(float(solvers.flow(found, source, sink)[0])))


@problem
def pagerank(rng: Rng, nodes: int) -> Data:
    """The PageRank of the marked node (damping 0.85), times the number of nodes."""
    found, source = joined(rng, nodes, degree=3.0), int(rng.integers(nodes))
    return made(found, x=marks(nodes, source), y=answer(nodes * solvers.pagerank(found)[source]))


@problem
def clustering(rng: Rng, nodes: int) -> Data:
    """Which share of the marked node's pairs of neighbours is joined; it has two neighbours at least."""
    found = joined(rng, nodes, degree=rng.uniform(3.0, 7.0))
    able = np.flatnonzero(found.sum(axis=1) > 1)
    source = int(rng.choice(able))
    near = np.flatnonzero(found[source])
    return made(
        found, x=marks(nodes, source), y=answer(found[np.ix_(near, near)].sum() / (len(near) * (len(near) - 1)))
    )


@problem
def spanning_trees(rng: Rng, nodes: int) -> Data:
    """The logarithm of the number of spanning trees, over the number of nodes."""
    found = joined(rng, nodes, degree=rng.uniform(2.2, 5.0))
    return made(found, y=answer(solvers.log_spanning_trees(found) / nodes))


@problem
def effective_resistance(rng: Rng, nodes: int) -> Data:
    """The resistance between the two marked nodes when every edge is one ohm."""
    found = joined(rng, nodes, degree=rng.uniform(2.2, 4.0))
    a, b = two(rng, nodes)
    return made(found, x=marks(nodes, a, b), y=answer(solvers.resistance(found, a, b)))


@problem
def diameter(rng: Rng, nodes: int) -> Data:
    """The largest number of steps between two nodes: larger graphs have answers that training never showed."""
    found = joined(rng, nodes, degree=rng.uniform(2.1, 4.0))
    return made(found, y=answer(float(solvers.hops(found).max())))
