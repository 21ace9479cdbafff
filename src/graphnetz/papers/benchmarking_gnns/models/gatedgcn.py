"""GatedGCN with edge states, and the two reduced forms of the edge study."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

import graphnetz.kernels as kernels
from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import (
    SPARSE_TASKS,
    EdgeSettings,
    Network,
    Variant,
    finish,
    register_variant,
    size_scale,
)

EPSILON = 1e-6
"""Added to the sum of gates."""


class GatedGCNLayer(nn.Module):
    """Gated mean of the neighbours; gates come from the ends and, in the full form, an edge state."""

    def __init__(self, width: int, *, variant: Variant = "edge_representation", dropout: float = 0.0) -> None:
        super().__init__()
        self.own, self.other = nn.Linear(width, width), nn.Linear(width, width)
        gated, stateful = variant != "isotropic", variant == "edge_representation"
        self.gate_source = nn.Linear(width, width) if gated else None
        self.gate_target = nn.Linear(width, width) if gated else None
        self.gate_edge = nn.Linear(width, width) if stateful else None
        self.norm = nn.BatchNorm1d(width)
        self.edge_norm = nn.BatchNorm1d(width) if stateful else None
        self.dropout = dropout

    def forward(
        self,
        h: Tensor,
        e: Tensor,
        edge_index: Tensor,
        *,
        last: bool = False,
        scales: tuple[Tensor | None, Tensor | None] = (None, None),
    ) -> tuple[Tensor, Tensor]:
        """New node and edge rows; ``e`` may be one row for all edges. The last layer leaves the edges as they are.

        ``scales`` are those of graph-size normalisation for nodes and edges.
        """
        if self.gate_source is None or self.gate_target is None:
            mixed, after = kernels.neighbour_sum(edge_index, self.other(h)), e
        else:
            left, right = self.gate_source(h), self.gate_target(h)
            edge = h.new_zeros(1, h.size(1)) if self.gate_edge is None else self.gate_edge(e)
            mixed, gate = kernels.gated_mean(edge_index, edge, left, right, self.other(h), eps=EPSILON)
            stays = last or self.gate_edge is None
            end: dict[str, Any] = {"training": self.training, "scale": scales[1]}
            after = e if stays else finish(gate, e, self.edge_norm, self.dropout, **end)
        end = {"training": self.training, "scale": scales[0]}
        return finish(self.own(h) + mixed, h, self.norm, self.dropout, **end), after


@register_model(task_types=SPARSE_TASKS, name="bgnn.GatedGCN")
class GatedGCN(Network):
    """GatedGCN; ``edge_feat=True`` starts the edge states from the edge features ("-E").

    Positional encodings are read wherever the data carries them ("-PE").
    """

    settings = EdgeSettings

    def __init__(
        self, *channels: int, variant: Variant = "edge_representation", graph_norm: bool = False, **shared: Any
    ) -> None:
        s = EdgeSettings(*channels, variant=variant, **shared)
        layers = (GatedGCNLayer(s.hidden_channels, variant=variant, dropout=s.dropout) for _ in range(s.num_layers))
        super().__init__(s, layers, graph_norm=graph_norm)

    def states(self, data: Data) -> Tensor:
        """Node embeddings after the last layer."""
        h = self.embed(data)
        e = self.edge_embed.rows(data, h)
        scales: tuple[Tensor | None, Tensor | None] = (None, None)
        if self.graph_norm:
            scales = size_scale(data, h, of="nodes"), size_scale(data, h, of="edges")
        for number, block in enumerate(self.blocks, start=1):
            h, e = block(h, e, data.edge_index, last=number == len(self.blocks), scales=scales)
        out: Tensor = h
        return out


register_variant("bgnn.GatedGCN-E", GatedGCN, edge_feat=True)
register_variant("bgnn.GatedGCN-isotropic", GatedGCN, variant="isotropic")
register_variant("bgnn.GatedGCN-edgefeat", GatedGCN, variant="edge_feature")
