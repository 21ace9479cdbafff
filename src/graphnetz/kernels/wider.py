"""More PyG layers computed by the kernels: those of weighted sums, and those of a network on every arc."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from graphnetz.kernels import functions as fn
from graphnetz.kernels.arcs import ends_sum, row_sum, take_rows
from graphnetz.kernels.chain import fits, run_steps, steps_of
from graphnetz.kernels.features import Features, SparseFeatures, linear_map, narrow_linear
from graphnetz.kernels.layers import LINEAR, aggregate_first, dense_rows, propagate
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
    arcs = gcn_weights(structure, edge_weight, x.dtype, loops=conv.add_self_loops)
    constant = constant and not arcs.weight.requires_grad
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


def edge_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what an EdgeConv returns (Wang et al., 2019)."""
    del constant
    edges, steps = structure.edge_index, steps_of(conv.nn)
    if steps and steps[0].linear is not None and fits(steps, x, structure.num_arcs):
        # W [x_i, x_j - x_i] is a product per node, not per arc.
        first = steps[0].linear
        own, other = torch.chunk(first.weight, 2, dim=1)
        bias = first.weight.new_zeros(1, own.size(0)) if first.bias is None else first.bias.unsqueeze(0)
        out = ends_sum(edges, bias, linear_map(x, other), linear_map(x, own - other))
        out = run_steps(steps[0]._replace(linear=None), steps[1:], out)
    else:
        dense = dense_rows(x)
        there = take_rows(dense, edges[1])
        out = cast(Tensor, conv.nn(torch.cat([there, take_rows(dense, edges[0]) - there], dim=-1)))
    return _gathered(structure, out, conv.aggr)


def _gathered(structure: Structure, messages: Tensor, how: str) -> Tensor:
    """Aggregate one row per column of the edge index at its destination."""
    if how == "max":
        return fn.max_aggregate(structure.messages, messages)
    out = row_sum(messages, structure.edge_index[1], structure.num_dst)
    return out / _degree(structure, out).clamp(min=1).unsqueeze(1) if how == "mean" else out


def _degree(structure: Structure, like: Tensor) -> Tensor:
    return torch.from_numpy(np.diff(structure.indptr)).to(like.dtype)


def pna_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a PNAConv with one linear map before its aggregators returns (Corso et al., 2020).

    A message is the sum of a part of the destination and one of the source. The first is the same for all messages
    that arrive at a node, so aggregators run over the nodes' parts and messages are never made. A scaler multiplies
    rows, so it is applied to products, not to the wide rows before them.
    """
    del constant
    towers, width = conv.towers, conv.F_in
    rows: list[Features] = [x] * towers
    if conv.divide_input and towers > 1:
        rows = [part.contiguous() for part in torch.split(dense_rows(x), width, dim=1)]
    pairs = [part[0] for part in conv.pre_nns]
    own = [linear_map(row, pair.weight[:, :width], pair.bias) for row, pair in zip(rows, pairs, strict=True)]
    other = [linear_map(row, pair.weight[:, width:]) for row, pair in zip(rows, pairs, strict=True)]
    scaler, degree = conv.aggr_module, _degree(structure, own[0])
    ends = (part[0] if towers == 1 else torch.cat(part, dim=1) for part in (own, other))
    found = _statistics(structure, next(ends), next(ends), degree.unsqueeze(1), scaler.aggr.aggrs)
    factors = _factors(scaler, degree.unsqueeze(1))
    outs = []
    for number, (row, part) in enumerate(zip(rows, conv.post_nns, strict=True)):
        chosen = slice(number * width, (number + 1) * width)
        mixed = torch.cat([value[:, chosen] for value in found], dim=1)
        outs.append(_scaled_map(part, row, mixed, factors))
    return cast(Tensor, conv.lin(outs[0] if towers == 1 else torch.cat(outs, dim=1)))


def _scaled_map(network: Any, rows: Features, mixed: Tensor, factors: list[Any]) -> Tensor:
    """``network([rows, factor * mixed, ...])``, whose first part is a linear map."""
    first, wide = network[0], rows.size(1)
    out = linear_map(rows, first.weight[:, :wide], first.bias)
    blocks = first.weight[:, wide:].unflatten(1, (len(factors), mixed.size(1)))
    products: Any = narrow_linear(mixed, blocks.flatten(0, 1) if len(factors) > 1 else blocks[:, 0])
    for factor, product in zip(factors, products.unflatten(1, (-1, len(factors))).unbind(2), strict=True):
        out = out + product * factor
    for part in network[1:]:
        out = part(out)
    return out


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
