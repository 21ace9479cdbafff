"""Compiled part of SEAL: enclosing subgraphs of node pairs with their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _distances(local: Any, count: Any, size: int, start: int, without: int) -> Any:
    """Steps from ``start`` inside a subgraph from which one node is taken out; -1 where out of reach."""
    steps = np.full(size, -1, dtype=np.int64)
    steps[start] = 0
    queue = np.empty(size, dtype=np.int64)
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        a = queue[head]
        head += 1
        for k in range(count[a]):
            b = local[a, k]
            if b != without and steps[b] < 0:
                steps[b] = steps[a] + 1
                queue[tail] = b
                tail += 1
    return steps


@njit(cache=True, nogil=True)
def enclosing(indptr: Any, indices: Any, first: Any, second: Any, most: int, largest: int) -> Any:
    """One-hop enclosing subgraphs of pairs, without the edge between the pair.

    Parameters
    ----------
    indptr, indices
        Sorted compressed rows of an undirected simple graph.
    first, second
        The pairs.
    most
        Neighbours taken per end, evenly spread over the list when there are more.
    largest
        Labels above it are cut.

    Returns
    -------
    tuple
        Start of each subgraph's nodes, original node numbers, labels (double radius), and edges
        (both directions) in numbers of the joint node list.
    """
    pairs = len(first)
    place = np.full(len(indptr) - 1, -1, dtype=np.int64)
    starts = np.zeros(pairs + 1, dtype=np.int64)
    nodes = np.empty(pairs * (2 * most + 2), dtype=np.int64)
    labels = np.empty(pairs * (2 * most + 2), dtype=np.int64)
    edges = np.empty((2, 1024), dtype=np.int64)
    used = 0
    widest = 2 * most + 2
    local = np.empty((widest, widest), dtype=np.int64)
    count = np.zeros(widest, dtype=np.int64)
    for number in range(pairs):
        base = starts[number]
        u, v = first[number], second[number]
        nodes[base], nodes[base + 1] = u, v
        place[u], place[v] = 0, 1
        size = 2
        for end in (u, v):
            degree = indptr[end + 1] - indptr[end]
            taken = min(degree, most)
            for k in range(taken):
                node = indices[indptr[end] + (k * degree) // taken]
                if place[node] < 0:
                    place[node] = size
                    nodes[base + size] = node
                    size += 1
        for a in range(size):
            count[a] = 0
            node = nodes[base + a]
            for k in range(indptr[node], indptr[node + 1]):
                b = place[indices[k]]
                if b < 0 or (a < 2 and b < 2):
                    continue
                local[a, count[a]] = b
                count[a] += 1
                if used == edges.shape[1]:
                    wider = np.empty((2, 2 * used), dtype=np.int64)
                    wider[:, :used] = edges
                    edges = wider
                edges[0, used], edges[1, used] = base + a, base + b
                used += 1
        near, far = _distances(local, count, size, 0, 1), _distances(local, count, size, 1, 0)
        for a in range(size):
            if a < 2:
                labels[base + a] = 1
            elif near[a] < 0 or far[a] < 0:
                labels[base + a] = 0
            else:
                total = near[a] + far[a]
                half = total // 2
                value = 1 + min(near[a], far[a]) + half * (half + total % 2 - 1)
                labels[base + a] = min(value, largest)
            place[nodes[base + a]] = -1
        starts[number + 1] = base + size
    total_nodes = starts[pairs]
    return starts, nodes[:total_nodes], labels[:total_nodes], edges[:, :used]
