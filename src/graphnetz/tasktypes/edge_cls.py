"""Edge classification: a label per edge, on one graph or many (tours, flows, matchings)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphnetz._core.errors import DataError
from graphnetz._core.rng import generator
from graphnetz.tasktypes.base import Dims, EncoderBuilder, Split, placed, task_type
from graphnetz.tasktypes.graph_level import OnGraphs
from graphnetz.tasktypes.graphs import as_graphs
from graphnetz.tasktypes.heads import EdgeHead, embedded
from graphnetz.tasktypes.packing import PackedGraphs, pack


@task_type
class EdgeClassification(OnGraphs):
    """A model returns one row per column of ``edge_index``."""

    name = "edge_cls"
    label = "edge classification"
    metrics = ("f1", "acc", "balanced_acc", "macro_f1", "auc", "ap")
    # What is asked about an edge usually stands on it, and the head shows it to every model alike.
    defaults = MappingProxyType({"lr": 1e-3, "weight_decay": 0.0, "batch_size": 32, "edge_attributes": True})

    def split(self, dataset: Any, seed: int) -> Split:
        graphs = as_graphs(dataset, "Edge classification")
        packed = pack(graphs)
        if "edge_label" not in packed.edge:
            raise DataError("Edge classification needs edge_label with one class number per column of edge_index.")
        label = packed.edge["edge_label"].long().reshape(-1)
        if torch.unique(label).numel() < 2:
            raise DataError("All edges have the same label: there is nothing to learn. Check edge_label.")
        # The label must not reach the models as an attribute of the batch.
        packed = PackedGraphs(
            packed.node_ptr, packed.edge_ptr, packed.edge_index, packed.node,
            {key: value for key, value in packed.edge.items() if key != "edge_label"}, packed.graph,
        )  # fmt: skip
        data: Any = packed
        parts: dict[str, Any]
        if len(graphs) == 1:
            data = packed.select(torch.zeros(1, dtype=torch.long))
            edges, replication = _by_edge(data.edge_index, seed), "resplit"
            parts = dict(edges)
        else:
            parts, replication = self.by_graph(dataset, len(graphs), seed)
            edges = {part: packed.select(index).edge_id for part, index in parts.items()}
        classes = int(label.max()) + 1
        return Split(
            data=data,
            **placed(parts),
            dims=self.dims_of(packed, classes),
            metric="f1" if classes == 2 else "balanced_acc",
            replication=replication,  # type: ignore[arg-type]
            **self.described(label, edges),
            unit="edge",
            labels=label,
        )

    def adapt(self, build: EncoderBuilder, dims: Dims, hidden: int) -> nn.Module:
        return EdgeHead(embedded(build, dims, hidden, hidden), hidden, dims.out_channels, dims.edge_dim or 0)

    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        assert split.labels is not None
        if isinstance(split.data, PackedGraphs):
            return self.criterion(model(batch), split.labels[batch.edge_id])
        return self.criterion(model(batch)[split.train], split.labels[split.train])

    def criterion(self, score: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(score, target)


def _by_edge(edge_index: Tensor, seed: int) -> dict[str, Tensor]:
    """Random 80/10/10 of node pairs; both directions of a pair stay together."""
    low, high = edge_index.min(0).values, edge_index.max(0).values
    _, pair = torch.unique(low * (int(edge_index.max()) + 1) + high, return_inverse=True)
    total = int(pair.max()) + 1
    order = torch.from_numpy(generator("edge_cls", seed).permutation(total))
    position = torch.empty(total, dtype=torch.long)
    position[order] = torch.arange(total)
    rank = position[pair]
    first, second = int(total * 0.8), int(total * 0.9)
    if first < 1 or second <= first or second >= total:
        raise DataError(f"Edge classification on one graph needs at least 10 distinct edges, got {total}.")
    return {
        "train": (rank < first).nonzero().squeeze(1),
        "val": ((rank >= first) & (rank < second)).nonzero().squeeze(1),
        "test": (rank >= second).nonzero().squeeze(1),
    }
