"""Compiled products of narrow rows with one weight per head.

Kernels write into the arrays they are given, release the GIL and run on one thread.
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
def products(z: Array, weight: Array, base: Array, out: Array) -> None:
    """``out[i, h] = base[i, h] + z[i, h] @ weight[h]``, two rows of the weight at a time.

    ``base`` has one row for all nodes, or one for each.
    """
    width, channels = z.shape[2], out.shape[2]
    step = 0 if base.shape[0] == 1 else 1
    for i in range(out.shape[0]):
        for h in range(out.shape[1]):
            r, b, values = out[i, h], base[i * step, h], z[i, h]
            odd = width % 2
            if odd:
                v0, w0 = values[0], weight[h, 0]
                for c in range(channels):
                    r[c] = b[c] + v0 * w0[c]
            else:
                for c in range(channels):
                    r[c] = b[c]
            for k in range(odd, width, 2):
                v0, v1, w0, w1 = values[k], values[k + 1], weight[h, k], weight[h, k + 1]
                for c in range(channels):
                    r[c] += v0 * w0[c] + v1 * w1[c]


@_jit
def products_backward(z: Array, weight: Array, grad: Array, g_z: Array, g_weight: Array) -> None:
    """Gradients of `products` with respect to ``z`` and, added up in ``g_weight``, to the weight."""
    for i in range(grad.shape[0]):
        for h in range(grad.shape[1]):
            g = grad[i, h]
            for k in range(z.shape[2]):
                w, g_w, value = weight[h, k], g_weight[h, k], z[i, h, k]
                total = z.dtype.type(0)
                for c in range(grad.shape[2]):
                    total += g[c] * w[c]
                for c in range(grad.shape[2]):
                    g_w[c] += value * g[c]
                g_z[i, h, k] = total


@_jit
def pair_scores(indptr: Array, indices: Array, left: Array, right: Array, att: Array, slope: float, out: Array) -> None:
    """``out[e, h] = <att[h], leaky(left[source, h] + right[destination, h])>``: the scores of GATv2."""
    zero = out.dtype.type(0)
    for i in range(indptr.shape[0] - 1):
        for e in range(np.intp(indptr[i]), np.intp(indptr[i + 1])):
            j = np.uintp(indices[e])
            for h in range(att.shape[0]):
                a, b, w = left[j, h], right[i, h], att[h]
                total = zero
                for c in range(att.shape[1]):
                    value = a[c] + b[c]
                    total += w[c] * (value if value > zero else value * slope)
                out[e, h] = total


@_jit
def pair_scores_backward(
    indptr: Array, indices: Array, left: Array, right: Array, att: Array, slope: float, grad: Array, g_left: Array,
    g_right: Array, g_att: Array,
) -> None:  # fmt: skip
    """Add the gradients of `pair_scores` to those of both ends and of the attention vectors, in one pass."""
    zero = grad.dtype.type(0)
    one = grad.dtype.type(1)
    for i in range(indptr.shape[0] - 1):
        for e in range(np.intp(indptr[i]), np.intp(indptr[i + 1])):
            j = np.uintp(indices[e])
            for h in range(att.shape[0]):
                g = grad[e, h]
                a, b, w = left[j, h], right[i, h], att[h]
                g_a, g_b, g_w = g_left[j, h], g_right[i, h], g_att[h]
                for c in range(att.shape[1]):
                    value = a[c] + b[c]
                    side = one if value > zero else slope
                    g_w[c] += g * side * value
                    turned = g * side * w[c]
                    g_a[c] += turned
                    g_b[c] += turned
