"""One undirected graph in compressed rows, read from whatever a user has at hand.

Nothing here imports torch: objects of torch, PyTorch Geometric and networkx are recognised by their
attributes, so that a recommendation for an edge list never pays for those imports.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError
from graphnetz.graphs import counts
from graphnetz.graphs.arrays import class_codes, class_names
from graphnetz.graphs.files import read_graph
from graphnetz.graphs.some_counts import some_orbit_counts

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


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
    name
        What the graph is called.
    node_names, class_names
        What the source calls nodes and classes; empty where they have only numbers.

    Examples
    --------
    >>> from graphnetz.graphs import as_graph
    >>> graph = as_graph([(0, 1), (1, 2), (2, 0), (2, 2)])
    >>> graph.num_nodes, graph.num_edges, graph.node_triangles.tolist()
    (3, 3, [1, 1, 1])
    """

    indptr: IntArray
    indices: IntArray
    loops: npt.NDArray[np.bool_]
    entries: int
    labels: IntArray | None = None
    features: Any = None
    name: str = "graph"
    node_names: tuple[Any, ...] = ()
    class_names: tuple[str, ...] = ()

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
    def digest(self) -> str:
        """Hash of edges, labels and features: what tells graphs apart whose files have the same name."""
        parts = [self.indptr, self.indices, self.loops, np.array([self.entries])]
        if self.labels is not None:
            parts.append(self.labels)
        if self.features is not None:
            rows = self.features.tocsr() if hasattr(self.features, "tocsr") else self.features
            parts += [rows.indptr, rows.indices, rows.data] if hasattr(rows, "indptr") else [np.asarray(rows)]
        found = hashlib.sha256()
        for part in parts:
            found.update(f"{part.dtype.str}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
        return found.hexdigest()

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
        return counts.edge_triangles(self.indptr, self.indices, self._ranks)

    @cached_property
    def node_triangles(self) -> IntArray:
        """Triangles at each node."""
        ends = self.edges.ravel()
        total = np.bincount(ends, weights=np.repeat(self.edge_triangles, 2), minlength=self.num_nodes)
        return (total / 2).astype(np.int64)

    @cached_property
    def core_numbers(self) -> IntArray:
        """Core number of each node."""
        return counts.core_numbers(self.indptr, self.indices)

    @cached_property
    def pagerank(self) -> FloatArray:
        """PageRank with damping 0.7."""
        return counts.pagerank(self.indptr, self.indices, damping=0.7)

    @cached_property
    def orbits(self) -> IntArray:
        """Counts ``[E, 12]`` of the edge orbits, in the order of `edges`."""
        return counts.orbit_counts(self.indptr, self.indices, self._ranks, self.edge_triangles)

    def some_orbits(self, places: IntArray) -> IntArray:
        """Return rows of `orbits` at some of the edges, without counting the others.

        Parameters
        ----------
        places
            Positions of the edges in `edges`.

        Returns
        -------
        ndarray
            Twelve counts for each of them.

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from graphnetz.graphs import as_graph
        >>> graph = as_graph(nx.karate_club_graph())
        >>> bool((graph.some_orbits(np.array([3, 5])) == graph.orbits[[3, 5]]).all())
        True
        """
        return some_orbit_counts(self.indptr, self.indices, places, self._ranks, self.edge_triangles)

    @cached_property
    def _ranks(self) -> counts.Ranked:
        return counts.ranked(self.indptr, self.indices)


def as_graph(
    source: Any,
    num_nodes: int | None = None,
    *,
    labels: Any = None,
    features: Any = None,
    label_column: str | None = None,
    directed: bool | None = None,
    name: str | None = None,
) -> Graph:
    """Read ``source`` into a `Graph`.

    Parameters
    ----------
    source
        Anything `graphnetz.graphs.read_graph` reads, or a `Graph`.
    num_nodes, labels, features, label_column
        As in `read_graph`; labels and features replace what ``source`` holds.
    directed
        Whether each pair names one direction only. Default: what the source says (an edge list
        file and an undirected networkx graph are undirected, the rest is taken as listed).
    name
        Name of the graph; default: that of the file or object.

    Returns
    -------
    Graph
        Simple and undirected, in compressed rows.

    Examples
    --------
    >>> as_graph(np.array([[0, 1], [1, 2]]), directed=False).num_edges
    2
    """
    if isinstance(source, Graph):
        return source
    found = read_graph(source, labels=labels, features=features, num_nodes=num_nodes, label_column=label_column)
    if directed is None:
        directed = found.directed is not False
    made = from_pairs(
        found.edges[:, 0], found.edges[:, 1], num_nodes=found.num_nodes, directed=directed, labels=found.labels,
        features=found.features, name=name or found.title or "graph",
    )  # fmt: skip
    named = found.labels is not None and made.labels is not None and np.asarray(found.labels).dtype.kind not in "iufb"
    return replace(
        made, node_names=() if found.names is None else tuple(found.names.tolist()),
        class_names=tuple(class_names(found.labels)) if named else (),
    )  # fmt: skip


def edge_orbits(edge_index: Any, num_nodes: int | None = None) -> tuple[IntArray, IntArray]:
    """Count, for every edge, the induced 3- and 4-node graphlets in which it plays each role.

    Parameters
    ----------
    edge_index
        Array or tensor ``[2, E]``; direction, duplicates and self-loops are ignored. Anything else
        that `as_graph` reads is accepted too.
    num_nodes
        Number of nodes; default is the largest id plus one.

    Returns
    -------
    edges, counts
        ``edges`` holds the unique pairs i < j in lexicographic order, ``counts[E, 12]`` the roles
        named in `ORBITS`.

    Examples
    --------
    >>> edges, counts = edge_orbits(np.array([[0, 1, 2], [1, 2, 0]]), 3)
    >>> counts[:, 1].tolist()
    [1, 1, 1]
    """
    graph = as_graph(edge_index, num_nodes)
    return graph.edges, graph.orbits


def from_pairs(
    row: npt.ArrayLike,
    col: npt.ArrayLike,
    *,
    num_nodes: int,
    directed: bool = False,
    labels: npt.ArrayLike | None = None,
    features: Any = None,
    name: str = "graph",
) -> Graph:
    """Build a `Graph` from two arrays of node numbers below ``num_nodes``.

    Examples
    --------
    >>> from_pairs([0, 1, 1], [1, 2, 1], num_nodes=3).edges.tolist()
    [[0, 1], [1, 2]]
    """
    u, v, n = np.asarray(row, dtype=np.int64).ravel(), np.asarray(col, dtype=np.int64).ravel(), int(num_nodes)
    if u.size == 0:
        raise DataError(f"The graph {name!r} has no edges. Give at least one edge.")
    given = np.unique(u * n + v) if directed else None
    loop = u == v
    loops = np.zeros(n, dtype=bool)
    loops[u[loop]] = True
    u, v = u[~loop], v[~loop]
    if u.size == 0:
        raise DataError(f"The graph {name!r} has self-loops only. Give at least one edge between two nodes.")
    rows = counts.adjacency(u, v, n)
    indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
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
    return y.astype(np.int64) if y.dtype.kind in "iufb" else class_codes(y)


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
