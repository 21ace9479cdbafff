"""GAT: attention heads side by side, one wide head in the last layer."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv

from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import SPARSE_TASKS, Head, Network, NodeInput, PEMode, level_of


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

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 4,
        heads: int = 8,
        task_type: str = "graph_cls",
        vocabulary: tuple[int, ...] = (),
        out_graph: int | None = None,
        pe_dim: int | None = None,
        pe_mode: PEMode = "add",
        readout: str = "mean",
        dropout: float = 0.0,
        graph_norm: bool = False,
    ) -> None:
        super().__init__()
        width, self.graph_norm = hidden_channels * heads, graph_norm
        self.embed = NodeInput(in_channels, width, vocabulary=vocabulary, pe_dim=pe_dim, pe_mode=pe_mode)
        self.blocks = nn.ModuleList(
            GATLayer(width, heads if number + 1 < num_layers else 1, dropout=dropout) for number in range(num_layers)
        )
        self.head = Head(level_of(task_type), width, out_channels, out_graph=out_graph, readout=readout)
