"""Graph Transformer (Shi et al., 2021)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import TransformerConv

from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class GraphTransformer(torch.nn.Module):
    """Two transformer convolutions: ``heads`` concatenated, then one averaged."""

    level = "node"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        heads: int = 4,
        dropout: float = 0.1,
        edge_dim: int | None = None,
    ) -> None:
        super().__init__()
        self.conv1 = TransformerConv(in_channels, hidden_channels, heads=heads, dropout=dropout, edge_dim=edge_dim)
        self.conv2 = TransformerConv(
            heads * hidden_channels, out_channels, heads=1, concat=False, dropout=dropout, edge_dim=edge_dim
        )
        self.dropout = dropout
        self.edge_dim = edge_dim

    @property
    def layers(self) -> tuple[torch.nn.Module, ...]:
        """Convolutions in order; nothing else mixes nodes."""
        return self.conv1, self.conv2

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        options = {"edge_attr": data.edge_attr} if self.edge_dim else {}
        x = F.relu(self.conv1(data.x, data.edge_index, **options))
        x = F.dropout(x, self.dropout, self.training)
        out: Tensor = self.conv2(x, data.edge_index, **options)
        return out
