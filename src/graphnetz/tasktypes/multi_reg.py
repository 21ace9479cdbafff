"""Node and graph targets together, as in the graph-theory suite of Corso et al. (2020)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphnetz._core.errors import DataError
from graphnetz.metrics import METRICS
from graphnetz.tasktypes.base import Dims, EncoderBuilder, Split, as_float, placed, task_type
from graphnetz.tasktypes.graph_level import GraphLevel, evaluation_batches
from graphnetz.tasktypes.heads import MultiHead, embedded


@task_type
class MultiRegression(GraphLevel):
    """A model returns ``(node_out, graph_out)``; every target counts the same.

    Scores are kept as one row per node, its own targets beside those of its graph; a graph target
    is measured once per graph, at the row of its first node.
    """

    name = "multi_reg"
    label = "node and graph regression"
    metrics = ("mae", "rmse", "mse", "log_mse")

    def split(self, dataset: Any, seed: int) -> Split:
        packed, parts, replication = self.packed(dataset, seed, target="y_graph")
        if "y_node" not in packed.node:
            raise DataError("Node and graph regression needs y_node [n, targets] and y_graph [1, targets] per graph.")
        node, graph = as_float(packed.node["y_node"]), as_float(packed.graph["y_graph"])
        if not (torch.isfinite(node).all() and torch.isfinite(graph).all()):
            raise DataError("Node or graph targets contain NaN or infinite values. Remove those graphs first.")
        packed.node["y_node"], packed.graph["y_graph"] = node, graph  # type: ignore[index]
        split = Split(
            data=packed,
            **placed(parts),
            dims=self.dims_of(packed, node.size(1), graph.size(1)),
            metric="mae",
            replication=replication,
            targets={},
            n_train=parts["train"].numel(),
            n_test=parts["test"].numel(),
            unit="node",
        )
        for part in parts:
            batches = evaluation_batches(split, part)
            split.targets[part] = torch.cat([_joint(b.y_node, b.y_graph, b.batch) for b in batches]).numpy()
            split.examples[part] = torch.cat([b.node_id for b in batches]).numpy()
        return split

    def adapt(self, build: EncoderBuilder, dims: Dims, hidden: int) -> nn.Module:
        return MultiHead(embedded(build, dims, hidden, hidden), hidden, dims.out_channels, int(dims.out_graph or 0))

    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        node, graph = model(batch)
        per_target = torch.cat([(node - batch.y_node).abs().mean(0), (graph - batch.y_graph).abs().mean(0)])
        return per_target.mean()

    def criterion(self, score: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(score, target)

    def output(self, model: nn.Module, batch: Any) -> Tensor:
        node, graph = model(batch)
        return _joint(node, graph, batch.batch)

    def measure(
        self, split: Split, part: str, score: np.ndarray, keys: tuple[str, ...] | None = None
    ) -> dict[str, float]:
        target, nodes = split.targets[part], split.dims.out_channels
        sizes = split.data.node_ptr.diff()[split.part(part)]
        first = (sizes.cumsum(0) - sizes).cpu().numpy()
        values = {}
        for key in keys if keys is not None else self.keys(split):
            compute = METRICS[key].compute
            columns = [compute(target[:, c], score[:, c]) for c in range(nodes)]
            columns += [compute(target[first, c], score[first, c]) for c in range(nodes, target.shape[1])]
            values[f"{part}_{key}"] = float(np.mean(columns))
        return values


def _joint(node: Tensor, graph: Tensor, batch: Tensor) -> Tensor:
    """One row per node: its own targets beside those of its graph."""
    return torch.cat([node, graph[batch]], dim=1)
