"""PyG layers computed by the kernels, with the layers' own parameters.

`message_passing` is the one call that encoders need: it takes the fast way where it is allowed and
calls the layer otherwise. The functions below it return what ``conv(x, edge_index)`` returns, to
rounding.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from graphnetz._core.errors import UsageError
from graphnetz.kernels import edged, narrow
from graphnetz.kernels import functions as fn
from graphnetz.kernels.attention import dot_attention, gat_attention
from graphnetz.kernels.drop import attention_mask
from graphnetz.kernels.features import Features, SparseFeatures, linear_map, narrow_linear, shared_linears
from graphnetz.kernels.runtime import usable
from graphnetz.kernels.structure import Kind, Structure, structure_of

Conv = Any
_LINEAR: dict[str, Callable[..., Tensor]] = {
    "mean": fn.mean_aggregate,
    "add": fn.sum_aggregate,
    "sum": fn.sum_aggregate,
    "gcn": fn.gcn_aggregate,
}
_AGGREGATE = {**_LINEAR, "max": fn.max_aggregate}


def message_passing(
    conv: Conv,
    x: Features,
    edge_index: Tensor | Structure,
    *,
    constant: bool = False,
    edge_attr: Tensor | None = None,
) -> Tensor:
    """Return ``conv(x, edge_index)``, by the kernels where they may run.

    Parameters
    ----------
    conv
        A PyG layer: GCNConv, GATConv, SAGEConv, TransformerConv or GINConv go the fast way, any
        other is called.
    x
        Node features, dense or `SparseFeatures`; for a restricted structure those of its sources.
    edge_index
        The edge index, or a `Structure` made from it.
    constant
        The features are the dataset's own and no gradient flows into them: a propagation of them is
        computed once and kept.
    edge_attr
        Edge attributes: GATConv and TransformerConv go the fast way, any other layer is called with them.
    """
    if edge_attr is not None:
        return _with_edges(conv, x, edge_index, edge_attr)
    fast = FAST_LAYERS.get(type(conv).__name__)
    if fast is not None and usable(x) and supports(conv) and _plain_edges(edge_index):
        structure = edge_index if isinstance(edge_index, Structure) else structure_of(edge_index, x.size(0))
        if structure.num_src != x.size(0) or structure.num_dst > structure.num_src:
            raise UsageError(
                f"The features have {x.size(0)} rows, the structure {structure.num_src} sources and "
                f"{structure.num_dst} destinations. Pass one row per source, destinations first."
            )
        return fast(conv, x, structure, constant=constant)
    if isinstance(edge_index, Structure):
        if edge_index.parent is not None:
            raise UsageError(
                f"{type(conv).__name__} cannot run on a restricted structure without the kernels. "
                "Ask can_restrict before restricting, and pass the edge index otherwise."
            )
        edge_index = edge_index.edge_index
    return cast(Tensor, conv(x.to_dense() if isinstance(x, SparseFeatures) else x, edge_index))


def _with_edges(conv: Conv, x: Features, edge_index: Tensor | Structure, edge_attr: Tensor) -> Tensor:
    dense = x.to_dense() if isinstance(x, SparseFeatures) else x
    fast = EDGED_LAYERS.get(type(conv).__name__)
    plain = usable(dense) and usable(edge_attr) and not edge_attr.requires_grad
    plain = plain and edge_attr.dim() == 2 and edge_attr.dtype == dense.dtype
    if fast is not None and plain and supports(conv, edges=True) and _plain_edges(edge_index):
        structure = edge_index if isinstance(edge_index, Structure) else structure_of(edge_index, x.size(0))
        if structure.parent is None and structure.num_arcs == edge_attr.size(0):  # else the layer says what is wrong
            return fast(conv, dense, structure, edge_attr)
    edge_index = edge_index.edge_index if isinstance(edge_index, Structure) else edge_index
    return cast(Tensor, conv(dense, edge_index, edge_attr=edge_attr))


def supports(conv: Conv, *, edges: bool = False) -> bool:
    """Return whether ``conv`` is a layer, in a setting, that the kernels compute, with edge attributes or without.

    Hooks, explanation, lazy or replaced linear maps and bipartite parameters are left to the layer itself.
    """
    check = (_EDGE_CHECKS if edges else _CHECKS).get(type(conv).__name__)
    if check is None or not type(conv).__module__.startswith("torch_geometric.nn.conv"):
        return False
    plain = conv.flow == "source_to_target" and not conv.explain and conv.decomposed_layers == 1
    hooks = (name for name in _HOOKS if getattr(conv, name, None))
    return plain and next(hooks, None) is None and check(conv)


_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_propagate_forward_pre_hooks",
    "_propagate_forward_hooks",
    "_message_forward_pre_hooks",
    "_message_forward_hooks",
    "_aggregate_forward_pre_hooks",
    "_aggregate_forward_hooks",
    "_message_and_aggregate_forward_pre_hooks",
    "_message_and_aggregate_forward_hooks",
    "_edge_update_forward_pre_hooks",
    "_edge_update_forward_hooks",
)


def _plain_edges(edge_index: Any) -> bool:
    if isinstance(edge_index, Structure):
        return True
    return type(edge_index) is Tensor and edge_index.device.type == "cpu" and edge_index.layout == torch.strided


def can_restrict(convs: Iterable[Conv], x: Features) -> bool:
    """Return whether a model made of ``convs`` may run on a `ReceptiveField` of features ``x``."""
    return usable(x) and all(supports(conv) for conv in convs)


def _is_linear(*maps: Any) -> bool:
    return all(
        type(part).__name__ == "Linear"
        and not part._forward_hooks
        and not part._forward_pre_hooks
        and not torch.nn.parameter.is_lazy(part.weight)
        for part in maps
        if part is not None
    )


def _first_rows(x: Features, structure: Structure) -> Features:
    """Features of the destinations, which come first among the sources."""
    if structure.num_dst == structure.num_src:
        return x
    if isinstance(x, SparseFeatures):
        return x.rows(np.arange(structure.num_dst))
    return x[: structure.num_dst]


def propagated_features(structure: Structure, x: Tensor, *, kind: Kind | Literal["max", "add"]) -> Tensor:
    """Aggregate constant features once per structure and keep the result while ``x`` lives."""
    slot = structure.propagated.slot(x)
    if kind not in slot:
        with torch.no_grad():
            slot[kind] = _AGGREGATE[kind](structure, x)
    return cast(Tensor, slot[kind])


def _aggregate_first(x: Tensor, width: int, constant: bool) -> bool:
    """Aggregate before multiplying where the input is narrower, or where it is done once for all."""
    return (constant and not x.requires_grad) or x.size(1) < width


def _propagate(structure: Structure, x: Tensor, kind: Any, constant: bool) -> Tensor:
    if constant and not x.requires_grad:
        return propagated_features(structure, x, kind=kind)
    return _AGGREGATE[kind](structure, x)


def gcn_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a GCNConv returns (Kipf and Welling, 2017)."""
    s = structure.with_self_loops if conv.add_self_loops else structure
    kind: Kind = "gcn" if conv.normalize else "sum"
    if isinstance(x, Tensor) and _aggregate_first(x, conv.out_channels, constant):
        return narrow_linear(_propagate(s, x, kind, constant), conv.lin.weight, conv.bias)
    return _LINEAR[kind](s, linear_map(x, conv.lin.weight), base=conv.bias)


