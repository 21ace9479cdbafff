"""More PyG layers computed by the kernels: those of weighted sums, and those of a network on every arc."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graphnetz.kernels import functions as fn
from graphnetz.kernels.arcs import ends_sum, row_sum, take_rows
from graphnetz.kernels.attention import gat_attention
from graphnetz.kernels.drop import attention_mask
from graphnetz.kernels.features import Features, SparseFeatures, linear_map, narrow_linear
from graphnetz.kernels.layers import LINEAR, aggregate_first, combine_heads, dense_rows, is_linear, propagate
from graphnetz.kernels.runtime import usable
from graphnetz.kernels.structure import Structure
from graphnetz.kernels.weighted import LEARNED, WeightedArcs, gcn_weights, kept_arcs, sorted_arcs

Conv = Any


def graph_conv(
    conv: Conv, x: Features, structure: Structure, *, constant: bool = False, edge_weight: Tensor | None = None
) -> Tensor | str:
    """Return what a GraphConv returns (Morris et al., 2019)."""
    relation, root, kind = conv.lin_rel, conv.lin_root, conv.aggr
    base = linear_map(x, root.weight, relation.bias)
    if edge_weight is not None:
        if kind == "max":
            return "its edge weights meet a maximum"
        return _graph_conv_sums(structure, linear_map(x, relation.weight), edge_weight, base, mean=kind == "mean")
    if kind == "max" or (isinstance(x, Tensor) and aggregate_first(x, conv.out_channels + 1, constant)):
        return narrow_linear(propagate(structure, dense_rows(x), kind, constant), relation.weight, base)
    return LINEAR[kind](structure, linear_map(x, relation.weight), base=base)


def _graph_conv_sums(structure: Structure, x: Tensor, edge_weight: Tensor, base: Tensor, *, mean: bool) -> Tensor:
    def sorted_weight() -> Tensor:
        weight = edge_weight.reshape(-1)[structure.order_tensor]
        return weight * structure.weights("mean", weight.dtype)[0] if mean else weight

    if edge_weight.requires_grad:
        return fn.spmm(structure, sorted_weight(), x, base=base)
    arcs = kept_arcs(structure, ("graph", mean), (edge_weight,), lambda: (structure, sorted_weight()))
    return arcs.sums(x, base=base)


def sg_conv(
    conv: Conv, x: Features, structure: Structure, *, constant: bool = False, edge_weight: Tensor | None = None
) -> Tensor | str:
    """Return what an SGConv returns (Wu et al., 2019)."""
    if edge_weight is not None and edge_weight.requires_grad:
        return LEARNED
    arcs = gcn_weights(structure, edge_weight, x.dtype, loops=conv.add_self_loops)
    if constant and isinstance(x, Tensor) and not x.requires_grad:
        # Propagation is linear, and of features that never change it is done only once.
        slot = arcs.structure.propagated.slot(x)
        if ("hops", conv.K) not in slot:
            with torch.no_grad():
                slot["hops", conv.K] = _hops(arcs, x, conv.K)
        return narrow_linear(slot["hops", conv.K], conv.lin.weight, conv.lin.bias)
    if isinstance(x, SparseFeatures) or conv.out_channels < x.size(1):
        out = _hops(arcs, linear_map(x, conv.lin.weight), conv.K)
        return out if conv.lin.bias is None else out + conv.lin.bias
    return narrow_linear(_hops(arcs, x, conv.K), conv.lin.weight, conv.lin.bias)


def _hops(arcs: WeightedArcs, x: Tensor, count: int) -> Tensor:
    for _ in range(count):
        x = arcs.sums(x)
    return x


def cheb_conv(
    conv: Conv, x: Features, structure: Structure, *, constant: bool = False, edge_weight: Tensor | None = None,
    batch: Tensor | None = None, lambda_max: Any = None,
) -> Tensor | str:  # fmt: skip
    """Return what a ChebConv returns (Defferrard et al., 2016)."""
    del constant
    if any(isinstance(value, Tensor) and value.requires_grad for value in (edge_weight, lambda_max)):
        return LEARNED
    bound = None if lambda_max is None else tuple(torch.as_tensor(lambda_max).reshape(-1).tolist())

    def make() -> tuple[Structure, Tensor]:
        index, weight = conv.__norm__(
            structure.edge_index, x.size(0), edge_weight, conv.normalization, lambda_max, dtype=x.dtype, batch=batch
        )
        return sorted_arcs(index, weight, x.size(0))

    arcs = kept_arcs(structure, ("cheb", conv.normalization, bound, x.dtype), (edge_weight, batch), make)
    # Clenshaw's recurrence: the linear maps come first, so that sums run over the layer's own width.
    later, last = None, None
    for number in range(len(conv.lins) - 1, -1, -1):
        own = linear_map(x, conv.lins[number].weight)
        step = own
        if later is not None:
            step = arcs.sums(later, base=own) if number == 0 else own + 2.0 * arcs.sums(later)
        later, last = (step if last is None else step - last), later
    out = cast(Tensor, later)
    return out if conv.bias is None else out + conv.bias


def gatv2_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a GATv2Conv without edge attributes returns (Brody et al., 2022)."""
    del constant
    s = structure.with_self_loops if conv.add_self_loops else structure
    source = linear_map(x, conv.lin_l.weight, conv.lin_l.bias)
    target = source if conv.share_weights else linear_map(x, conv.lin_r.weight, conv.lin_r.bias)
    shape = (-1, conv.heads, conv.out_channels)
    drops = conv.training and conv.dropout > 0.0
    mask = attention_mask(s, conv.heads, conv.dropout, like=source) if drops else None
    ends = ends_sum(s.sorted_edges, source.new_zeros(1, source.size(1)), source, target)
    scores = (F.leaky_relu(ends, conv.negative_slope).view(shape) * conv.att).sum(-1)
    base = conv.bias
    if conv.res is not None:
        base = linear_map(x, conv.res.weight, conv.bias)
    nothing = source.new_zeros(conv.heads, conv.out_channels)

    def attend(base: Tensor | None = None) -> Tensor:
        # Only the softmax and the sum are asked of the other attention: its own scores are zero, its slope is one.
        return gat_attention(s, source.view(shape), nothing, nothing, slope=1.0, mask=mask, arcs=scores, base=base)

    return combine_heads(attend, base, concat=conv.concat or conv.heads == 1)


