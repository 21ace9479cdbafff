"""RingGNN (radius 2): equivariant linear maps of pair tensors and one product of two of them."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphnetz.models.spec import register_model
from graphnetz.papers.benchmarking_gnns.models._dense import DenseBatch, DenseInput, per_graph, per_node
from graphnetz.papers.benchmarking_gnns.models._frame import (
    DENSE_TASKS,
    MLPReadout,
    PEMode,
    ends,
    level_of,
    register_variant,
)

BASIS = 15
"""Equivariant linear maps between tensors over pairs of nodes (Maron et al., 2019)."""


def _mix(weight: Tensor, values: Tensor) -> Tensor:
    """Map channels: [a, b] and [B, a, ...] to [B, b, ...]."""
    return torch.einsum("ab,za...->zb...", weight, values)


def equivariant(weight: Tensor, dense: DenseBatch, x: Tensor) -> Tensor:
    """Sum of the 15 basis maps with channel weights [a, b, 15]; sums are means over the graph's own nodes."""
    w = weight.unbind(-1)
    n = dense.sizes
    diagonal = x.diagonal(dim1=-2, dim2=-1)
    rows, columns = x.sum(-1) / n, x.sum(-2) / n
    trace = diagonal.sum(-1, keepdim=True) / n
    everything = rows.sum(-1, keepdim=True) / n
    on_diagonal = _mix(w[0], diagonal) + _mix(w[2], rows) + _mix(w[3], columns)
    on_diagonal = on_diagonal + _mix(w[1], trace) + _mix(w[4], everything)
    along_rows = _mix(w[5], columns) + _mix(w[6], rows) + _mix(w[11], diagonal)
    along_columns = _mix(w[7], columns) + _mix(w[8], rows) + _mix(w[12], diagonal)
    constant = _mix(w[13], trace) + _mix(w[14], everything)
    out = _mix(w[9], x) + _mix(w[10], x.transpose(-1, -2)) + torch.diag_embed(on_diagonal)
    return out + along_rows.unsqueeze(-1) + along_columns.unsqueeze(-2) + constant.unsqueeze(-1)


class RingLayer(nn.Module):
    """One equivariant map plus a product of two, each with a diagonal bias; ReLU."""

    def __init__(self, wide_in: int, wide_out: int, *, avg_nodes: float, residual: bool) -> None:
        super().__init__()
        scale = (2.0 / (wide_in + wide_out)) ** 0.5
        self.weights = nn.Parameter(scale * torch.randn(3, wide_in, wide_out, BASIS))
        # The third diagonal bias is never read; the reference has it, and counts it.
        self.diagonal_bias = nn.Parameter(torch.zeros(3, wide_out))
        self.bias = nn.Parameter(torch.zeros(wide_out))
        self.switch = nn.Parameter(torch.tensor([1.0, 0.5 / avg_nodes]))
        self.residual = nn.Linear(wide_in, wide_out) if residual else None

    def forward(self, dense: DenseBatch, x: Tensor) -> Tensor:
        """Return the next tensor over pairs, zero outside the graphs."""
        first, second, third = (equivariant(weight, dense, x) for weight in self.weights)
        identity = torch.eye(x.size(-1), dtype=x.dtype, device=x.device)
        first = first + self.diagonal_bias[0].view(1, -1, 1, 1) * identity
        second = second + self.diagonal_bias[1].view(1, -1, 1, 1) * identity
        product = dense.masked(third) @ dense.masked(second)
        out = torch.relu(self.switch[0] * first + self.switch[1] * product + self.bias.view(1, -1, 1, 1))
        if self.residual is not None:
            out = out + self.residual(x.movedim(1, -1)).movedim(-1, 1)
        return dense.masked(out)


@register_model(task_types=DENSE_TASKS, name="bgnn.RingGNN")
class RingGNN(nn.Module):
    """RingGNN on dense adjacency tensors; every level, the input's too, enters the readout.

    ``avg_nodes`` sets the start of the product's weight to ``0.5 / avg_nodes``.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        task_type: str = "graph_cls",
        vocabulary: tuple[int, ...] = (),
        pe_dim: int | None = None,
        pe_mode: PEMode = "add",
        edge_feat: bool = False,
        edge_dim: int | None = None,
        avg_nodes: float = 30.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.level = level_of(task_type, DENSE_TASKS)
        self.input = DenseInput(
            in_channels, vocabulary=vocabulary, pe_dim=pe_dim, pe_mode=pe_mode, edge_dim=edge_dim if edge_feat else None
        )
        widths = [self.input.channels] + [hidden_channels] * num_layers
        self.blocks = nn.ModuleList(
            RingLayer(a, b, avg_nodes=avg_nodes, residual=residual) for a, b in itertools.pairwise(widths)
        )
        self.head = MLPReadout(sum(widths) * (2 if self.level == "edge" else 1), out_channels)

    def _levels(self, dense: DenseBatch) -> list[Tensor]:
        states = [dense.x]
        for block in self.blocks:
            states.append(block(dense, states[-1]))
        return states

    def forward(self, data: Data) -> Tensor:
        """Return one row per graph, node or edge."""
        batches = self.input.batches(data)
        if self.level == "graph":
            z = per_graph(batches, lambda dense: torch.cat([x.sum((-1, -2)) for x in self._levels(dense)], dim=1))
        else:
            z = per_node(batches, lambda dense: torch.cat([x.sum(2) for x in self._levels(dense)], dim=1))
        out: Tensor = self.head(ends(z, data.edge_index) if self.level == "edge" else z)
        return out


register_variant("bgnn.RingGNN-E", RingGNN, DENSE_TASKS, edge_feat=True)
