"""Every compiled kernel, in one file because numba does not notice a changed callee in another.

Conventions: a structure is CSR over destinations (``indptr``, ``indices`` = sources); its transpose
is CSR over sources, and ``position[t]`` is the place of the transposed arc ``t`` in the first. Node
arrays are ``[nodes, heads, channels]``, arc arrays ``[arcs, heads]``, all C-contiguous. Kernels write
into the arrays they are given, release the GIL and run on one thread. NaN and infinity pass through:
a diverged run must look diverged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import njit

Array = Any

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    # Sums may be reordered so that dot products vectorise; NaN and infinity keep their meaning.
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)


def _jit(function: Callable[..., None]) -> Callable[..., None]:
    return cast("Callable[..., None]", njit(**_OPTIONS)(function))


@_jit
def aggregate(indptr: Array, indices: Array, weight: Array, x: Array, base: Array, out: Array) -> None:
    """``out[i] = base[i] + sum_e weight[e] * x[indices[e]]``, four arcs at a time.

    ``base`` has one row for all destinations, or one for each.
    """
    width = x.shape[1]
    step = 0 if base.shape[0] == 1 else 1
    for i in range(indptr.shape[0] - 1):
        e = np.intp(indptr[i])
        end = np.intp(indptr[i + 1])
        b = i * step
        head = (end - e) % 4
        if e == end:
            for c in range(width):
                out[i, c] = base[b, c]
            continue
        if head == 1:
            w0, j0 = weight[e], indices[e]
            for c in range(width):
                out[i, c] = base[b, c] + w0 * x[j0, c]
            e += 1
        elif head == 2:
            w0, w1, j0, j1 = weight[e], weight[e + 1], indices[e], indices[e + 1]
            for c in range(width):
                out[i, c] = base[b, c] + w0 * x[j0, c] + w1 * x[j1, c]
            e += 2
        elif head == 3:
            w0, w1, w2 = weight[e], weight[e + 1], weight[e + 2]
            j0, j1, j2 = indices[e], indices[e + 1], indices[e + 2]
            for c in range(width):
                out[i, c] = base[b, c] + w0 * x[j0, c] + w1 * x[j1, c] + w2 * x[j2, c]
            e += 3
        else:
            w0, w1, w2, w3 = weight[e], weight[e + 1], weight[e + 2], weight[e + 3]
            j0, j1, j2, j3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
            for c in range(width):
                out[i, c] = base[b, c] + w0 * x[j0, c] + w1 * x[j1, c] + w2 * x[j2, c] + w3 * x[j3, c]
            e += 4
        while e < end:
            w0, w1, w2, w3 = weight[e], weight[e + 1], weight[e + 2], weight[e + 3]
            j0, j1, j2, j3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
            for c in range(width):
                out[i, c] += w0 * x[j0, c] + w1 * x[j1, c] + w2 * x[j2, c] + w3 * x[j3, c]
            e += 4


@_jit
def _head_rows(i: int, e: int, end: int, indices: Array, position: Array, weight: Array, x: Array, out: Array) -> None:
    """Add ``weight[position[e], h] * x[indices[e], h]`` over one row of arcs to ``out[i]``, four at a time.

    Unsigned places need no test for counting from the end, and views of one head leave a plain loop to
    vectorise: two to four times as fast as indexing the arrays.
    """
    heads, channels = x.shape[1], x.shape[2]
    while e + 3 < end:
        p0, p1 = np.uintp(position[e]), np.uintp(position[e + 1])
        p2, p3 = np.uintp(position[e + 2]), np.uintp(position[e + 3])
        j0, j1 = np.uintp(indices[e]), np.uintp(indices[e + 1])
        j2, j3 = np.uintp(indices[e + 2]), np.uintp(indices[e + 3])
        for h in range(heads):
            w0, w1, w2, w3 = weight[p0, h], weight[p1, h], weight[p2, h], weight[p3, h]
            r, x0, x1, x2, x3 = out[i, h], x[j0, h], x[j1, h], x[j2, h], x[j3, h]
            for c in range(channels):
                r[c] += w0 * x0[c] + w1 * x1[c] + w2 * x2[c] + w3 * x3[c]
        e += 4
    while e < end:
        p0, j0 = np.uintp(position[e]), np.uintp(indices[e])
        for h in range(heads):
            w0 = weight[p0, h]
            r, x0 = out[i, h], x[j0, h]
            for c in range(channels):
                r[c] += w0 * x0[c]
        e += 1


@_jit
def aggregate_heads(
    indptr: Array, indices: Array, position: Array, weight: Array, x: Array, base: Array, out: Array
) -> None:
    """Like `aggregate` with one weight per arc and head, read through ``position``."""
    step = 0 if base.shape[0] == 1 else 1
    for i in range(indptr.shape[0] - 1):
        for h in range(x.shape[1]):
            r, b = out[i, h], base[i * step, h]
            for c in range(x.shape[2]):
                r[c] = b[c]
        _head_rows(np.uintp(i), np.intp(indptr[i]), np.intp(indptr[i + 1]), indices, position, weight, x, out)


@_jit
def aggregate_heads_twice(
    indptr: Array, indices: Array, position: Array, w1: Array, x1: Array, out1: Array, w2: Array, x2: Array, out2: Array
) -> None:
    """Two `aggregate_heads` over the same structure in one pass."""
    zero = x1.dtype.type(0)
    for i in range(indptr.shape[0] - 1):
        for h in range(x1.shape[1]):
            r1, r2 = out1[i, h], out2[i, h]
            for c in range(x1.shape[2]):
                r1[c] = zero
            for c in range(x1.shape[2]):
                r2[c] = zero
        start, end = np.intp(indptr[i]), np.intp(indptr[i + 1])
        _head_rows(np.uintp(i), start, end, indices, position, w1, x1, out1)
        _head_rows(np.uintp(i), start, end, indices, position, w2, x2, out2)


@_jit
def sddmm(indptr: Array, indices: Array, a: Array, b: Array, scale: float, out: Array) -> None:
    """``out[e, h] = scale * <a[destination, h], b[source, h]>``, four arcs at a time."""
    heads, channels = a.shape[1], a.shape[2]
    zero = a.dtype.type(0)
    for i in range(indptr.shape[0] - 1):
        e = np.intp(indptr[i])
        end = np.intp(indptr[i + 1])
        while e + 3 < end:
            j0, j1 = np.uintp(indices[e]), np.uintp(indices[e + 1])
            j2, j3 = np.uintp(indices[e + 2]), np.uintp(indices[e + 3])
            for h in range(heads):
                t0, t1, t2, t3 = zero, zero, zero, zero
                r, b0, b1, b2, b3 = a[i, h], b[j0, h], b[j1, h], b[j2, h], b[j3, h]
                for c in range(channels):
                    value = r[c]
                    t0 += value * b0[c]
                    t1 += value * b1[c]
                    t2 += value * b2[c]
                    t3 += value * b3[c]
                out[e, h], out[e + 1, h], out[e + 2, h], out[e + 3, h] = t0 * scale, t1 * scale, t2 * scale, t3 * scale
            e += 4
        while e < end:
            j0 = np.uintp(indices[e])
            for h in range(heads):
                t0 = zero
                r, b0 = a[i, h], b[j0, h]
                for c in range(channels):
                    t0 += r[c] * b0[c]
                out[e, h] = t0 * scale
            e += 1


@_jit
def softmax_shift(indptr: Array, scores: Array) -> None:
    """Subtract each destination's largest score, so that the exponentials cannot overflow.

    With several heads an arc's row is read at once; with one the arcs lie side by side.
    """
    heads = scores.shape[1]
    best = np.empty(heads, dtype=scores.dtype)
    for i in range(indptr.shape[0] - 1):
        start, end = np.intp(indptr[i]), np.intp(indptr[i + 1])
        if start == end:
            continue
        if heads < 4:
            for h in range(heads):
                top = scores[start, h]
                for e in range(start + 1, end):
                    top = max(top, scores[e, h])
                for e in range(start, end):
                    scores[e, h] -= top
            continue
        for h in range(heads):
            best[h] = scores[start, h]
        for e in range(start + 1, end):
            for h in range(heads):
                best[h] = max(best[h], scores[e, h])
        for e in range(start, end):
            for h in range(heads):
                scores[e, h] -= best[h]


@_jit
def gat_scores(
    indptr: Array, indices: Array, source: Array, target: Array, arcs: Array, slope: float, out: Array
) -> None:
    """Leaky ReLU of ``source[j] + target[i] + arcs[e]``, shifted by each destination's largest.

    ``arcs`` has one row for all arcs, or one for each.
    """
    step = 0 if arcs.shape[0] == 1 else 1
    zero = out.dtype.type(0)
    for i in range(indptr.shape[0] - 1):
        for e in range(np.intp(indptr[i]), np.intp(indptr[i + 1])):
            j, k = np.intp(indices[e]), e * step
            for h in range(out.shape[1]):
                value = source[j, h] + target[i, h] + arcs[k, h]
                out[e, h] = value if value > zero else value * slope
    softmax_shift(indptr, out)


@_jit
def softmax_normalise(indptr: Array, scores: Array) -> None:
    """Divide exponentials by their destination's sum (plus 1e-16, as PyG does)."""
    heads = scores.shape[1]
    totals = np.empty(heads, dtype=scores.dtype)
    for i in range(indptr.shape[0] - 1):
        start, end = np.intp(indptr[i]), np.intp(indptr[i + 1])
        if heads < 4:
            for h in range(heads):
                total = scores.dtype.type(1e-16)
                for e in range(start, end):
                    total += scores[e, h]
                for e in range(start, end):
                    scores[e, h] /= total
            continue
        totals[:] = 1e-16
        for e in range(start, end):
            for h in range(heads):
                totals[h] += scores[e, h]
        for e in range(start, end):
            for h in range(heads):
                scores[e, h] /= totals[h]


