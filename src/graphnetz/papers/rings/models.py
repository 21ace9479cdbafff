"""The architectures of the RINGS paper (Coupette et al. 2025, Tables 4, 5): three layers, batch norm, sum readout."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, GINConv

from graphnetz.models.spec import register_model
from graphnetz.tasktypes.heads import pooled

LAYERS = 3
GRAPH_TASKS = frozenset({"graph_cls", "graph_reg"})


class SumOfLayers(nn.Module):
    """Convolutions, each followed by batch norm, ReLU and dropout; the sum over nodes goes to a linear head."""

    def __init__(self, convs: Iterable[nn.Module], width: int, out_channels: int, dropout: float) -> None:
        super().__init__()
        self.convs = nn.ModuleList(convs)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in self.convs)
        self.head = nn.Linear(width, out_channels)
        self.dropout = dropout

    def forward(self, data: Data) -> Tensor:
        """Return one row per graph."""
        x = data.x
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = functional.relu(norm(conv(x, data.edge_index)))
            x = functional.dropout(x, self.dropout, self.training)
        out: Tensor = self.head(pooled(x, data, "sum"))
        return out


def _widths(in_channels: int, hidden_channels: int) -> Iterable[tuple[int, int]]:
    return pairwise([in_channels] + [hidden_channels] * LAYERS)


@register_model(task_types=GRAPH_TASKS, name="rings.GCN")
class GCN(SumOfLayers):
    """GCN (Kipf and Welling, 2017) as the RINGS paper trains it."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.1) -> None:
        convs = (GCNConv(a, b) for a, b in _widths(in_channels, hidden_channels))
        super().__init__(convs, hidden_channels, out_channels, dropout)


@register_model(task_types=GRAPH_TASKS, name="rings.GAT")
class GAT(SumOfLayers):
    """GAT (Veličković et al., 2018) as the RINGS paper trains it; the number of heads is not printed there: one."""

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.1, heads: int = 1
    ) -> None:
        convs = (GATConv(a, b // heads, heads=heads) for a, b in _widths(in_channels, hidden_channels))
        super().__init__(convs, hidden_channels, out_channels, dropout)


@register_model(task_types=GRAPH_TASKS, name="rings.GIN")
class GIN(SumOfLayers):
    """GIN (Xu et al., 2019) as the RINGS paper trains it, with perceptrons of two layers."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.1) -> None:
        convs = (
            GINConv(nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, b)))
            for a, b in _widths(in_channels, hidden_channels)
        )
        super().__init__(convs, hidden_channels, out_channels, dropout)
