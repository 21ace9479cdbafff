"""EGC (Tailor et al., 2022): efficient graph convolution."""

from __future__ import annotations

import math
from typing import Any

from torch_geometric.nn import EGConv
from torch_geometric.nn.models.basic_gnn import BasicGNN

from graphnetz.models.spec import ALL, register_model
from graphnetz.models.stack import OnData


@register_model(task_types=ALL)
class EGC(OnData, BasicGNN):  # type: ignore[misc]
    """Convolutions that mix shared bases with weights of each node, then a linear layer.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    num_layers
        Number of convolutions.
    width
        Width between the layers; None takes ``hidden_channels``.
    aggregators
        How neighbours are aggregated, such as ``"symnorm"``, ``"mean"`` or ``"max"``.
    num_bases
        Number of shared bases.
    dropout
        Share of hidden values dropped in training.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import EGC
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> EGC(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    supports_edge_weight = supports_edge_attr = False

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2,
        width: int | None = None, aggregators: str = "symnorm", num_bases: int = 4, dropout: float = 0.0,
    ) -> None:  # fmt: skip
        # The linear layer at the end is there because a layer's width must be a multiple of its heads.
        super().__init__(
            in_channels, width or hidden_channels, num_layers, out_channels, dropout, jk="last",
            aggregators=[aggregators], num_bases=num_bases,
        )  # fmt: skip

    def init_conv(self, in_channels: int, out_channels: int, **settings: Any) -> EGConv:
        """Return one layer with as many heads, up to eight, as divide its width."""
        return EGConv(in_channels, out_channels, num_heads=math.gcd(out_channels, 8), **settings)
