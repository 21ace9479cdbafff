"""Graph regression: one or several real targets per graph, trained on the absolute error."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphnetz._core.errors import DataError
from graphnetz.tasktypes.base import Split, as_float, placed, task_type
from graphnetz.tasktypes.graph_level import GraphLevel


@task_type
class GraphRegression(GraphLevel):
    """Targets are used as they are: no scaling that a test set could leak into."""

    name = "graph_reg"
    label = "graph regression"
    metrics = ("mae", "rmse", "r2")

    def split(self, dataset: Any, seed: int) -> Split:
        packed, parts, replication = self.packed(dataset, seed)
        y = as_float(packed.graph["y"])
        y = y.unsqueeze(1) if y.dim() == 1 else y
        if not torch.isfinite(y).all():
            raise DataError("Graph regression targets contain NaN or infinite values. Remove those graphs first.")
        packed.graph["y"] = y  # type: ignore[index]
        return Split(
            data=packed,
            **placed(parts),
            dims=self.dims_of(packed, y.size(1)),
            metric="mae",
            replication=replication,
            **self.described(y, parts),
        )

    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        return self.criterion(self.output(model, batch), batch.y)

    def output(self, model: nn.Module, batch: Any) -> Tensor:
        out: Tensor = model(batch)
        # A model that returns [B] for one target would broadcast [B] against [B, 1] to [B, B].
        return out.unsqueeze(1) if out.dim() == 1 else out

    def criterion(self, score: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(score, as_float(target).reshape(score.shape))
