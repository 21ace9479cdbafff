"""One undirected graph in compressed rows, read from whatever a user has at hand.

Nothing here imports torch: objects of torch, PyTorch Geometric and networkx are recognised by their
attributes, so that a recommendation for an edge list never pays for those imports.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError, UsageError
from graphnetz.graphs import kernels
from graphnetz.graphs.edgelist import read_edge_list

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

ACCEPTED = "an edge list file, a PyG Data, a networkx graph, a scipy sparse matrix or an edge_index array [2, E]"


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple undirected graph, plus what the original said before it was made simple.

    Parameters
    ----------
    indptr, indices
        Symmetric adjacency in compressed rows: sorted, without duplicates and self-loops.
    loops
        Whether each node has a self-loop in the input.
    entries
        Number of distinct entries of the input adjacency, self-loops included. Fewer than
        ``len(indices) + loops.sum()`` when the input was directed.
    labels
        One class per node, or None.
    features
        Node features (dense or scipy sparse), or None.
    """

    indptr: IntArray
    indices: IntArray
    loops: npt.NDArray[np.bool_]
    entries: int
    labels: IntArray | None = None
    features: Any = None
    name: str = "graph"
    notes: tuple[str, ...] = field(default=())

    @property
    def num_nodes(self) -> int:
        """Number of nodes, isolates included."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Number of undirected edges without self-loops."""
        return len(self.indices) // 2

    @property
    def directed(self) -> bool:
        """Whether the input listed some edge in one direction only."""
        return self.entries != len(self.indices) + int(self.loops.sum())

    @cached_property
    def simple_degree(self) -> IntArray:
        """Number of neighbours, self-loops not counted."""
        return np.diff(self.indptr)

    @cached_property
    def edges(self) -> IntArray:
        """Edges ``[E, 2]`` with i < j, in lexicographic order."""
        rows = np.repeat(np.arange(self.num_nodes), self.simple_degree)
        upper = rows < self.indices
        return np.stack([rows[upper], self.indices[upper]], axis=1)

    @cached_property
    def edge_triangles(self) -> IntArray:
        """Triangles on each edge, in the order of `edges`."""
        return kernels.edge_triangles(self.indptr, self.indices)

    @cached_property
    def node_triangles(self) -> IntArray:
        """Triangles at each node."""
        ends = self.edges.ravel()
        total = np.bincount(ends, weights=np.repeat(self.edge_triangles, 2), minlength=self.num_nodes)
        return (total / 2).astype(np.int64)

    @cached_property
    def core_numbers(self) -> IntArray:
        """Core number of each node."""
        return kernels.core_numbers(self.indptr, self.indices)

    @cached_property
    def pagerank(self) -> FloatArray:
        """PageRank with damping 0.7."""
        return kernels.pagerank(self.indptr, self.indices, damping=0.7)

    @cached_property
    def orbits(self) -> IntArray:
        """Counts ``[E, 12]`` of the edge orbits, in the order of `edges`."""
        return kernels.orbit_counts(self.indptr, self.indices)


def as_graph(
    source: Any,
    num_nodes: int | None = None,
    *,
    labels: npt.ArrayLike | None = None,
    features: Any = None,
    directed: bool | None = None,
    name: str | None = None,
) -> Graph:
    """Read ``source`` into a `Graph`.

    Parameters
    ----------
    source
        Path of an edge list, PyG ``Data``, networkx graph, scipy sparse matrix, array or tensor
        ``[2, E]``, or a `Graph`.
    num_nodes
        Number of nodes when ``source`` does not say (arrays, edge lists with isolated nodes).
    labels, features
        Node labels and features; they replace what ``source`` holds.
    directed
        Whether each pair names one direction only. Default: what the source type says (an edge
        list file and an undirected networkx graph are undirected, the rest is taken as listed).

    Examples
    --------
    >>> as_graph(np.array([[0, 1], [1, 2]]), directed=False).num_edges
    2
    """
    if isinstance(source, Graph):
        return source
    found = _read(source)
    if directed is None:
        directed = found.get("directed", True)
    nodes = num_nodes if num_nodes is not None else found.get("num_nodes")
    if num_nodes is not None and found.get("num_nodes") not in (None, num_nodes) and "ids" not in found:
        raise UsageError(
            f"num_nodes is {num_nodes}, but the {found['kind']} has {found['num_nodes']} nodes. Leave num_nodes out."
        )
    return from_pairs(
        found["row"],
        found["col"],
        num_nodes=nodes,
        directed=bool(directed),
        labels=labels if labels is not None else found.get("labels"),
        features=features if features is not None else found.get("features"),
        name=name or found.get("name") or "graph",
    )


