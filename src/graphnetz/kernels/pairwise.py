"""Layers whose arcs look at both ends channel by channel: GATv2 and gated graph convolutions."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from graphnetz.kernels import runtime
from graphnetz.kernels.attention import gat_attention
from graphnetz.kernels.drop import attention_mask
from graphnetz.kernels.features import Features, linear_map, shared_linears
from graphnetz.kernels.functions import Apply, Context, Gradients, array, quick
from graphnetz.kernels.layers import combine_heads
from graphnetz.kernels.plain import differentiable_gradients
from graphnetz.kernels.structure import Structure

Conv = Any
_heads = functools.partial(runtime.ops, "numba_heads")
_arcs = functools.partial(runtime.ops, "numba_arcs")


def _plain_scores(structure: Structure, slope: float, left: Tensor, right: Tensor, att: Tensor) -> Tensor:
    source, target = structure.coo
    return (F.leaky_relu(left[source] + right[target], slope) * att).sum(-1)


class _PairScores(Function):
    @staticmethod
    def forward(ctx: Context, structure: Structure, slope: float, left: Tensor, right: Tensor, att: Tensor) -> Tensor:
        ctx.structure, ctx.slope = structure, slope
        ctx.save_for_backward(left, right, att)
        out = left.new_empty(structure.num_arcs, left.size(1))
        rows = array(left)
        ends = structure.indptr, structure.indices, rows, array(right), array(att)
        _heads().pair_scores(*ends, rows.dtype.type(slope), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        left, right, att = ctx.saved_tensors
        s, slope = ctx.structure, ctx.slope
        if torch.is_grad_enabled():
            again = functools.partial(_plain_scores, s, slope)
            return None, None, *differentiable_gradients(again, (left, right, att), ctx.needs_input_grad[2:], grads[0])
        found = [torch.zeros(part.shape, dtype=part.dtype) for part in (left, right, att)]
        rows = array(left)
        _heads().pair_scores_backward(
            s.indptr, s.indices, rows, array(right), array(att), rows.dtype.type(slope), array(grads[0]),
            *(part.numpy() for part in found),
        )  # fmt: skip
        return None, None, *found


pair_scores: Apply = quick(_PairScores)


def gatv2_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a GATv2Conv without edge attributes returns (Brody et al., 2022)."""
    del constant
    s = structure.with_self_loops if conv.add_self_loops else structure
    shape = (-1, conv.heads, conv.out_channels)
    source = linear_map(x, conv.lin_l.weight, conv.lin_l.bias).view(shape)
    target = source if conv.share_weights else linear_map(x, conv.lin_r.weight, conv.lin_r.bias).view(shape)
    drops = conv.training and conv.dropout > 0.0
    mask = attention_mask(s, conv.heads, conv.dropout, like=source) if drops else None
    scores = pair_scores(s, conv.negative_slope, source, target, conv.att[0])
    base = conv.bias
    if conv.res is not None:
        base = linear_map(x, conv.res.weight, conv.bias)
    nothing = source.new_zeros(conv.heads, conv.out_channels)

    def attend(base: Tensor | None = None) -> Tensor:
        # Only the softmax and the sum are asked of the other attention: its own scores are zero, its slope is one.
        return gat_attention(s, source, nothing, nothing, slope=1.0, mask=mask, arcs=scores, base=base)

    return combine_heads(attend, base, concat=conv.concat or conv.heads == 1)


def _plain_gated(edge_index: Tensor, key: Tensor, query: Tensor, value: Tensor) -> Tensor:
    source, target = edge_index
    messages = torch.sigmoid(key[target] + query[source]) * value[source]
    return torch.zeros_like(key).index_add(0, target, messages)


class _GatedSum(Function):
    """Sum of ``sigmoid(key[target] + query[source]) * value[source]`` over the arcs into each node."""

    @staticmethod
    def forward(ctx: Context, edge_index: Tensor, key: Tensor, query: Tensor, value: Tensor) -> Tensor:
        source, target = array(edge_index[0]), array(edge_index[1])
        gate = key.new_empty(source.size, key.size(1))
        zero = key.new_zeros(1, key.size(1)).numpy()
        _arcs().gates(source, target, zero, array(query), array(key), gate.numpy())
        gate.sigmoid_()  # torch's exponential is vectorised, a compiled loop's is not
        out = key.new_zeros(key.shape)
        _arcs().gated_sum(source, target, gate.numpy(), array(value), out.numpy())
        ctx.gate = gate
        ctx.save_for_backward(edge_index, key, query, value)
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        edge_index, key, query, value = ctx.saved_tensors
        if torch.is_grad_enabled():
            again = functools.partial(_plain_gated, edge_index)
            return None, *differentiable_gradients(again, (key, query, value), ctx.needs_input_grad[1:], grads[0])
        found = [torch.zeros(part.shape, dtype=part.dtype) for part in (key, query, value)]
        _arcs().gated_sum_backward(
            array(edge_index[0]), array(edge_index[1]), ctx.gate.numpy(), array(value), array(grads[0]),
            *(part.numpy() for part in found),
        )  # fmt: skip
        return None, *found


gated_sum: Apply = quick(_GatedSum)


def res_gated_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a ResGatedGraphConv without edge attributes returns (Bresson and Laurent, 2017)."""
    del constant
    key, query, value = shared_linears(x, conv.lin_key, conv.lin_query, conv.lin_value)
    # Sorted by destination, so that the rows that are written stay in the cache.
    out = gated_sum(structure.sorted_edges, key, query, value)
    if conv.root_weight:
        return out + linear_map(x, conv.lin_skip.weight, conv.bias)
    return out if conv.bias is None else out + conv.bias