@_jit
def softmax_backward(indptr: Array, alpha: Array, grad: Array) -> None:
    """Turn ``grad`` with respect to ``alpha`` into the gradient of the scores, in place."""
    heads = alpha.shape[1]
    totals = np.empty(heads, dtype=alpha.dtype)
    for i in range(indptr.shape[0] - 1):
        start, end = np.intp(indptr[i]), np.intp(indptr[i + 1])
        if heads < 4:
            for h in range(heads):
                total = alpha.dtype.type(0)
                for e in range(start, end):
                    total += alpha[e, h] * grad[e, h]
                for e in range(start, end):
                    grad[e, h] = alpha[e, h] * (grad[e, h] - total)
            continue
        totals[:] = 0
        for e in range(start, end):
            for h in range(heads):
                totals[h] += alpha[e, h] * grad[e, h]
        for e in range(start, end):
            for h in range(heads):
                grad[e, h] = alpha[e, h] * (grad[e, h] - totals[h])


@_jit
def head_dots(x: Array, att: Array, out: Array) -> None:
    """``out[i, h] = <x[i, h], att[h]>`` for the first rows of ``x``."""
    for i in range(out.shape[0]):
        for h in range(x.shape[1]):
            total = x.dtype.type(0)
            r, a = x[i, h], att[h]
            for c in range(x.shape[2]):
                total += r[c] * a[c]
            out[i, h] = total


