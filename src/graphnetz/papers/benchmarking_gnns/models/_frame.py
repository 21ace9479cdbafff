"""What the architectures of Dwivedi et al. (2023) share: input, task heads, and the frame around the layers."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self, get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import one_hot, scatter

import graphnetz.kernels as kernels
from graphnetz._core.errors import UsageError
from graphnetz.models.spec import MODELS, ModelSpec
from graphnetz.tasktypes.encodings import positions

Level = Literal["graph", "node", "edge", "pair", "multi"]
PEMode = Literal["add", "replace"]
Variant = Literal["isotropic", "edge_feature", "edge_representation"]
"""Treatments of edges that the edge study compares."""

LEVELS: dict[str, Level] = {
    "graph_cls": "graph",
    "graph_reg": "graph",
    "node_cls": "node",
    "edge_cls": "edge",
    "link_pred": "pair",
    "multi_reg": "multi",
}
"""Which head each task type gets."""

SPARSE_TASKS = frozenset(LEVELS)
DENSE_TASKS = frozenset({"graph_cls", "graph_reg", "node_cls", "edge_cls"})
"""Models on dense adjacency tensors need many small graphs: no link prediction, no joint targets."""


def level_of(task_type: str, allowed: Iterable[str] = SPARSE_TASKS) -> Level:
    """Head for a task type, or an error that lists the ones served."""
    if task_type not in allowed:
        raise UsageError(f"This model has no head for {task_type!r}. It serves: {', '.join(sorted(allowed))}.")
    return LEVELS[task_type]


def register_variant(name: str, cls: type, task_types: frozenset[str] = SPARSE_TASKS, **kwargs: Any) -> None:
    """Register ``cls`` under ``name`` with some constructor arguments fixed."""
    if not MODELS.registered(name):
        MODELS.add(name, ModelSpec(cls, task_types, kwargs=kwargs))


def total(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Sum rows that share an index."""
    return kernels.row_sum(values, index, size)


def degree(index: Tensor, size: int, like: Tensor) -> Tensor:
    """How often each index occurs, in the floating type of ``like``."""
    return torch.bincount(index, minlength=size).to(like.dtype)


def membership(data: Data, size: int) -> tuple[Tensor, int]:
    """Graph number of each node, and the number of graphs."""
    if data.batch is None:
        return torch.zeros(size, dtype=torch.long, device=data.edge_index.device), 1
    known = data.get("num_graphs")
    return data.batch, int(known) if known is not None else int(data.batch.max()) + 1


def pool(z: Tensor, data: Data, readout: str) -> Tensor:
    """Sum or mean of the node rows of each graph."""
    batch, graphs = membership(data, z.size(0))
    out: Tensor = scatter(z, batch, dim=0, dim_size=graphs, reduce=readout)
    return out


class MLPReadout(nn.Sequential):
    """Three linear layers with ReLU between them, halving the width twice."""

    def __init__(self, width: int, out: int) -> None:
        half, quarter = max(width // 2, 1), max(width // 4, 1)
        super().__init__(
            nn.Linear(width, half), nn.ReLU(), nn.Linear(half, quarter), nn.ReLU(), nn.Linear(quarter, out)
        )


def ends(z: Tensor, index: Tensor) -> Tensor:
    """Embeddings of both ends of each pair, side by side."""
    return torch.cat([z[index[0]], z[index[1]]], dim=1)


class Head(nn.Module):
    """From node embeddings to the outputs of a task."""

    def __init__(
        self, level: Level, width: int, out: int, *, out_graph: int | None = None, readout: str = "mean"
    ) -> None:
        super().__init__()
        self.level, self.readout = level, readout
        wide = 2 * width if level in ("edge", "pair") else width
        self.mlp = MLPReadout(wide, 1 if level == "pair" else out)
        self.graph = MLPReadout(width, int(out_graph or 1)) if level == "multi" else None

    def forward(self, z: Tensor, data: Data) -> Any:
        """Rows per graph, node or edge, or both node and graph outputs."""
        if self.graph is not None:
            return self.mlp(z), self.graph(pool(z, data, self.readout))
        if self.level == "graph":
            return self.mlp(pool(z, data, self.readout))
        return self.mlp(z if self.level == "node" else ends(z, data.edge_index))

    def pairs(self, z: Tensor, index: Tensor) -> Tensor:
        """One logit per pair of nodes."""
        out: Tensor = self.mlp(ends(z, index)).squeeze(-1)
        return out


class NodeInput(nn.Module):
    """Embed categories or project real features; positional encodings are added or stand instead."""

    def __init__(
        self, in_channels: int, width: int, *, vocabulary: tuple[int, ...], pe_dim: int | None, pe_mode: PEMode
    ) -> None:
        super().__init__()
        if pe_mode not in ("add", "replace"):
            raise UsageError(f"Unknown pe_mode {pe_mode!r}. Known: add, replace.")
        replaced = pe_dim is not None and pe_mode == "replace"
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in (() if replaced else vocabulary))
        self.linear = None if replaced or vocabulary else nn.Linear(in_channels, width)
        self.pe = None if pe_dim is None else nn.Linear(pe_dim, width)

    def forward(self, data: Data) -> Tensor:
        """One row per node."""
        parts: list[Tensor] = [table(data.x[:, column]) for column, table in enumerate(self.tables)]
        if self.linear is not None:
            parts.append(self.linear(data.x))
        if self.pe is not None:
            parts.append(self.pe(positions(data, training=self.training)))
        out = parts[0]
        for part in parts[1:]:
            out = out + part
        return out


