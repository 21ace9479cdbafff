"""MLP and gated MLP: node features without edges."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import (
    SPARSE_TASKS,
    Head,
    Network,
    NodeInput,
    PEMode,
    level_of,
    register_variant,
)


@register_model(task_types=SPARSE_TASKS, name="bgnn.MLP")
class MLP(Network):
    """``num_layers`` linear layers with ReLU, no norm and no residual, then the readout.

    ``embed=False`` makes the first of them read the features (the default for real features without
    positional encodings); otherwise an input layer comes first. ``gated=True`` multiplies the result by
    its own sigmoid gate and sums over the graph instead of averaging.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 4,
        task_type: str = "graph_cls",
        vocabulary: tuple[int, ...] = (),
        out_graph: int | None = None,
        pe_dim: int | None = None,
        pe_mode: PEMode = "add",
        embed: bool | None = None,
        gated: bool = False,
        readout: str = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        width = hidden_channels
        with_input = embed if embed is not None else bool(vocabulary) or pe_dim is not None
        first = width if with_input else in_channels
        self.embed = (
            NodeInput(in_channels, width, vocabulary=vocabulary, pe_dim=pe_dim, pe_mode=pe_mode)
            if with_input
            else _Features()
        )
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(first if number == 0 else width, width), nn.ReLU(), nn.Dropout(dropout))
            for number in range(num_layers)
        )
        self.gate = nn.Linear(width, width) if gated else None
        self.head = Head(
            level_of(task_type), width, out_channels, out_graph=out_graph, readout="sum" if gated else readout
        )

    def states(self, data: Data) -> Tensor:
        """Node embeddings; edges are not looked at."""
        h: Tensor = self.embed(data)
        for block in self.blocks:
            h = block(h)
        return h if self.gate is None else torch.sigmoid(self.gate(h)) * h


class _Features(nn.Module):
    def forward(self, data: Data) -> Tensor:
        x: Tensor = data.x
        return x


register_variant("bgnn.GatedMLP", MLP, gated=True)
