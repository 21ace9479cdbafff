"""GAT (Velickovic et al., 2018)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from graphnetz.models._conv import convolve
from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class GAT(torch.nn.Module):
    """Two attention layers: ``heads`` concatenated, then one averaged; dropout on inputs, hidden and attention."""

    level = "node"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        heads: int = 8,
        dropout: float = 0.6,
        edge_dim: int | None = None,
    ) -> None:
        super().__init__()
        self.conv1 = GATConv(in_channels, hidden_channels, heads=heads, dropout=dropout, edge_dim=edge_dim)
        self.conv2 = GATConv(
            heads * hidden_channels, out_channels, heads=1, concat=False, dropout=dropout, edge_dim=edge_dim
        )
        self.dropout = dropout
        self.edge_dim = edge_dim

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        options = {"edge_attr": data.edge_attr} if self.edge_dim else {}
        x = F.dropout(data.x, self.dropout, self.training)
        x = F.elu(convolve(self.conv1, x, data, **options))
        x = F.dropout(x, self.dropout, self.training)
        return convolve(self.conv2, x, data, **options)
