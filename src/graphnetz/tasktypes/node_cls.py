"""Node classification: single- or multi-label, on one graph with masks or on many graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

import graphnetz.kernels as kernels
from graphnetz._core.errors import DataError
from graphnetz.graphs.folder import GraphFolder
from graphnetz.records import Replication
from graphnetz.tasktypes.base import Dims, EncoderBuilder, Split, as_float, placed, task_type
from graphnetz.tasktypes.graph_level import OnGraphs
from graphnetz.tasktypes.graphs import as_graphs, check_several
from graphnetz.tasktypes.heads import embedded
from graphnetz.tasktypes.packing import PackedGraphs, pack

_MASKS = ("train_mask", "val_mask", "test_mask")


@task_type
class NodeClassification(OnGraphs):
    """Full batch on one graph; mini-batches of graphs when there are several."""

    name = "node_cls"
    label = "node classification"
    metrics = ("acc", "balanced_acc", "macro_f1", "micro_f1", "f1", "auc", "ap")
    defaults = MappingProxyType({"lr": 1e-2, "weight_decay": 5e-4})

    def split(self, dataset: Any, seed: int) -> Split:
        if isinstance(dataset, GraphFolder):
            from graphnetz.tasktypes.streamed import folder_split  # which is made of this task type

            return folder_split(dataset)
        graphs = as_graphs(dataset, "Node classification")
        packed = pack(graphs, node_targets=("y",))
        if "y" not in packed.node:
            raise DataError("Node classification needs y with one label (or one row of labels) per node.")
        y = packed.node["y"]
        y = y.squeeze(1) if y.dim() == 2 and y.size(1) == 1 else y
        many = y.dim() >= 2
        if many:
            check_several(y, "Node classification:")
        members: dict[str, Any]
        inductive = len(graphs) == 1 and bool(graphs[0].get("inductive"))
        if len(graphs) == 1:
            parts, replication = _masked(packed, seed)
            members, data = parts, _single(packed, y)
        else:
            members, replication = self.by_graph(dataset, len(graphs), seed)
            parts = {part: packed.select(index).node_id for part, index in members.items()}
            data = packed
        classes = _check_labels(y, parts["train"], many)
        return Split(
            data=data,
            **placed(members),
            dims=replace(
                self.dims_of(packed, classes), num_nodes=len(y) if len(graphs) == 1 and not inductive else None
            ),
            metric="micro_f1" if many else "acc",
            replication=replication,
            **self.described(y, parts),
            kind="multi" if many else "single",
            unit="node",
            labels=y,
            train_data=_without(data, parts) if inductive else None,
            notes=(_INDUCTIVE,) if inductive else (),
        )

    def adapt(self, build: EncoderBuilder, dims: Dims, hidden: int) -> nn.Module:
        return embedded(build, dims, hidden, dims.out_channels)

    def batches(self, split: Split, batch_size: int) -> Iterator[Any]:
        if split.train_data is None:
            yield from super().batches(split, batch_size)
        else:
            yield split.train_data

    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        assert split.labels is not None
        if split.train_data is not None:
            return self.criterion(model(batch)[batch.train_rows], split.labels[split.train])
        if isinstance(split.data, PackedGraphs):
            return self.criterion(model(batch), split.labels[batch.node_id])
        field = restricted(model, split)
        out = model(batch)[split.train] if field is None else model(field)
        return self.criterion(out, split.labels[split.train])

    def criterion(self, score: Tensor, target: Tensor) -> Tensor:
        if target.dim() == 2:
            return F.binary_cross_entropy_with_logits(score, as_float(target))
        return F.cross_entropy(score, target.long())


_INDUCTIVE = "nodes of validation and test and their edges are not there while models are trained"


def _without(data: Any, parts: dict[str, Any]) -> Data:
    """The graph less the nodes of validation and test; ``train_rows`` are the places of the training nodes in it."""
    keep = torch.ones(int(data.num_nodes), dtype=torch.bool)
    keep[torch.cat([parts["val"], parts["test"]])] = False
    edges, place = data.edge_index, torch.cumsum(keep, 0) - 1
    inside = keep[edges[0]] & keep[edges[1]]
    left = Data(x=data.x[keep], edge_index=place[edges[:, inside]], num_nodes=int(keep.sum()))
    for key in ("edge_weight", "edge_attr"):
        if data.get(key) is not None:
            left[key] = data[key][inside]
    left.train_rows = place[parts["train"]]
    return left


def restricted(model: nn.Module, split: Split) -> Data | None:
    """The part of the graph that the training loss can see, for models that mix nodes by convolutions only.

    The mathematics is that of the whole graph; nodes more than one hop per layer away from every
    training node are simply not computed. None where the kernels or the model do not allow it.
    """
    layers = declared_layers(model)
    data = split.data
    # The cut-out holds no values of edges, so models that read them see the whole graph.
    if not layers or data.get("edge_weight") is not None or data.get("edge_attr") is not None:
        return None
    features = kernels.input_features(data.x)
    if not kernels.restrictable(layers, features):
        return None
    key = f"field_{len(layers)}"
    if key not in split.cache:
        nodes, split.cache[key] = int(data.num_nodes or 0), None
        given: Any = {"num_layers": len(layers), "num_nodes": nodes}
        # Worth the copy only where a good part of the graph is out of reach.
        if data.num_edges < kernels.LARGE or kernels.reach(data.edge_index, split.train, **given) < 0.9 * nodes:
            field = kernels.receptive_field(data.edge_index, split.train, **given)
            split.cache[key] = (field, field.inputs(features)) if field.nodes.size < 0.9 * nodes else None
    if split.cache[key] is None:
        return None
    field, x = split.cache[key]
    return Data(x=x, edge_index=field.edges(layers))


def declared_layers(model: Any) -> tuple[Any, ...]:
    """The convolutions of a model whose class declares them as the property ``layers``.

    A module list of that name in a user's model says nothing about what its ``forward`` reads, so it
    does not count.
    """
    return tuple(model.layers) if isinstance(getattr(type(model), "layers", None), property) else ()


def _single(packed: PackedGraphs, y: Tensor) -> Any:
    data = packed.select(torch.zeros(1, dtype=torch.long))
    del data.edge_id  # 0, 1, ...: eight bytes per arc that say nothing
    data.y = y
    return data


def _masked(packed: PackedGraphs, seed: int) -> tuple[dict[str, Any], Replication]:
    missing = [key for key in _MASKS if key not in packed.node]
    y = packed.node["y"]
    if missing and y.is_floating_point() and (y.dim() == 1 or y.size(1) == 1):  # masks would not help
        raise DataError(
            f"Node classification needs class numbers in y, and these are {str(y.dtype).removeprefix('torch.')}. Give "
            "whole numbers from 0; values of nodes are no task here."
        )
    if missing:
        raise DataError(
            f"Node classification on one graph needs boolean masks; {', '.join(missing)} missing. "
            "Add them, for instance with torch_geometric.transforms.RandomNodeSplit()."
        )
    masks = {key: packed.node[key].bool() for key in _MASKS}
    columns = max(mask.size(1) if mask.dim() == 2 else 1 for mask in masks.values())
    parts = {}
    for key, mask in masks.items():
        # Seeds take the mask columns in turn, as PyG stores several published splits.
        chosen = mask[:, seed % mask.size(1)] if mask.dim() == 2 else mask
        parts[key.removesuffix("_mask")] = chosen.nonzero().squeeze(1)
        if not parts[key.removesuffix("_mask")].numel():
            raise DataError(f"The {key} of this dataset selects no node. Every part needs at least one.")
    return parts, "resplit" if columns > 1 else "init"


def _check_labels(y: Tensor, train: Tensor, many: bool) -> int:
    if y.is_floating_point() and not torch.isfinite(y).all():
        raise DataError("Node labels contain NaN. Remove those nodes from the masks or label them.")
    if many:
        return y.size(1)
    if int(y.min()) < 0:
        raise DataError(
            "Node labels must be class numbers from 0; found a negative one. Mask unlabelled nodes instead."
        )
    if torch.unique(y[train]).numel() < 2:
        raise DataError("The training nodes have one class only: there is nothing to learn. Check labels and masks.")
    return int(y.max()) + 1
