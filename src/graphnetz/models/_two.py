"""What the encoders of two convolutions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data


class TwoConvolutions(nn.Module):
    """Two convolutions with an activation and dropout between them."""

    level = "node"
    activation: ClassVar[Callable[..., Tensor]] = staticmethod(F.relu)

    def __init__(self, conv1: nn.Module, conv2: nn.Module, dropout: float) -> None:
        super().__init__()
        self.conv1, self.conv2, self.dropout = conv1, conv2, dropout

    @property
    def layers(self) -> tuple[nn.Module, ...]:
        """Convolutions in order; nothing else mixes nodes."""
        return self.conv1, self.conv2

    def inputs(self, data: Data) -> Tensor:
        """What the first convolution reads."""
        x: Tensor = data.x
        return x

    def options(self, data: Data) -> dict[str, Any]:
        """What the convolutions take beside the edges."""
        del data
        return {}

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        options = self.options(data)
        x = self.activation(self.conv1(self.inputs(data), data.edge_index, **options))
        x = F.dropout(x, self.dropout, self.training)
        out: Tensor = self.conv2(x, data.edge_index, **options)
        return out


class TwoAttentions(TwoConvolutions):
    """``heads`` concatenated, then one averaged; edge attributes are attended to where their width is given."""

    def __init__(
        self, conv: type[nn.Module], widths: tuple[int, int, int], heads: int, dropout: float, edge_dim: int | None
    ) -> None:
        wide_in, hidden, out = widths
        shared: dict[str, Any] = {"dropout": dropout, "edge_dim": edge_dim}
        first = conv(wide_in, hidden, heads=heads, **shared)
        super().__init__(first, conv(heads * hidden, out, heads=1, concat=False, **shared), dropout)
        self.edge_dim = edge_dim

    def options(self, data: Data) -> dict[str, Any]:
        """The edge attributes."""
        return {"edge_attr": data.edge_attr} if self.edge_dim else {}
