"""Plain PyG layers on parts of a large graph: with the whole graph's degrees, and in pieces.

A user's module is called as it is. Two things are lent to its layers while it runs: a GCNConv takes the
normalisation of the whole graph instead of that of a sampled piece, and in evaluation a layer that
looks one hop far is computed for some thousand destinations at a time, so that the messages of all
arcs never exist together. Both act only on calls with the batch's, or the graph's, own edge index.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import graphnetz.kernels as kernels
from graphnetz.kernels.sampling import NeighbourSample, NeighbourSampler
from graphnetz.kernels.structure import TensorCache

PIECE_ARCS = 2**18
"""Arcs whose messages exist at a time in evaluation: 64 MB for 64 channels of four bytes."""

ONE_HOP = frozenset(
    {
        "EdgeConv",
        "GATConv",
        "GATv2Conv",
        "GCNConv",
        "GINConv",
        "GINEConv",
        "GraphConv",
        "NNConv",
        "ResGatedGraphConv",
        "SAGEConv",
        "TransformerConv",
    }
)
"""PyG layers whose row for a node depends on that node, its arcs and their other ends only."""

_SAMPLES = TensorCache()


def remember(edge_index: Tensor, sample: NeighbourSample, edge_weight: Tensor | None) -> None:
    """Let `normalised` find the sample of a batch by its edge index, as long as that lives."""
    _SAMPLES.slot(edge_index).update(sample=sample, weight=edge_weight)


@contextmanager
def normalised(model: nn.Module) -> Iterator[None]:
    """Give GCN layers the whole graph's normalisation on batches that were remembered."""
    handles = []
    for conv in _layers(model, takes_norm):
        handles.append(conv.register_forward_pre_hook(_lend, with_kwargs=True))
        handles.append(conv.register_forward_hook(_take_back, always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _lend(conv: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    given = dict(zip(("x", "edge_index", "edge_weight"), args, strict=False)) | kwargs
    x, edge_index, weight = given["x"], given["edge_index"], given.get("edge_weight")
    slot = _SAMPLES.slot(edge_index) if isinstance(edge_index, Tensor) else {}
    if "sample" not in slot or not _known(weight, slot["weight"]):
        return
    key = (x.dtype, weight is not None)
    if key not in slot:
        arcs = slot["sample"].gcn_edges(x.dtype, weighted=weight is not None)
        slot[key] = tuple(part.to(x.device) for part in arcs)
    conv._cached_edge_index = slot[key]


def _known(weight: Tensor | None, own: Tensor | None) -> bool:
    """Whether a layer was called without weights or with the graph's own, maybe reshaped."""
    if weight is None:
        return True
    return own is not None and weight.data_ptr() == own.data_ptr() and weight.numel() == own.numel()


def _take_back(conv: Any, *_: Any) -> None:
    conv._cached_edge_index = None


@contextmanager
def in_pieces(model: nn.Module, sampler: NeighbourSampler, data: Any) -> Iterator[None]:
    """Compute one-hop layers of ``model`` piece by piece while they are called with ``data.edge_index``.

    The result is that of the whole call. A layer of another kind is called whole; a user's own layer
    takes part when it has an attribute ``one_hop = True``.
    """
    pieces = _pieces(sampler.structure.indptr)
    changed = [(conv, vars(conv).get("forward")) for conv in _layers(model, _one_hop)]
    for conv, _ in changed:
        conv.forward = _piecewise(conv, conv.forward, sampler, data, pieces)
    try:
        yield
    finally:
        for conv, before in changed:
            del conv.forward  # the class's own shows again, or what stood in front of it
            if before is not None:
                conv.forward = before


def _piecewise(
    conv: Any, whole: Callable[..., Any], sampler: NeighbourSampler, data: Any, pieces: list[tuple[int, int]]
) -> Callable[..., Any]:
    own, weights = data.edge_index, data.get("edge_weight")
    nodes, arcs = sampler.structure.num_dst, sampler.structure.num_arcs
    normalises = takes_norm(conv)

    def part(value: Any, sample: NeighbourSample) -> Any:
        if not isinstance(value, Tensor) or value.dim() == 0:
            return value
        if value is own:
            return sample.edge_index.to(value.device)
        if value.size(0) == arcs and arcs != nodes:
            return value[sample.edge_ids.to(value.device)]
        return value[torch.from_numpy(sample.nodes).to(value.device)] if value.size(0) == nodes else value

    def forward(x: Any, edge_index: Any, *args: Any, **kwargs: Any) -> Any:
        fits = isinstance(x, Tensor) and x.size(0) == nodes and edge_index is own and arcs != nodes
        weight = kwargs.get("edge_weight", args[0] if args else None) if normalises else None
        if not fits or torch.is_grad_enabled() or not _known(weight, weights):
            return whole(x, edge_index, *args, **kwargs)
        rows: Tensor | None = None
        for start, stop in pieces:
            sample = sampler.sample(np.arange(start, stop), (-1,), seed=0)
            if normalises:
                arcs_of = sample.gcn_edges(x.dtype, weighted=weight is not None)
                conv._cached_edge_index = tuple(values.to(x.device) for values in arcs_of)
            try:
                out = whole(
                    part(x, sample),
                    sample.edge_index.to(x.device),
                    *(part(value, sample) for value in args),
                    **{key: part(value, sample) for key, value in kwargs.items()},
                )
            finally:
                if normalises:
                    _take_back(conv)
            if rows is None:
                rows = out.new_empty(nodes, *out.shape[1:])
            rows[start:stop] = out[: stop - start]
        return rows

    return forward


def _pieces(indptr: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of destinations with at most `PIECE_ARCS` arcs each; a larger destination stands alone."""
    bounds, last = [0], indptr.size - 1
    while bounds[-1] < last:
        start = bounds[-1]
        stop = int(np.searchsorted(indptr, indptr[start] + PIECE_ARCS, side="right")) - 1
        bounds.append(min(max(stop, start + 1), start + PIECE_ARCS, last))
    return list(itertools.pairwise(bounds))


def _layers(model: nn.Module, wanted: Callable[[Any], bool]) -> Iterator[Any]:
    return (module for module in model.modules() if wanted(module))


def takes_norm(module: Any) -> bool:
    """Whether ``module`` is a GCNConv in the setting whose weights we compute."""
    return (
        _from_pyg(module, frozenset({"GCNConv"}))
        and module.normalize
        and module.add_self_loops
        and not module.cached
        and not module.improved
        and module.flow == "source_to_target"
    )


def _one_hop(module: Any) -> bool:
    return not kernels.streams(module) and one_hop(module)  # such a kernel takes the graph as it is


def one_hop(module: Any) -> bool:
    """Whether the row of a node depends on that node, its arcs and their other ends alone."""
    if getattr(module, "flow", "") != "source_to_target":
        return False
    if _from_pyg(module, frozenset({"GCNConv"})):
        return takes_norm(module)
    return bool(getattr(module, "one_hop", False)) or _from_pyg(module, ONE_HOP)


def _from_pyg(module: Any, names: frozenset[str]) -> bool:
    return type(module).__name__ in names and type(module).__module__.startswith("torch_geometric.nn.conv")
