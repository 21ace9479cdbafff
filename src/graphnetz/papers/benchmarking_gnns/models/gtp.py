"""Nets of the graph-theory suite: one shared GRU between layers, Set2Set for the graph targets."""

from __future__ import annotations

import abc

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.aggr import Set2Set

from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import EdgeInput, MLPReadout, NodeInput, PEMode, membership
from graphnetz.papers.benchmarking_gnns.models.gatedgcn import GatedGCNLayer
from graphnetz.papers.benchmarking_gnns.models.gin import GINLayer


class _Recurrent(nn.Module, abc.ABC):
    """Layers whose output is the hidden state of a GRU that reads the layer's input."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 8,
        vocabulary: tuple[int, ...] = (),
        out_graph: int = 1,
        pe_dim: int | None = None,
        pe_mode: PEMode = "add",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        width = hidden_channels
        self.embed = NodeInput(in_channels, width, vocabulary=vocabulary, pe_dim=pe_dim, pe_mode=pe_mode)
        self.gru = nn.GRUCell(width, width)
        self.set2set = Set2Set(width, processing_steps=1)
        self.build(width, out_channels, out_graph, num_layers=num_layers, dropout=dropout)

    @abc.abstractmethod
    def build(self, width: int, out: int, out_graph: int, *, num_layers: int, dropout: float) -> None:
        """Make layers and readouts."""

    def pooled(self, h: Tensor, data: Data) -> Tensor:
        """Twice as wide summary of each graph."""
        batch, graphs = membership(data, h.size(0))
        out: Tensor = self.set2set(h, batch, dim_size=graphs)
        return out


@register_model(task_types={"multi_reg"}, name="bgnn.GatedGCN-GRU")
class GatedGCNRecurrent(_Recurrent):
    """GatedGCN with a shared GRU; readouts of the last level for nodes and graphs."""

    def build(self, width: int, out: int, out_graph: int, *, num_layers: int, dropout: float) -> None:
        """Make layers and readouts."""
        self.edge_embed = EdgeInput(width, edge_feat=False, edge_dim=None, num_bond_types=None)
        self.blocks = nn.ModuleList(GatedGCNLayer(width, dropout=dropout) for _ in range(num_layers))
        self.node = MLPReadout(width, out)
        self.graph = MLPReadout(2 * width, out_graph)

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        """Return node outputs and graph outputs."""
        h = self.embed(data)
        e = self.edge_embed.rows(data, h)
        for number, block in enumerate(self.blocks, start=1):
            mixed, e = block(h, e, data.edge_index, last=number == len(self.blocks))
            h = self.gru(h, mixed)
        return self.node(h), self.graph(self.pooled(h, data))


@register_model(task_types={"multi_reg"}, name="bgnn.GIN-GRU")
class GINRecurrent(_Recurrent):
    """GIN with a shared GRU; linear scores of every level, summed."""

    def build(self, width: int, out: int, out_graph: int, *, num_layers: int, dropout: float) -> None:
        """Make layers and readouts."""
        self.blocks = nn.ModuleList(GINLayer(width, dropout=dropout) for _ in range(num_layers))
        self.node = nn.ModuleList(nn.Linear(width, out) for _ in range(num_layers + 1))
        self.graph = nn.ModuleList(nn.Linear(2 * width, out_graph) for _ in range(num_layers + 1))

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        """Return node outputs and graph outputs."""
        h = self.embed(data)
        node, graph = self.node[0](h), self.graph[0](self.pooled(h, data))
        for number, block in enumerate(self.blocks, start=1):
            h = self.gru(h, block(h, data.edge_index))
            node = node + self.node[number](h)
            graph = graph + self.graph[number](self.pooled(h, data))
        return node, graph
