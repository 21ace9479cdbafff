"""GraphSAGE with max pooling, and the variants of the edge study that gate or carry edge states."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphnetz._core.errors import UsageError
from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import (
    SPARSE_TASKS,
    EdgeInput,
    Head,
    Network,
    NodeInput,
    PEMode,
    level_of,
    register_variant,
)

Variant = Literal["isotropic", "edge_feature", "edge_representation"]


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

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 4,
        task_type: str = "graph_cls",
        vocabulary: tuple[int, ...] = (),
        out_graph: int | None = None,
        pe_dim: int | None = None,
        pe_mode: PEMode = "add",
        variant: Variant = "isotropic",
        edge_feat: bool = False,
        edge_dim: int | None = None,
        num_bond_types: int | None = None,
        edge_ones: int = 1,
        readout: str = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        width = hidden_channels
        if variant not in ("isotropic", "edge_feature", "edge_representation"):
            raise UsageError(f"Unknown variant {variant!r}. Known: isotropic, edge_feature, edge_representation.")
        self.embed = NodeInput(in_channels, width, vocabulary=vocabulary, pe_dim=pe_dim, pe_mode=pe_mode)
        self.edge_embed = (
            EdgeInput(width, edge_feat=edge_feat, edge_dim=edge_dim, num_bond_types=num_bond_types, edge_ones=edge_ones)
            if variant == "edge_representation"
            else None
        )
        self.blocks = nn.ModuleList(SAGELayer(width, variant=variant, dropout=dropout) for _ in range(num_layers))
        self.head = Head(level_of(task_type), width, out_channels, out_graph=out_graph, readout=readout)

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
