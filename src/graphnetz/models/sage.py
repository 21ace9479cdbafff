"""GraphSAGE with mean aggregation (Hamilton et al., 2017)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from graphnetz.models._conv import convolve
from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class GraphSAGE(torch.nn.Module):
    """Two mean-aggregating layers with ReLU and dropout between them."""

    level = "node"

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.conv1 = SAGEConv(in_channels, hidden_channels)
        self.conv2 = SAGEConv(hidden_channels, out_channels)
        self.dropout = dropout

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        x = convolve(self.conv1, data.x, data).relu()
        x = F.dropout(x, self.dropout, self.training)
        return convolve(self.conv2, x, data)
