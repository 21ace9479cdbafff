"""GAT of the edge study: isotropic, attention from both ends, attention with edge states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.utils import softmax

from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import (
    SPARSE_TASKS,
    EdgeSettings,
    Network,
    Variant,
    register_variant,
    total,
)


class GATEdgeLayer(nn.Module):
    """Heads of the edge study; LeakyReLU with slope 0.01, ELU after batch norm, residuals."""

    def __init__(self, width: int, heads: int, *, variant: Variant, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.size, self.dropout = heads, width // heads, dropout
        self.linear = nn.Linear(width, width, bias=False)
        self.norm = nn.BatchNorm1d(width)
        parts = {"isotropic": 0, "edge_feature": 2, "edge_representation": 3}[variant]
        self.attention = nn.Parameter(torch.empty(heads, parts * self.size)) if parts else None
        if self.attention is not None:
            nn.init.xavier_normal_(self.attention, gain=nn.init.calculate_gain("relu"))
        self.edge: nn.Linear | None = None
        if variant == "edge_representation":
            self.edge = nn.Linear(width, width, bias=False)
            self.edge_norm = nn.BatchNorm1d(width)
            self.project = nn.Parameter(torch.empty(heads, 3 * self.size, self.size))
            self.project_bias = nn.Parameter(torch.zeros(heads, self.size))
            bound = (3 * self.size) ** -0.5
            nn.init.uniform_(self.project, -bound, bound)

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        """New node and edge rows."""
        source, target = edge_index
        z = self.linear(h).view(-1, self.heads, self.size)
        if self.attention is None:
            return self._finish(total(z[source], target, h.size(0)), h, self.norm), e
        rows = [z[source], z[target]]
        if self.edge is not None:
            rows.insert(0, self.edge(e).view(-1, self.heads, self.size))
        joint = torch.cat(rows, dim=-1)
        score = F.leaky_relu((joint * self.attention).sum(-1), 0.01)
        alpha = F.dropout(softmax(score, target, num_nodes=h.size(0)), self.dropout, self.training)
        mixed = total(alpha.unsqueeze(-1) * z[source], target, h.size(0))
        after = e
        if self.edge is not None:
            after = torch.einsum("ekc,kco->eko", joint, self.project) + self.project_bias
            after = self._finish(after, e, self.edge_norm)
        return self._finish(mixed, h, self.norm), after

    def _finish(self, rows: Tensor, before: Tensor, norm: nn.Module) -> Tensor:
        out = F.elu(norm(rows.reshape(before.size(0), -1)))
        return before + F.dropout(out, self.dropout, self.training)


@register_model(task_types=SPARSE_TASKS, name="bgnn.GAT-edgefeat")
class GATEdge(Network):
    """GAT with the three treatments of edges compared by Dwivedi et al. (2023), Tables 14 and 15.

    The reference embeds edges in all three, although only the third reads them: the table is kept, so
    that parameter counts agree.
    """

    settings = EdgeSettings

    def __init__(
        self,
        *channels: int,
        heads: int = 8,
        task_type: str = "edge_cls",
        variant: Variant = "edge_feature",
        **shared: Any,
    ) -> None:
        s = EdgeSettings(*channels, task_type=task_type, variant=variant, **shared).with_heads(heads)
        width, each = s.hidden_channels, s.heads_of_layers(heads)
        super().__init__(s, (GATEdgeLayer(width, n, variant=variant, dropout=s.dropout) for n in each))

    def states(self, data: Data) -> Tensor:
        """Node embeddings after the last layer."""
        h = self.embed(data)
        e = self.edge_embed(data, h)
        for block in self.blocks:
            h, e = block(h, e, data.edge_index)
        out: Tensor = h
        return out


register_variant("bgnn.GAT-isotropic", GATEdge, variant="isotropic")
register_variant("bgnn.GAT-edgerepr", GATEdge, variant="edge_representation")
register_variant("bgnn.GAT-edgerepr-E", GATEdge, variant="edge_representation", edge_feat=True)
