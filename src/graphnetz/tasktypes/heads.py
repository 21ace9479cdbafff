"""Adapters: what turns a node-level encoder into a model of each task (GraphNetz, section 2)."""

from __future__ import annotations

import copy
import inspect
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import Sequential, global_add_pool, global_max_pool, global_mean_pool

import graphnetz.kernels as kernels
from graphnetz._core.errors import DataError
from graphnetz.tasktypes.base import Dims, EncoderBuilder

Pool = Literal["mean", "sum", "max"]
_POOLS = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


def per_node(z: Any, data: Data) -> Tensor:
    """Return ``z``, or refuse what does not hold one row per node: kernels read rows by the numbers of nodes."""
    if not isinstance(z, Tensor) or z.dim() != 2 or z.size(0) != data.num_nodes:
        got = f"a tensor of shape {tuple(z.shape)}" if isinstance(z, Tensor) else type(z).__name__
        raise DataError(f"The encoder returned {got} for {data.num_nodes} nodes. Return one row per node.")
    return z


def pooled(z: Tensor, data: Data, how: Pool = "mean") -> Tensor:
    """One row per graph from one row per node, by the kernels where they may run."""
    z = per_node(z, data)
    ptr = data.get("ptr")
    if ptr is not None and kernels.usable(z) and ptr.device.type == "cpu":
        return kernels.pool(z, ptr, how)
    batch = data.batch if data.batch is not None else z.new_zeros(z.size(0), dtype=torch.long)
    out: Tensor = _POOLS[how](z, batch, size=data.get("num_graphs"))
    return out


_FROM_GRAPH = ("x", "edge_index", "edge_weight", "edge_attr", "batch", "edge_type", "pos")
"""Parameters of a ``forward`` that are filled with what the graph has under the same name."""


def from_graph(model: Any) -> Any:
    """Return a model that is called with a graph: itself, or wrapped where its ``forward`` takes ``(x, ...)``."""
    if not isinstance(model, nn.Module):
        return model
    own = hasattr(model, "encode") and hasattr(model, "decode")
    takes = _parameters(model, "encode" if own else "forward")
    if "x" not in takes and sum(takes.values()) < 2:
        return model
    return PairsFromGraph(model) if own else FromGraph(model)


def _parameters(model: nn.Module, method: str) -> dict[str, bool]:
    """Names of the parameters of a method, and whether each must be given."""
    if isinstance(model, Sequential) and method == "forward":
        return dict.fromkeys(model.signature.param_dict, True)
    found = inspect.signature(getattr(model, method)).parameters.values()
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {item.name: item.default is item.empty for item in found if item.kind not in rest}


def _why(lacking: list[str]) -> str:
    """Say why a parameter of ``forward`` cannot be filled, and what to do."""
    if set(lacking) <= set(_FROM_GRAPH):
        return "which this graph does not have. Give it a default, or choose data that has it."
    return f"which graphnetz does not know. It passes by name: {', '.join(_FROM_GRAPH)}; or take data alone."


class FromGraph(nn.Module):
    """Calls a module whose ``forward`` takes ``(x, edge_index, ...)`` with what the graph has of it.

    ``edge_weight``, ``edge_attr``, ``batch`` and others are passed where ``forward`` names them, in any order, and the
    graph carries them; edge attributes that it can do without only where a layer was built for them. Weights that it
    cannot do without are ones where the graph has none.
    """

    method = "forward"

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        parameters = _parameters(inner, self.method)
        self.needed = {name for name, must in parameters.items() if must}
        self.wanted = [key for key in _FROM_GRAPH if key in parameters]
        if "edge_attr" not in self.needed and not any(getattr(part, "edge_dim", None) for part in inner.modules()):
            self.wanted = [key for key in self.wanted if key != "edge_attr"]

    def arguments(self, data: Data) -> dict[str, Any]:
        """What the graph has of the parameters; what is missing and needed is refused in one sentence."""
        found = {key: value for key in self.wanted if (value := data.get(key)) is not None}
        if "edge_weight" in found:
            found["edge_weight"] = found["edge_weight"].reshape(-1)
        if "batch" in self.needed and "batch" not in found:
            found["batch"] = data.x.new_zeros(data.x.size(0), dtype=torch.long)
        if "edge_weight" in self.needed and "edge_weight" not in found:
            found["edge_weight"] = data.x.new_ones(data.edge_index.size(1), dtype=torch.get_default_dtype())
        if lacking := sorted(self.needed - set(found)):
            raise DataError(f"{type(self.inner).__name__}.{self.method} asks for {', '.join(lacking)}, {_why(lacking)}")
        return found

    def forward(self, data: Data) -> Any:
        """Return what the module returns."""
        return self.inner(**self.arguments(data))


class PairsFromGraph(FromGraph):
    """The same for a module with ``encode(x, edge_index, ...)`` and ``decode(z, edge_label_index)``."""

    method = "encode"

    def encode(self, data: Data) -> Any:
        """Return one embedding per node."""
        return self.inner.encode(**self.arguments(data))  # type: ignore[operator]

    def decode(self, z: Tensor, *pairs: Tensor) -> Any:
        """Return one logit per pair."""
        return self.inner.decode(z, *pairs)  # type: ignore[operator]

    def forward(self, data: Data) -> Any:
        """Alias of `encode`."""
        return self.encode(data)


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
        return per_node(self.encoder(data), data)

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
        return per_node(self.encoder(data), data)

    def decode(self, z: Tensor, edge_label_index: Tensor, edge_type: Tensor) -> Tensor:
        """Return one logit per triple."""
        return (z[edge_label_index[0]] * self.relation[edge_type] * z[edge_label_index[1]]).sum(dim=-1)

    def score_all(self, z: Tensor, given: Tensor, edge_type: Tensor) -> Tensor:
        """Return the logits of all entities at the other end of the given ones; both ends are alike here."""
        return (z[given] * self.relation[edge_type]) @ z.t()

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
        z = per_node(self.encoder(data), data)
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
        z = per_node(self.encoder(data), data)
        return self.node(z), self.graph(pooled(z, data))
