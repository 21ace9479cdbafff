"""One graph as arrays: what the reader returns, and what readers share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """One graph as it was written down: what the reader returns and every builder takes.

    Parameters
    ----------
    edges
        Node numbers ``[E, 2]``, as listed: repeats, loops and directions are kept.
    num_nodes
        Number of nodes, isolated ones included.
    names
        The id of each node where the source names nodes; None where ids are positions.
    edge_columns
        Further values per edge, such as "weight" and "label".
    features, labels
        Per node, or None.
    directed
        Whether the source says that edges have a direction; None where it says nothing.
    listed
        Whether the source is a list of edges, which cannot name a node without an edge.
    title
        What the source calls the graph, None where it has no name.
    feature_names
        Names of the columns of ``features``, where the source has any.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz.graphs import read_graph
    >>> graph = read_graph(nx.Graph([("ann", "bob"), ("bob", "cat")]))
    >>> graph.num_nodes, graph.edges.tolist(), graph.names.tolist()
    (3, [[0, 1], [1, 2]], ['ann', 'bob', 'cat'])
    """

    edges: np.ndarray
    num_nodes: int
    names: np.ndarray | None = None
    edge_columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    features: Any = None
    labels: np.ndarray | None = None
    directed: bool | None = None
    listed: bool = False
    title: str | None = None
    feature_names: tuple[str, ...] = ()


def feature_matrix(values: Any, rows: int, *, what: str = "features") -> np.ndarray:
    """Return a dense float32 matrix with ``rows`` finite rows, or say what is wrong."""
    try:
        matrix = np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must be numbers; encode text columns first ({error}).") from error
    if matrix.ndim != 2 or len(matrix) != rows:
        raise DataError(f"{what} must have one row per node ({rows}), got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise DataError(f"{what} hold NaN or infinite values; fill or drop them first.")
    return matrix


def class_codes(labels: Any) -> np.ndarray:
    """Number the classes in sorted order; None and NaN become -1.

    Examples
    --------
    >>> class_codes(["b", None, "a"]).tolist()
    [1, -1, 0]
    """
    names, known = _sortable(labels)
    codes = np.full(len(known), -1, dtype=np.int64)
    codes[known] = np.unique(names, return_inverse=True)[1]
    return codes


def class_names(labels: Any) -> list[str]:
    """Return the names of the classes in the order of `class_codes`; whole numbers are written as such.

    Examples
    --------
    >>> class_names(["b", None, "a"]), class_names([10, 9])
    (['a', 'b'], ['9', '10'])
    """
    names, _ = _sortable(labels)
    unique = np.unique(names)
    return [f"{value:g}" if unique.dtype.kind == "f" else str(value) for value in unique]


def _sortable(labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels that there are, as numbers where all of them are; and where they are."""
    values = np.asarray(labels, dtype=object)
    known = np.array([v is not None and v == v for v in values], dtype=bool)
    numeric = all(isinstance(v, int | float | np.number) for v in values[known])
    return values[known].astype(float) if numeric else values[known].astype(str), known


def to_numpy(value: Any) -> Any:
    """Array of a tensor without importing torch; other values unchanged."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse matrix of scipy."""
    return hasattr(value, "tocoo")
