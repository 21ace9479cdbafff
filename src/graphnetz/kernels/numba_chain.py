"""Compiled steps of a small network: normalisation with what follows it, and the sum of a node and its neighbours.

Arrays are C-contiguous, rows are nodes. Kernels write into the arrays they are given and run on one thread. Column sums
are taken in the arrays' own precision over a few rows and in double precision over all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import njit

Array = Any

# The options of numba_ops, here too on purpose: numba compiles again only when the file itself changes.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
ROWS = 64


def _jit(function: Callable[..., None]) -> Callable[..., None]:
    return cast("Callable[..., None]", njit(**_OPTIONS)(function))


@_jit
def norm_forward(
    x: Array, weight: Array, bias: Array, eps: float, given: bool, mean: Array, variance: Array, share: float,
    running: Array, spread: Array, relu: bool, state: Array, out: Array,
) -> None:  # fmt: skip
    """Normalise columns, by their own moments or by the ``running`` ones if ``given``, and apply ReLU if asked.

    ``mean`` and ``variance`` (double precision) go out. Running moments move to them by ``share``, with n - 1 for the
    variance; ``state`` keeps scale, offset and mean of every column for the way back.
    """
    rows, width = x.shape
    if given:
        for c in range(width):
            mean[c] = running[c]
            variance[c] = spread[c]
    zero = x.dtype.type(0)
    scale, offset, shift = state[0], state[1], state[2]
    if not given:
        part = np.zeros(width, dtype=x.dtype)
        mean[:] = 0.0
        variance[:] = 0.0
        for start in range(0, rows, ROWS):
            part[:] = 0
            for r in range(start, min(start + ROWS, rows)):
                row = x[r]
                for c in range(width):
                    part[c] += row[c]
            for c in range(width):
                mean[c] += part[c]
        for c in range(width):
            mean[c] /= rows
            shift[c] = mean[c]
        for start in range(0, rows, ROWS):
            part[:] = 0
            for r in range(start, min(start + ROWS, rows)):
                row = x[r]
                for c in range(width):
                    away = row[c] - shift[c]
                    part[c] += away * away
            for c in range(width):
                variance[c] += part[c]
        for c in range(width):
            variance[c] /= rows
        if share > 0.0:
            for c in range(width):
                running[c] += share * (mean[c] - running[c])
                spread[c] += share * (variance[c] * rows / (rows - 1) - spread[c])
    for c in range(width):
        factor = weight[c] / np.sqrt(variance[c] + eps)
        shift[c] = mean[c]
        scale[c] = factor
        offset[c] = bias[c] - mean[c] * factor
    if relu:
        for r in range(rows):
            row, target = x[r], out[r]
            for c in range(width):
                value = row[c] * scale[c] + offset[c]
                target[c] = value if not (value <= zero) else zero  # NaN passes through
    else:
        for r in range(rows):
            row, target = x[r], out[r]
            for c in range(width):
                target[c] = row[c] * scale[c] + offset[c]


@_jit
def norm_backward(
    x: Array, grad: Array, variance: Array, eps: float, given: bool, relu: bool, state: Array, out: Array,
    g_weight: Array, g_bias: Array,
) -> None:  # fmt: skip
    """Gradients of `norm_forward`; ``given`` moments are constants."""
    rows, width = x.shape
    zero = x.dtype.type(0)
    scale, offset, shift = state[0], state[1], state[2]
    part, turned = np.zeros(width, dtype=x.dtype), np.zeros(width, dtype=x.dtype)
    plain, along = np.zeros(width), np.zeros(width)
    for start in range(0, rows, ROWS):
        part[:] = 0
        turned[:] = 0
        for r in range(start, min(start + ROWS, rows)):
            row, above = x[r], grad[r]
            if relu:
                for c in range(width):
                    live = above[c] if row[c] * scale[c] + offset[c] > zero else zero
                    part[c] += live
                    turned[c] += live * (row[c] - shift[c])
            else:
                for c in range(width):
                    part[c] += above[c]
                    turned[c] += above[c] * (row[c] - shift[c])
        for c in range(width):
            plain[c] += part[c]
            along[c] += turned[c]
    share = 0.0 if given else 1.0 / rows
    for c in range(width):
        inverse = 1.0 / np.sqrt(variance[c] + eps)
        g_weight[c] = along[c] * inverse
        g_bias[c] = plain[c]
        part[c] = plain[c] * share
        turned[c] = along[c] * inverse * inverse * share
    for r in range(rows):
        row, above, target = x[r], grad[r], out[r]
        if relu:
            for c in range(width):
                value = row[c]
                live = above[c] if value * scale[c] + offset[c] > zero else zero
                target[c] = scale[c] * (live - part[c] - (value - shift[c]) * turned[c])
        else:
            for c in range(width):
                target[c] = scale[c] * (above[c] - part[c] - (row[c] - shift[c]) * turned[c])


@_jit
def own_sum(indptr: Array, indices: Array, own: float, x: Array, base: Array, out: Array) -> None:
    """``out[i] = base + own * x[i] + sum_e x[indices[e]]``, four arcs at a time; ``base`` is one row."""
    width = x.shape[1]
    for i in range(indptr.shape[0] - 1):
        e, end = np.intp(indptr[i]), np.intp(indptr[i + 1])
        head = (end - e) % 4
        if head == 0:
            for c in range(width):
                out[i, c] = base[0, c] + own * x[i, c]
        elif head == 1:
            j0 = indices[e]
            for c in range(width):
                out[i, c] = base[0, c] + own * x[i, c] + x[j0, c]
        elif head == 2:
            j0, j1 = indices[e], indices[e + 1]
            for c in range(width):
                out[i, c] = base[0, c] + own * x[i, c] + (x[j0, c] + x[j1, c])
        else:
            j0, j1, j2 = indices[e], indices[e + 1], indices[e + 2]
            for c in range(width):
                out[i, c] = base[0, c] + own * x[i, c] + (x[j0, c] + x[j1, c] + x[j2, c])
        e += head
        while e < end:
            j0, j1, j2, j3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
            for c in range(width):
                out[i, c] += (x[j0, c] + x[j1, c]) + (x[j2, c] + x[j3, c])
            e += 4
