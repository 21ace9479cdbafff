"""Graphs collated once; batches are index selections, not a fresh collation each epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

import graphnetz.kernels as kernels
from graphnetz._core.errors import DataError
from graphnetz.tasktypes.graphs import edge_features, features_of

_NODE_KEYS = {"x", "pos", "y_node", "train_mask", "val_mask", "test_mask"}
_EDGE_KEYS = {"edge_attr", "edge_weight", "edge_label"}
_SKIP = {"edge_index", "num_nodes", "batch", "ptr", "feature_rule", "x", "edge_attr", "smiles", "name"}
EVAL_NODES = 60_000
"""Nodes per evaluation batch: large enough to amortise calls, small enough for a laptop."""


@dataclass(frozen=True)
class PackedGraphs:
    """All graphs in one set of tensors, with pointers to where each begins."""

    node_ptr: Tensor
    edge_ptr: Tensor
    edge_index: Tensor
    node: Mapping[str, Tensor]
    edge: Mapping[str, Tensor]
    graph: Mapping[str, Tensor]

    @property
    def num_graphs(self) -> int:
        """How many graphs there are."""
        return self.node_ptr.numel() - 1

    @property
    def pe_dim(self) -> int | None:
        """Width of the positional encoding, where the graphs carry one."""
        return self.node["pe"].size(1) if "pe" in self.node else None

    def select(self, index: Tensor) -> Data:
        """Return the batch of the graphs ``index``, with ``batch``, ``ptr`` and ``num_graphs``."""
        if kernels.is_enabled() and self.blocks is not None:
            return self._taken(index, self.blocks.select(index))
        if self.num_graphs == 1 and index.tolist() == [0]:
            return self._whole()
        nodes, counts = _ranges(self.node_ptr, index)
        edges, edge_counts = _ranges(self.edge_ptr, index)
        ptr = torch.zeros(index.numel() + 1, dtype=torch.long, device=index.device)
        torch.cumsum(counts, 0, out=ptr[1:])
        shift = torch.repeat_interleave(ptr[:-1], edge_counts)  # stored ids count from each graph's own 0
        batch = torch.repeat_interleave(torch.arange(index.numel(), device=index.device), counts)
        return self._taken(index, (nodes, edges, self.edge_index[:, edges] + shift, batch, ptr))

    def _whole(self) -> Data:
        """The only graph: a large one is not copied."""
        nodes, edges = (torch.arange(int(ptr[1]), device=ptr.device) for ptr in (self.node_ptr, self.edge_ptr))
        data = Data(edge_index=self.edge_index, num_nodes=nodes.numel())
        data._store._mapping.update(
            {**self.node, **self.edge, **self.graph, "batch": torch.zeros_like(nodes), "ptr": self.node_ptr}
            | {"num_graphs": 1, "node_id": nodes, "edge_id": edges}
        )
        return data

    @cached_property
    def blocks(self) -> kernels.Blocks | None:
        """The graphs as the kernels select them; None for a single one and where they may not run."""
        if self.num_graphs == 1 or self.edge_index.device.type != "cpu":
            return None
        return kernels.Blocks(self.edge_index, self.node_ptr, self.edge_ptr)

    def _taken(self, index: Tensor, parts: tuple[Tensor, ...]) -> Data:
        nodes, edges, edge_index, batch, ptr = parts
        data = Data(edge_index=edge_index, num_nodes=batch.numel())
        # One update instead of a dozen attribute look-ups: small graphs make many batches.
        data._store._mapping.update(
            {key: value.index_select(0, nodes) for key, value in self.node.items()}
            | {key: value.index_select(0, edges) for key, value in self.edge.items()}
            | {key: value.index_select(0, index) for key, value in self.graph.items()}
            | {"batch": batch, "ptr": ptr, "num_graphs": index.numel(), "node_id": nodes, "edge_id": edges}
        )
        return data

    def chunks(self, index: Tensor) -> Iterator[Tensor]:
        """Cut ``index`` into pieces of at most `EVAL_NODES` nodes (a larger graph stands alone)."""
        sizes = (self.node_ptr[1:] - self.node_ptr[:-1])[index]
        start = total = 0
        for position, size in enumerate(sizes.tolist()):
            if position > start and total + size > EVAL_NODES:
                yield index[start:position]
                start, total = position, 0
            total += size
        yield index[start:]


def _ranges(ptr: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenate the ranges ``ptr[i]:ptr[i+1]`` and return them with their lengths."""
    starts = ptr[index]
    counts = ptr[index + 1] - starts
    ends = torch.cumsum(counts, 0)
    total = int(ends[-1]) if counts.numel() else 0
    flat = torch.arange(total, device=index.device) + torch.repeat_interleave(starts - (ends - counts), counts)
    return flat, counts


