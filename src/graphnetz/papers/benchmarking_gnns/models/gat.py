"""GAT: attention heads side by side, one wide head in the last layer."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv

from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import SPARSE_TASKS, Network, Settings


class GATLayer(nn.Module):
    """Attention over in-edges without self-loops, batch norm, ELU, residual."""

    def __init__(self, width: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv = GATConv(width, width // heads, heads=heads, dropout=dropout, add_self_loops=False, bias=False)
        self.norm = nn.BatchNorm1d(width)
        self.dropout = dropout

    def forward(self, h: Tensor, edge_index: Tensor, *, scale: Tensor | None = None) -> Tensor:
        """One layer; ``scale`` is that of graph-size normalisation."""
        mixed = self.conv(F.dropout(h, self.dropout, self.training), edge_index)
        return h + F.elu(self.norm(mixed if scale is None else mixed * scale))


@register_model(task_types=SPARSE_TASKS, name="bgnn.GAT")
class GAT(Network):
    """``hidden_channels`` per head; the network is ``hidden_channels * heads`` wide throughout."""

    def __init__(self, *channels: int, heads: int = 8, graph_norm: bool = False, **shared: Any) -> None:
        s = Settings(*channels, **shared).with_heads(heads)
        layers = (GATLayer(s.hidden_channels, n, dropout=s.dropout) for n in s.heads_of_layers(heads))
        super().__init__(s, layers, graph_norm=graph_norm)
