"""PNA (Corso et al., 2020): principal neighbourhood aggregation."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import models

from graphnetz.models.spec import ALL, register_model
from graphnetz.models.stack import OnData


@register_model(task_types=ALL)
class PNA(OnData, models.PNA):  # type: ignore[misc]
    """Aggregators times degree scalers; the typical degree is that of the first training batch.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    num_layers
        Number of convolutions.
    width
        Width between the layers; None takes ``hidden_channels``.
    aggregators, scalers
        One aggregator and one scaler, as PyG names them.
    towers
        Parts of the features that are processed apart.
    dropout
        Share of hidden values dropped in training.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import PNA
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> PNA(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2,
        width: int | None = None, aggregators: str = "mean", scalers: str = "identity", towers: int = 1,
        dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, width or hidden_channels, num_layers, out_channels, dropout, towers=towers,
            aggregators=[aggregators], scalers=[scalers], deg=torch.tensor([0, 1]),
        )  # fmt: skip
        self.calibrated: Tensor
        self.register_buffer("calibrated", torch.zeros((), dtype=torch.bool))

    def forward(self, data: Data) -> Tensor:
        """Return one row per node; the first call sets the degree statistics."""
        if not bool(self.calibrated):
            count = torch.bincount(data.edge_index[1], minlength=data.num_nodes).to(torch.get_default_dtype())
            for conv in cast("Any", self.convs):
                scaler: Any = conv.aggr_module
                scaler.avg_deg_lin.fill_(max(float(count.mean()), 1e-6))
                scaler.avg_deg_log.fill_(max(float(count.log1p().mean()), 1e-6))
            self.calibrated.fill_(True)
        return super().forward(data)
