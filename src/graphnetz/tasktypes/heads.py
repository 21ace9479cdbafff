"""Adapters: what turns a node-level encoder into a model of each task (GraphNetz, section 2)."""

from __future__ import annotations

import copy
import inspect
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

import graphnetz.kernels as kernels
from graphnetz.tasktypes.base import Dims, EncoderBuilder

Pool = Literal["mean", "sum", "max"]
_POOLS = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


def pooled(z: Tensor, data: Data, how: Pool = "mean") -> Tensor:
    """One row per graph from one row per node, by the kernels where they may run."""
    ptr = data.get("ptr")
    if ptr is not None and kernels.usable(z) and ptr.device.type == "cpu":
        return kernels.pool(z, ptr, how)
    batch = data.batch if data.batch is not None else z.new_zeros(z.size(0), dtype=torch.long)
    out: Tensor = _POOLS[how](z, batch, size=data.get("num_graphs"))
    return out


class FromGraph(nn.Module):
    """Calls a module whose ``forward`` takes ``(x, edge_index, ...)`` with what the graph has of it.

    ``edge_weight``, ``edge_attr`` and ``batch`` are passed where ``forward`` names them and the graph carries them;
    edge attributes only where a layer was built for them.
    """

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        names = inspect.signature(inner.forward).parameters
        wanted = [key for key in ("edge_weight", "edge_attr", "batch") if key in names]
        if not any(getattr(part, "edge_dim", None) for part in inner.modules()):
            wanted = [key for key in wanted if key != "edge_attr"]
        self.wanted = wanted

    @staticmethod
    def needed(module: Any) -> bool:
        """Whether the first two arguments of ``forward`` are node features and edges rather than a graph."""
        if not isinstance(module, nn.Module) or hasattr(module, "encode"):
            return False
        return list(inspect.signature(module.forward).parameters)[:2] == ["x", "edge_index"]

    def forward(self, data: Data) -> Any:
        """Return what the module returns."""
        options = {key: value for key in self.wanted if (value := data.get(key)) is not None}
        if "edge_weight" in options:
            options["edge_weight"] = options["edge_weight"].reshape(-1)
        return self.inner(data.x, data.edge_index, **options)


class EmbedInput(nn.Module):
    """Sum of one embedding per integer feature column, in front of any model."""

    def __init__(self, vocabulary: tuple[int, ...], width: int, inner: nn.Module) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in vocabulary)
        self.inner = inner

    def forward(self, data: Data) -> Any:
        """Replace ``data.x`` by its embedding and go on."""
        view = copy.copy(data)  # shallow: the caller's graph keeps its category numbers
        x = data.x
        view.x = torch.stack([table(x[:, c]) for c, table in enumerate(self.tables)]).sum(0)
        return self.inner(view)


def embedded(build: EncoderBuilder, dims: Dims, hidden: int, out: int) -> nn.Module:
    """Build an encoder, behind an embedding when features are categories."""
    if not dims.vocabulary:
        return build(dims.in_channels, hidden, out)
    return EmbedInput(dims.vocabulary, hidden, build(hidden, hidden, out))


class GraphHead(nn.Module):
    """Pool node embeddings, then one linear layer."""

    def __init__(self, encoder: nn.Module, hidden_channels: int, out_channels: int, pool: Pool = "mean") -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(hidden_channels, out_channels)
        self.pool = pool

    def forward(self, data: Data) -> Tensor:
        """Return one row per graph."""
        out: Tensor = self.head(pooled(self.encoder(data), data, self.pool))
        return out


class LinkHead(nn.Module):
    """Score a pair by the dot product of its embeddings."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def encode(self, data: Data) -> Tensor:
        """Return one embedding per node."""
        z: Tensor = self.encoder(data)
        return z

    @staticmethod
    def decode(z: Tensor, edge_label_index: Tensor) -> Tensor:
        """Return one logit per pair."""
        if kernels.usable(z):
            return kernels.pair_scores(z, edge_label_index)
        return (z[edge_label_index[0]] * z[edge_label_index[1]]).sum(dim=-1)

    def forward(self, data: Data) -> Tensor:
        """Alias of `encode`."""
        return self.encode(data)


class DistMultHead(nn.Module):
    """Score a triple by the DistMult product (Yang et al., 2015)."""

    def __init__(self, encoder: nn.Module, hidden_channels: int, num_relations: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.relation = nn.Parameter(torch.empty(num_relations, hidden_channels))
        nn.init.xavier_uniform_(self.relation)

    def encode(self, data: Data) -> Tensor:
        """Return one embedding per entity."""
        z: Tensor = self.encoder(data)
        return z

    def decode(self, z: Tensor, edge_label_index: Tensor, edge_type: Tensor) -> Tensor:
        """Return one logit per triple."""
        return (z[edge_label_index[0]] * self.relation[edge_type] * z[edge_label_index[1]]).sum(dim=-1)

    def forward(self, data: Data) -> Tensor:
        """Alias of `encode`."""
        return self.encode(data)


class EdgeHead(nn.Module):
    """Classify an edge from both ends' embeddings and, where there are any, its own attributes."""

    def __init__(self, encoder: nn.Module, hidden_channels: int, out_channels: int, edge_dim: int = 0) -> None:
        super().__init__()
        self.encoder = encoder
        self.edge_dim = edge_dim
        self.head = nn.Sequential(
            nn.Linear(2 * hidden_channels + edge_dim, hidden_channels),
            nn.ReLU(),
            nn.Linear(hidden_channels, out_channels),
        )

    def forward(self, data: Data) -> Tensor:
        """Return one row per edge of ``data.edge_index``."""
        z = self.encoder(data)
        first, relu, last = cast("tuple[nn.Linear, nn.ReLU, nn.Linear]", tuple(self.head))
        # The first layer is applied to the nodes, not to every edge's copy of them: W [u, v, e] = Wu u + Wv v + We e.
        width = z.size(1)
        source, target, own = torch.split(first.weight, [width, width, self.edge_dim], dim=1)
        edge = nn.functional.linear(data.edge_attr, own, first.bias) if self.edge_dim else first.bias.unsqueeze(0)
        hidden = kernels.ends_sum(data.edge_index, edge, z @ source.t(), z @ target.t())
        out: Tensor = last(relu(hidden))
        return out


class MultiHead(nn.Module):
    """Node and graph targets from one encoder."""

    def __init__(self, encoder: nn.Module, hidden_channels: int, out_node: int, out_graph: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.node = nn.Linear(hidden_channels, out_node)
        self.graph = nn.Linear(hidden_channels, out_graph)

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        """Return node outputs and graph outputs."""
        z = self.encoder(data)
        return self.node(z), self.graph(pooled(z, data))