def from_pairs(
    row: npt.ArrayLike,
    col: npt.ArrayLike,
    *,
    num_nodes: int | None = None,
    directed: bool = False,
    labels: npt.ArrayLike | None = None,
    features: Any = None,
    name: str = "graph",
) -> Graph:
    """Build a `Graph` from two arrays of node ids."""
    u, v = np.asarray(row).ravel(), np.asarray(col).ravel()
    if u.size == 0:
        raise DataError(f"The graph {name!r} has no edges. Give at least one edge.")
    if u.dtype.kind not in "iu" or v.dtype.kind not in "iu":
        raise DataError(f"Node ids must be integers, got {u.dtype}. Number the nodes from 0.")
    u, v = u.astype(np.int64), v.astype(np.int64)
    low, high = int(min(u.min(), v.min())), int(max(u.max(), v.max()))
    if low < 0:
        raise DataError(f"The graph {name!r} has the negative node id {low}. Number the nodes from 0.")
    n = high + 1 if num_nodes is None else int(num_nodes)
    if high >= n:
        raise DataError(
            f"The graph {name!r} names node {high}, but num_nodes is {n}. Give num_nodes of at least {high + 1}."
        )
    given = np.unique(u * n + v) if directed else None
    loop = u == v
    loops = np.zeros(n, dtype=bool)
    loops[u[loop]] = True
    u, v = u[~loop], v[~loop]
    if u.size == 0:
        raise DataError(f"The graph {name!r} has self-loops only. Give at least one edge between two nodes.")
    indptr, indices = kernels.symmetric_csr(u, v, n)
    entries = len(given) if given is not None else len(indices) + int(loops.sum())
    return Graph(indptr, indices, loops, entries, _labels(labels, n, name), _features(features, n, name), name)


def _labels(labels: npt.ArrayLike | None, n: int, name: str) -> IntArray | None:
    if labels is None:
        return None
    y = np.asarray(labels)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or (y.dtype.kind == "f" and not np.all(np.isfinite(y) & (y == np.floor(y)))):
        return None  # multi-label or continuous targets have no classes to describe
    if len(y) != n:
        raise DataError(f"The graph {name!r} has {n} nodes but {len(y)} labels. Give one label per node.")
    if y.dtype.kind in "iufb":
        return y.astype(np.int64)
    return np.unique(y, return_inverse=True)[1].astype(np.int64)


def _features(features: Any, n: int, name: str) -> Any:
    if features is None:
        return None
    if not hasattr(features, "tocsr"):
        features = np.asarray(features)
        if features.ndim == 1:
            features = features[:, None]
    if features.shape[0] != n:
        raise DataError(
            f"The graph {name!r} has {n} nodes but {features.shape[0]} feature rows. Give one row per node."
        )
    return features if features.shape[1] else None


def _numpy(value: Any) -> Any:
    """Array of a tensor without importing torch; other values unchanged."""
    if hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    return value


def _read(source: Any) -> dict[str, Any]:
    if isinstance(source, (str, os.PathLike)):
        return _from_file(Path(source))
    if hasattr(source, "edge_index") or (isinstance(source, Mapping) and "edge_index" in source):
        return _from_pyg(source)
    if hasattr(source, "is_directed") and hasattr(source, "nodes"):
        return _from_networkx(source)
    if hasattr(source, "tocoo"):
        return _from_scipy(source)
    array = np.asarray(_numpy(source))
    if array.ndim == 2 and array.shape[0] == 2:
        return {"kind": "array", "row": array[0], "col": array[1]}
    raise UsageError(f"Cannot read a graph from {type(source).__name__} of shape {array.shape}. Give {ACCEPTED}.")


def _from_file(path: Path) -> dict[str, Any]:
    row, col, ids = read_edge_list(path)
    return {
        "kind": "edge list",
        "row": row,
        "col": col,
        "directed": False,
        "num_nodes": len(ids),
        "ids": ids,
        "name": path.stem,
    }


def _from_pyg(data: Any) -> dict[str, Any]:
    def get(key: str) -> Any:
        return _numpy(data.get(key) if isinstance(data, Mapping) else getattr(data, key, None))

    edge_index = get("edge_index")
    if edge_index is None:
        raise DataError("The PyG Data has no edge_index. Give a homogeneous graph with edge_index [2, E].")
    nodes = get("num_nodes")
    return {
        "kind": "PyG Data",
        "row": edge_index[0],
        "col": edge_index[1],
        "num_nodes": None if nodes is None else int(nodes),
        "labels": get("y"),
        "features": get("x"),
        "name": get("name") if isinstance(get("name"), str) else None,
    }


def _from_networkx(graph: Any) -> dict[str, Any]:
    index = {node: position for position, node in enumerate(graph.nodes())}
    pairs = np.array([(index[a], index[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
    return {
        "kind": "networkx graph",
        "row": pairs[:, 0],
        "col": pairs[:, 1],
        "num_nodes": len(index),
        "directed": graph.is_directed(),
        "name": str(graph.name) if getattr(graph, "name", "") else None,
    }


def _from_scipy(matrix: Any) -> dict[str, Any]:
    coo = matrix.tocoo()
    if coo.shape[0] != coo.shape[1]:
        raise DataError(f"An adjacency matrix is square, got {coo.shape}. Give nodes x nodes.")
    keep = coo.data != 0
    row, col = np.asarray(coo.row)[keep], np.asarray(coo.col)[keep]
    return {"kind": "scipy matrix", "row": row, "col": col, "num_nodes": int(coo.shape[0])}
