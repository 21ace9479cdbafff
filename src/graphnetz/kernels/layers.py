"""PyG layers computed by the kernels, with the layers' own parameters.

Each function returns what ``conv(x, edge_index)`` returns, to rounding. `graphnetz.kernels.known` says
which layer, in which setting, may be computed by which of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from graphnetz.kernels import edged, narrow
from graphnetz.kernels import functions as fn
from graphnetz.kernels.attention import dot_attention, gat_attention
from graphnetz.kernels.drop import attention_mask
from graphnetz.kernels.features import Features, SparseFeatures, linear_map, narrow_linear, shared_linears
from graphnetz.kernels.structure import Kind, Structure
from graphnetz.kernels.weighted import gcn_weights

Conv = Any
LINEAR: dict[str, Callable[..., Tensor]] = {
    "mean": fn.mean_aggregate,
    "add": fn.sum_aggregate,
    "sum": fn.sum_aggregate,
    "gcn": fn.gcn_aggregate,
}
_AGGREGATE = {**LINEAR, "max": fn.max_aggregate}


def is_linear(*maps: Any) -> bool:
    """Whether the maps are linear layers as torch or PyTorch Geometric wrote them; None counts as one."""
    for part in maps:
        if part is None:
            continue
        kind: Any = type(part)
        if not _linear_kind(kind):
            return False
        state = vars(part)
        own = state.get("forward")
        if own is not None and not getattr(own, "swaps", False):
            return False
        if state["_forward_hooks"] or state["_forward_pre_hooks"] or torch.nn.parameter.is_lazy(part.weight):
            return False
    return True


@functools.lru_cache(64)
def _linear_kind(kind: type) -> bool:
    return kind.__name__ == "Linear" and kind.__module__.startswith(("torch.nn", "torch_geometric.nn"))


def dense_rows(x: Features) -> Tensor:
    """Features as a dense matrix."""
    return x.to_dense() if isinstance(x, SparseFeatures) else x


def first_rows(x: Features, structure: Structure) -> Features:
    """Features of the destinations, which come first among the sources."""
    if structure.num_dst == structure.num_src:
        return x
    if isinstance(x, SparseFeatures):
        return x.first(structure.num_dst)
    return x[: structure.num_dst]


def propagated_features(structure: Structure, x: Tensor, *, kind: Kind | Literal["max", "add"]) -> Tensor:
    """Aggregate constant features once per structure and keep the result while ``x`` lives."""
    slot = structure.propagated.slot(x)
    if kind not in slot:
        with torch.no_grad():
            slot[kind] = _AGGREGATE[kind](structure, x)
    return cast(Tensor, slot[kind])


def aggregate_first(x: Tensor, width: int, constant: bool) -> bool:
    """Aggregate before multiplying where the input is narrower, or where it is done once for all."""
    return (constant and not x.requires_grad) or x.size(1) < width


def propagate(structure: Structure, x: Tensor, kind: Any, constant: bool) -> Tensor:
    """Aggregate, once for all where the features never change."""
    if constant and not x.requires_grad:
        return propagated_features(structure, x, kind=kind)
    return _AGGREGATE[kind](structure, x)


def gcn_conv(
    conv: Conv, x: Features, structure: Structure, *, constant: bool = False, edge_weight: Tensor | None = None
) -> Tensor | str:
    """Return what a GCNConv returns (Kipf and Welling, 2017)."""
    if edge_weight is not None or conv.improved:
        return _weighted_gcn(conv, x, structure, edge_weight)
    s = structure.with_self_loops if conv.normalize and conv.add_self_loops else structure
    kind: Kind = "gcn" if conv.normalize else "sum"
    if isinstance(x, Tensor) and aggregate_first(x, conv.out_channels, constant):
        return narrow_linear(propagate(s, x, kind, constant), conv.lin.weight, conv.bias)
    return LINEAR[kind](s, linear_map(x, conv.lin.weight), base=conv.bias)


def _weighted_gcn(conv: Conv, x: Features, structure: Structure, edge_weight: Tensor | None) -> Tensor | str:
    if structure.parent is not None:
        return "its edge weights cannot be restricted to some destinations"
    arcs = gcn_weights(
        structure, edge_weight, x.dtype, loops=conv.add_self_loops, improved=conv.improved, normalise=conv.normalize
    )
    if isinstance(x, Tensor) and x.size(1) < conv.out_channels:
        return narrow_linear(arcs.sums(x), conv.lin.weight, conv.bias)
    return arcs.sums(linear_map(x, conv.lin.weight), base=conv.bias)


def sage_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a SAGEConv with mean, sum or max aggregation returns (Hamilton et al., 2017)."""
    left, kind = conv.lin_l, conv.aggr
    base = left.bias
    if conv.root_weight:
        base = linear_map(first_rows(x, structure), conv.lin_r.weight, left.bias)
    dense = x if isinstance(x, Tensor) else None
    if kind == "max" or (dense is not None and aggregate_first(dense, conv.out_channels + 1, constant)):
        # Only a linear aggregation may change places with the product.
        dense = dense_rows(x)
        near = propagate(structure, dense, kind, constant)
        out = narrow_linear(near, left.weight, base)
    else:
        out = LINEAR[kind](structure, linear_map(x, left.weight), base=base)
    return F.normalize(out, p=2.0, dim=-1) if conv.normalize else out


