"""Attention over nodes with few features, computed on the features themselves.

A layer that maps 3 or 7 columns to 8 heads of 64 channels need not send the 512 channels along every arc. Attention
is a weighted mean, so it may be taken before the map: ``sum_j a_ij (W x_j) = W (sum_j a_ij x_j)``, and scores are
products of the features with a small matrix per head. The numbers are the layer's, to rounding.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from graphnetz.kernels import runtime
from graphnetz.kernels.attention import dot_attention, edged_dot_attention, gat_attention
from graphnetz.kernels.functions import Apply, Context, Gradients, array, base_gradient, base_rows, quick
from graphnetz.kernels.plain import differentiable_gradients
from graphnetz.kernels.structure import Structure

Conv = Any


_ops = functools.partial(runtime.ops, "numba_heads")


def is_narrow(x: Any, channels: int) -> bool:
    """Whether dense features ``x`` are so much narrower than a head that attention is cheaper before the map."""
    return isinstance(x, Tensor) and 2 * (x.size(1) + 1) <= channels


class _HeadProducts(Function):
    @staticmethod
    def forward(ctx: Context, z: Tensor, weight: Tensor, base: Tensor | None) -> Tensor:
        ctx.save_for_backward(z, weight, base)
        out = z.new_empty(z.size(0), z.size(1), weight.size(2))
        _ops().products(array(z), array(weight), base_rows(base, out), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (grad,) = grads
        z, weight, base = ctx.saved_tensors
        g_base = base_gradient(base, grad) if ctx.needs_input_grad[2] else None
        if torch.is_grad_enabled():
            found = differentiable_gradients(_plain_products, (z, weight), ctx.needs_input_grad[:2], grad)
            return *found, g_base
        g_z = torch.empty(z.shape, dtype=z.dtype)
        g_weight = torch.zeros(weight.shape, dtype=weight.dtype)
        _ops().products_backward(array(z), array(weight), array(grad), g_z.numpy(), g_weight.numpy())
        return g_z, g_weight, g_base


_head_products: Apply = quick(_HeadProducts)


def _plain_products(z: Tensor, weight: Tensor) -> Tensor:
    return torch.einsum("nhf,hfc->nhc", z, weight)


def head_products(z: Tensor, weight: Tensor, *, base: Tensor | None = None) -> Tensor:
    """``z[i, h] @ weight[h]`` for rows ``z`` ``[nodes, heads, width]`` and weights ``[heads, width, channels]``.

    The output ``[nodes, heads, channels]`` starts from ``base``, one row for all or one per node.
    """
    return _head_products(z, weight, base)


def _mapped(z: Tensor, weight: Tensor, base: Tensor | None, *, concat: bool) -> Tensor:
    """Concatenate the heads' outputs, or average them, which is one product over all heads."""
    if concat:
        return head_products(z, weight, base=base).flatten(1)
    heads = weight.size(0)
    out = z.flatten(1) @ (weight.reshape(-1, weight.size(2)) / heads)
    return out if base is None else out + base


def _repeated(x: Tensor, heads: int) -> Tensor:
    """The same rows for every head."""
    return x.unsqueeze(1).expand(-1, heads, -1).contiguous()


def gat(
    conv: Conv,
    x: Tensor,
    structure: Structure,
    *,
    mask: Tensor | None,
    base: Tensor | None,
    concat: bool,
    arcs: Tensor | None = None,
) -> Tensor:
    """Return what a GATConv returns (Velickovic et al., 2018)."""
    weight = conv.lin.weight.view(conv.heads, conv.out_channels, -1).transpose(1, 2)
    source, target = torch.matmul(weight, torch.cat([conv.att_src, conv.att_dst]).permute(1, 2, 0)).unbind(-1)
    mixed = gat_attention(
        structure, _repeated(x, conv.heads), source, target, slope=conv.negative_slope, mask=mask, arcs=arcs
    )  # fmt: skip
    return _mapped(mixed, weight, base, concat=concat)


def transformer(
    conv: Conv,
    x: Tensor,
    structure: Structure,
    *,
    mask: Tensor | None,
    base: Tensor | None,
    concat: bool,
    edges: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Return what a TransformerConv returns (Shi et al., 2021).

    A column of ones carries the biases, so that dropped attention is exact too. ``edges`` are the attributes of the
    arcs ``[arcs, heads, width]`` in CSR order and the weights ``[heads, channels, width]`` of their map.
    """
    if conv.lin_key.bias is not None:
        x = torch.cat([x, x.new_ones(x.size(0), 1)], dim=1)
    maps = (conv.lin_query, conv.lin_key, conv.lin_value)
    weights = torch.cat([part.weight for part in maps])
    if conv.lin_key.bias is not None:
        weights = torch.cat([weights, torch.cat([part.bias for part in maps]).unsqueeze(1)], dim=1)
    query, key, value = weights.view(3, conv.heads, conv.out_channels, -1)
    form = torch.bmm(query.transpose(1, 2), key).transpose(0, 1).reshape(x.size(1), -1)
    asked = (x[: structure.num_dst] @ form).view(-1, conv.heads, x.size(1))
    rows = _repeated(x, conv.heads)
    scale = 1.0 / math.sqrt(conv.out_channels)
    if edges is None:
        mixed = dot_attention(structure, asked, rows, rows, mask=mask, scale=scale)
        return _mapped(mixed, value.transpose(1, 2), base, concat=concat)
    attributes, weight = edges
    form = torch.bmm(query.transpose(1, 2), weight).transpose(0, 1).reshape(x.size(1), -1)
    sought = (x[: structure.num_dst] @ form).view(-1, conv.heads, weight.size(2))
    parts = edged_dot_attention(structure, attributes, asked, rows, rows, sought, mask=mask, scale=scale)
    weights = torch.cat([value, weight], dim=2).transpose(1, 2)
    return _mapped(torch.cat(parts, dim=2), weights, base, concat=concat)
