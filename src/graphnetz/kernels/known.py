"""Which PyG layers the kernels know, in which settings, and the one call that takes the fast way where it may.

Wherever a layer, its input or the way it is called is not what the kernels compute, the layer itself runs.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from graphnetz._core.errors import UsageError
from graphnetz.kernels import gin, layers, pairwise, wider
from graphnetz.kernels.features import Features, SparseFeatures
from graphnetz.kernels.layers import is_linear
from graphnetz.kernels.runtime import is_enabled, usable
from graphnetz.kernels.structure import Structure, structure_of

Conv = Any
UNKNOWN = "the kernels do not know this layer"
OFF = "the kernels are switched off"


@dataclass(frozen=True)
class Layer:
    """How one layer is computed.

    Parameters
    ----------
    run
        ``(conv, x, structure, *, constant, **options)`` gives the output, or the reason why not.
    check
        Whether the layer's settings are ones that ``run`` computes; ``edged`` the same with edge attributes.
    weight
        Name of one of its weights, whose type the input must have; empty where another module sees to that.
    names
        What ``forward`` calls its arguments after the edge index, in order.
    options
        Those of them that ``run`` takes.
    sparse, restrict
        Whether ``run`` takes features that are mostly zeros, and structures with fewer destinations than sources.
    streams
        Whether ``run`` never holds one row per arc.
    nested
        Whether the layer has a network of its own inside.
    """

    run: Callable[..., Tensor | str]
    check: Callable[[Conv], bool]
    weight: str
    names: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    edged: Callable[[Conv], bool] | None = None
    sparse: bool = True
    restrict: bool = False
    streams: bool = True
    nested: bool = False


def message_passing(
    conv: Conv,
    x: Features,
    edge_index: Tensor | Structure,
    *,
    constant: bool = False,
    **options: Tensor | None,
) -> Tensor:
    """Return ``conv(x, edge_index, **options)``, by the kernels where they may run.

    Parameters
    ----------
    conv
        A PyG layer; one that the kernels do not know is called.
    x
        Node features, dense or `SparseFeatures`; for a restricted structure those of its sources.
    edge_index
        The edge index, or a `Structure` made from it.
    constant
        The features are the dataset's own and no gradient flows into them: a propagation of them is
        computed once and kept.
    **options
        Edge weights or attributes, as the layer takes them.
    """
    given = {key: value for key, value in options.items() if value is not None}
    found = compute(conv, x, edge_index, constant=constant, **given)
    if isinstance(found, Tensor):
        return found
    if isinstance(edge_index, Structure):
        if edge_index.parent is not None:
            raise UsageError(
                f"{type(conv).__name__} cannot run on a restricted structure without the kernels: {found}. "
                "Ask can_restrict before restricting, and pass the edge index otherwise."
            )
        edge_index = edge_index.edge_index
    return cast(Tensor, conv(x.to_dense() if isinstance(x, SparseFeatures) else x, edge_index, **given))


def compute(conv: Conv, x: Any, edges: Any, *, constant: bool = False, **options: Any) -> Tensor | str:
    """Return the layer's output by the kernels, or the reason why the layer must be called itself."""
    layer = _layer(conv)
    if layer is None:
        return UNKNOWN
    if not usable(x):
        return "its input is not a plain float tensor on the CPU" if is_enabled() else OFF
    if options and (unknown := options.keys() - layer.options):
        return f"it was called with {', '.join(sorted(unknown))}"
    if not supports(conv, edges="edge_attr" in options):
        return "it has hooks or a setting that the kernels do not compute"
    weight = _getter(layer.weight)(conv) if layer.weight else None
    if len(x.shape) != 2 or (weight is not None and (weight.dtype != x.dtype or weight.device.type != "cpu")):
        return "its input is not a matrix of the type of its weights"
    if not isinstance(edges, Structure):
        if not _plain_edges(edges):
            return "its edges are not an edge index on the CPU"
        structure = structure_of(edges, x.size(0))
    else:
        structure = edges
        if structure.parent is not None and not layer.restrict:
            return "it cannot be restricted to some destinations"
    if structure.num_src != x.size(0) or structure.num_dst > structure.num_src:
        raise UsageError(
            f"The features have {x.size(0)} rows, the structure {structure.num_src} sources and "
            f"{structure.num_dst} destinations. Pass one row per source, destinations first."
        )
    if not layer.sparse and isinstance(x, SparseFeatures):
        x = x.to_dense()
    return layer.run(conv, x, structure, constant=constant, **options)


