"""Fast message passing on the CPU; names are resolved on first use, so importing it costs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphnetz.kernels.arcs import ends_sum, gated_mean, neighbour_sum, norm_relu_add, row_sum
    from graphnetz.kernels.attention import dot_attention, gat_attention
    from graphnetz.kernels.auc import (
        average_precision,
        average_precision_pairs,
        hits_at_k,
        roc_auc,
        roc_auc_pairs,
    )
    from graphnetz.kernels.blocks import Blocks, pool
    from graphnetz.kernels.door import Acceleration, accelerate, restrictable, streams
    from graphnetz.kernels.drop import dropout
    from graphnetz.kernels.features import SparseFeatures, column_major_, input_features, mark_constant, sparse_linear
    from graphnetz.kernels.functions import (
        gcn_aggregate,
        max_aggregate,
        mean_aggregate,
        pair_scores,
        spmm,
        sum_aggregate,
    )
    from graphnetz.kernels.known import can_restrict, message_passing, supports
    from graphnetz.kernels.layers import propagated_features
    from graphnetz.kernels.receptive import ReceptiveField, receptive_field
    from graphnetz.kernels.runtime import enabled, is_enabled, load, set_enabled, torch_dropout_stream, usable
    from graphnetz.kernels.structure import Structure, TensorCache, structure_of

_HOME = {
    "door": ("Acceleration", "accelerate", "restrictable", "streams"),
    "arcs": ("ends_sum", "gated_mean", "neighbour_sum", "norm_relu_add", "row_sum"),
    "auc": ("average_precision", "average_precision_pairs", "hits_at_k", "roc_auc", "roc_auc_pairs"),
    "attention": ("dot_attention", "gat_attention"),
    "blocks": ("Blocks", "pool"),
    "drop": ("dropout",),
    "features": ("SparseFeatures", "column_major_", "input_features", "mark_constant", "sparse_linear"),
    "functions": (
        "gcn_aggregate",
        "max_aggregate",
        "mean_aggregate",
        "pair_scores",
        "spmm",
        "sum_aggregate",
    ),
    "known": ("can_restrict", "message_passing", "supports"),
    "layers": ("propagated_features",),
    "receptive": ("ReceptiveField", "receptive_field"),
    "runtime": ("enabled", "is_enabled", "load", "set_enabled", "torch_dropout_stream", "usable"),
    "structure": ("Structure", "TensorCache", "structure_of"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Acceleration",
    "Blocks",
    "ReceptiveField",
    "SparseFeatures",
    "Structure",
    "TensorCache",
    "accelerate",
    "average_precision",
    "average_precision_pairs",
    "can_restrict",
    "column_major_",
    "dot_attention",
    "dropout",
    "enabled",
    "ends_sum",
    "gat_attention",
    "gated_mean",
    "gcn_aggregate",
    "hits_at_k",
    "input_features",
    "is_enabled",
    "load",
    "mark_constant",
    "max_aggregate",
    "mean_aggregate",
    "message_passing",
    "neighbour_sum",
    "norm_relu_add",
    "pair_scores",
    "pool",
    "propagated_features",
    "receptive_field",
    "restrictable",
    "roc_auc",
    "roc_auc_pairs",
    "row_sum",
    "set_enabled",
    "sparse_linear",
    "spmm",
    "streams",
    "structure_of",
    "sum_aggregate",
    "supports",
    "torch_dropout_stream",
    "usable",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept, so that the next look-up costs nothing: layers ask at every batch.
    return globals().setdefault(name, getattr(import_module(f"{__name__}.{_MODULE[name]}"), name))


def __dir__() -> list[str]:
    return sorted(__all__)
