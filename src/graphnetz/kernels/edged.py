"""Attention layers with edge attributes, computed on the attributes themselves.

A layer maps the few attributes of an edge to heads and channels of its own. Scores and weighted means are linear in
that map, so it is applied to nodes, not to arcs: with ``e = W a`` for the attributes ``a`` of an arc, ``<q, e>`` is
``<W^T q, a>`` and the weighted sum of ``e`` is ``W`` times that of ``a``. An arc is then a source of its own in the
kernels that pass messages between nodes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphnetz.kernels import narrow
from graphnetz.kernels.attention import edged_dot_attention
from graphnetz.kernels.blocks import plain_segment_sum
from graphnetz.kernels.drop import attention_mask
from graphnetz.kernels.features import narrow_linear, shared_linears
from graphnetz.kernels.runtime import usable
from graphnetz.kernels.structure import Structure

Conv = Any


def arc_attributes(structure: Structure, edge_attr: Tensor) -> Tensor:
    """Attributes in CSR order, one row per arc of ``structure``."""
    return edge_attr[structure.order_tensor]


def looped_attributes(structure: Structure, edge_attr: Tensor) -> Tensor:
    """Attributes in the CSR order of ``structure.with_self_loops``; a loop has the mean of what else arrives there.

    Loops that were there before are replaced, as PyTorch Geometric's GATConv does by default.
    """
    looped, rows = structure.with_self_loops, arc_attributes(structure, edge_attr)
    others = rows[torch.from_numpy(structure.indices != structure.destinations)]
    ends = torch.from_numpy((looped.indptr - np.arange(looped.indptr.size)).astype(np.int64))
    is_loop = torch.from_numpy(looped.indices == looped.destinations)
    out = rows.new_empty(looped.num_arcs, rows.size(1))
    out[is_loop], out[~is_loop] = plain_segment_sum(others, ends, mean=True), others
    return out


def unfit(structure: Structure, x: Any, edge_attr: Tensor) -> str:
    """Why the attributes cannot be used here; empty when they can."""
    if not usable(edge_attr) or edge_attr.requires_grad or edge_attr.dim() != 2 or edge_attr.dtype != x.dtype:
        return "its edge attributes are not a constant matrix of the type of its input"
    if structure.parent is not None or structure.num_arcs != edge_attr.size(0):
        return "its edge attributes are not one row per edge"
    return ""


def gat_scores(conv: Conv, structure: Structure, edge_attr: Tensor) -> Tensor:
    """What the attributes add to the attention scores of a GATConv, one row per arc in CSR order."""
    rows = (looped_attributes if conv.add_self_loops else arc_attributes)(structure, edge_attr)
    weight = conv.lin_edge.weight.view(conv.heads, conv.out_channels, -1)
    out: Tensor = rows @ (weight * conv.att_edge[0].unsqueeze(-1)).sum(1).t()
    return out


def transformer_conv(conv: Conv, x: Tensor, structure: Structure, edge_attr: Tensor) -> Tensor:
    """Return what a TransformerConv with edge attributes and without a gate returns (Shi et al., 2021)."""
    shape = (-1, conv.heads, conv.out_channels)
    drops = conv.training and conv.dropout > 0.0
    mask = attention_mask(structure, conv.heads, conv.dropout, like=conv.lin_key.weight) if drops else None
    weight = conv.lin_edge.weight.view(conv.heads, conv.out_channels, -1)
    rows = arc_attributes(structure, edge_attr).unsqueeze(1).expand(-1, conv.heads, -1).contiguous()
    joined = conv.concat or conv.heads == 1
    skip = [conv.lin_skip] if conv.root_weight else []
    if narrow.is_narrow(x, conv.out_channels):
        base = narrow_linear(x, conv.lin_skip.weight, conv.lin_skip.bias) if skip else None
        return narrow.transformer(conv, x, structure, mask=mask, base=base, concat=joined, edges=(rows, weight))
    key, value, query, *rest = shared_linears(x, conv.lin_key, conv.lin_value, conv.lin_query, *skip)
    base = rest[0] if rest else None
    query = query.view(shape)
    asked, scale = narrow.head_products(query, weight), 1.0 / math.sqrt(conv.out_channels)
    out, mixed = edged_dot_attention(
        structure, rows, query, key.view(shape), value.view(shape), asked, scale=scale, mask=mask,
        base=base if joined else None,
    )  # fmt: skip
    out = narrow.head_products(mixed, weight.transpose(1, 2), base=out)
    if joined:
        return out.flatten(1)
    return out.mean(dim=1) if base is None else out.mean(dim=1) + base
