"""One place where encoders call their convolutions, so that the fast CPU path is one switch."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data


def edge_weight(data: Data) -> Tensor | None:
    """Scalar edge weights, when the data carries them."""
    weight = data.get("edge_weight")
    return None if weight is None else weight.reshape(-1)


def convolve(conv: nn.Module, x: Tensor, data: Data, **options: Tensor | None) -> Tensor:
    """Apply a PyTorch Geometric convolution."""
    out: Tensor = conv(x, data.edge_index, **options)
    return out
