"""Graph colouring and maximum cut.

Up to `EXACT_CUT` nodes a cut is the true maximum (all bipartitions); above, it is the best of several
random starts improved by single flips until none helps: a stated heuristic. Colourings are proper by
construction; they use the fewest colours when exact search ends within its budget, otherwise those of
DSATUR (Brelaz, 1979); ``solution["optimal"]`` says which.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import both_ways, graph, pairs_of
from graphnetz.graphs.random_graphs import block_adjacency
from graphnetz.records import GraphList

EXACT_CUT = 20


def erdos_renyi(rng: np.random.Generator, num_nodes: int, p: float) -> np.ndarray:
    """Return a symmetric 0/1 adjacency matrix with independent edges; never without any edge."""
    adjacency = block_adjacency(rng, np.zeros(num_nodes), p, p)
    if not adjacency.any():
        adjacency[0, 1] = adjacency[1, 0] = True
    return adjacency.astype(np.int64)


@njit(cache=True)
def exact_max_cut(adjacency: np.ndarray) -> np.ndarray:
    """Return the side of every node in a largest cut, by a Gray-code walk over all bipartitions."""
    n = adjacency.shape[0]
    side = np.zeros(n, dtype=np.int64)
    best_side = side.copy()
    cut = best = 0
    for step in range(1, 1 << (n - 1)):
        node = 0
        while not step >> node & 1:
            node += 1
        for other in range(n):
            if adjacency[node, other]:
                cut += 1 if side[node] == side[other] else -1
        side[node] ^= 1
        if cut > best:
            best = cut
            best_side[:] = side
    return best_side


@njit(cache=True)
def flip_max_cut(adjacency: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the best cut reached from the rows of ``starts`` by steepest single flips."""
    n = adjacency.shape[0]
    best = -1
    best_side: np.ndarray = starts[0].copy()
    for row in range(starts.shape[0]):
        side = starts[row].copy()
        while True:
            gain, node = 0, -1
            for i in range(n):
                change = 0
                for j in range(n):
                    if adjacency[i, j]:
                        change += 1 if side[i] == side[j] else -1
                if change > gain:
                    gain, node = change, i
            if node < 0:
                break
            side[node] ^= 1
        cut = 0
        for i in range(n):
            for j in range(i):
                if adjacency[i, j] and side[i] != side[j]:
                    cut += 1
        if cut > best:
            best, best_side = cut, side
    return best_side


def maxcut(seed: int, *, num_graphs: int = 128, num_nodes: int = 50, p: float = 0.12, starts: int = 32) -> GraphList:
    """Return Erdos-Renyi graphs with a large cut: ``edge_label`` 1 on cut edges.

    ``solution`` holds the bipartition, the size of the cut and whether it is proved largest.
    """
    rng = generator("maxcut", seed)
    return GraphList(_cut_instance(rng, num_nodes, p, starts) for _ in range(num_graphs))


def _cut_instance(rng: np.random.Generator, num_nodes: int, p: float, starts: int) -> Data:
    adjacency = erdos_renyi(rng, num_nodes, p)
    exact = num_nodes <= EXACT_CUT
    side = exact_max_cut(adjacency) if exact else flip_max_cut(adjacency, rng.integers(0, 2, (starts, num_nodes)))
    edges = both_ways(pairs_of(adjacency))
    label = (side[edges[0]] != side[edges[1]]).astype(np.int64)
    return graph(
        edges,
        num_nodes,
        x=_degree_columns(adjacency),
        edge_label=label,
        solution={"side": side, "cut": int(label.sum()) // 2, "optimal": exact},
    )


def _degree_columns(adjacency: np.ndarray) -> np.ndarray:
    degree = adjacency.sum(axis=1)
    return np.column_stack([np.ones(len(degree)), degree / max(degree.max(), 1)])


def coloring(
    seed: int, *, num_graphs: int = 128, num_nodes: int = 40, p: float = 0.15, budget: int = 200_000
) -> GraphList:
    """Return Erdos-Renyi graphs with a proper colouring of few colours.

    ``solution`` holds it per node, the number of colours, and whether that number is proved smallest
    within ``budget`` search steps. Colours are numbered in the order of first use; the
    ``edge_label`` of the second task is 1 on edges that join the two most used colours.
    """
    rng = generator("coloring", seed)
    return GraphList(_coloring_instance(rng, num_nodes, p, budget) for _ in range(num_graphs))


def _coloring_instance(rng: np.random.Generator, num_nodes: int, p: float, budget: int) -> Data:
    adjacency = erdos_renyi(rng, num_nodes, p)
    color, optimal = minimum_coloring(adjacency, budget)
    edges = both_ways(pairs_of(adjacency))
    top = np.isin(color, np.argsort(-np.bincount(color), kind="stable")[:2])
    return graph(
        edges,
        num_nodes,
        x=_degree_columns(adjacency),
        edge_label=(top[edges[0]] & top[edges[1]]).astype(np.int64),
        solution={"color": color, "colors": int(color.max()) + 1, "optimal": optimal},
    )


def minimum_coloring(adjacency: np.ndarray, budget: int = 200_000) -> tuple[np.ndarray, bool]:
    """Return a proper colouring and whether its number of colours is proved smallest."""
    color = dsatur(adjacency)
    while color.max() >= 1:
        order = np.argsort(-adjacency.sum(axis=1), kind="stable")
        found, better = _with_colors(adjacency, order, int(color.max()), budget)
        if found == 0:
            return color, True
        if found < 0:
            return color, False
        color = better
    return color, True


@njit(cache=True)
def dsatur(adjacency: np.ndarray) -> np.ndarray:
    """Colour by saturation: next the node that sees most colours, ties by degree, then number."""
    n = adjacency.shape[0]
    color = np.full(n, -1, dtype=np.int64)
    seen = np.zeros((n, n + 1), dtype=np.bool_)
    degree = adjacency.sum(axis=1)
    for _ in range(n):
        node, rank = -1, -1
        for i in range(n):
            if color[i] < 0:
                value = seen[i].sum() * (n + 1) + degree[i]
                if value > rank:
                    node, rank = i, value
        chosen = 0
        while seen[node, chosen]:
            chosen += 1
        color[node] = chosen
        for j in range(n):
            if adjacency[node, j]:
                seen[j, chosen] = True
    return color


@njit(cache=True)
def _with_colors(adjacency: np.ndarray, order: np.ndarray, limit: int, budget: int) -> tuple[int, np.ndarray]:
    """Search for a colouring with ``limit`` colours: 1 found, 0 there is none, -1 out of budget."""
    n = len(order)
    color = np.full(n, -1, dtype=np.int64)
    highest = np.zeros(n + 1, dtype=np.int64)  # colours in use before each depth, which breaks symmetry
    depth = 0
    for _ in range(budget):
        if depth == n:
            return 1, color
        if depth < 0:
            return 0, color
        node = order[depth]
        chosen = color[node] + 1
        while chosen < min(limit, highest[depth] + 1):
            clash = False
            for j in range(n):
                if adjacency[node, j] and color[j] == chosen:
                    clash = True
                    break
            if not clash:
                break
            chosen += 1
        if chosen < min(limit, highest[depth] + 1):
            color[node] = chosen
            highest[depth + 1] = max(highest[depth], chosen + 1)
            depth += 1
        else:
            color[node] = -1
            depth -= 1
    return -1, color
