"""Compiled kernels of neighbour sampling, in one file because numba does not notice a changed callee in another.

A structure is CSR over destinations. The draw at a node depends on the batch's seed and the node's
number only, not on the order of the nodes or on what else is in the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

Array = Any

_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_RANGE = np.uint64(1 << 32)


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any] = njit(**_OPTIONS)(function)
    return compiled


@njit(inline="always", **_OPTIONS)  # type: ignore[untyped-decorator]
def _mix(value: Any) -> Any:
    """Finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_A
    value = (value ^ (value >> np.uint64(27))) * _MIX_B
    return value ^ (value >> np.uint64(31))


@_jit
def _below(state: Array, bound: Any) -> Any:
    """Draw from 0..bound-1 without bias by a product and a rejection (Lemire, 2019); bound < 2**32."""
    while True:
        state[0] += _GOLDEN
        product = (_mix(state[0]) >> _HALF) * bound
        if (product & _LOW) >= (_RANGE - bound) % bound:
            return product >> _HALF


@_jit
def choose(indptr: Array, nodes: Array, seed: np.uint64, row: Array, arcs: Array) -> None:
    """Write the arcs chosen for each node to ``arcs[row[k]:row[k + 1]]``, rising; all where they are few.

    Every subset of that size is equally likely: by Floyd's algorithm (Bentley and Floyd, 1987) where
    few of many are taken, by sequential selection (Fan, Muller and Rezucha, 1962) otherwise.
    """
    state = np.empty(1, dtype=np.uint64)
    for k in range(nodes.shape[0]):
        first = np.int64(indptr[nodes[k]])
        degree = np.int64(indptr[nodes[k] + 1]) - first
        begin, take = row[k], row[k + 1] - row[k]
        if take == degree:
            for t in range(take):
                arcs[begin + t] = first + t
            continue
        state[0] = _mix(seed + np.uint64(nodes[k]) * _GOLDEN)
        if take * take <= 4 * degree:
            for t in range(take):
                top = degree - take + t
                drawn = np.int64(_below(state, np.uint64(top + 1)))
                for s in range(t):
                    if arcs[begin + s] == first + drawn:
                        drawn = top  # taken already; the largest one cannot be
                        break
                place = begin + t
                while place > begin and arcs[place - 1] > first + drawn:
                    arcs[place] = arcs[place - 1]
                    place -= 1
                arcs[place] = first + drawn
        else:
            found = 0
            for t in range(degree):
                if np.int64(_below(state, np.uint64(degree - t))) < take - found:
                    arcs[begin + found] = first + t
                    found += 1
                    if found == take:
                        break


@_jit
def relabel(indices: Array, arcs: Array, place: Array, known: int, nodes: Array, out: Array) -> int:
    """Write each arc's source as a local number; unknown sources are appended to ``nodes`` in order of arrival."""
    for t in range(arcs.shape[0]):
        j = indices[arcs[t]]
        if place[j] < 0:
            place[j] = known
            nodes[known] = j
            known += 1
        out[t] = place[j]
    return known


@_jit
def transpose(indptr: Array, indices: Array, t_indptr: Array, t_indices: Array, position: Array) -> None:
    """CSR over sources by counting; ``t_indptr`` holds zeros on entry."""
    for e in range(indices.shape[0]):
        t_indptr[indices[e] + 1] += 1
    for j in range(t_indptr.shape[0] - 1):
        t_indptr[j + 1] += t_indptr[j]
    free = t_indptr[:-1].copy()
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            t = free[indices[e]]
            free[indices[e]] += 1
            t_indices[t] = i
            position[t] = e


@_jit
def one_loop_each(indptr: Array, indices: Array, out_indptr: Array, out: Array) -> int:
    """Drop self-loops and end each row with one; return the number of arcs."""
    filled = 0
    out_indptr[0] = 0
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            if indices[e] != i:
                out[filled] = indices[e]
                filled += 1
        out[filled] = i
        filled += 1
        out_indptr[i + 1] = filled
    return filled