class EdgeInput(nn.Module):
    """Edge features to the hidden width; every edge is a constant where they are not asked for or not there.

    ``num_bond_types`` counts categories: a projection of their one-hot rows without bias is an
    embedding table, and takes class numbers and the engine's one-hot rows alike.
    """

    def __init__(
        self, width: int, *, edge_feat: bool, edge_dim: int | None, num_bond_types: int | None, edge_ones: int = 1
    ) -> None:
        super().__init__()
        self.types = num_bond_types
        self.real = edge_feat and bool(num_bond_types or edge_dim)
        self.wide = (num_bond_types or edge_dim or edge_ones) if self.real else (num_bond_types or edge_ones)
        self.linear = nn.Linear(self.wide, width, bias=num_bond_types is None)

    def rows(self, data: Data, like: Tensor) -> Tensor:
        """One row per edge, or one for all of them where they are a constant."""
        return self.linear(like.new_ones(1, self.wide)) if not self.real else self(data, like)  # type: ignore[no-any-return]

    def forward(self, data: Data, like: Tensor) -> Tensor:
        """One row per edge."""
        edges = data.edge_index.size(1)
        if not self.real:
            return self.rows(data, like).expand(edges, -1)
        attr = data.edge_attr
        if attr is None:
            raise UsageError("This model was built with edge features, but the graph has no edge_attr.")
        if not attr.is_floating_point():
            attr = one_hot(attr.reshape(-1), self.wide, dtype=like.dtype)
        out: Tensor = self.linear(attr.reshape(edges, self.wide).to(like.dtype))
        return out


class Features(nn.Module):
    """The node features as they are."""

    def forward(self, data: Data) -> Tensor:
        """One row per node."""
        x: Tensor = data.x
        return x


@dataclass
class Settings:
    """What the constructors of all networks take."""

    in_channels: int
    hidden_channels: int
    out_channels: int
    _: KW_ONLY
    num_layers: int = 4
    task_type: str = "graph_cls"
    vocabulary: tuple[int, ...] = ()
    out_graph: int | None = None
    pe_dim: int | None = None
    pe_mode: PEMode = "add"
    readout: str = "mean"
    dropout: float = 0.0

    def with_heads(self, heads: int) -> Self:
        """The same for a network of ``hidden_channels`` per head."""
        return replace(self, hidden_channels=self.hidden_channels * heads)

    def heads_of_layers(self, heads: int) -> list[int]:
        """Heads of each layer: one in the last."""
        return [heads] * (self.num_layers - 1) + [1] * (self.num_layers > 0)

    def node_input(self) -> NodeInput:
        """The input of nodes."""
        return NodeInput(
            self.in_channels, self.hidden_channels, vocabulary=self.vocabulary, pe_dim=self.pe_dim, pe_mode=self.pe_mode
        )

    def edge_input(self) -> nn.Module | None:
        """The input of edges, where they are looked at."""
        return None


