"""ChebNet (Defferrard et al., 2016)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import ChebConv
from torch_geometric.utils import degree

from graphnetz.models.spec import ALL, register_model
from graphnetz.models.stack import Stack


@register_model(task_types=ALL)
class ChebNet(Stack):
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

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2,
        width: int | None = None, K: int = 2, normalization: str = "sym", dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, hidden_channels, out_channels, num_layers=num_layers, width=width, dropout=dropout,
            K=K, normalization=None if normalization == "none" else normalization,
        )  # fmt: skip
        self.scaled = normalization != "none"

    def conv(self, in_channels: int, out_channels: int, *, final: bool, **settings: Any) -> Any:
        """Return one filter."""
        return ChebConv(in_channels, out_channels, **settings)

    def apply_conv(self, conv: nn.Module, x: Any, data: Data, number: int) -> Tensor:
        """Bound the spectrum of each graph by itself, so that a graph's output does not depend on its batch."""
        dense = x if isinstance(x, Tensor) else x.to_dense()
        batch = data.batch if data.get("batch") is not None else dense.new_zeros(dense.size(0), dtype=torch.long)
        count = int(batch.max()) + 1 if batch.numel() else 1
        bound = dense.new_full((count,), 2.0)
        if not self.scaled:
            outgoing = degree(data.edge_index[0], dense.size(0), dtype=dense.dtype)
            bound = 2.0 * dense.new_zeros(count).scatter_reduce(0, batch, outgoing, "amax").clamp(min=1.0)
        if count == 1:
            out: Tensor = conv(dense, data.edge_index, lambda_max=bound[0])
            return out
        out = conv(dense, data.edge_index, batch=batch, lambda_max=bound)
        return out
