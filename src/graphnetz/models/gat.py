"""GAT (Velickovic et al., 2018)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from graphnetz.models._two import TwoAttentions
from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class GAT(TwoAttentions):
    """Two attention layers: ``heads`` concatenated, then one averaged; dropout on inputs, hidden and attention.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    heads
        Attention heads of the first layer.
    dropout
        Share of inputs, hidden values and attention weights dropped in training.
    edge_dim
        Width of edge attributes to attend to; None ignores them.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import GAT
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> GAT(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    activation = staticmethod(F.elu)

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        heads: int = 8,
        dropout: float = 0.6,
        edge_dim: int | None = None,
    ) -> None:
        super().__init__(GATConv, (in_channels, hidden_channels, out_channels), heads, dropout, edge_dim)

    def inputs(self, data: Data) -> Tensor:
        """The node features, some dropped in training."""
        return F.dropout(data.x, self.dropout, self.training)
