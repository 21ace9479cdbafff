"""Compiled sums along arcs in the order they come: for batches that live for one step, where sorting would not pay.

Arrays are C-contiguous: ``source`` and ``target`` hold one node per arc, node arrays are ``[nodes, channels]``,
arc arrays ``[arcs, channels]``. Kernels write into the arrays they are given and run on one thread.
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


def _jit(function: Callable[..., None]) -> Callable[..., None]:
    return cast("Callable[..., None]", njit(**_OPTIONS)(function))


@_jit
def add_rows(index: Array, values: Array, out: Array) -> None:
    """``out[index[e]] += values[e]``."""
    for e in range(index.shape[0]):
        i = index[e]
        for c in range(values.shape[1]):
            out[i, c] += values[e, c]


@_jit
def add_neighbours(source: Array, target: Array, weight: Array, x: Array, out: Array) -> None:
    """``out[target[e]] += weight[e] * x[source[e]]``; an empty ``weight`` stands for ones."""
    if weight.shape[0] == 0:
        for e in range(source.shape[0]):
            i, j = target[e], source[e]
            for c in range(x.shape[1]):
                out[i, c] += x[j, c]
        return
    for e in range(source.shape[0]):
        i, j, w = target[e], source[e], weight[e]
        for c in range(x.shape[1]):
            out[i, c] += w * x[j, c]


@_jit
def gates(source: Array, target: Array, edge: Array, left: Array, right: Array, out: Array) -> None:
    """``out[e] = edge[e] + left[source[e]] + right[target[e]]``; one row of ``edge`` serves all arcs."""
    step = 0 if edge.shape[0] == 1 else 1
    for e in range(source.shape[0]):
        i, j, k = target[e], source[e], e * step
        for c in range(out.shape[1]):
            out[e, c] = edge[k, c] + left[j, c] + right[i, c]


@_jit
def gated_sums(source: Array, target: Array, sigma: Array, x: Array, weighed: Array, weights: Array) -> None:
    """Add ``sigma[e] * x[source[e]]`` and ``sigma[e]`` to the rows of the target."""
    for e in range(source.shape[0]):
        i, j = target[e], source[e]
        for c in range(x.shape[1]):
            value = sigma[e, c]
            weighed[i, c] += value * x[j, c]
            weights[i, c] += value


@_jit
def gated_backward(
    source: Array,
    target: Array,
    sigma: Array,
    x: Array,
    grad_weighed: Array,
    grad_weights: Array,
    grad_gate: Array,
    grad_x: Array,
    grad_left: Array,
    grad_right: Array,
) -> None:
    """Gradients of `gates` and `gated_sums` in one pass; ``grad_gate`` comes in as that of the gates themselves."""
    one = sigma.dtype.type(1)
    for e in range(source.shape[0]):
        i, j = target[e], source[e]
        for c in range(x.shape[1]):
            value = sigma[e, c]
            above = grad_weighed[i, c]
            total = grad_gate[e, c] + (above * x[j, c] + grad_weights[i, c]) * value * (one - value)
            grad_gate[e, c] = total
            grad_x[j, c] += above * value
            grad_left[j, c] += total
            grad_right[i, c] += total


@_jit
def gated_sum(source: Array, target: Array, sigma: Array, x: Array, out: Array) -> None:
    """``out[target[e]] += sigma[e] * x[source[e]]``, channel by channel."""
    for e in range(source.shape[0]):
        i, j = target[e], source[e]
        for c in range(x.shape[1]):
            out[i, c] += sigma[e, c] * x[j, c]


@_jit
def gated_sum_backward(
    source: Array, target: Array, sigma: Array, x: Array, grad: Array, g_right: Array, g_left: Array, g_x: Array
) -> None:
    """Gradients of both ends' gates and of the rows, in one pass over the arcs."""
    one = sigma.dtype.type(1)
    for e in range(source.shape[0]):
        i, j = target[e], source[e]
        for c in range(x.shape[1]):
            value = sigma[e, c]
            above = grad[i, c]
            turned = above * x[j, c] * value * (one - value)
            g_right[i, c] += turned
            g_left[j, c] += turned
            g_x[j, c] += above * value


ROWS = 64
"""Rows summed in the array's own precision before they join the double-precision totals."""


@_jit
def moments(x: Array, mean: Array, variance: Array) -> None:
    """Mean and population variance of every column, in double precision by blocks of rows."""
    rows, width = x.shape
    part = np.zeros(width, dtype=x.dtype)
    shift = np.zeros(width, dtype=x.dtype)
    mean[:] = 0.0
    variance[:] = 0.0
    for start in range(0, rows, ROWS):
        part[:] = 0
        for r in range(start, min(start + ROWS, rows)):
            for c in range(width):
                part[c] += x[r, c]
        for c in range(width):
            mean[c] += part[c]
    for c in range(width):
        mean[c] /= rows
        shift[c] = mean[c]
    for start in range(0, rows, ROWS):
        part[:] = 0
        for r in range(start, min(start + ROWS, rows)):
            for c in range(width):
                away = x[r, c] - shift[c]
                part[c] += away * away
        for c in range(width):
            variance[c] += part[c]
    for c in range(width):
        variance[c] /= rows


@_jit
def scaled_relu_add(x: Array, before: Array, scale: Array, offset: Array, out: Array) -> None:
    """``before + relu(x * scale + offset)``; an empty ``before`` adds nothing, one row of it serves all."""
    zero = x.dtype.type(0)
    rows, width = x.shape
    if before.shape[0] == 0:
        for r in range(rows):
            for c in range(width):
                value = x[r, c] * scale[c] + offset[c]
                out[r, c] = value if not (value <= zero) else zero  # NaN passes through
        return
    step = 0 if before.shape[0] == 1 and rows > 1 else 1
    for r in range(rows):
        k = r * step
        for c in range(width):
            value = x[r, c] * scale[c] + offset[c]
            out[r, c] = before[k, c] + (value if not (value <= zero) else zero)


@_jit
def norm_sums(x: Array, scale: Array, offset: Array, mean: Array, grad: Array, plain: Array, along: Array) -> None:
    """Column sums of the gradient behind the ReLU, and of its product with the centred input."""
    rows, width = x.shape
    zero = x.dtype.type(0)
    part, turned = np.zeros(width, dtype=x.dtype), np.zeros(width, dtype=x.dtype)
    plain[:] = 0.0
    along[:] = 0.0
    for start in range(0, rows, ROWS):
        part[:] = 0
        turned[:] = 0
        for r in range(start, min(start + ROWS, rows)):
            for c in range(width):
                live = grad[r, c] if x[r, c] * scale[c] + offset[c] > zero else zero
                part[c] += live
                turned[c] += live * (x[r, c] - mean[c])
        for c in range(width):
            plain[c] += part[c]
            along[c] += turned[c]


@_jit
def norm_backward(
    x: Array, scale: Array, offset: Array, mean: Array, grad: Array, plain: Array, along: Array, out: Array
) -> None:
    """``scale * (live - plain - (x - mean) * along)``, live being the gradient behind the ReLU."""
    zero = x.dtype.type(0)
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            value = x[r, c]
            live = grad[r, c] if value * scale[c] + offset[c] > zero else zero
            out[r, c] = scale[c] * (live - plain[c] - (value - mean[c]) * along[c])
