"""MoNet: Gaussian mixture kernels over degree pseudo-coordinates."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._frame import SPARSE_TASKS, Network, Settings, degree, total

COORDINATES = 2
"""Pseudo-coordinates per edge: inverse roots of the in-degrees (plus one) of its ends."""


class MoNetLayer(nn.Module):
    """Sum over kernels and neighbours; the bias enters after the residual, as in the reference."""

    def __init__(self, width: int, *, kernels: int = 3, dropout: float = 0.0) -> None:
        super().__init__()
        self.kernels, self.dropout = kernels, dropout
        self.project = nn.Linear(COORDINATES, COORDINATES)
        self.linear = nn.Linear(width, kernels * width, bias=False)
        self.mean = nn.Parameter(torch.empty(kernels, COORDINATES))
        self.inverse_scale = nn.Parameter(torch.ones(kernels, COORDINATES))
        self.bias = nn.Parameter(torch.zeros(width))
        self.norm = nn.BatchNorm1d(width)
        nn.init.xavier_normal_(self.linear.weight, gain=2**0.5)
        nn.init.normal_(self.mean, 0.0, 0.1)

    def forward(self, h: Tensor, edge_index: Tensor, *, scale: Tensor | None = None) -> Tensor:
        """One layer; ``scale`` is that of graph-size normalisation."""
        source, target = edge_index
        nodes, width = h.shape
        root = (degree(target, nodes, h) + 1).rsqrt()
        u = torch.tanh(self.project(torch.stack([root[source], root[target]], dim=1)))
        distance = ((u.unsqueeze(1) - self.mean) * self.inverse_scale).square().sum(-1)
        weight = torch.exp(-0.5 * distance)
        messages = self.linear(h).view(nodes, self.kernels, width)[source]
        mixed = total((weight.unsqueeze(-1) * messages).sum(1), target, nodes)
        out = torch.relu(self.norm(mixed if scale is None else mixed * scale)) + h + self.bias
        return F.dropout(out, self.dropout, self.training)


@register_model(task_types=SPARSE_TASKS, name="bgnn.MoNet")
class MoNet(Network):
    """MoNet with ``kernels`` Gaussian kernels per layer."""

    def __init__(self, *channels: int, kernels: int = 3, graph_norm: bool = False, **shared: Any) -> None:
        s = Settings(*channels, **shared)
        layers = (MoNetLayer(s.hidden_channels, kernels=kernels, dropout=s.dropout) for _ in range(s.num_layers))
        super().__init__(s, layers, graph_norm=graph_norm)
