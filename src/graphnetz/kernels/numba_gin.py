"""One graph isomorphism layer in one call: sum over neighbours, linear map, batch norm, ReLU, linear map, ReLU.

A batch of small graphs spends more time between operations than in them. The parts are the kernels of `numba_chain`
and `numba_products`; arrays that are not wanted are empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import njit

from graphnetz.kernels.numba_chain import norm_backward, norm_forward, own_sum
from graphnetz.kernels.numba_products import linear, linear_rows, linear_weight

Array = Any
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}


def _jit(function: Callable[..., None]) -> Callable[..., None]:
    return cast("Callable[..., None]", njit(**_OPTIONS)(function))


@_jit
def layer_forward(
    indptr: Array, indices: Array, own: float, x: Array, first: Array, first_base: Array, normed: bool,
    scale: Array, offset: Array, eps: float, fixed: bool, moments: Array, share: float, running: Array, spread: Array,
    state: Array, relu: bool, second: Array, second_base: Array, last_relu: bool, zeros: Array,
    mixed: Array, mapped: Array, hidden: Array, out: Array,
) -> None:  # fmt: skip
    """Fill ``mixed``, ``mapped`` (before the norm), ``hidden`` (after it and ReLU) and ``out``."""
    own_sum(indptr, indices, own, x, zeros, mixed)
    if normed:
        linear(mixed, first, first_base, False, mapped)
        norm_forward(
            mapped, scale, offset, eps, fixed, moments[0], moments[1], share, running, spread, relu, state, hidden
        )  # fmt: skip
    else:
        linear(mixed, first, first_base, relu, hidden)
    linear(hidden, second, second_base, last_relu, out)


@_jit
def _masked(grad: Array, out: Array, masked: Array) -> None:
    zero = grad.dtype.type(0)
    for r in range(grad.shape[0]):
        for c in range(grad.shape[1]):
            masked[r, c] = grad[r, c] if not (out[r, c] <= zero) else zero


@_jit
def layer_backward(
    indptr: Array, indices: Array, own: float, x: Array, first: Array, normed: bool, eps: float, fixed: bool,
    moments: Array, state: Array, relu: bool, second: Array, last_relu: bool, zeros: Array,
    mixed: Array, mapped: Array, hidden: Array, out: Array, grad: Array,
    g_x: Array, g_eps: Array, g_first: Array, g_first_bias: Array, g_scale: Array, g_offset: Array,
    g_second: Array, g_second_bias: Array,
) -> None:  # fmt: skip
    """Gradients of `layer_forward`; ``indptr`` and ``indices`` are those of the transpose."""
    above = grad
    if last_relu:
        above = np.empty_like(grad)
        _masked(grad, out, above)
    linear_weight(above, hidden, g_second, g_second_bias)
    reached = np.empty_like(hidden)
    linear_rows(above, second, reached)
    inner = reached
    if normed:
        inner = np.empty_like(hidden)
        norm_backward(mapped, reached, moments[1], eps, fixed, relu, state, inner, g_scale, g_offset)
    elif relu:
        inner = np.empty_like(hidden)
        _masked(reached, hidden, inner)
    linear_weight(inner, mixed, g_first, g_first_bias)
    if g_x.size or g_eps.size:
        below = np.empty_like(mixed)
        linear_rows(inner, first, below)
        if g_eps.size:
            total = 0.0
            for r in range(x.shape[0]):
                part = x.dtype.type(0)
                for c in range(x.shape[1]):
                    part += below[r, c] * x[r, c]
                total += part
            g_eps[0] = total
        if g_x.size:
            own_sum(indptr, indices, own, below, zeros, g_x)
