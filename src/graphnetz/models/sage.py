"""GraphSAGE with mean aggregation (Hamilton et al., 2017)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

import graphnetz.kernels as kernels
from graphnetz.models._conv import convolve, wide_first
from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class GraphSAGE(torch.nn.Module):
    """Two mean-aggregating layers with ReLU and dropout between them.

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
    >>> from graphnetz import GraphSAGE
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> GraphSAGE(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    level = "node"

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.conv1 = SAGEConv(in_channels, hidden_channels)
        self.conv2 = SAGEConv(hidden_channels, out_channels)
        self.dropout = dropout
        wide_first(self.conv1, in_channels)

    @property
    def layers(self) -> tuple[torch.nn.Module, ...]:
        """Convolutions in order; nothing else mixes nodes."""
        return self.conv1, self.conv2

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        x = convolve(self.conv1, kernels.input_features(data.x), data, layer=0, constant=True)
        x = kernels.relu_dropout(x, self.dropout, training=self.training)
        return convolve(self.conv2, x, data, layer=1)
