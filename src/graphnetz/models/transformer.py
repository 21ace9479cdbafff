"""Graph Transformer (Shi et al., 2021)."""

from __future__ import annotations

from torch_geometric.nn import TransformerConv

from graphnetz.models._two import TwoAttentions
from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class GraphTransformer(TwoAttentions):
    """Two transformer convolutions: ``heads`` concatenated, then one averaged.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    heads
        Attention heads of the first layer.
    dropout
        Share of hidden values dropped in training.
    edge_dim
        Width of edge attributes to attend to; None ignores them.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import GraphTransformer
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> GraphTransformer(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        heads: int = 4,
        dropout: float = 0.1,
        edge_dim: int | None = None,
    ) -> None:
        super().__init__(TransformerConv, (in_channels, hidden_channels, out_channels), heads, dropout, edge_dim)
