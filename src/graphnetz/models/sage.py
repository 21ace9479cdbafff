"""GraphSAGE with mean aggregation (Hamilton et al., 2017)."""

from __future__ import annotations

from torch_geometric.nn import SAGEConv

from graphnetz.models._two import TwoConvolutions
from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class GraphSAGE(TwoConvolutions):
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

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5) -> None:
        super().__init__(SAGEConv(in_channels, hidden_channels), SAGEConv(hidden_channels, out_channels), dropout)
