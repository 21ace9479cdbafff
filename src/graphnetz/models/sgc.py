"""SGC (Wu et al., 2019): propagation without anything between the hops."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import SGConv

from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class SGC(nn.Module):
    """Normalised propagations of the features followed by one linear layer.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    K
        Number of propagations.
    bias
        Whether the linear layer has one.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import SGC
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> SGC(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    level = "node"

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, K: int = 2, bias: bool = True
    ) -> None:
        super().__init__()
        del hidden_channels  # there is no hidden layer
        self.conv = SGConv(in_channels, out_channels, K=K, bias=bias)

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        out: Tensor = self.conv(data.x, data.edge_index)
        return out