def _layer(conv: Conv) -> Layer | None:
    """The entry of a layer of PyTorch Geometric itself; a subclass may compute something else."""
    kind: Any = type(conv)
    return LAYERS.get(_entry_name(kind))


@functools.lru_cache(512)
def _entry_name(kind: type) -> str:
    return kind.__name__ if kind.__module__.startswith("torch_geometric.nn.conv") else ""


_getter = functools.cache(operator.attrgetter)


def is_known(conv: Conv) -> bool:
    """Whether ``conv`` is a layer that the kernels know, whatever its setting."""
    return _layer(conv) is not None


def supports(conv: Conv, *, edges: bool = False) -> bool:
    """Return whether ``conv`` is a layer, in a setting, that the kernels compute, with edge attributes or without.

    Hooks, explanation, lazy or replaced linear maps and bipartite parameters are left to the layer itself.
    """
    layer = _layer(conv)
    if layer is None or conv.flow != "source_to_target" or conv.explain or conv.decomposed_layers != 1:
        return False
    state = vars(conv)
    if conv.node_dim not in (-2, 0) or any(map(state.get, _HOOKS)):
        return False
    return (layer.edged or layer.check)(conv) if edges else layer.check(conv)


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
    plain = type(edge_index) is Tensor and edge_index.device.type == "cpu" and edge_index.layout == torch.strided
    return plain and edge_index.dim() == 2 and edge_index.size(0) == 2 and edge_index.dtype == torch.int64


def can_restrict(convs: Iterable[Conv], x: Features) -> bool:
    """Return whether a model made of ``convs`` may run on a `ReceptiveField` of features ``x``."""
    return usable(x) and all(supports(conv) and LAYERS[type(conv).__name__].restrict for conv in convs)


def _check_gcn(conv: Conv) -> bool:
    return conv.aggr in ("add", "sum") and not conv.cached and conv._cached_edge_index is None and is_linear(conv.lin)


def _check_gat(conv: Conv) -> bool:
    return conv.edge_dim is None and _is_plain_gat(conv)


def _check_edged_gat(conv: Conv) -> bool:
    known = not conv.add_self_loops or conv.fill_value == "mean"
    return conv.edge_dim is not None and known and _is_plain_gat(conv) and is_linear(conv.lin_edge)


def _is_plain_gat(conv: Conv) -> bool:
    return conv.aggr in ("add", "sum") and conv.lin is not None and is_linear(conv.lin, conv.res)


def _check_sage(conv: Conv) -> bool:
    known = conv.aggr in ("mean", "max", "add", "sum") and not conv.project and isinstance(conv.in_channels, int)
    return known and is_linear(conv.lin_l, getattr(conv, "lin_r", None))


def _check_transformer(conv: Conv) -> bool:
    return conv.edge_dim is None and _is_plain_transformer(conv)


def _check_edged_transformer(conv: Conv) -> bool:
    return conv.edge_dim is not None and _is_plain_transformer(conv) and is_linear(conv.lin_edge)


def _is_plain_transformer(conv: Conv) -> bool:
    known = conv.aggr in ("add", "sum") and conv.lin_beta is None
    shared = isinstance(conv.in_channels, int)
    return known and shared and is_linear(conv.lin_query, conv.lin_key, conv.lin_value, conv.lin_skip)


def _check_gin(conv: Conv) -> bool:
    return conv.aggr in ("add", "sum")


def _check_graph(conv: Conv) -> bool:
    known = conv.aggr in ("mean", "max", "add", "sum") and isinstance(conv.in_channels, int)
    return known and is_linear(conv.lin_rel, conv.lin_root)


def _check_sg(conv: Conv) -> bool:
    return conv.aggr in ("add", "sum") and not conv.cached and conv._cached_x is None and is_linear(conv.lin)


