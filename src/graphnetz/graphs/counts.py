"""Structure counts on compressed rows: triangles, cores, PageRank, edge orbits.

Nodes are renumbered by degree before anything is counted. Every triangle, 4-clique and 4-cycle is
then found once, from its lowest or highest node, and the work per edge is bounded by the smaller
degree of its ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Ranked = tuple[IntArray, IntArray, IntArray, IntArray, IntArray]

ORBITS = (
    *("path3", "triangle", "path4_end", "path4_centre", "claw", "cycle4"),
    *("paw_tail", "paw_opposite", "paw_side", "diamond_rim", "diamond_chord", "clique4"),
)
"""Names of the twelve edge orbits, in the order of the columns of `orbit_counts`."""


def adjacency(u: IntArray, v: IntArray, n: int) -> Any:
    """Symmetric 0/1 matrix in compressed sorted rows of the undirected graph with the given pairs.

    Examples
    --------
    >>> adjacency(np.array([0, 1]), np.array([1, 0]), 3).toarray().tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    from scipy.sparse import coo_array

    ends = (np.concatenate([u, v]), np.concatenate([v, u]))
    matrix = coo_array((np.ones(2 * len(u), dtype=np.int8), ends), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    matrix.sort_indices()
    matrix.data[:] = 1
    return matrix


def pagerank(indptr: IntArray, indices: IntArray, *, damping: float, tolerance: float = 1e-15) -> FloatArray:
    """PageRank of an undirected graph by power iteration; the mass of isolates is spread evenly."""
    from scipy.sparse import csr_array

    n = len(indptr) - 1
    degree = np.diff(indptr)
    isolated = degree == 0
    matrix = csr_array((np.ones(len(indices)), indices, indptr), shape=(n, n))
    inverse = 1.0 / np.maximum(degree, 1)
    rank = np.full(n, 1.0 / n)
    for _ in range(500):
        spread = damping * rank[isolated].sum() / n + (1.0 - damping) / n
        new = damping * (matrix @ (rank * inverse)) + spread
        change = np.abs(new - rank).sum()
        rank = new
        if change < tolerance:
            break
    # Nodes with the same role differ in the last bits only; rounding lets them tie, as the mode needs.
    return np.asarray(np.round(rank / rank.sum() * n, 11) / n)


def pagerank_stopped(indptr: IntArray, indices: IntArray, *, damping: float, tolerance: float = 1e-6) -> FloatArray:
    """PageRank as `networkx.pagerank` leaves it: stopped when the nodes together change by less than their number times
    the tolerance, which on large graphs is after two or three steps. Bit for bit, since modes and fences count ties.
    """
    from scipy.sparse import csr_array

    n = len(indptr) - 1
    degree = np.diff(indptr)
    matrix = csr_array((np.ones(len(indices)), indices, indptr), shape=(n, n))
    inverse = 1.0 / np.maximum(degree, 1)
    even = np.full(n, 1.0 / n)
    rank = even
    for _ in range(100):
        new = damping * (matrix @ (rank * inverse) + rank[degree == 0].sum() * even) + (1 - damping) * even
        change = np.abs(new - rank).sum()
        rank = new
        if change < n * tolerance:
            break
    return np.asarray(rank)


def edge_triangles(indptr: IntArray, indices: IntArray, ranks: Ranked | None = None) -> IntArray:
    """Triangles on each edge i < j, edges in lexicographic order; ``ranks`` from `ranked`, where it is known."""
    low_ptr, low_idx, low_edge, _, _ = ranks or ranked(indptr, indices)
    return np.asarray(_triangles(low_ptr, low_idx, low_edge, len(indices) // 2))


def core_numbers(indptr: IntArray, indices: IntArray) -> IntArray:
    """Core number of each node (bucket peeling of Batagelj and Zaversnik, 2003)."""
    return np.asarray(_cores(indptr, indices))


def orbit_counts(
    indptr: IntArray, indices: IntArray, ranks: Ranked | None = None, triangles: IntArray | None = None
) -> IntArray:
    """Exact induced counts ``[E, 12]`` of the edge orbits of 3- and 4-node graphlets.

    The columns are named in `ORBITS` and lie in memory one after the other; the paw's edges lie at its tail, opposite
    the tail, and at the node of the tail. ``ranks`` and ``triangles`` are what `ranked` and `edge_triangles` found.
    """
    n, m = len(indptr) - 1, len(indices) // 2
    low_ptr, low_idx, low_edge, order, full_edge = ranks or ranked(indptr, indices)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    degree = np.diff(indptr)
    tri = _triangles(low_ptr, low_idx, low_edge, m) if triangles is None else triangles
    pair_tri, pair_deg, k4 = _triangle_sums(low_ptr, low_idx, low_edge, tri, degree[order])
    c4 = _four_cycles(indptr, indices, full_edge, rank, m)

    rows = np.repeat(np.arange(n), degree)
    upper = rows < indices
    x, y = rows[upper], indices[upper]
    dx, dy = degree[x], degree[y]
    t2 = np.bincount(rows, weights=tri[full_edge], minlength=n).astype(np.int64)
    nd = np.bincount(rows, weights=degree[indices], minlength=n).astype(np.int64)
    return assemble(tri, k4, c4, pair_tri, pair_deg, dx, dy, t2[x] + t2[y], nd[x] + nd[y])


def assemble(
    t: IntArray,
    k4: IntArray,
    c4: IntArray,
    s: IntArray,
    z: IntArray,
    dx: IntArray,
    dy: IntArray,
    t2: IntArray,
    nd: IntArray,
) -> IntArray:
    """Turn non-induced counts into induced ones (inclusion and exclusion per edge)."""
    a, b = dx - 1, dy - 1
    o10 = t * (t - 1) // 2 - k4
    o9 = s - 2 * t - 4 * k4
    o8 = t * (dx + dy - 4) - o9 - 4 * o10 - 4 * k4
    o7 = z - 2 * t - o9 - 2 * k4
    o6 = (t2 - 2 * t - s - o9) // 2
    o5 = c4 - o9 - 2 * k4
    o4 = ((b - t) * (dy - 2) + (a - t) * (dx - 2) - 2 * o6 - o8 - o9) // 2
    o3 = ((b - t) * a + (a - t) * b - 2 * o5 - o8 - o9) // 2
    o2 = nd - dx - dy - 2 * z - (a + b - 2 * t) - 2 * o5 - 2 * o6 - o9
    return np.stack([a + b - 2 * t, t, o2, o3, o4, o5, o6, o7, o8, o9, o10, k4]).T


def ranked(indptr: IntArray, indices: IntArray) -> Ranked:
    """Orient edges from lower to higher degree rank.

    Returns the rows of the oriented graph in rank numbering with the edge number of each entry, the
    node of each rank, and the edge number of each entry of the input rows.
    """
    n = len(indptr) - 1
    degree = np.diff(indptr)
    order = np.argsort(degree, kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    edge = edge_numbers(indptr, indices)
    ptr, idx, number = _orient(indptr, indices, edge, order, rank)
    return ptr, idx, number, order, edge


@njit(cache=True, nogil=True)
def edge_numbers(indptr: Any, indices: Any) -> Any:
    """Lexicographic edge number of every entry of symmetric sorted rows."""
    n = len(indptr) - 1
    edge = np.empty(len(indices), dtype=np.int64)
    cursor = indptr[:-1].copy()
    number = 0
    for u in range(n):
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if v > u:
                edge[k] = number
                edge[cursor[v]] = number  # rows are sorted, so the lower neighbours of v arrive in order
                cursor[v] += 1
                number += 1
    return edge


@njit(cache=True, nogil=True)
def _orient(indptr: Any, indices: Any, edge: Any, order: Any, rank: Any) -> Any:
    n = len(indptr) - 1
    ptr = np.zeros(n + 1, dtype=np.int64)
    for u in range(n):
        for k in range(indptr[u], indptr[u + 1]):
            if rank[indices[k]] > rank[u]:
                ptr[rank[u] + 1] += 1
    for r in range(n):
        ptr[r + 1] += ptr[r]
    idx = np.empty(ptr[n], dtype=np.int64)
    number = np.empty(ptr[n], dtype=np.int64)
    cursor = ptr[:-1].copy()
    for s in range(n):  # by the rank of the head, so that every row comes out sorted
        v = order[s]
        for k in range(indptr[v], indptr[v + 1]):
            r = rank[indices[k]]
            if r < s:
                idx[cursor[r]] = s
                number[cursor[r]] = edge[k]
                cursor[r] += 1
    return ptr, idx, number


@njit(cache=True, nogil=True)
def _triangles(ptr: Any, idx: Any, edge: Any, m: int) -> Any:
    n = len(ptr) - 1
    tri = np.zeros(m, dtype=np.int64)
    mark = np.full(n, -1, dtype=np.int64)
    for u in range(n):
        for k in range(ptr[u], ptr[u + 1]):
            mark[idx[k]] = edge[k]
        for k in range(ptr[u], ptr[u + 1]):
            v = idx[k]
            for q in range(ptr[v], ptr[v + 1]):
                e = mark[idx[q]]
                if e >= 0:
                    tri[edge[k]] += 1
                    tri[edge[q]] += 1
                    tri[e] += 1
        for k in range(ptr[u], ptr[u + 1]):
            mark[idx[k]] = -1
    return tri


@njit(cache=True, nogil=True)
def _triangle_sums(ptr: Any, idx: Any, edge: Any, tri: Any, degree: Any) -> Any:
    """Sums over the triangles on each edge, and the 4-cliques on it."""
    n = len(ptr) - 1
    m = len(tri)
    pair_tri = np.zeros(m, dtype=np.int64)
    pair_deg = np.zeros(m, dtype=np.int64)
    k4 = np.zeros(m, dtype=np.int64)
    mark = np.full(n, -1, dtype=np.int64)
    both = np.full(n, -1, dtype=np.int64)
    common = np.empty(n, dtype=np.int64)
    for u in range(n):
        for k in range(ptr[u], ptr[u + 1]):
            mark[idx[k]] = edge[k]
        for k in range(ptr[u], ptr[u + 1]):
            v, uv = idx[k], edge[k]
            size = 0
            for q in range(ptr[v], ptr[v + 1]):
                w = idx[q]
                uw = mark[w]
                if uw >= 0:
                    vw = edge[q]
                    pair_tri[uv] += tri[uw] + tri[vw]
                    pair_tri[uw] += tri[uv] + tri[vw]
                    pair_tri[vw] += tri[uv] + tri[uw]
                    pair_deg[uv] += degree[w]
                    pair_deg[uw] += degree[v]
                    pair_deg[vw] += degree[u]
                    common[size] = w
                    both[w] = vw
                    size += 1
            if size > 1:
                for i in range(size):
                    w = common[i]
                    for q in range(ptr[w], ptr[w + 1]):
                        x = idx[q]
                        vx = both[x]
                        if vx >= 0:
                            k4[uv] += 1
                            k4[mark[w]] += 1
                            k4[both[w]] += 1
                            k4[mark[x]] += 1
                            k4[vx] += 1
                            k4[edge[q]] += 1
            for i in range(size):
                both[common[i]] = -1
        for k in range(ptr[u], ptr[u + 1]):
            mark[idx[k]] = -1
    return pair_tri, pair_deg, k4


@njit(cache=True, nogil=True)
def _four_cycles(indptr: Any, indices: Any, edge: Any, rank: Any, m: int) -> Any:
    """Non-induced 4-cycles through each edge: every cycle is met at its highest-ranked node."""
    n = len(indptr) - 1
    c4 = np.zeros(m, dtype=np.int64)
    count = np.zeros(n, dtype=np.int64)
    for u in range(n):
        top = rank[u]
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if rank[v] < top:
                for q in range(indptr[v], indptr[v + 1]):
                    w = indices[q]
                    if rank[w] < top:
                        count[w] += 1
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if rank[v] < top:
                total = 0
                for q in range(indptr[v], indptr[v + 1]):
                    w = indices[q]
                    if rank[w] < top:
                        extra = count[w] - 1
                        if extra > 0:
                            c4[edge[q]] += extra
                            total += extra
                c4[edge[k]] += total
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if rank[v] < top:
                for q in range(indptr[v], indptr[v + 1]):
                    count[indices[q]] = 0
    return c4


@njit(cache=True, nogil=True)
def _cores(indptr: Any, indices: Any) -> Any:
    n = len(indptr) - 1
    degree = np.empty(n, dtype=np.int64)
    largest = 0
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
        largest = max(largest, degree[v])
    start = np.zeros(largest + 2, dtype=np.int64)
    for v in range(n):
        start[degree[v] + 1] += 1
    for d in range(largest + 1):
        start[d + 1] += start[d]
    position = np.empty(n, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    cursor = start.copy()
    for v in range(n):
        position[v] = cursor[degree[v]]
        order[position[v]] = v
        cursor[degree[v]] += 1
    for i in range(n):
        v = order[i]
        for k in range(indptr[v], indptr[v + 1]):
            u = indices[k]
            if degree[u] > degree[v]:  # move u to the front of its bucket, then shrink the bucket
                du = degree[u]
                front = start[du]
                w = order[front]
                if u != w:
                    order[position[u]], order[front] = w, u
                    position[w], position[u] = position[u], front
                start[du] += 1
                degree[u] -= 1
    return degree