def gat_conv(
    conv: Conv, x: Features, structure: Structure, *, constant: bool = False, edge_attr: Tensor | None = None
) -> Tensor | str:
    """Return what a GATConv returns (Velickovic et al., 2018)."""
    del constant  # attention depends on the parameters: nothing to keep
    arcs = None
    if edge_attr is not None:
        if unfit := edged.unfit(structure, x, edge_attr):
            return unfit
        x, arcs = dense_rows(x), edged.gat_scores(conv, structure, edge_attr)
    s = structure.with_self_loops if conv.add_self_loops else structure
    drops = conv.training and conv.dropout > 0.0
    mask = attention_mask(s, conv.heads, conv.dropout, like=conv.lin.weight) if drops else None
    base = conv.bias
    if conv.res is not None:
        base = linear_map(first_rows(x, structure), conv.res.weight, conv.bias)
    if narrow.is_narrow(x, conv.out_channels):
        joined = conv.concat or conv.heads == 1
        return narrow.gat(conv, cast(Tensor, x), s, mask=mask, base=base, concat=joined, arcs=arcs)
    nodes = linear_map(x, conv.lin.weight).view(-1, conv.heads, conv.out_channels)
    attend = functools.partial(
        gat_attention, s, nodes, conv.att_src[0], conv.att_dst[0], slope=conv.negative_slope, mask=mask, arcs=arcs
    )
    return combine_heads(attend, base, concat=conv.concat or conv.heads == 1)


def transformer_conv(
    conv: Conv, x: Features, structure: Structure, *, constant: bool = False, edge_attr: Tensor | None = None
) -> Tensor | str:
    """Return what a TransformerConv without a gate returns (Shi et al., 2021)."""
    del constant
    if edge_attr is not None:
        return edged.unfit(structure, x, edge_attr) or edged.transformer_conv(conv, dense_rows(x), structure, edge_attr)
    shape = (-1, conv.heads, conv.out_channels)
    root = first_rows(x, structure)
    drops = conv.training and conv.dropout > 0.0
    mask = attention_mask(structure, conv.heads, conv.dropout, like=conv.lin_key.weight) if drops else None
    skip = [conv.lin_skip] if conv.root_weight else []
    if narrow.is_narrow(x, conv.out_channels):
        base = linear_map(root, conv.lin_skip.weight, conv.lin_skip.bias) if skip else None
        concat = conv.concat or conv.heads == 1
        return narrow.transformer(conv, cast(Tensor, x), structure, mask=mask, base=base, concat=concat)
    if root is x:
        key, value, query, *rest = shared_linears(x, conv.lin_key, conv.lin_value, conv.lin_query, *skip)
    else:
        key, value = shared_linears(x, conv.lin_key, conv.lin_value)
        query, *rest = shared_linears(root, conv.lin_query, *skip)
    attend = functools.partial(
        dot_attention, structure, query.view(shape), key.view(shape), value.view(shape), mask=mask
    )
    return combine_heads(attend, rest[0] if rest else None, concat=conv.concat or conv.heads == 1)


def combine_heads(attend: Callable[..., Tensor], base: Tensor | None, *, concat: bool) -> Tensor:
    """Concatenate the heads, with ``base`` inside the kernel, or average them and add it."""
    if concat:
        return attend(base=base).flatten(1)
    out = attend().mean(dim=1)
    return out if base is None else out + base
