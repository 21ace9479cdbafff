"""GIN (Xu et al., 2019), graph-level with its native sum pooling."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv

from graphnetz.models.spec import register_model
from graphnetz.tasktypes.heads import pooled


def _mlp(in_channels: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_channels, out_channels),
        nn.BatchNorm1d(out_channels),
        nn.ReLU(),
        nn.Linear(out_channels, out_channels),
        nn.ReLU(),
    )


@register_model(task_types={"graph_cls", "graph_reg"})
class GIN(torch.nn.Module):
    """Isomorphism layers with trainable eps over two-layer perceptrons, sum pooling, linear classifier.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    num_layers
        Number of convolutions.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import GIN
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> GIN(3, 8, 2)(data).shape
    torch.Size([1, 2])
    """

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 3) -> None:
        super().__init__()
        widths = [in_channels] + [hidden_channels] * num_layers
        self.convs = nn.ModuleList(GINConv(_mlp(a, b), train_eps=True) for a, b in itertools.pairwise(widths))
        self.head = nn.Linear(hidden_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        """Return one row per graph."""
        x = data.x
        for conv in self.convs:
            x = conv(x, data.edge_index)
        out: Tensor = self.head(pooled(x, data, "sum"))
        return out