@_jit
def gat_score_backward(
    indptr: Array,
    indices: Array,
    source: Array,
    target: Array,
    arcs: Array,
    slope: float,
    grad: Array,
    g_src: Array,
    g_dst: Array,
) -> None:
    """Pass score gradients through the leaky ReLU, in place, and sum them per source and destination."""
    step = 0 if arcs.shape[0] == 1 else 1
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            for h in range(grad.shape[1]):
                value = grad[e, h]
                if not source[j, h] + target[i, h] + arcs[e * step, h] > 0:
                    value *= slope
                    grad[e, h] = value
                g_src[j, h] += value
                g_dst[i, h] += value


@_jit
def gat_node_backward(
    t_indptr: Array,
    t_indices: Array,
    position: Array,
    weight: Array,
    grad: Array,
    x: Array,
    att: Array,
    g_score: Array,
    g_x: Array,
    g_att: Array,
) -> None:
    """Gradient of the transformed nodes and of both attention vectors in one pass over the sources.

    ``att``, ``g_att`` and ``g_score`` hold the source part first, the destination part second.
    """
    g_att[:] = 0
    for j in range(t_indptr.shape[0] - 1):
        for h in range(x.shape[1]):
            s, t = g_score[0, j, h], g_score[1, j, h]
            r, v, a, b, g_a, g_b = g_x[j, h], x[j, h], att[0, h], att[1, h], g_att[0, h], g_att[1, h]
            for c in range(x.shape[2]):
                r[c] = s * a[c] + t * b[c]
            for c in range(x.shape[2]):
                g_a[c] += s * v[c]
            for c in range(x.shape[2]):
                g_b[c] += t * v[c]
        start, end = np.intp(t_indptr[j]), np.intp(t_indptr[j + 1])
        _head_rows(np.uintp(j), start, end, t_indices, position, weight, grad, g_x)


