"""GraphSAGE with max pooling, and the variants of the edge study that gate or carry edge states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import (
    SPARSE_TASKS,
    EdgeSettings,
    Network,
    Variant,
    register_variant,
)


class SAGELayer(nn.Module):
    """Largest neighbour message beside the node's own row; unit length, ReLU, norm, residual in that order."""

    def __init__(self, width: int, *, variant: Variant = "isotropic", dropout: float = 0.0) -> None:
        super().__init__()
        self.message = nn.Linear(width, width)
        self.gate = None if variant == "isotropic" else nn.Linear(width, width)
        self.edge = nn.Linear(width, width) if variant == "edge_representation" else None
        self.update = nn.Linear(2 * width, width)
        self.norm = nn.BatchNorm1d(width)
        self.edge_norm = nn.BatchNorm1d(width) if variant == "edge_representation" else None
        self.dropout = dropout

    def forward(self, h: Tensor, e: Tensor | None, edge_index: Tensor) -> tuple[Tensor, Tensor | None]:
        """New node rows and, where edges have states, new edge rows."""
        source, target = edge_index
        dropped = F.dropout(h, self.dropout, self.training)
        message, after = self.message(dropped), e
        if self.gate is None:
            message = torch.relu(message)[source]
        else:
            gates = self.gate(dropped)
            gate = gates[source] + gates[target]
            if self.edge is not None and self.edge_norm is not None and e is not None:
                gate = self.edge(e) + gate
                after = self.edge_norm(torch.relu(gate)) + e
            message = torch.relu(torch.sigmoid(gate) * message[source])
        best = scatter(message, target, dim=0, dim_size=h.size(0), reduce="max")
        z = torch.relu(F.normalize(self.update(torch.cat([dropped, best], dim=1)), dim=1))
        return self.norm(z) + h, after


@register_model(task_types=SPARSE_TASKS, name="bgnn.GraphSAGE")
class GraphSAGE(Network):
    """GraphSAGE with max pooling; ``variant`` selects the gated forms of the edge study."""

    settings = EdgeSettings

    def __init__(self, *channels: int, variant: Variant = "isotropic", **shared: Any) -> None:
        s = EdgeSettings(*channels, variant=variant, **shared)
        layers = (SAGELayer(s.hidden_channels, variant=variant, dropout=s.dropout) for _ in range(s.num_layers))
        super().__init__(s, layers, edges=variant == "edge_representation")

    def states(self, data: Data) -> Tensor:
        """Node embeddings after the last layer."""
        h: Tensor = self.embed(data)
        e = None if self.edge_embed is None else self.edge_embed(data, h)
        for block in self.blocks:
            h, e = block(h, e, data.edge_index)
        return h


register_variant("bgnn.GraphSAGE-edgefeat", GraphSAGE, variant="edge_feature")
register_variant("bgnn.GraphSAGE-edgerepr", GraphSAGE, variant="edge_representation")
register_variant("bgnn.GraphSAGE-edgerepr-E", GraphSAGE, variant="edge_representation", edge_feat=True)