def gine_conv(
    conv: Conv, x: Tensor, structure: Structure, *, constant: bool = False, edge_attr: Tensor | None = None
) -> Tensor | str:
    """Return what a GINEConv returns (Hu et al., 2020)."""
    del constant
    if edge_attr is None or not usable(edge_attr) or edge_attr.dim() != 2 or edge_attr.dtype != x.dtype:
        return "its edge attributes are not a matrix of the type of its input"
    edge = edge_attr if conv.lin is None else linear_map(edge_attr, conv.lin.weight, conv.lin.bias)
    if edge.shape != (structure.num_arcs, x.size(1)):
        return "its edge attributes are not one row per edge"
    source, target = structure.edge_index
    mixed = row_sum((take_rows(x, source) + edge).relu(), target, x.size(0))
    return cast(Tensor, conv.nn(mixed + (1 + conv.eps) * x))


def edge_conv(conv: Conv, x: Tensor, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what an EdgeConv returns (Wang et al., 2019)."""
    del constant
    edges = structure.edge_index
    if _starts_linear(conv.nn):
        # W [x_i, x_j - x_i] is a product per node, not per arc.
        first = conv.nn[0]
        own, other = torch.chunk(first.weight, 2, dim=1)
        bias = x.new_zeros(1, own.size(0)) if first.bias is None else first.bias.unsqueeze(0)
        out = ends_sum(edges, bias, narrow_linear(x, other), narrow_linear(x, own - other))
        for part in conv.nn[1:]:
            out = part(out)
    else:
        there = take_rows(x, edges[1])
        out = conv.nn(torch.cat([there, take_rows(x, edges[0]) - there], dim=-1))
    return _gathered(structure, out, conv.aggr)


def _starts_linear(network: nn.Module) -> bool:
    hooks = network._forward_hooks or network._forward_pre_hooks
    return type(network) is nn.Sequential and not hooks and len(network) > 0 and is_linear(network[0])


def _gathered(structure: Structure, messages: Tensor, how: str) -> Tensor:
    """Aggregate one row per column of the edge index at its destination."""
    if how == "max":
        return fn.max_aggregate(structure.messages, messages)
    out = row_sum(messages, structure.edge_index[1], structure.num_dst)
    return out / _degree(structure, out).clamp(min=1).unsqueeze(1) if how == "mean" else out


def _degree(structure: Structure, like: Tensor) -> Tensor:
    return torch.from_numpy(np.diff(structure.indptr)).to(like.dtype)


def pna_conv(conv: Conv, x: Tensor, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a PNAConv with one linear map before its aggregators returns (Corso et al., 2020).

    A message is the sum of a part of the destination and one of the source. The first is the same for all messages
    that arrive at a node, so aggregators run over the nodes' parts and messages are never made.
    """
    del constant
    towers, width = conv.towers, conv.F_in
    rows = x.view(-1, towers, width) if conv.divide_input else x.view(-1, 1, width).repeat(1, towers, 1)
    pairs = [part[0] for part in conv.pre_nns]
    own = torch.cat([F.linear(rows[:, t], p.weight[:, :width], p.bias) for t, p in enumerate(pairs)], dim=1)
    other = torch.cat([F.linear(rows[:, t], p.weight[:, width:]) for t, p in enumerate(pairs)], dim=1)
    scaler, degree = conv.aggr_module, _degree(structure, x)
    found = _statistics(structure, own, other, degree.unsqueeze(1), scaler.aggr.aggrs)
    mixed = torch.cat([value.view(-1, towers, width) for value in found], dim=-1)
    scaled = torch.cat([mixed * factor for factor in _factors(scaler, degree.view(-1, 1, 1))], dim=-1)
    out = torch.cat([rows, scaled], dim=-1)
    return cast(Tensor, conv.lin(torch.cat([part(out[:, t]) for t, part in enumerate(conv.post_nns)], dim=1)))


def _statistics(structure: Structure, own: Tensor, other: Tensor, degree: Tensor, aggregators: Any) -> list[Tensor]:
    present = (degree > 0).to(own.dtype)
    mean: Tensor | None = None
    found: list[Tensor] = []
    for kind in (type(part).__name__.removesuffix("Aggregation") for part in aggregators):
        if kind == "Sum":
            found.append(fn.sum_aggregate(structure, other, base=degree * own))
        elif kind == "Max":
            found.append(present * own + fn.max_aggregate(structure, other))
        elif kind == "Min":
            found.append(present * own - fn.max_aggregate(structure, -other))
        else:
            mean = fn.mean_aggregate(structure, other) if mean is None else mean
            if kind == "Mean":
                found.append(present * own + mean)
                continue
            variance = fn.mean_aggregate(structure, other * other) - mean * mean
            found.append(variance if kind == "Var" else _deviation(variance))
    return found


def _deviation(variance: Tensor) -> Tensor:
    out = variance.clamp(min=1e-5).sqrt()
    return out.masked_fill(out <= math.sqrt(1e-5), 0.0)


def _factors(scaler: Any, degree: Tensor) -> list[Any]:
    logs, least = torch.log(degree + 1), degree.clamp(min=1)
    known: dict[str, Any] = {
        "identity": lambda: 1.0,
        "amplification": lambda: logs / scaler.avg_deg_log,
        "attenuation": lambda: scaler.avg_deg_log / torch.log(least + 1),
        "linear": lambda: degree / scaler.avg_deg_lin,
        "inverse_linear": lambda: scaler.avg_deg_lin / least,
    }
    return [known[name]() for name in scaler.scaler]
