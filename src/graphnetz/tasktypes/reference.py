"""Two habits of the published code of Dwivedi et al. (2023), as forms of a task type that a protocol may ask for.

``class_weights`` weighs the loss of every batch against its frequent classes (PATTERN and CLUSTER were trained so).
``compat`` averages metrics over batches instead of computing them over the whole split, which makes them depend on the
batch size: for comparison with published numbers only.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from graphnetz._core.errors import UsageError
from graphnetz.metrics import METRICS
from graphnetz.records import Protocol
from graphnetz.tasktypes.base import Split, TaskType
from graphnetz.tasktypes.node_cls import NodeClassification
from graphnetz.tasktypes.packing import PackedGraphs


def class_weights(target: Tensor, classes: int) -> Tensor:
    """Share of the nodes that are of another class; 0 for classes that do not occur.

    Examples
    --------
    >>> class_weights(torch.tensor([0, 0, 0, 2]), 3)
    tensor([0.2500, 0.0000, 0.7500])
    """
    count = torch.bincount(target, minlength=classes).to(torch.get_default_dtype())
    return torch.where(count > 0, (target.numel() - count) / target.numel(), 0.0)


class _Weighted:
    """Cross-entropy whose weights are those of the batch, at training and for the validation loss."""

    def criterion(self, score: Tensor, target: Tensor) -> Tensor:
        """Weighted mean over the batch; a batch of one class, whose weights are all zero, is not weighed."""
        labels = target.long()
        weight = class_weights(labels, score.size(1)).to(score)
        return F.cross_entropy(score, labels, weight=weight if bool(weight.any()) else None)


class _PerBatch:
    """Metrics of consecutive batches, averaged without regard to their sizes."""

    batch_graphs: int

    def measure(
        self, split: Split, part: str, score: np.ndarray, keys: tuple[str, ...] | None = None
    ) -> dict[str, float]:
        """Mean over batches of each metric; batches in which it is undefined are left out."""
        target = split.targets[part]
        bounds = batch_bounds(split, part, self.batch_graphs)
        chosen = keys if keys is not None else self.keys(split)  # type: ignore[attr-defined]
        out = {}
        for key in chosen:
            compute = METRICS[key].compute
            values = np.array([compute(target[a:b], score[a:b]) for a, b in itertools.pairwise(bounds)])
            known = values[np.isfinite(values)]
            out[f"{part}_{key}"] = float(known.mean()) if known.size else float("nan")
        return out


def batch_bounds(split: Split, part: str, graphs: int) -> list[int]:
    """Row numbers at which batches of ``graphs`` graphs begin and end, in the order of the part."""
    members, rows = split.part(part), len(split.targets[part])
    if not isinstance(split.data, PackedGraphs) or rows == len(members):
        return [*range(0, rows, graphs), rows]
    sizes = (split.data.node_ptr[1:] - split.data.node_ptr[:-1])[members]
    if int(sizes.sum()) != rows:
        raise UsageError(
            "compat=True averages over batches of graphs or nodes; this task has other rows. Leave it out."
        )
    ends = sizes.cumsum(0)
    inner = ends[graphs - 1 :: graphs].tolist()
    return [0, *inner, *([rows] if not inner or inner[-1] != rows else [])]


def as_published(kind: TaskType, protocol: Protocol) -> TaskType:
    """The task type with the habits that ``protocol`` asks for; itself where it asks for none."""
    extras: list[Any] = []
    if protocol.class_weights:
        if not isinstance(kind, NodeClassification):
            return as_published(kind, protocol.replace(class_weights=False))
        extras.append(_Weighted)
    # Task types with a measure of their own (several targets at once) were not averaged over batches.
    if protocol.compat and type(kind).measure is TaskType.measure:
        extras.append(_PerBatch)
    if not extras:
        return kind
    form: Any = type(f"Published{type(kind).__name__}", (*extras, type(kind)), {"batch_graphs": protocol.batch_size})
    made: TaskType = form.__new__(form)
    made.__dict__.update(vars(kind))
    return made
