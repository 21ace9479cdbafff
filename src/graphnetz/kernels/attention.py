"""Attention along the arcs as differentiable functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from graphnetz.kernels import plain
from graphnetz.kernels.functions import Apply, Context, Gradients, array, base_gradient, base_rows, quick
from graphnetz.kernels.runtime import ops
from graphnetz.kernels.structure import Structure


def _attend(
    structure: Structure, scores: Tensor, x: Tensor, mask: Tensor | None, base: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """From shifted scores to (output, attention, attention after dropout); ``scores`` is used up."""
    alpha = scores.exp_()  # torch's exponential is vectorised, a compiled loop's is not
    ops().softmax_normalise(structure.indptr, alpha.numpy())
    kept = alpha if mask is None else alpha * mask
    out = x.new_empty(structure.num_dst, *x.shape[1:])
    start = base_rows(base, x)
    ops().aggregate_heads(
        structure.indptr, structure.indices, structure.identity, kept.numpy(), array(x), start, out.numpy()
    )
    return out, alpha, kept


def _score_gradient(
    structure: Structure, grad: Any, x: Any, alpha: Tensor, mask: Tensor | None, extra: Tensor | None = None
) -> Tensor:
    """Gradient of the scores before the softmax, ``[arcs, heads]``; ``extra`` is a gradient of the attention itself."""
    scores = torch.empty_like(alpha)
    ops().sddmm(structure.indptr, structure.indices, grad, x, grad.dtype.type(1), scores.numpy())
    if extra is not None:
        scores += extra
    if mask is not None:
        scores *= mask
    ops().softmax_backward(structure.indptr, alpha.numpy(), scores.numpy())
    return scores


class _Gat(Function):
    @staticmethod
    def forward(
        ctx: Context,
        structure: Structure,
        slope: float,
        mask: Tensor | None,
        x: Tensor,
        src: Tensor,
        dst: Tensor,
        arcs: Tensor | None,
        base: Tensor | None,
    ) -> Tensor:
        values, heads = array(x), x.size(1)
        source, target = x.new_empty(x.size(0), heads), x.new_empty(structure.num_dst, heads)
        ops().head_dots(values, array(src), source.numpy())
        ops().head_dots(values, array(dst), target.numpy())
        scores = x.new_empty(structure.num_arcs, heads)
        ops().gat_scores(
            structure.indptr,
            structure.indices,
            source.numpy(),
            target.numpy(),
            base_rows(arcs, scores),
            values.dtype.type(slope),
            scores.numpy(),
        )
        out, alpha, kept = _attend(structure, scores, x, mask, base)
        ctx.structure, ctx.slope, ctx.mask = structure, slope, mask
        ctx.state = source, target, alpha, kept
        ctx.save_for_backward(x, src, dst, arcs, base)
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (grad,) = grads
        s: Structure = ctx.structure
        x, src, dst, arcs, base = ctx.saved_tensors
        g_base = base_gradient(base, grad) if ctx.needs_input_grad[7] else None
        if torch.is_grad_enabled():

            def again(v: Tensor, a: Tensor, b: Tensor, *c: Tensor) -> Tensor:
                return plain.gat_attention(s, v, a, b, *c, slope=ctx.slope, mask=ctx.mask)

            inputs = (x, src, dst) if arcs is None else (x, src, dst, arcs)
            found = plain.differentiable_gradients(again, inputs, ctx.needs_input_grad[3 : 3 + len(inputs)], grad)
            return None, None, None, *found, *(() if arcs is not None else (None,)), g_base
        source, target, alpha, kept = ctx.state
        values, dense = array(x), array(grad)
        scores = _score_gradient(s, dense, values, alpha, ctx.mask)
        g_score = np.zeros((2, max(s.num_src, s.num_dst), x.size(1)), dtype=values.dtype)
        ops().gat_score_backward(
            s.indptr,
            s.indices,
            source.numpy(),
            target.numpy(),
            base_rows(arcs, scores),
            values.dtype.type(ctx.slope),
            scores.numpy(),
            g_score[0],
            g_score[1],
        )
        att = np.stack([array(src), array(dst)])
        g_x, g_att = torch.empty(x.shape, dtype=x.dtype), torch.empty(att.shape, dtype=x.dtype)
        indptr, indices, position = s.transpose
        ops().gat_node_backward(
            indptr, indices, position, kept.numpy(), dense, values, att, g_score, g_x.numpy(), g_att.numpy()
        )
        return None, None, None, g_x, g_att[0], g_att[1], None if arcs is None else scores, g_base


class _Dot(Function):
    """``edges`` and what is asked of them (``p``) are None where the arcs have no attributes."""

    @staticmethod
    def forward(
        ctx: Context,
        structure: Structure,
        scale: float,
        mask: Tensor | None,
        edges: Tensor | None,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        p: Tensor | None,
        base: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:
        s, query, mixed = structure, array(q), None
        factor = query.dtype.type(scale)
        scores = q.new_empty(s.num_arcs, q.size(1))
        ops().sddmm(s.indptr, s.indices, query, array(k), factor, scores.numpy())
        if edges is not None and p is not None:
            extra = torch.empty_like(scores)
            ops().sddmm(s.indptr, s.identity, array(p), array(edges), factor, extra.numpy())
            scores += extra
        ops().softmax_shift(s.indptr, scores.numpy())
        out, alpha, kept = _attend(s, scores, v, mask, base)
        if edges is not None and p is not None:
            mixed, start = p.new_empty(p.shape), base_rows(None, p)
            ops().aggregate_heads(s.indptr, s.identity, s.identity, kept.numpy(), array(edges), start, mixed.numpy())
        ctx.structure, ctx.scale, ctx.mask, ctx.state = structure, scale, mask, (alpha, kept)
        ctx.save_for_backward(edges, q, k, v, p, base)
        return out, mixed

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        s: Structure = ctx.structure
        edges, q, k, v, p, base = ctx.saved_tensors
        needs, nothing = ctx.needs_input_grad, (None,) * 4
        g_base = base_gradient(base, grads[0]) if needs[8] else None
        if torch.is_grad_enabled():
            options = {"scale": ctx.scale, "mask": ctx.mask}
            if edges is None:
                plainly = functools.partial(plain.dot_attention, s, **options)
                found = plain.differentiable_gradients(plainly, (q, k, v), needs[4:7], grads[0])
                return *nothing, *found, None, g_base
            again = functools.partial(plain.edged_dot_attention, s, edges, **options)
            return *nothing, *plain.differentiable_gradients(again, (q, k, v, p), needs[4:8], grads), g_base
        alpha, kept = ctx.state
        dense, extra, g_p = array(grads[0]), None, None
        if edges is not None:
            extra = torch.empty_like(alpha)
            ops().sddmm(s.indptr, s.identity, array(grads[1]), array(edges), dense.dtype.type(1), extra.numpy())
        scores = _score_gradient(s, dense, array(v), alpha, ctx.mask, extra).mul_(ctx.scale)
        g_q, g_k, g_v = (torch.empty(t.shape, dtype=t.dtype) for t in (q, k, v))
        rows = functools.partial(ops().aggregate_heads, s.indptr)
        rows(s.indices, s.identity, scores.numpy(), array(k), base_rows(None, k), g_q.numpy())
        if edges is not None:
            g_p = torch.empty(p.shape, dtype=p.dtype)
            rows(s.identity, s.identity, scores.numpy(), array(edges), base_rows(None, p), g_p.numpy())
        if not any(needs[5:7]):  # constant features serve as keys and values
            return *nothing, g_q, None, None, g_p, g_base
        ops().aggregate_heads_twice(
            *s.transpose, scores.numpy(), array(q), g_k.numpy(), kept.numpy(), dense, g_v.numpy()
        )
        return *nothing, g_q, g_k, g_v, g_p, g_base


_gat: Apply = quick(_Gat)
_dot: Callable[..., tuple[Tensor, Tensor]] = quick(_Dot)


def gat_attention(
    structure: Structure,
    x: Tensor,
    att_src: Tensor,
    att_dst: Tensor,
    *,
    slope: float = 0.2,
    mask: Tensor | None = None,
    arcs: Tensor | None = None,
    base: Tensor | None = None,
) -> Tensor:
    """Additive attention over ``x`` ``[nodes, heads, channels]``; vectors are ``[heads, channels]``.

    ``arcs`` ``[arcs, heads]`` is added to the scores, in CSR order. ``mask`` multiplies the attention (0 or
    ``1 / (1 - p)``), of the same shape and order. The output starts from ``base``, one ``[heads * channels]`` bias or
    a row per destination.
    """
    return _gat(structure, slope, mask, x, att_src, att_dst, arcs, base)


def dot_attention(
    structure: Structure,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    base: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention along the arcs; all arrays ``[nodes, heads, channels]``.

    ``mask`` and ``base`` as in `gat_attention`; ``scale`` is the inverse root of the channels if not given.
    """
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    return _dot(structure, factor, mask, None, query, key, value, None, base)[0]


def edged_dot_attention(
    structure: Structure,
    edges: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    asked: Tensor,
    *,
    scale: float,
    mask: Tensor | None = None,
    base: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention with scores ``scale * (<query, key> + <asked, edges>)``: mixed values and mixed edges.

    ``edges`` ``[arcs, heads, width]`` in CSR order is constant; ``asked`` is ``[destinations, heads, width]``; the rest
    is as in `dot_attention`.
    """
    return _dot(structure, scale, mask, edges, query, key, value, asked, base)
