"""Task types: one file each, one training loop for all."""

from graphnetz.tasktypes import edge_cls, graph_cls, graph_reg, link_pred, multi_reg, node_cls
from graphnetz.tasktypes.base import TASK_TYPES, Dims, EncoderBuilder, Split, TaskType, known_task_type, task_type
from graphnetz.tasktypes.loop import DivergedError, Fit, evaluate, fit
from graphnetz.tasktypes.shown import shown

__all__ = [
    "TASK_TYPES",
    "Dims",
    "DivergedError",
    "EncoderBuilder",
    "Fit",
    "Split",
    "TaskType",
    "edge_cls",
    "evaluate",
    "fit",
    "graph_cls",
    "graph_reg",
    "known_task_type",
    "link_pred",
    "multi_reg",
    "node_cls",
    "shown",
    "task_type",
]
