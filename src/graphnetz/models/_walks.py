"""Compiled parts of node2vec: biased walks and skip-gram with negative samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _linked(indptr: Any, indices: Any, a: int, b: int) -> bool:
    low, high = indptr[a], indptr[a + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < b:
            low = middle + 1
        else:
            high = middle
    return bool(low < indptr[a + 1] and indices[low] == b)


@njit(cache=True, nogil=True)
def walks(indptr: Any, indices: Any, starts: Any, length: int, p: float, q: float, seed: int) -> Any:
    """Second-order walks by rejection: return 1/p, stay near 1, move away 1/q. -1 after a dead end.

    Parameters
    ----------
    indptr, indices
        Sorted compressed rows of an undirected graph.
    """
    np.random.seed(seed)
    out = np.full((len(starts), length), -1, dtype=np.int32)
    back, away = 1.0 / p, 1.0 / q
    most = max(back, 1.0, away)
    for w in range(len(starts)):
        here, before = starts[w], -1
        out[w, 0] = here
        for t in range(1, length):
            first, count = indptr[here], indptr[here + 1] - indptr[here]
            if count == 0:
                break
            while True:
                there = indices[first + np.random.randint(count)]
                if before < 0:
                    break
                if there == before:
                    weight = back
                elif _linked(indptr, indices, there, before):
                    weight = 1.0
                else:
                    weight = away
                if np.random.random() * most < weight:
                    break
            out[w, t] = there
            before, here = here, there
    return out


@njit(cache=True, nogil=True, fastmath=True)
def skip_gram(paths: Any, inner: Any, outer: Any, context: int, negatives: int, rates: Any, seed: int) -> None:
    """Change ``inner`` and ``outer`` in place: one pass over ``paths`` per rate, in a fresh order each."""
    np.random.seed(seed)
    nodes, width = inner.shape
    step = np.zeros(width, dtype=np.float32)
    length = paths.shape[1]
    for epoch in range(len(rates)):
        order = np.random.permutation(len(paths))
        for k in range(len(order)):
            path = paths[order[k]]
            # The rate falls linearly to that of the next pass.
            end = rates[epoch + 1] if epoch + 1 < len(rates) else 0.1 * rates[epoch]
            rate = rates[epoch] + (end - rates[epoch]) * k / len(order)
            for i in range(length):
                if path[i] < 0:
                    break
                a = path[i]
                for j in range(max(0, i - context), min(length, i + context + 1)):
                    if j == i or path[j] < 0:
                        continue
                    step[:] = 0.0
                    for n in range(negatives + 1):
                        b = path[j] if n == 0 else np.random.randint(nodes)
                        dot = np.float32(0.0)
                        for c in range(width):
                            dot += inner[a, c] * outer[b, c]
                        if dot > 8.0:
                            chance = 1.0
                        elif dot < -8.0:
                            chance = 0.0
                        else:
                            chance = 1.0 / (1.0 + np.exp(-dot))
                        pull = np.float32(rate * ((1.0 if n == 0 else 0.0) - chance))
                        for c in range(width):
                            step[c] += pull * outer[b, c]
                            outer[b, c] += pull * inner[a, c]
                    for c in range(width):
                        inner[a, c] += step[c]
