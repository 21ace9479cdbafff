"""Counts that look at a part of a graph: orbits of some edges, components, the nodes around one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from graphnetz.graphs.counts import IntArray, Ranked, assemble, edge_triangles, ranked


def some_orbit_counts(
    indptr: IntArray, indices: IntArray, places: IntArray, ranks: Ranked | None = None,
    triangles: IntArray | None = None,
) -> IntArray:  # fmt: skip
    """Rows ``places`` of `graphnetz.graphs.counts.orbit_counts`: exact, at the cost of these edges.

    Triangles are counted everywhere, which is the cheap part; cliques, cycles and sums over the triangles of an edge
    around the chosen edges only, from the end whose neighbours have fewer neighbours.

    Parameters
    ----------
    indptr, indices
        Symmetric adjacency in sorted compressed rows.
    places
        Positions of the edges in lexicographic order.
    ranks, triangles
        What `ranked` and `edge_triangles` found, where it is known.

    Returns
    -------
    ndarray
        ``[len(places), 12]``.

    Examples
    --------
    >>> from graphnetz.graphs import as_graph
    >>> graph = as_graph([(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> some_orbit_counts(graph.indptr, graph.indices, np.array([3]))[0, :2].tolist()
    [2, 0]
    """
    ranks = ranks or ranked(indptr, indices)
    edge, degree, n = ranks[4], np.diff(indptr), len(indptr) - 1
    tri = edge_triangles(indptr, indices, ranks) if triangles is None else triangles
    rows = np.repeat(np.arange(n), degree)
    t2 = np.bincount(rows, weights=tri[edge], minlength=n).astype(np.int64)
    nd = np.bincount(rows, weights=degree[indices], minlength=n).astype(np.int64)
    upper = np.flatnonzero(rows < indices)[places]
    x, y = rows[upper], indices[upper]
    turned = nd[x] - degree[y] > nd[y] - degree[x]
    near, far = np.where(turned, y, x), np.where(turned, x, y)
    order = np.argsort(far, kind="stable")  # the neighbours of an end are marked once for all its edges
    found = np.empty((4, len(places)), dtype=np.int64)
    found[:, order] = _around(indptr, indices, edge, tri, degree, near[order], far[order])
    pair_tri, pair_deg, k4, c4 = found
    return assemble(tri[places], k4, c4, pair_tri, pair_deg, degree[x], degree[y], t2[x] + t2[y], nd[x] + nd[y])


@njit(cache=True, nogil=True)
def _around(indptr: Any, indices: Any, edge: Any, tri: Any, degree: Any, near: Any, far: Any) -> Any:
    """Sums over the triangles on each edge, 4-cliques and 4-cycles through it; edges ordered by ``far``."""
    n = len(indptr) - 1
    out = np.zeros((4, len(near)), dtype=np.int64)
    mark = np.full(n, -1, dtype=np.int64)  # the edge from the far end to each of its neighbours
    both = np.zeros(n, dtype=np.bool_)
    common = np.empty(n, dtype=np.int64)
    last = -1
    for i in range(len(near)):
        u, v = near[i], far[i]
        if v != last:
            if last >= 0:
                for k in range(indptr[last], indptr[last + 1]):
                    mark[indices[k]] = -1
            for k in range(indptr[v], indptr[v + 1]):
                mark[indices[k]] = edge[k]
            last = v
        size = 0
        for k in range(indptr[u], indptr[u + 1]):
            w = indices[k]
            if w == v:
                continue
            if mark[w] >= 0:
                out[0, i] += tri[edge[k]] + tri[mark[w]]
                out[1, i] += degree[w]
                common[size] = w
                both[w] = True
                size += 1
            for q in range(indptr[w], indptr[w + 1]):
                if mark[indices[q]] >= 0:
                    out[3, i] += 1
            out[3, i] -= 1  # u itself, which is a neighbour of both
        for j in range(size):
            w = common[j]
            for q in range(indptr[w], indptr[w + 1]):
                if both[indices[q]]:
                    out[2, i] += 1
        out[2, i] //= 2  # every edge between common neighbours was met from both ends
        for j in range(size):
            both[common[j]] = False
    return out


def kept_rows(indptr: IntArray, indices: IntArray, edge: IntArray, places: IntArray) -> tuple[IntArray, IntArray]:
    """Compressed rows that hold only the edges at ``places``; ``edge`` numbers the entries."""
    held = np.zeros(len(indices) // 2, dtype=bool)
    held[places] = True
    kept = held[edge]
    before = np.concatenate([[0], np.cumsum(kept)])
    return before[indptr], indices[kept]


def components(indptr: IntArray, indices: IntArray) -> tuple[int, IntArray]:
    """Number of connected components, and the one of each node, counted by their lowest nodes.

    Examples
    --------
    >>> from graphnetz.graphs import as_graph
    >>> graph = as_graph([(0, 2), (1, 3), (3, 4)])
    >>> components(graph.indptr, graph.indices)[1].tolist()
    [0, 1, 0, 1, 1]
    """
    found = _components(indptr, indices)
    return int(found.max(initial=-1)) + 1, found


@njit(cache=True, nogil=True)
def _components(indptr: Any, indices: Any) -> Any:
    n = len(indptr) - 1
    out = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    number = 0
    for start in range(n):
        if out[start] >= 0:
            continue
        out[start] = number
        queue[0], first, size = start, 0, 1
        while first < size:
            u = queue[first]
            first += 1
            for k in range(indptr[u], indptr[u + 1]):
                v = indices[k]
                if out[v] < 0:
                    out[v] = number
                    queue[size] = v
                    size += 1
        number += 1
    return out


def nodes_around(indptr: IntArray, indices: IntArray, start: int, most_edges: int) -> IntArray:
    """Nodes in the order in which a breadth-first search meets them, until they have so many edges among them.

    Examples
    --------
    >>> from graphnetz.graphs import as_graph
    >>> graph = as_graph([(0, 1), (1, 2), (2, 3)])
    >>> nodes_around(graph.indptr, graph.indices, 1, 2).tolist()
    [1, 0, 2]
    """
    return np.asarray(_around_node(indptr, indices, start, most_edges))


@njit(cache=True, nogil=True)
def _around_node(indptr: Any, indices: Any, start: int, most_edges: int) -> Any:
    n = len(indptr) - 1
    place = np.full(n, n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    place[start], queue[0] = 0, start
    size, first, held = 1, 0, 0
    counted = 1  # the first node has no edge to an earlier one
    while first < size:
        u = queue[first]
        first += 1
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if place[v] == n:
                place[v] = size
                queue[size] = v
                size += 1
        while counted < size:
            v = queue[counted]
            for k in range(indptr[v], indptr[v + 1]):
                held += place[indices[k]] < counted
            counted += 1
            if held >= most_edges:
                return queue[:counted].copy()
    return queue[:size].copy()
