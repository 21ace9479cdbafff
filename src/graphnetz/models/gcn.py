"""GCN (Kipf and Welling, 2017)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from graphnetz.models._conv import convolve, edge_weight
from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class GCN(torch.nn.Module):
    """Two graph convolutions with ReLU between them; edge weights are used where given."""

    level = "node"

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv1 = GCNConv(in_channels, hidden_channels)
        self.conv2 = GCNConv(hidden_channels, out_channels)
        self.dropout = dropout

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        weight = edge_weight(data)
        x = convolve(self.conv1, data.x, data, edge_weight=weight).relu()
        if self.dropout:
            x = F.dropout(x, self.dropout, self.training)
        return convolve(self.conv2, x, data, edge_weight=weight)