@dataclass(kw_only=True)
class EdgeSettings(Settings):
    """Those of networks that know edge states."""

    variant: Variant
    edge_feat: bool = False
    edge_dim: int | None = None
    num_bond_types: int | None = None
    edge_ones: int = 1

    def __post_init__(self) -> None:
        if self.variant not in get_args(Variant):
            raise UsageError(f"Unknown variant {self.variant!r}. Known: {', '.join(get_args(Variant))}.")

    def edge_input(self) -> nn.Module | None:
        """The input of edges."""
        return EdgeInput(
            self.hidden_channels,
            edge_feat=self.edge_feat,
            edge_dim=self.edge_dim,
            num_bond_types=self.num_bond_types,
            edge_ones=self.edge_ones,
        )


class Network(nn.Module):
    """Input, layers and a head; also speaks the language of link prediction."""

    settings: type[Settings] = Settings
    graph_norm: bool = False

    def __init_subclass__(cls) -> None:
        """Show the settings that all have among the constructor's own, as ``ModelSpec`` reads them."""
        own = inspect.signature(cls.__init__).parameters
        if "shared" in own:
            added = {name: p for name, p in own.items() if p.kind is p.KEYWORD_ONLY}
            every = {**inspect.signature(cls.settings).parameters, **added}
            cls.__signature__ = inspect.Signature(list(every.values()))  # type: ignore[attr-defined]

    def __init__(
        self,
        s: Settings,
        layers: Iterable[nn.Module],
        *,
        embed: bool = True,
        edges: bool = True,
        graph_norm: bool = False,
    ) -> None:
        super().__init__()
        self.graph_norm = graph_norm
        self.embed = s.node_input() if embed else Features()
        self.edge_embed: Any = s.edge_input() if edges else None
        self.blocks = nn.ModuleList(layers)  # made here, so that parameters are drawn from the input to the head
        self.head: Any = self.make_head(s)

    def make_head(self, s: Settings) -> nn.Module:
        """What follows the layers."""
        return Head(level_of(s.task_type), s.hidden_channels, s.out_channels, out_graph=s.out_graph, readout=s.readout)

    def states(self, data: Data) -> Tensor:
        """Node embeddings after the last layer."""
        h: Tensor = self.embed(data)
        scale = {"scale": size_scale(data, h, of="nodes")} if self.graph_norm else {}
        for block in self.blocks:
            h = block(h, data.edge_index, **scale)
        return h

    def forward(self, data: Data) -> Any:
        """Return the outputs of the task."""
        return self.head(self.states(data), data)

    def encode(self, data: Data) -> Tensor:
        """Node embeddings, for link prediction."""
        return self.states(data)

    def decode(self, z: Tensor, edge_label_index: Tensor, edge_type: Tensor | None = None) -> Tensor:
        """One logit per pair."""
        if edge_type is not None:
            raise UsageError("This model scores pairs without relation types. Use a model with a relational head.")
        out: Tensor = self.head.pairs(z, edge_label_index)
        return out


def size_scale(data: Data, rows: Tensor, *, of: Literal["nodes", "edges"]) -> Tensor:
    """Factor of graph-size normalisation for every node or edge: one over the root of their number in its graph."""
    batch, graphs = membership(data, rows.size(0))
    index = batch if of == "nodes" else batch[data.edge_index[0]]
    return degree(index, graphs, rows).clamp_(min=1).rsqrt()[index].unsqueeze(1)


def finish(
    h: Tensor,
    before: Tensor,
    norm: nn.Module | None,
    dropout: float,
    *,
    training: bool,
    scale: Tensor | None = None,
) -> Tensor:
    """Batch norm, ReLU, residual where the widths agree, dropout: the end of most layers.

    ``scale`` is that of graph-size normalisation, before the batch norm.
    """
    h = h if scale is None else h * scale
    added = before if before.size(-1) == h.size(-1) else None
    if isinstance(norm, nn.BatchNorm1d):
        h = kernels.norm_relu_add(h, added, norm)
    else:
        h = torch.relu(h if norm is None else norm(h))
        h = h if added is None else added + h
    return nn.functional.dropout(h, dropout, training)