def sage_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a SAGEConv with mean, sum or max aggregation returns (Hamilton et al., 2017)."""
    left, kind = conv.lin_l, conv.aggr
    base = left.bias
    if conv.root_weight:
        base = linear_map(_first_rows(x, structure), conv.lin_r.weight, left.bias)
    dense = x if isinstance(x, Tensor) else None
    if kind == "max" or (dense is not None and _aggregate_first(dense, conv.out_channels + 1, constant)):
        # Only a linear aggregation may change places with the product.
        dense = x.to_dense() if isinstance(x, SparseFeatures) else x
        near = _propagate(structure, dense, kind, constant)
        out = narrow_linear(near, left.weight, base)
    else:
        out = _LINEAR[kind](structure, linear_map(x, left.weight), base=base)
    return F.normalize(out, p=2.0, dim=-1) if conv.normalize else out


def gin_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a GINConv returns (Xu et al., 2019)."""
    dense = x.to_dense() if isinstance(x, SparseFeatures) else x
    own = (1 + conv.eps) * cast(Tensor, _first_rows(dense, structure))
    if constant and not dense.requires_grad:
        return cast(Tensor, conv.nn(propagated_features(structure, dense, kind="sum") + own))
    return cast(Tensor, conv.nn(fn.sum_aggregate(structure, dense, base=own)))


