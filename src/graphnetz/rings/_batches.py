"""Graphs as arrays, cut into connected components and gathered into batches of equal size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from torch_geometric.data import Batch, Data

from graphnetz._core.errors import DataError
from graphnetz.datasets import task_from_edges
from graphnetz.rings.perturbations import check_graph
from graphnetz.rings.spaces import EPS, Array

BATCH_ENTRIES = 1 << 15
"""Matrix entries per batch: small enough for a core's cache, large enough to hide call overhead."""
CHUNK_ENTRIES = 1 << 23
CHUNK_GRAPHS = 8192
MAX_NODES = 15_000
"""Largest space held as a dense matrix; beyond it, sample ego-graphs."""

Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PlainGraph:
    """One graph: size, edges ``[2, e]``, features ``[n, d]`` or None, resolution of their type."""

    n: int
    edges: Index
    x: Array | None
    eps: float
    lengths: Array | None = None


def as_arrays(data: Data, index: int, *, weights: str | None = None) -> PlainGraph:
    """Read one graph and refuse what has no meaning, naming the graph."""
    check_graph(data)
    edges = data.edge_index.detach().cpu().numpy()
    n = int(data.num_nodes or 0)
    if edges.size and (edges.min() < 0 or edges.max() >= n):
        raise DataError(f"Graph {index} has {n} nodes but its edges name node {int(edges.max())}.")
    lengths = _lengths(data, index, weights) if weights is not None else None
    if data.x is None:
        return PlainGraph(n, edges, None, EPS, lengths)
    raw = data.x.detach().cpu().numpy()
    if raw.ndim != 2 or raw.shape[0] != n:
        raise DataError(
            f"Graph {index} has node features of shape {tuple(raw.shape)}; [{n}, d] is needed. "
            "Reshape x to one row per node."
        )
    x = raw.astype(np.float64)
    if not np.isfinite(x).all():
        raise DataError(f"Graph {index} has NaN or infinite node features. Remove or impute them first.")
    eps = float(np.finfo(raw.dtype).eps) if raw.dtype.kind == "f" else EPS
    return PlainGraph(n, edges, x, eps, lengths)


def _lengths(data: Data, index: int, weights: str) -> Array:
    if weights not in data:
        raise DataError(f"Graph {index} has no edge attribute {weights!r} to take lengths from.")
    values: Array = data[weights].detach().cpu().numpy().astype(np.float64).reshape(-1)
    if len(values) != data.edge_index.shape[1] or not np.all(np.isfinite(values) & (values > 0)):
        raise DataError(f"Lengths {weights!r} of graph {index} must be one positive number per edge.")
    return values


def stream(graphs: Any) -> Iterable[Any]:
    """Return an iterable of graphs from one Data, a Batch, a list, a dataset, a generator or a graph file."""
    if isinstance(graphs, str | os.PathLike):
        return [task_from_edges("graph", graphs, task_type="link_pred").loader()]
    if isinstance(graphs, Batch):
        return list(graphs.to_data_list())
    if isinstance(graphs, Data):
        return [graphs]
    items: Iterable[Any] = graphs
    return items


def chunks(graphs: Any) -> Iterator[tuple[int, list[Data]]]:
    """Cut a stream of graphs into lists of bounded size, each with the index of its first graph."""
    part: list[Data] = []
    start = entries = 0
    for data in stream(graphs):
        if part and (entries > CHUNK_ENTRIES or len(part) >= CHUNK_GRAPHS):
            yield start, part
            start, part, entries = start + len(part), [], 0
        part.append(data)
        entries += int(data.num_nodes or 0) ** 2
    if part:
        yield start, part


@dataclass(frozen=True)
class SpaceBatch:
    """Node sets of one size: the graph each belongs to, its features, its adjacency when connected."""

    graph: Index
    size: int
    x: Array | None
    adjacency: Array | None


