"""Compiled kernels over the arcs of a graph that is large: mapped from a folder, or in memory and to be held once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

Array = Any
_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any] = njit(**_OPTIONS)(function)
    return compiled


@_jit
def proper_degrees(indptr: Array, indices: Array, out: Array) -> None:
    """Count the arcs into each node without its self-loops."""
    for i in range(indptr.shape[0] - 1):
        count = 0
        for e in range(indptr[i], indptr[i + 1]):
            count += indices[e] != i
        out[i] = count


@_jit
def weighed_block(
    indptr: Array,
    indices: Array,
    left: Array,
    right: Array,
    rows: Array,
    loop: int,
    own: Array,
    ends: Array,
    weight: Array,
) -> int:
    """Copy the arcs of ``rows``, weighed ``left[row] * right[end]``, and return their number.

    ``loop`` is 0 for the arcs as they are, 1 for exactly one self-loop in each row, which comes last, and 2 for one in
    the place that its number has among rising ends. ``own`` are pointers into ``ends`` and ``weight``.
    """
    filled = 0
    own[0] = 0
    for k in range(rows.shape[0]):
        i = rows[k]
        missing = loop > 0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if loop > 0 and j == i:
                continue
            if loop == 2 and missing and j > i:
                ends[filled] = i
                weight[filled] = left[i] * right[i]
                filled += 1
                missing = False
            ends[filled] = j
            weight[filled] = left[i] * right[j]
            filled += 1
        if missing:
            ends[filled] = i
            weight[filled] = left[i] * right[i]
            filled += 1
        own[k + 1] = filled
    return filled


@_jit
def sort_ends(key: Array, other: Array, indptr: Array, ends: Array) -> None:
    """Stable counting sort of arcs by ``key``: pointers per key, and the other ends in that order."""
    for e in range(key.shape[0]):
        indptr[key[e] + 1] += 1
    for i in range(indptr.shape[0] - 1):
        indptr[i + 1] += indptr[i]
    for e in range(key.shape[0]):
        place = indptr[key[e]]
        indptr[key[e]] = place + 1
        ends[place] = other[e]
    for i in range(indptr.shape[0] - 1, 0, -1):  # every pointer has moved to the end of its own row
        indptr[i] = indptr[i - 1]
    indptr[0] = 0


@_jit
def turn(indptr: Array, indices: Array, turned: Array, ends: Array) -> None:
    """Pointers and ends of the opposite arcs, rising in each row, without a copy of the arcs' own ends."""
    for e in range(indices.shape[0]):
        turned[indices[e] + 1] += 1
    for i in range(turned.shape[0] - 1):
        turned[i + 1] += turned[i]
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            ends[turned[j]] = i
            turned[j] += 1
    for i in range(turned.shape[0] - 1, 0, -1):
        turned[i] = turned[i - 1]
    turned[0] = 0


@_jit
def mark_sources(indptr: Array, indices: Array, rows: Array, mask: Array) -> None:
    """Set ``mask`` at ``rows`` and at the sources of all arcs into them."""
    for k in range(rows.shape[0]):
        i = rows[k]
        mask[i] = True
        for e in range(indptr[i], indptr[i + 1]):
            mask[indices[e]] = True


@_jit
def nearest(
    indptr: Array, indices: Array, out_indptr: Array, out_indices: Array, chosen: Array, label: Array, queue: Array
) -> int:
    """Label every node by the nearest chosen one, along arcs in both directions; return the number of labels.

    ``label`` holds -1 on entry. A part of the graph without a chosen node gets a label of its own. Without
    ``out_indptr`` arcs are followed backwards only, which is the same where every arc is there in both directions.
    """
    first, last, labels = 0, 0, 0
    for k in range(chosen.shape[0]):
        label[chosen[k]] = labels
        queue[last] = chosen[k]
        last += 1
        labels += 1
    next_free = 0
    while True:
        while first < last:
            i = queue[first]
            first += 1
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                if label[j] < 0:
                    label[j] = label[i]
                    queue[last] = j
                    last += 1
            if out_indptr.shape[0] > 0:
                for e in range(out_indptr[i], out_indptr[i + 1]):
                    j = out_indices[e]
                    if label[j] < 0:
                        label[j] = label[i]
                        queue[last] = j
                        last += 1
        while next_free < label.shape[0] and label[next_free] >= 0:
            next_free += 1
        if next_free == label.shape[0]:
            return labels
        label[next_free] = labels
        queue[last] = next_free
        last += 1
        labels += 1
