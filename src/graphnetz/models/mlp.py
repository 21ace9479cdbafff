"""MLP: the graph-agnostic baseline that sees features and no edges."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class MLP(torch.nn.Module):
    """Two linear layers per node, with ReLU and dropout between them; edges are not looked at.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    dropout
        Share of hidden values dropped in training.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import MLP
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> MLP(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    level = "node"
    baseline = True

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.first = nn.Linear(in_channels, hidden_channels)
        self.second = nn.Linear(hidden_channels, out_channels)
        self.dropout = dropout

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        x = F.dropout(F.relu(self.first(data.x)), self.dropout, self.training)
        out: Tensor = self.second(x)
        return out
