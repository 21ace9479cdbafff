"""Exact answers on one graph: a symmetric (or, where said, directed) boolean matrix in, arrays out.

Graphs have at most some dozens of nodes, so that definitions can be followed to the letter: a bridge is an edge whose
removal leaves more components, and that is how it is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, maximum_flow, minimum_spanning_tree, shortest_path

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def hops(adjacency: Bools) -> Floats:
    """Return the number of steps from every node to every other; infinite where there is no path."""
    return np.asarray(shortest_path(csr_array(adjacency.astype(np.int8)), unweighted=True))


def components(adjacency: Bools, *, strong: bool = False) -> tuple[int, Ints]:
    """Return the number of (strong) components and that of every node."""
    count, member = connected_components(
        csr_array(adjacency.astype(np.int8)), directed=strong, connection="strong" if strong else "weak"
    )
    return int(count), np.asarray(member, dtype=np.int64)


def core_numbers(adjacency: Bools) -> Ints:
    """Return the largest k for which each node lies in a subgraph of smallest degree k: peel the least first."""
    left, degree = np.ones(len(adjacency), dtype=bool), adjacency.sum(axis=1)
    core, reached = np.zeros(len(adjacency), dtype=np.int64), 0
    while left.any():
        node = int(np.flatnonzero(left)[degree[left].argmin()])
        reached = max(reached, int(degree[node]))
        core[node], left[node] = reached, False
        degree = degree - adjacency[node]
    return core


def cut_nodes(adjacency: Bools) -> Bools:
    """Return which nodes leave more components behind when they are taken out."""
    whole, _ = components(adjacency)
    found = np.zeros(len(adjacency), dtype=bool)
    for node in range(len(adjacency)):
        rest = np.delete(np.delete(adjacency, node, 0), node, 1)
        # A node without neighbours was a component itself.
        found[node] = components(rest)[0] > whole - (not adjacency[node].any())
    return found


def bridges(adjacency: Bools, pairs: Ints) -> Bools:
    """Return which of the pairs ``[E, 2]`` leave more components behind when they are taken out."""
    whole, _ = components(adjacency)
    found = np.zeros(len(pairs), dtype=bool)
    for number, (a, b) in enumerate(pairs):
        rest = adjacency.copy()
        rest[a, b] = rest[b, a] = False
        found[number] = components(rest)[0] > whole
    return found


def levels(directed: Bools) -> Ints | None:
    """Return the length of the longest path that ends in each node of a directed graph; None where it has a cycle."""
    left, waiting = np.ones(len(directed), dtype=bool), directed.sum(axis=0).astype(np.int64)
    level = np.zeros(len(directed), dtype=np.int64)
    while left.any():
        free = np.flatnonzero(left & (waiting == 0))
        if not free.size:
            return None
        for node in free:
            left[node] = False
            after = directed[node]
            level[after] = np.maximum(level[after], level[node] + 1)
            waiting[after] -= 1
    return level


def spanning_tree(weight: Floats) -> Bools:
    """Return the edges of the spanning tree of least weight as a symmetric matrix; weights above 0, all different."""
    tree = minimum_spanning_tree(csr_array(np.triu(weight))).toarray() > 0
    return np.asarray(tree | tree.T)


def shortest_tree(weight: Floats, source: int) -> Ints:
    """Return the node before each one on its lightest path from ``source``; -1 for the source and what is cut off."""
    before = dijkstra(csr_array(weight), directed=True, indices=np.array(source), return_predecessors=True)[1]
    return np.where(before < 0, -1, before).astype(np.int64)


def flow(adjacency: Bools, source: int, sink: int) -> tuple[int, Bools]:
    """Return how many edge-disjoint paths join two nodes, and the nodes on the source's side of the least cut.

    Of several least cuts it is the one with the smallest side: what a full flow still reaches.
    """
    capacity = csr_array(adjacency.astype(np.int32))
    result = maximum_flow(capacity, source, sink)
    residual = adjacency.astype(np.int64) - result.flow.toarray() > 0
    return int(result.flow_value), np.isfinite(hops(residual)[source])


def _chosen(cost: Floats, rows: Any, low: Any, high: Any) -> Bools:
    """Solve a 0/1 programme of least cost to proved optimality."""
    found = milp(
        cost,
        constraints=LinearConstraint(rows, low, high),
        integrality=np.ones(len(cost), dtype=np.int64),
        bounds=Bounds(0, 1),
    )
    if not found.success:
        raise RuntimeError(f"The integer programme was not solved: {found.message}")
    return np.asarray(found.x > 0.5)


def _incidence(pairs: Ints, nodes: int) -> csr_array:
    count = len(pairs)
    return csr_array((np.ones(2 * count), (np.repeat(np.arange(count), 2), pairs.reshape(-1))), shape=(count, nodes))


def vertex_cover(pairs: Ints, weight: Floats) -> Bools:
    """Return the lightest set of nodes that touches every edge; unique for weights in general position."""
    return _chosen(weight, _incidence(pairs, len(weight)), 1, np.inf)


def dominating_set(adjacency: Bools, weight: Floats) -> Bools:
    """Return the lightest set of nodes of which every node has one in itself or beside it."""
    return _chosen(weight, csr_array((adjacency | np.eye(len(weight), dtype=bool)).astype(float)), 1, np.inf)


def matching(pairs: Ints, weight: Floats, nodes: int) -> Bools:
    """Return which of the pairs are in the heaviest matching; weight 1 everywhere gives one of largest size."""
    return _chosen(-weight, _incidence(pairs, nodes).T.tocsr(), 0, 1)


def is_bipartite(adjacency: Bools) -> bool:
    """Return whether two colours suffice."""
    return colours(adjacency, most=2) is not None


def colours(adjacency: Bools, *, most: int) -> int | None:
    """Return the fewest colours that no two neighbours share, or None where it takes more than ``most``."""
    for count in range(1, most + 1):
        if _colourable(adjacency, count):
            return count
    return None


def _colourable(adjacency: Bools, count: int) -> bool:
    nodes = len(adjacency)
    colour, banned = np.full(nodes, -1), np.zeros((nodes, count), dtype=np.int64)
    degree = adjacency.sum(axis=1)

    def go(done: int, used: int) -> bool:
        if done == nodes:
            return True
        # The node with the fewest colours left first, then the one with most neighbours (DSATUR; Brelaz, 1979).
        blocked = (banned > 0).sum(axis=1) * (nodes + 1) + degree
        node = int(np.where(colour < 0, blocked, -1).argmax())
        for shade in range(min(used + 1, count)):  # colours are alike: one new one is enough to try
            if banned[node, shade]:
                continue
            colour[node] = shade
            banned[adjacency[node], shade] += 1
            if go(done + 1, max(used, shade + 1)):
                return True
            banned[adjacency[node], shade] -= 1
            colour[node] = -1
        return False

    return go(0, 0)


def largest_clique(adjacency: Bools) -> int:
    """Return the size of the largest set of nodes that are all joined (branch and bound over neighbour sets)."""
    near = [int(sum(1 << int(j) for j in np.flatnonzero(row))) for row in adjacency]
    best = 0

    def grow(size: int, left: int) -> None:
        nonlocal best
        best = max(best, size)
        while left and size + left.bit_count() > best:
            node = left.bit_length() - 1
            left &= ~(1 << node)
            grow(size + 1, left & near[node])

    grow(0, (1 << len(adjacency)) - 1)
    return best


def pagerank(directed: Bools, *, damping: float = 0.85) -> Floats:
    """Return the stationary probabilities of a walk that jumps anywhere with probability 1 - ``damping``."""
    nodes, out = len(directed), directed.sum(axis=1)
    step = np.where(out[:, None] > 0, directed / np.maximum(out, 1)[:, None], 1.0 / nodes)
    return np.asarray(np.linalg.solve(np.eye(nodes) - damping * step.T, np.full(nodes, (1 - damping) / nodes)))


def betweenness(adjacency: Bools) -> Floats:
    """Return the share of shortest paths between other nodes that pass each node, summed over pairs."""
    distance = hops(adjacency)
    nodes, counts = len(adjacency), np.eye(len(adjacency))
    for length in range(1, int(distance[np.isfinite(distance)].max(initial=0)) + 1):
        counts += np.where(distance == length, (np.where(distance == length - 1, counts, 0.0)) @ adjacency, 0.0)
    found = np.zeros(nodes)
    for node in range(nodes):
        through = np.isclose(distance[:, node][:, None] + distance[node][None, :], distance) & np.isfinite(distance)
        share = np.where(through, np.outer(counts[:, node], counts[node]) / np.maximum(counts, 1), 0.0)
        share[node, :] = share[:, node] = 0.0
        np.fill_diagonal(share, 0.0)
        found[node] = share.sum() / 2
    return found


def triangles(adjacency: Bools) -> int:
    """Return how many triples of nodes are all joined."""
    wide = adjacency.astype(np.int64)
    return int(np.trace(wide @ wide @ wide)) // 6


def log_spanning_trees(adjacency: Bools) -> float:
    """Return the natural logarithm of the number of spanning trees (matrix-tree theorem; Kirchhoff, 1847)."""
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    return float(np.linalg.slogdet(laplacian[1:, 1:].astype(float))[1])


def resistance(adjacency: Bools, a: int, b: int) -> float:
    """Return the resistance between two nodes when every edge is one ohm."""
    inverse = np.linalg.pinv((np.diag(adjacency.sum(axis=1)) - adjacency).astype(float), hermitian=True)
    return float(inverse[a, a] + inverse[b, b] - 2 * inverse[a, b])