def pack(graphs: Sequence[Data], *, node_targets: Sequence[str] = ()) -> PackedGraphs:
    """Collate ``graphs``; features are made where a dataset has none.

    Attributes are filed as node, edge or graph values by name, then by length; those that fit
    nowhere (strings, ragged values) are left out.
    """
    nodes = torch.tensor([int(graph.num_nodes or 0) for graph in graphs])
    edges = torch.tensor([graph.edge_index.size(1) for graph in graphs])
    node_ptr = torch.cat([torch.zeros(1, dtype=torch.long), nodes.cumsum(0)])
    edge_ptr = torch.cat([torch.zeros(1, dtype=torch.long), edges.cumsum(0)])
    largest = int(nodes.max())
    columns: dict[str, dict[str, Tensor]] = {"node": {}, "edge": {}, "graph": {}}
    features = [features_of(graph, graph.edge_index, scale=largest) for graph in graphs]
    for number, graph in enumerate(graphs):
        if (graph.x is None) != (graphs[0].x is None) or features[number].shape[1:] != features[0].shape[1:]:
            wide = "no node features" if graph.x is None else f"{features[number].size(1)} node features"
            first = "none" if graphs[0].x is None else features[0].size(1)
            raise DataError(f"Graph {number} has {wide} and graph 0 has {first}. Give every graph the same columns.")
    columns["node"]["x"] = torch.cat(features)
    if columns["node"]["x"].dtype in (torch.bool, torch.float64, torch.float16, torch.float32):
        columns["node"]["x"] = columns["node"]["x"].to(torch.get_default_dtype())
    attributes = edge_features(graphs)
    if attributes is not None:
        columns["edge"]["edge_attr"] = torch.cat(attributes)
    names = graphs[0].keys()  # a method of Data: iterating the graph itself gives pairs
    for key in names:
        if key in _SKIP or key not in graphs[0]:
            continue
        values = [graph.get(key) for graph in graphs]
        filed = _file(key, values, nodes, edges, key in node_targets)
        if filed is not None:
            columns[filed[0]][key] = filed[1]
    edges_of = [graph.edge_index for graph in graphs]
    edge_index = edges_of[0] if len(graphs) == 1 else torch.cat(edges_of, dim=1)
    return PackedGraphs(node_ptr, edge_ptr, edge_index, columns["node"], columns["edge"], columns["graph"])


def _file(key: str, values: Sequence[Any], nodes: Tensor, edges: Tensor, is_node: bool) -> tuple[str, Tensor] | None:
    tensors = [
        v if isinstance(v, Tensor) else torch.tensor(v) if isinstance(v, (int, float, bool)) else None for v in values
    ]
    if any(t is None for t in tensors):
        return None
    rows = [t.reshape(1) if t.dim() == 0 else t for t in tensors if t is not None]
    if any(r.shape[1:] != rows[0].shape[1:] for r in rows):
        return None
    lengths = torch.tensor([r.size(0) for r in rows])
    if key in _EDGE_KEYS and torch.equal(lengths, edges):
        return "edge", torch.cat(rows)
    if (is_node or key in _NODE_KEYS) and torch.equal(lengths, nodes):
        return "node", torch.cat(rows)
    if key not in ("y", "y_graph") and torch.equal(lengths, nodes):
        return "node", torch.cat(rows)
    if key not in ("y", "y_graph") and torch.equal(lengths, edges):
        return "edge", torch.cat(rows)
    if bool((lengths == 1).all()):
        return "graph", torch.cat(rows)
    if len({r.shape for r in rows}) == 1:
        return "graph", torch.stack(rows)
    return None
