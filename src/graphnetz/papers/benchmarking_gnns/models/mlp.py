"""MLP and gated MLP: node features without edges."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import SPARSE_TASKS, Network, Settings, register_variant


@register_model(task_types=SPARSE_TASKS, name="bgnn.MLP")
class MLP(Network):
    """``num_layers`` linear layers with ReLU, no norm and no residual, then the readout.

    ``embed=False`` makes the first of them read the features (the default for real features without
    positional encodings); otherwise an input layer comes first. ``gated=True`` multiplies the result by
    its own sigmoid gate and sums over the graph instead of averaging.
    """

    def __init__(self, *channels: int, embed: bool | None = None, gated: bool = False, **shared: Any) -> None:
        s = Settings(*channels, **shared)
        s.readout, self.gated = "sum" if gated else s.readout, gated
        with_input = embed if embed is not None else bool(s.vocabulary) or s.pe_dim is not None
        width = s.hidden_channels
        widths = [width if with_input else s.in_channels] + [width] * s.num_layers
        layers = (
            nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Dropout(s.dropout)) for a, b in itertools.pairwise(widths)
        )
        super().__init__(s, layers, embed=with_input)

    def make_head(self, s: Settings) -> nn.Module:
        """The gate comes before the head."""
        self.gate = nn.Linear(s.hidden_channels, s.hidden_channels) if self.gated else None
        return super().make_head(s)

    def states(self, data: Data) -> Tensor:
        """Node embeddings; edges are not looked at."""
        h: Tensor = self.embed(data)
        for block in self.blocks:
            h = block(h)
        return h if self.gate is None else torch.sigmoid(self.gate(h)) * h


register_variant("bgnn.GatedMLP", MLP, gated=True)