def _check_cheb(conv: Conv) -> bool:
    return conv.aggr in ("add", "sum") and is_linear(*conv.lins)


def _check_gatv2(conv: Conv) -> bool:
    known = conv.aggr in ("add", "sum") and conv.edge_dim is None and isinstance(conv.in_channels, int)
    return known and is_linear(conv.lin_l, conv.lin_r, conv.res)


def _check_res_gated(conv: Conv) -> bool:
    known = conv.aggr in ("add", "sum") and conv.edge_dim is None and isinstance(conv.in_channels, int)
    sigmoid = type(conv.act) is nn.Sigmoid and not conv.act._forward_hooks and not conv.act._forward_pre_hooks
    return known and sigmoid and is_linear(conv.lin_key, conv.lin_query, conv.lin_value, conv.lin_skip)


def _check_gine(conv: Conv) -> bool:
    return conv.aggr in ("add", "sum") and is_linear(conv.lin)


def _check_edge(conv: Conv) -> bool:
    return conv.aggr in ("max", "mean", "add", "sum")


def _check_pna(conv: Conv) -> bool:
    scaler = conv.aggr_module
    if conv.edge_dim is not None or type(scaler).__name__ != "DegreeScalerAggregation":
        return False
    several = getattr(scaler.aggr, "aggrs", None)
    if several is None or getattr(scaler.aggr, "mode", "cat") not in ("cat", None):
        return False
    known = all(type(part).__name__ in _PNA and not getattr(part, "semi_grad", False) for part in several)
    before = all(len(part) == 1 and is_linear(part[0]) for part in conv.pre_nns)
    return known and before and all(type(part) is nn.Sequential and is_linear(part[0]) for part in conv.post_nns)


_PNA = frozenset(f"{kind}Aggregation" for kind in ("Sum", "Mean", "Max", "Min", "Var", "Std"))
_WEIGHT = frozenset({"edge_weight"})
_ATTRIBUTES = frozenset({"edge_attr"})
_ATTENTION = ("edge_attr", "size", "return_attention_weights")
_LATER = ("edge_attr", "return_attention_weights")

LAYERS: dict[str, Layer] = {
    "GCNConv": Layer(
        layers.gcn_conv, _check_gcn, "lin.weight", ("edge_weight",), _WEIGHT, restrict=True
    ),
    "GATConv": Layer(
        layers.gat_conv, _check_gat, "lin.weight", _ATTENTION, _ATTRIBUTES, _check_edged_gat, restrict=True
    ),
    "SAGEConv": Layer(layers.sage_conv, _check_sage, "lin_l.weight", ("size",), restrict=True),
    "TransformerConv": Layer(
        layers.transformer_conv, _check_transformer, "lin_key.weight", _LATER, _ATTRIBUTES,
        _check_edged_transformer, restrict=True,
    ),
    "GINConv": Layer(gin.gin_conv, _check_gin, "", ("size",), restrict=True, nested=True),
    "GraphConv": Layer(
        wider.graph_conv, _check_graph, "lin_rel.weight", ("edge_weight", "size"), _WEIGHT
    ),
    "SGConv": Layer(wider.sg_conv, _check_sg, "lin.weight", ("edge_weight",), _WEIGHT),
    "ChebConv": Layer(
        wider.cheb_conv, _check_cheb, "lins.0.weight", ("edge_weight", "batch", "lambda_max"),
        _WEIGHT | {"batch", "lambda_max"},
    ),
    "GATv2Conv": Layer(pairwise.gatv2_conv, _check_gatv2, "lin_l.weight", _LATER),
    "ResGatedGraphConv": Layer(
        pairwise.res_gated_conv, _check_res_gated, "lin_key.weight", ("edge_attr",), streams=False
    ),
    "GINEConv": Layer(
        wider.gine_conv, _check_gine, "", ("edge_attr", "size"), _ATTRIBUTES, _check_gine, sparse=False,
        streams=False, nested=True,
    ),
    "EdgeConv": Layer(wider.edge_conv, _check_edge, "", streams=False, nested=True),
    "PNAConv": Layer(wider.pna_conv, _check_pna, "pre_nns.0.0.weight", ("edge_attr",), nested=True),
}  # fmt: skip
