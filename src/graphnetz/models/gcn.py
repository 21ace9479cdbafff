"""GCN (Kipf and Welling, 2017)."""

from __future__ import annotations

from typing import Any

from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from graphnetz.models._two import TwoConvolutions
from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class GCN(TwoConvolutions):
    """Two graph convolutions with ReLU between them; edge weights are used where given.

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
    >>> from graphnetz import GCN
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> GCN(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.0) -> None:
        super().__init__(GCNConv(in_channels, hidden_channels), GCNConv(hidden_channels, out_channels), dropout)

    def options(self, data: Data) -> dict[str, Any]:
        """The edge weights."""
        weight = data.get("edge_weight")
        return {} if weight is None else {"edge_weight": weight.reshape(-1)}
