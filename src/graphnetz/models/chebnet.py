"""ChebNet (Defferrard et al., 2016)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import ChebConv
from torch_geometric.nn.models.basic_gnn import BasicGNN
from torch_geometric.utils import degree

from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class ChebNet(BasicGNN):  # type: ignore[misc]
    """Chebyshev filters (Defferrard et al., 2016).

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    num_layers
        Number of convolutions.
    width
        Width between the layers; None takes ``hidden_channels``.
    K
        Size of the filter: how many hops one layer reaches, plus one.
    normalization
        Of the Laplacian: ``"sym"``, ``"rw"`` or ``"none"``.
    dropout
        Share of hidden values dropped in training.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import ChebNet
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> ChebNet(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    supports_edge_weight = supports_edge_attr = False

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2,
        width: int | None = None, K: int = 2, normalization: str = "sym", dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, width or hidden_channels, num_layers, out_channels, dropout,
            K=K, normalization=None if normalization == "none" else normalization,
        )  # fmt: skip

    def init_conv(self, in_channels: int, out_channels: int, **settings: Any) -> ChebConv:
        """Return one filter."""
        return ChebConv(in_channels, out_channels, **settings)

    def forward(self, data: Data) -> Tensor:
        """Return one row per node.

        The spectrum of each graph is bounded by itself, so that a graph's output does not depend on its batch.
        """
        x: Tensor
        x, edge_index, batch = data.x, data.edge_index, data.get("batch")
        batch = edge_index.new_zeros(x.size(0)) if batch is None else batch
        count = int(batch.max()) + 1 if batch.numel() else 1
        bound = x.new_full((count,), 2.0)
        if self.convs[0].normalization is None:
            outgoing = degree(edge_index[0], x.size(0), dtype=x.dtype)
            bound = 2.0 * x.new_zeros(count).scatter_reduce(0, batch, outgoing, "amax").clamp(min=1.0)
        for number, conv in enumerate(self.convs):
            if number:
                x = self.dropout(torch.relu(x))
            x = conv(x, edge_index, batch=batch if count > 1 else None, lambda_max=bound if count > 1 else bound[0])
        return x
