"""Graph classification: single- or multi-label (missing labels are NaN)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphnetz._core.errors import DataError
from graphnetz.tasktypes.base import Split, as_float, placed, task_type
from graphnetz.tasktypes.graph_level import GraphLevel
from graphnetz.tasktypes.graphs import check_several


@task_type
class GraphClassification(GraphLevel):
    """One class, or one row of yes/no labels, per graph."""

    name = "graph_cls"
    label = "graph classification"
    metrics = ("acc", "balanced_acc", "macro_f1", "micro_f1", "f1", "auc", "ap")

    def split(self, dataset: Any, seed: int) -> Split:
        packed, parts, replication = self.packed(dataset, seed)
        y = packed.graph["y"]
        y = y.squeeze(1) if y.dim() == 2 and y.size(1) == 1 else y
        many = y.dim() >= 2
        if many:
            check_several(y, "Graph classification:")
        else:
            if y.is_floating_point() and not torch.equal(y, y.round()):
                raise DataError(
                    "Graph classification needs class numbers as y; found fractions. Use graph_reg instead?"
                )
            y = y.long()
            if int(y.min()) < 0:
                raise DataError("Graph labels must be class numbers from 0; found a negative one. Renumber them.")
            if torch.unique(y[parts["train"]]).numel() < 2:
                raise DataError("The training graphs have one class only: there is nothing to learn. Check the labels.")
        classes = y.size(1) if many else int(y.max()) + 1
        return Split(
            data=packed,
            **placed(parts),
            dims=self.dims_of(packed, classes),
            metric="auc" if many else "acc",
            replication=replication,
            **self.described(y, parts),
            kind="multi" if many else "single",
        )

    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        y = batch.y
        if split.kind == "single":
            y = y.reshape(-1).long()
        return self.criterion(self.output(model, batch), y)

    def criterion(self, score: Tensor, target: Tensor) -> Tensor:
        if target.dim() == 2:
            known = torch.isfinite(as_float(target))
            if not known.any():  # a batch without a single label teaches nothing; its mean would be NaN
                return score.sum() * 0.0
            return F.binary_cross_entropy_with_logits(score[known], as_float(target)[known])
        return F.cross_entropy(score, target)