@dataclass(frozen=True)
class Partition:
    """A chunk of graphs with its connected components."""

    graphs: Sequence[PlainGraph]
    sizes: Index
    components: Index
    joined: npt.NDArray[np.bool_]
    order: Index = field(repr=False)
    starts: Index = field(repr=False)
    owner: Index = field(repr=False)
    edges: Index = field(repr=False)
    values: Array = field(repr=False)
    local: Index = field(repr=False)

    @classmethod
    def of(cls, graphs: Sequence[PlainGraph]) -> Partition:
        """Find the components of all graphs of the chunk at once."""
        from scipy.sparse import coo_array, csgraph

        sizes = np.array([graph.n for graph in graphs], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        total = int(offsets[-1])
        edges = np.concatenate(
            [np.asarray(g.edges, dtype=np.int64) + off for g, off in zip(graphs, offsets[:-1], strict=True)]
            or [np.empty((2, 0), dtype=np.int64)],
            axis=1,
        )
        values = _edge_values(graphs)
        matrix = coo_array((np.ones(edges.shape[1], dtype=np.int8), (edges[0], edges[1])), shape=(total, total))
        count, label = csgraph.connected_components(matrix, directed=False)
        of_node = np.repeat(np.arange(len(graphs)), sizes)
        order = np.argsort(label, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(label, minlength=count))]).astype(np.int64)
        owner = of_node[order[starts[:-1]]] if count else np.empty(0, dtype=np.int64)
        rank = np.empty(total, dtype=np.int64)
        rank[order] = np.arange(total) - np.repeat(starts[:-1], np.diff(starts))
        by_component = np.argsort(label[edges[0]], kind="stable")
        edges, values = edges[:, by_component], values[by_component]
        joined = np.zeros(len(graphs), dtype=bool)
        joined[of_node[edges[0][edges[0] != edges[1]]]] = True
        return cls(
            graphs=graphs,
            sizes=sizes,
            components=np.bincount(owner, minlength=len(graphs)),
            joined=joined,
            order=order - offsets[of_node[order]],
            starts=starts,
            owner=owner,
            edges=np.stack([rank[edges[0]], rank[edges[1]], label[edges[0]]]),
            values=values,
            local=np.searchsorted(label[edges[0]], np.arange(count + 1)) if count else np.zeros(1, dtype=np.int64),
        )

    def spaces(self, *, features: bool) -> Iterator[SpaceBatch]:
        """Yield the components of at least two nodes."""
        size = np.diff(self.starts)
        for batch in _grouped(self.owner, size, self._widths(features), chosen=np.flatnonzero(size > 1)):
            n = int(size[batch[0]])
            nodes = self.order[self.starts[batch][:, None] + np.arange(n)]
            x = self._features(self.owner[batch], nodes) if features else None
            yield SpaceBatch(self.owner[batch], n, x, self._adjacency(batch, n))

    def wholes(self, chosen: Index) -> Iterator[SpaceBatch]:
        """Yield ``chosen`` graphs as spaces over all their nodes, without structure."""
        everything = np.arange(len(self.graphs))
        for batch in _grouped(everything, self.sizes, self._widths(True), chosen=chosen[self.sizes[chosen] > 1]):
            n = int(self.sizes[batch[0]])
            nodes = np.broadcast_to(np.arange(n), (len(batch), n))
            yield SpaceBatch(batch, n, self._features(batch, nodes), None)

    def _widths(self, features: bool) -> Index:
        if not features:
            return np.zeros(len(self.graphs), dtype=np.int64)
        return np.array([-1 if g.x is None else g.x.shape[1] for g in self.graphs], dtype=np.int64)

    def _features(self, owner: Index, nodes: Index) -> Array | None:
        from graphnetz.rings.spaces import flatten_noise

        rows = [self.graphs[g].x for g in owner]
        if rows[0] is None:
            return None
        x = np.stack([x[index] for x, index in zip(rows, nodes, strict=True) if x is not None])
        eps = np.array([self.graphs[g].eps for g in owner])[:, None, None]
        return flatten_noise(x, eps=eps)

    def _adjacency(self, batch: Index, n: int) -> Array:
        first, last = self.local[batch], self.local[batch + 1]
        count = last - first
        take = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count) + np.arange(count.sum())
        row, column, _ = self.edges[:, take]
        base = np.repeat(np.arange(len(batch)) * n, count)
        out = np.zeros(len(batch) * n * n)
        values = self.values[take]
        longest = np.argsort(-values, kind="stable")  # of parallel edges the shortest is written last
        for a, b in ((row, column), (column, row)):
            out[((base + a) * n + b)[longest]] = values[longest]
        dense = out.reshape(len(batch), n, n)
        # Both directions of a pair may carry different lengths: the shorter one counts.
        return _shorter(dense) if self.graphs and self.graphs[0].lengths is not None else dense


def _shorter(dense: Array) -> Array:
    both = np.minimum(np.where(dense > 0, dense, np.inf), np.where(dense > 0, dense, np.inf).transpose(0, 2, 1))
    return np.where(np.isfinite(both), both, 0.0)


def _edge_values(graphs: Sequence[PlainGraph]) -> Array:
    parts = [np.ones(g.edges.shape[1]) if g.lengths is None else g.lengths for g in graphs]
    return np.concatenate(parts) if parts else np.empty(0)


def _grouped(owner: Index, size: Index, width: Index, *, chosen: Index) -> Iterator[Index]:
    """Cut ``chosen`` spaces into runs of equal size and feature width of bounded memory."""
    if not len(chosen):
        return
    too_large = int(size[chosen].max())
    if too_large > MAX_NODES:
        raise DataError(
            f"A component of {too_large} nodes needs a matrix of {too_large**2 * 8 / 2**30:.1f} GB; at most "
            f"{MAX_NODES} nodes are compared at once. Sample ego-graphs with graphnetz.rings.ego_graphs."
        )
    key = np.stack([size[chosen], width[owner[chosen]]])
    order = chosen[np.lexsort((key[1], key[0]))]
    pairs = np.stack([size[order], width[owner[order]]])
    borders = np.flatnonzero(np.any(pairs[:, 1:] != pairs[:, :-1], axis=0)) + 1
    for run in np.split(order, borders):
        step = max(1, BATCH_ENTRIES // int(size[run[0]]) ** 2)
        for start in range(0, len(run), step):
            yield run[start : start + step]
