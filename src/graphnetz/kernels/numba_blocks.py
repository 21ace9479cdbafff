"""Compiled selections of whole graphs out of many, and sums over the nodes of each graph.

Nodes, edges and arcs of a graph lie together; ``node_ptr`` and ``edge_ptr`` say where each graph begins.
Kernels write into the arrays they are given, release the GIL and run on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numba import njit

Array = Any

# The options of numba_ops, here too on purpose: numba compiles again only when the file itself changes.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}


def _jit(function: Callable[..., None]) -> Callable[..., None]:
    return cast("Callable[..., None]", njit(**_OPTIONS)(function))


@_jit
def segment_sum(ptr: Array, x: Array, mean: bool, out: Array) -> None:
    """Sum or mean of the rows of each segment; an empty one gives zero."""
    for g in range(ptr.shape[0] - 1):
        row = out[g]
        for c in range(x.shape[1]):
            row[c] = 0
        for i in range(ptr[g], ptr[g + 1]):
            values = x[i]
            for c in range(x.shape[1]):
                row[c] += values[c]
        if mean and ptr[g + 1] > ptr[g]:
            scale = x.dtype.type(1) / x.dtype.type(ptr[g + 1] - ptr[g])
            for c in range(x.shape[1]):
                row[c] *= scale


@_jit
def segment_spread(ptr: Array, grad: Array, mean: bool, out: Array) -> None:
    """Gradient of `segment_sum`: every row gets its segment's, or its share of it."""
    for g in range(ptr.shape[0] - 1):
        size = ptr[g + 1] - ptr[g]
        scale = grad.dtype.type(1) / grad.dtype.type(size) if mean and size > 0 else grad.dtype.type(1)
        given = grad[g]
        for i in range(ptr[g], ptr[g + 1]):
            row = out[i]
            for c in range(grad.shape[1]):
                row[c] = given[c] * scale


@_jit
def select_blocks(
    edge_index: Array,
    node_ptr: Array,
    edge_ptr: Array,
    graphs: Array,
    nodes: Array,
    owner: Array,
    edges: Array,
    own: Array,
) -> None:
    """Numbers of the nodes and edges of ``graphs``, the graph of each node, and renumbered edges."""
    n = 0
    e = 0
    for k in range(graphs.shape[0]):
        g = graphs[k]
        start = n
        for i in range(node_ptr[g], node_ptr[g + 1]):
            nodes[n] = i
            owner[n] = k
            n += 1
        for j in range(edge_ptr[g], edge_ptr[g + 1]):
            edges[e] = j
            own[0, e] = edge_index[0, j] + start
            own[1, e] = edge_index[1, j] + start
            e += 1


@_jit
def take_blocks(
    indptr: Array, indices: Array, node_ptr: Array, graphs: Array, new_indptr: Array, new_indices: Array, places: Array
) -> None:
    """CSR of the blocks ``graphs``, renumbered; ``places`` are their arcs' places in the whole."""
    n = 0
    t = 0
    new_indptr[0] = 0
    for k in range(graphs.shape[0]):
        first, last = node_ptr[graphs[k]], node_ptr[graphs[k] + 1]
        shift = n - first
        for e in range(indptr[first], indptr[last]):
            new_indices[t + e - indptr[first]] = indices[e] + shift
            places[t + e - indptr[first]] = e
        for i in range(first, last):
            new_indptr[n + 1] = t + indptr[i + 1] - indptr[first]
            n += 1
        t += indptr[last] - indptr[first]


@_jit
def take_positions(indptr: Array, position: Array, node_ptr: Array, graphs: Array, out: Array) -> None:
    """Positions of transposed arcs among the arcs of the chosen blocks."""
    t = 0
    for k in range(graphs.shape[0]):
        start, end = indptr[node_ptr[graphs[k]]], indptr[node_ptr[graphs[k] + 1]]
        for e in range(start, end):
            out[t + e - start] = position[e] - start + t
        t += end - start


@_jit
def sort_arcs(key: Array, other: Array, indptr: Array, sorted_other: Array, order: Array) -> None:
    """Stable counting sort of arcs by ``key``: pointers per key, the other ends in that order, and the places."""
    for e in range(key.shape[0]):
        indptr[key[e] + 1] += 1
    for i in range(indptr.shape[0] - 1):
        indptr[i + 1] += indptr[i]
    for e in range(key.shape[0]):
        k = key[e]
        place = indptr[k]
        indptr[k] = place + 1
        sorted_other[place] = other[e]
        order[place] = e
    for i in range(indptr.shape[0] - 1, 0, -1):  # every pointer has moved to the end of its own row
        indptr[i] = indptr[i - 1]
    indptr[0] = 0
