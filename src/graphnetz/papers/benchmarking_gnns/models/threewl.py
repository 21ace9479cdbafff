"""3WL-GNN (Maron et al., 2019): perceptrons over pairs and one matrix product per block."""

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


class Pointwise(nn.Module):
    """The same linear map of the channels at every pair: a convolution with a 1 x 1 window, as a product."""

    def __init__(self, wide_in: int, wide_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(wide_out, wide_in))
        self.bias = nn.Parameter(torch.zeros(wide_out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, *parts: Tensor) -> Tensor:
        """Map tensors [B, channels, n, n], taken as one with all their channels."""
        graphs, _, n, m = parts[0].shape
        out = self.bias.view(1, -1, 1)
        for weight, part in zip(torch.split(self.weight, [x.size(1) for x in parts], dim=1), parts, strict=True):
            out = torch.baddbmm(out, weight.expand(graphs, -1, -1), part.flatten(2))
        return out.view(graphs, -1, n, m)


def _perceptron(wide_in: int, width: int) -> nn.Sequential:
    # In place: the pair tensors are large, and neither the product before nor the ReLU needs its input again.
    return nn.Sequential(Pointwise(wide_in, width), nn.ReLU(True), Pointwise(width, width), nn.ReLU(True))


class Block(nn.Module):
    """Product of two pair perceptrons beside the input, mixed by a pointwise map."""

    def __init__(self, wide_in: int, width: int, *, residual: bool) -> None:
        super().__init__()
        self.left, self.right = _perceptron(wide_in, width), _perceptron(wide_in, width)
        self.mix = Pointwise(wide_in + width, width)
        self.residual = nn.Linear(wide_in, width) if residual else None

    def forward(self, dense: DenseBatch, x: Tensor) -> Tensor:
        """Return the next tensor over pairs, zero outside the graphs."""
        product = dense.masked(self.left(x)) @ dense.masked(self.right(x))
        out: Tensor = self.mix(x, product)
        if self.residual is not None:
            out = out + self.residual(x.movedim(1, -1)).movedim(-1, 1)
        return dense.masked(out)


def extremes(dense: DenseBatch, x: Tensor) -> Tensor:
    """Largest diagonal and largest off-diagonal entry of every channel, side by side."""
    if dense.full and x.size(-1) > 1:  # nothing to hide: both are views, without a masked copy of the tensor
        nodes = x.size(-1)
        # One row less of one column more: the diagonal is then the last column, behind the first entry.
        shifted = x.flatten(-2)[..., 1:].reshape(*x.shape[:-2], nodes - 1, nodes + 1)
        return torch.cat([x.diagonal(dim1=-2, dim2=-1).amax(-1), shifted[..., :-1].amax((-1, -2))], dim=1)
    low = torch.finfo(x.dtype).min
    on_diagonal = x.diagonal(dim1=-2, dim2=-1)
    diagonal = on_diagonal.masked_fill(dense.mask.unsqueeze(1) == 0, low).amax(-1)
    identity = torch.eye(x.size(-1), dtype=torch.bool, device=x.device)
    others = x.masked_fill((dense.pairs == 0) | identity, low).amax((-1, -2))
    alone = (dense.mask.sum(1) < 2).unsqueeze(1)  # one node has no other entry than its own
    return torch.cat([diagonal, torch.where(alone, diagonal, others)], dim=1)


@register_model(task_types=DENSE_TASKS, name="bgnn.3WLGNN")
class ThreeWLGNN(nn.Module):
    """Provably as strong as the 3-dimensional Weisfeiler-Leman test; scores of the blocks are summed."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 3,
        task_type: str = "graph_cls",
        vocabulary: tuple[int, ...] = (),
        pe_dim: int | None = None,
        pe_mode: PEMode = "add",
        edge_feat: bool = False,
        edge_dim: int | None = None,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.level = level_of(task_type, DENSE_TASKS)
        self.input = DenseInput(
            in_channels, vocabulary=vocabulary, pe_dim=pe_dim, pe_mode=pe_mode, edge_dim=edge_dim if edge_feat else None
        )
        widths = [self.input.channels] + [hidden_channels] * num_layers
        self.blocks = nn.ModuleList(Block(a, b, residual=residual) for a, b in itertools.pairwise(widths))
        wide = hidden_channels * (2 if self.level == "graph" else 1)
        edge = self.level == "edge"
        self.scores = nn.ModuleList(nn.Linear(wide, out_channels) for _ in range(0 if edge else num_layers))
        self.head = MLPReadout(2 * sum(widths), out_channels) if edge else nn.Identity()

    def _levels(self, dense: DenseBatch) -> list[Tensor]:
        states = [dense.x]
        for block in self.blocks:
            states.append(block(dense, states[-1]))
        return states

    def _graph_scores(self, dense: DenseBatch) -> Tensor:
        rows = [extremes(dense, x) for x in self._levels(dense)[1:]]
        return torch.stack([score(row) for score, row in zip(self.scores, rows, strict=True)]).sum(0)

    def _node_scores(self, dense: DenseBatch) -> Tensor:
        rows = [x.sum(2).transpose(1, 2) for x in self._levels(dense)[1:]]
        summed = torch.stack([score(row) for score, row in zip(self.scores, rows, strict=True)]).sum(0)
        return summed.transpose(1, 2)

    def forward(self, data: Data) -> Tensor:
        """Return one row per graph, node or edge."""
        batches = self.input.batches(data)
        if self.level == "graph":
            return per_graph(batches, self._graph_scores)
        if self.level == "node":
            return per_node(batches, self._node_scores)
        z = per_node(batches, lambda dense: torch.cat([x.sum(2) for x in self._levels(dense)], dim=1))
        out: Tensor = self.head(ends(z, data.edge_index))
        return out


register_variant("bgnn.3WLGNN-E", ThreeWLGNN, DENSE_TASKS, edge_feat=True)
