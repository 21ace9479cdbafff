"""Matrix factorisation: one free vector per node, no features and no edges."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import Head, Network


@register_model(task_types={"link_pred"}, name="bgnn.MF")
class MF(Network):
    """Node embeddings of a graph with ``num_nodes`` nodes, scored by the readout of pairs."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, num_nodes: int) -> None:
        nn.Module.__init__(self)
        self.table = nn.Embedding(num_nodes, hidden_channels)
        self.head = Head("pair", hidden_channels, 1)

    def states(self, data: Data) -> Tensor:
        """The table itself."""
        if data.num_nodes != self.table.num_embeddings:
            raise UsageError(
                f"This model has {self.table.num_embeddings} node vectors, but the graph has {data.num_nodes} "
                "nodes. Pass num_nodes equal to the number of nodes."
            )
        weight: Tensor = self.table.weight
        return weight