@_jit
def segment_max(indptr: Array, indices: Array, x: Array, out: Array, ties: Array) -> None:
    """Largest neighbour per channel and how many arcs attain it; an empty row gives zero."""
    for i in range(indptr.shape[0] - 1):
        start, end = indptr[i], indptr[i + 1]
        if start == end:
            out[i, :] = 0
            ties[i, :] = 0
            continue
        out[i, :] = x[indices[start], :]
        ties[i, :] = 1
        for e in range(start + 1, end):
            j = indices[e]
            for c in range(x.shape[1]):
                if x[j, c] > out[i, c] or (x[j, c] != x[j, c] and out[i, c] == out[i, c]):
                    out[i, c] = x[j, c]
                    ties[i, c] = 1
                elif x[j, c] == out[i, c]:
                    ties[i, c] += 1


@_jit
def segment_max_backward(
    indptr: Array, indices: Array, x: Array, out: Array, ties: Array, grad: Array, g_x: Array
) -> None:
    """Share each gradient evenly among the arcs that attain the largest value, as torch does."""
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            for c in range(x.shape[1]):
                if x[j, c] == out[i, c]:
                    g_x[j, c] += grad[i, c] / ties[i, c]


@_jit
def pair_dots(pairs: Array, z: Array, out: Array) -> None:
    """``out[e] = <z[pairs[0, e]], z[pairs[1, e]]>``."""
    for e in range(pairs.shape[1]):
        a, b = z[np.uintp(pairs[0, e])], z[np.uintp(pairs[1, e])]
        total = z.dtype.type(0)
        for c in range(z.shape[1]):
            total += a[c] * b[c]
        out[e] = total


@_jit
def pair_dots_backward(pairs: Array, z: Array, grad: Array, g_z: Array) -> None:
    """Add the gradient of `pair_dots` to ``g_z``."""
    for e in range(pairs.shape[1]):
        u, v, g = np.uintp(pairs[0, e]), np.uintp(pairs[1, e]), grad[e]
        a, b, g_a, g_b = z[u], z[v], g_z[u], g_z[v]
        for c in range(z.shape[1]):
            g_a[c] += g * b[c]
        for c in range(z.shape[1]):
            g_b[c] += g * a[c]


@njit(nogil=True, cache=True, inline="always")
def _mix(value: np.uint64) -> np.uint64:
    """Finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_A
    value = (value ^ (value >> np.uint64(27))) * _MIX_B
    return value ^ (value >> np.uint64(31))


@_jit
def dropout(x: Array, seed: np.uint64, keep: np.uint64, scale: float, out: Array) -> None:
    """``out = x * scale`` where the draw of that place is below ``keep / 2**32``, else zero.

    The draw depends on ``seed`` and the place only, so the backward pass repeats it instead of
    storing a mask.
    """
    size = x.shape[0]
    low = np.uint64(0xFFFFFFFF)
    zero = x.dtype.type(0)
    for k in range(size // 2):
        bits = _mix(seed + np.uint64(k) * _GOLDEN)
        out[2 * k] = x[2 * k] * (scale if (bits & low) < keep else zero)
        out[2 * k + 1] = x[2 * k + 1] * (scale if (bits >> np.uint64(32)) < keep else zero)
    if size % 2:
        bits = _mix(seed + np.uint64(size // 2) * _GOLDEN)
        out[size - 1] = x[size - 1] * (scale if (bits & low) < keep else zero)
