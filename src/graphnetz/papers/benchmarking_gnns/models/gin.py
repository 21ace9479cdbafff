"""GIN with its jumping-knowledge head: one linear score per level, summed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import graphnetz.kernels as kernels
from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import (
    SPARSE_TASKS,
    Head,
    Level,
    Network,
    Settings,
    ends,
    finish,
    level_of,
    pool,
    size_scale,
)


class GINLayer(nn.Module):
    """Two-layer perceptron of the weighed self plus the sum of neighbours, then norm, ReLU, residual."""

    def __init__(self, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(()))
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width))
        self.norm = nn.BatchNorm1d(width)
        self.dropout = dropout

    def forward(self, h: Tensor, edge_index: Tensor, *, scale: Tensor | None = None) -> Tensor:
        """One layer."""
        mixed = (1 + self.eps) * h + kernels.neighbour_sum(edge_index, h)
        return finish(self.mlp(mixed), h, self.norm, self.dropout, training=self.training, scale=scale)


class JumpingHead(nn.Module):
    """Sum over levels of a score of that level's rows: pooled, per node, or per edge."""

    def __init__(
        self, level: Level, width: int, out: int, *, levels: int, readout: str = "sum", out_graph: int | None = None
    ) -> None:
        super().__init__()
        self.level, self.readout = level, readout
        self.scores = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, out))
            if level == "edge"
            else nn.Linear(width, out)
            for _ in range(levels)
        )
        self.graph_scores = nn.ModuleList(
            nn.Linear(width, int(out_graph or 1)) for _ in range(levels if level == "multi" else 0)
        )

    def forward(self, states: list[Tensor], data: Data) -> Any:
        """Outputs of the task."""
        if self.level == "graph":
            rows = [pool(h, data, self.readout) for h in states]
        elif self.level == "edge":
            rows = [ends(h, data.edge_index) for h in states]
        else:
            rows = states
        out = _summed(self.scores, rows)
        if self.level != "multi":
            return out
        return out, _summed(self.graph_scores, [pool(h, data, self.readout) for h in states])


def _summed(scores: nn.ModuleList, rows: list[Tensor]) -> Tensor:
    out: Tensor = scores[0](rows[0])
    for score, row in zip(scores[1:], rows[1:], strict=True):
        out = out + score(row)
    return out


@register_model(task_types=SPARSE_TASKS, name="bgnn.GIN")
class GIN(Network):
    """GIN with sum readout; link prediction scores the last level only, as in the reference."""

    def __init__(self, *channels: int, readout: str = "sum", graph_norm: bool = False, **shared: Any) -> None:
        s = Settings(*channels, readout=readout, **shared)
        layers = (GINLayer(s.hidden_channels, dropout=s.dropout) for _ in range(s.num_layers))
        super().__init__(s, layers, graph_norm=graph_norm)

    def make_head(self, s: Settings) -> nn.Module:
        """One linear score per level, but for pairs."""
        level, width, out = level_of(s.task_type), s.hidden_channels, s.out_channels
        if level == "pair":
            return Head(level, width, out)
        return JumpingHead(level, width, out, levels=s.num_layers + 1, readout=s.readout, out_graph=s.out_graph)

    def levels(self, data: Data) -> list[Tensor]:
        """Node embeddings of every level, the input's first."""
        states: list[Tensor] = [self.embed(data)]
        scale = size_scale(data, states[0], of="nodes") if self.graph_norm else None
        for block in self.blocks:
            states.append(block(states[-1], data.edge_index, scale=scale))
        return states

    def states(self, data: Data) -> Tensor:
        """Node embeddings after the last layer."""
        return self.levels(data)[-1]

    def forward(self, data: Data) -> Any:
        """Return the outputs of the task."""
        if isinstance(self.head, Head):
            return self.head(self.states(data), data)
        return self.head(self.levels(data), data)