def gat_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a GATConv without edge features returns (Velickovic et al., 2018)."""
    del constant  # attention depends on the parameters: nothing to keep
    s = structure.with_self_loops if conv.add_self_loops else structure
    drops = conv.training and conv.dropout > 0.0
    mask = attention_mask(s, conv.heads, conv.dropout, like=conv.lin.weight) if drops else None
    base = conv.bias
    if conv.res is not None:
        base = linear_map(_first_rows(x, structure), conv.res.weight, conv.bias)
    if narrow.is_narrow(x, conv.out_channels):
        return narrow.gat(conv, cast(Tensor, x), s, mask=mask, base=base, concat=conv.concat or conv.heads == 1)
    nodes = linear_map(x, conv.lin.weight).view(-1, conv.heads, conv.out_channels)
    attend = functools.partial(
        gat_attention, s, nodes, conv.att_src[0], conv.att_dst[0], slope=conv.negative_slope, mask=mask
    )
    return _combine_heads(attend, base, concat=conv.concat or conv.heads == 1)


def transformer_conv(conv: Conv, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a TransformerConv without edge features and gate returns (Shi et al., 2021)."""
    del constant
    shape = (-1, conv.heads, conv.out_channels)
    root = _first_rows(x, structure)
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
    return _combine_heads(attend, rest[0] if rest else None, concat=conv.concat or conv.heads == 1)


def _combine_heads(attend: Callable[..., Tensor], base: Tensor | None, *, concat: bool) -> Tensor:
    """Concatenate the heads, with ``base`` inside the kernel, or average them and add it."""
    if concat:
        return attend(base=base).flatten(1)
    out = attend().mean(dim=1)
    return out if base is None else out + base


def _check_gcn(conv: Conv) -> bool:
    return conv.aggr in ("add", "sum") and not conv.cached and not conv.improved and _is_linear(conv.lin)


def _check_gat(conv: Conv) -> bool:
    return conv.edge_dim is None and _is_plain_gat(conv)


def _check_edged_gat(conv: Conv) -> bool:
    known = not conv.add_self_loops or conv.fill_value == "mean"
    return conv.edge_dim is not None and known and _is_plain_gat(conv) and _is_linear(conv.lin_edge)


def _is_plain_gat(conv: Conv) -> bool:
    return conv.aggr in ("add", "sum") and conv.lin is not None and _is_linear(conv.lin, conv.res)


def _check_sage(conv: Conv) -> bool:
    known = conv.aggr in ("mean", "max", "add", "sum") and not conv.project and isinstance(conv.in_channels, int)
    return known and _is_linear(conv.lin_l, getattr(conv, "lin_r", None))


def _check_transformer(conv: Conv) -> bool:
    return conv.edge_dim is None and _is_plain_transformer(conv)


def _check_edged_transformer(conv: Conv) -> bool:
    return conv.edge_dim is not None and _is_plain_transformer(conv) and _is_linear(conv.lin_edge)


def _is_plain_transformer(conv: Conv) -> bool:
    known = conv.aggr in ("add", "sum") and conv.lin_beta is None
    shared = isinstance(conv.in_channels, int)
    return known and shared and _is_linear(conv.lin_query, conv.lin_key, conv.lin_value, conv.lin_skip)


def _check_gin(conv: Conv) -> bool:
    return conv.aggr in ("add", "sum")


FAST_LAYERS: dict[str, Callable[..., Tensor]] = {
    "GCNConv": gcn_conv,
    "GATConv": gat_conv,
    "SAGEConv": sage_conv,
    "TransformerConv": transformer_conv,
    "GINConv": gin_conv,
}
EDGED_LAYERS: dict[str, Callable[..., Tensor]] = {
    "GATConv": edged.gat_conv,
    "TransformerConv": edged.transformer_conv,
}
_EDGE_CHECKS: dict[str, Callable[[Conv], bool]] = {
    "GATConv": _check_edged_gat,
    "TransformerConv": _check_edged_transformer,
}
_CHECKS: dict[str, Callable[[Conv], bool]] = {
    "GCNConv": _check_gcn,
    "GATConv": _check_gat,
    "SAGEConv": _check_sage,
    "TransformerConv": _check_transformer,
    "GINConv": _check_gin,
}
