"""Graph convolution as in the 2023 tables (symmetric) and the 2020 ones (neighbour mean, "vanilla")."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

import graphnetz.kernels as kernels
from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import (
    SPARSE_TASKS,
    Network,
    Settings,
    degree,
    finish,
    register_variant,
)

_KEPT = kernels.TensorCache()


def arc_weights(edge_index: Tensor, like: Tensor, *, vanilla: bool) -> Tensor:
    """Weight of every arc, computed once for all layers that see the same edge index."""
    slot, key = _KEPT.slot(edge_index), (vanilla, like.size(0), like.dtype)
    if key not in slot:
        source, target = edge_index
        into = degree(target, like.size(0), like).clamp_(min=1)
        if vanilla:
            slot[key] = into.reciprocal()[target]
        else:
            slot[key] = degree(source, like.size(0), like).clamp_(min=1).rsqrt()[source] * into.rsqrt()[target]
    found: Tensor = slot[key]
    return found


class GCNLayer(nn.Module):
    """Neighbours only, no self-loop: symmetric normalisation (out-degree of the source) or the mean."""

    def __init__(self, width: int, *, vanilla: bool = False, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)
        self.vanilla, self.dropout = vanilla, dropout
        if not vanilla:
            nn.init.xavier_uniform_(self.linear.weight)
            nn.init.zeros_(self.linear.bias)

    def forward(self, h: Tensor, edge_index: Tensor, *, scale: Tensor | None = None) -> Tensor:
        """One layer with norm, ReLU and residual."""
        mixed = kernels.neighbour_sum(edge_index, h, weight=arc_weights(edge_index, h, vanilla=self.vanilla))
        return finish(self.linear(mixed), h, self.norm, self.dropout, training=self.training, scale=scale)


@register_model(task_types=SPARSE_TASKS, name="bgnn.GCN")
class GCN(Network):
    """Graph convolutions with batch norm and residuals; ``vanilla=True`` averages the neighbours."""

    def __init__(self, *channels: int, vanilla: bool = False, graph_norm: bool = False, **shared: Any) -> None:
        s = Settings(*channels, **shared)
        layers = (GCNLayer(s.hidden_channels, vanilla=vanilla, dropout=s.dropout) for _ in range(s.num_layers))
        super().__init__(s, layers, graph_norm=graph_norm)


register_variant("bgnn.GCN-vanilla", GCN, vanilla=True)
