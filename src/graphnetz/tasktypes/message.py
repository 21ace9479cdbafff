"""Messages along other edges than those that are classified."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz.tasktypes.heads import EdgeHead
from graphnetz.tasktypes.packing import PackedGraphs

EDGE_VALUES = ("edge_attr", "edge_weight", "edge_type", "edge_id")
"""What belongs to the edges of a graph and means nothing on others."""


@dataclass(frozen=True)
class MessageGraph:
    """The message-passing graph of edge classification, beside the edges that are classified.

    ``edge_index`` serves a single graph, ``packed`` many.
    """

    edge_index: Tensor | None = None
    packed: PackedGraphs | None = None

    def install(self, model: Any) -> None:
        """Have the model's encoder see this graph; its head still scores the original edges."""
        if not isinstance(model, EdgeHead):
            raise UsageError(
                f"{type(model).__name__} reads the edges it classifies and the edges it passes messages along from one "
                "list, so messages cannot travel along another graph. Use an encoder, or change features only."
            )
        model.encoder.register_forward_pre_hook(self._swap)

    def _swap(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        data, *rest = args
        return self.view(data), *rest

    def view(self, data: Data) -> Data:
        """Return ``data`` with the edges that messages travel along."""
        seen = without(data, EDGE_VALUES)
        seen.edge_index = self.edge_index if self.packed is None else self._batch(data)
        return seen

    def _batch(self, data: Data) -> Tensor:
        assert self.packed is not None
        first = data.node_id[data.ptr[:-1]]
        graphs = torch.searchsorted(self.packed.node_ptr, first, right=True) - 1
        edges: Tensor = self.packed.select(graphs).edge_index
        return edges


def without(data: Data, keys: tuple[str, ...]) -> Data:
    """Return a shallow copy of a graph that lacks ``keys``."""
    out = copy.copy(data)
    for key in keys:
        if key in out:
            del out[key]
    return out
