"""Graphs from plain files and in-memory objects: edges, labels and features as checked arrays.

Every reader answers with arrays or with one sentence that says what is wrong. No pickle is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError, GraphnetzError

_SOURCE = ("source", "src", "from", "u", "head")
_TARGET = ("target", "dst", "to", "v", "tail")
_NODE = ("node", "id", "index", "nodeid")
_LABEL = ("label", "y", "class", "target")
# a graph of this many nodes needs 16 GB for one float32 feature column and its gradient; beyond it
# an id is far more likely a phone number than a node
_MAX_NODES = 2_000_000_000


@dataclass(frozen=True)
class GraphArrays:
    """One graph as arrays: what every reader returns and every builder takes."""

    edges: np.ndarray
    num_nodes: int
    names: tuple[str, ...] | None = None
    edge_columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    features: np.ndarray | None = None
    labels: np.ndarray | None = None


def read_edges(edges: Any, *, what: str = "edges") -> GraphArrays:
    """Read edges from a path, an array, a frame, a scipy matrix or a networkx graph.

    Paths are told apart by suffix: ``.graphml``, ``.gml``, ``.npz``, anything else is CSV with a
    header that names the two end columns (source and target, or the first two).
    """
    if isinstance(edges, str | Path):
        return _read_path(Path(edges))
    if _is_sparse(edges):
        return _from_sparse(edges, what)
    if hasattr(edges, "adj") and hasattr(edges, "nodes"):
        return from_networkx(edges)
    if hasattr(edges, "columns"):
        return _from_frame(edges, what)
    return _from_array(np.asarray(edges), what)


def with_nodes(graph: GraphArrays, num_nodes: int) -> GraphArrays:
    """Return the graph with ``num_nodes`` nodes, so that nodes without an edge count too."""
    if num_nodes < graph.num_nodes:
        raise DataError(f"edges hold the node id {graph.num_nodes - 1}, out of range: the graph has {num_nodes} nodes.")
    return dataclasses.replace(graph, num_nodes=num_nodes)


def read_labels(labels: Any, graph: GraphArrays) -> np.ndarray:
    """Return one label per node, in node order; nodes without one hold None or NaN."""
    frame = _frame_of(labels, "labels")
    if frame is None:
        values = np.asarray(labels)
        if values.ndim != 1 or len(values) != graph.num_nodes:
            raise DataError(f"labels must hold one value per node ({graph.num_nodes}), got shape {values.shape}.")
        return values
    node, label = _column(frame, _NODE, 0, "labels"), _column(frame, _LABEL, 1, "labels")
    out = np.full(graph.num_nodes, None, dtype=object)
    out[_node_ids(frame[node].to_numpy(), graph, "labels")] = frame[label].to_numpy(dtype=object)
    return out


def read_features(features: Any, graph: GraphArrays) -> np.ndarray:
    """Return the float32 feature matrix [nodes, columns] in node order."""
    frame = _frame_of(features, "features")
    if frame is None:
        return _feature_matrix(features, graph.num_nodes)
    node = _column(frame, _NODE, 0, "features")
    ids = _node_ids(frame[node].to_numpy(), graph, "features")
    if len(np.unique(ids)) != graph.num_nodes:
        raise DataError(f"features cover {len(np.unique(ids))} of {graph.num_nodes} nodes; give one row per node.")
    values = _feature_matrix(frame.drop(columns=[node]), len(ids))
    out = np.zeros((graph.num_nodes, values.shape[1]), dtype=np.float32)
    out[ids] = values
    return out


def from_networkx(graph: Any, *, label: str | None = None, features: tuple[str, ...] = ()) -> GraphArrays:
    """Turn a networkx graph into arrays; nodes keep the graph's own order."""
    names = list(graph.nodes())
    if not names:
        raise DataError("The graph has no nodes; give one with at least one edge.")
    index = {node: position for position, node in enumerate(names)}
    pairs = np.array([(index[u], index[v]) for u, v in graph.edges()], dtype=np.int64).reshape(-1, 2)
    columns = {}
    for key in ("weight", "label"):
        values = [data.get(key) for _, _, data in graph.edges(data=True)]
        if values and all(value is not None for value in values):
            columns[key] = np.asarray(values)
    return GraphArrays(
        edges=pairs,
        num_nodes=len(names),
        names=tuple(str(node) for node in names),
        edge_columns=columns,
        features=_node_matrix(graph, features) if features else None,
        labels=_node_labels(graph, label),
    )


def _node_labels(graph: Any, key: str | None) -> np.ndarray | None:
    values = [] if key is None else [value for _, value in graph.nodes(data=key)]
    return np.array(values, dtype=object) if any(value is not None for value in values) else None


def _node_matrix(graph: Any, keys: tuple[str, ...]) -> np.ndarray:
    rows = []
    for node, data in graph.nodes(data=True):
        missing = [key for key in keys if key not in data]
        if missing:
            raise DataError(f"Node {node!r} lacks the feature attribute {missing[0]!r}; give it to every node.")
        rows.append([data[key] for key in keys])
    return _feature_matrix(rows, len(rows))


def _feature_matrix(values: Any, rows: int) -> np.ndarray:
    try:
        matrix = np.asarray(values.toarray() if _is_sparse(values) else values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"features must be numbers; encode text columns first ({error}).") from error
    if matrix.ndim != 2 or len(matrix) != rows:
        raise DataError(f"features must have one row per node ({rows}), got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise DataError("features hold NaN or infinite values; fill or drop them first.")
    return matrix


def _read_path(path: Path) -> GraphArrays:
    if not path.is_file():
        raise DataError(f"The file {str(path)!r} does not exist; give the path of a CSV, GraphML, GML or npz file.")
    reader = _READERS.get(path.suffix.lower(), _read_csv)
    try:
        return reader(path)
    except GraphnetzError:
        raise
    except Exception as error:  # parsers of foreign files raise anything
        raise DataError(f"The file {str(path)!r} cannot be read as {path.suffix or 'CSV'} ({error}).") from error


def _read_csv(path: Path) -> GraphArrays:
    frame = _frame_of(path, path.name)
    assert frame is not None
    return _from_frame(frame, path.name)


def _read_graphml(path: Path) -> GraphArrays:
    import networkx as nx

    return from_networkx(nx.read_graphml(path), label="label")


def _read_gml(path: Path) -> GraphArrays:
    import networkx as nx

    return from_networkx(nx.read_gml(path, label="id"), label="value")


def _read_npz(path: Path) -> GraphArrays:
    with np.load(path, allow_pickle=False) as archive:
        held = {key: archive[key] for key in archive.files}
    if "edge_index" in held:
        graph = _from_array(held["edge_index"].T, path.name, minimum=_rows(held))
    elif "edges" in held:
        graph = _from_array(held["edges"], path.name, minimum=_rows(held))
    elif {"format", "shape", "data"} <= held.keys():
        from scipy import sparse

        graph = _from_sparse(sparse.load_npz(path), path.name)
    else:
        raise DataError(
            f"{path.name!r} holds {sorted(held)}; an npz graph needs 'edge_index' [2, E], 'edges' [E, 2] or a scipy "
            "sparse matrix (and may hold 'x' and 'y')."
        )
    x = held.get("x")
    return GraphArrays(
        graph.edges,
        graph.num_nodes,
        edge_columns=graph.edge_columns,
        features=None if x is None else _feature_matrix(x, graph.num_nodes),
        labels=held.get("y"),
    )


def _rows(held: Mapping[str, np.ndarray]) -> int | None:
    return next((len(held[key]) for key in ("x", "y") if key in held), None)


_READERS: Mapping[str, Callable[[Path], GraphArrays]] = {
    ".graphml": _read_graphml,
    ".gml": _read_gml,
    ".npz": _read_npz,
}


def _frame_of(table: Any, what: str) -> Any:
    """Return a pandas frame when ``table`` is one or a CSV path, else None."""
    if hasattr(table, "columns"):
        return table
    if not isinstance(table, str | Path):
        return None
    import pandas as pd

    path = Path(table)
    if not path.is_file():
        raise DataError(f"The {what} file {str(path)!r} does not exist.")
    try:
        frame = pd.read_csv(path, sep=_delimiter(path), skipinitialspace=True)
    except Exception as error:
        raise DataError(f"The {what} file {path.name!r} is not a CSV table ({error}).") from error
    frame.columns = [str(column).strip().lstrip("#").strip() for column in frame.columns]
    return frame


def _delimiter(path: Path) -> str:
    """Return what separates the columns of the header; a table of one column has none, so a comma."""
    with path.open(encoding="utf-8") as stream:
        header = stream.readline()
    return next((mark for mark in (",", ";", "\t") if mark in header), r"\s+" if " " in header.strip("# \n") else ",")


def _column(frame: Any, names: tuple[str, ...], position: int, what: str) -> Any:
    by_lower = {str(column).lower(): column for column in frame.columns}
    for name in names:
        if name in by_lower:
            return by_lower[name]
    if len(frame.columns) <= position:
        raise DataError(
            f"{what} has the columns {[str(c) for c in frame.columns]} and lacks {names[0]!r}; add that column."
        )
    return frame.columns[position]


def _from_frame(frame: Any, what: str) -> GraphArrays:
    source, target = _column(frame, _SOURCE, 0, what), _column(frame, _TARGET, 1, what)
    if source == target:
        raise DataError(f"{what} has one end column only; add a column 'target'.")
    ends = frame[[source, target]]
    if ends.isna().any().any():
        row = int(np.flatnonzero(ends.isna().any(axis=1).to_numpy())[0])
        raise DataError(f"{what} lacks an end in data row {row + 1}; give both ends of every edge.")
    if len(frame) == 0:
        raise DataError(f"{what} holds no edges; an empty graph cannot be trained on.")
    columns = {str(c): frame[c].to_numpy() for c in frame.columns if c not in (source, target)}
    kind = ends.to_numpy().dtype.kind
    if kind in "iu":
        return _from_array(ends.to_numpy(), what, columns=columns)
    if kind == "f":
        raise DataError(f"{what} has ends that are fractions; node ids are whole numbers or names.")
    names, codes = np.unique(ends.astype(str).to_numpy(), return_inverse=True)
    return GraphArrays(codes.reshape(-1, 2), len(names), tuple(names.tolist()), columns)


def _from_array(
    array: np.ndarray, what: str, *, columns: Mapping[str, np.ndarray] | None = None, minimum: int | None = None
) -> GraphArrays:
    if array.size == 0:
        raise DataError(f"{what} holds no edges; an empty graph cannot be trained on.")
    if array.ndim == 2 and array.shape[0] == 2 and array.shape[1] != 2:
        array = array.T
    if array.ndim != 2 or array.shape[1] != 2:
        raise DataError(f"{what} must have the shape [edges, 2], got {array.shape}.")
    if array.dtype.kind not in "iu" and (array.dtype.kind != "f" or not np.array_equal(array, np.floor(array))):
        raise DataError(f"{what} must hold whole node numbers, got {array.dtype}.")
    pairs = array.astype(np.int64)
    if pairs.min() < 0:
        raise DataError(f"{what} holds the negative node id {pairs.min()}; ids start at 0.")
    count = int(pairs.max()) + 1
    if count > _MAX_NODES or (minimum is not None and count > minimum):
        limit = _MAX_NODES if minimum is None else minimum
        raise DataError(f"{what} holds the node id {count - 1}, out of range: the graph has {limit} nodes.")
    return GraphArrays(pairs, minimum or count, edge_columns=columns or {})


def _is_sparse(value: Any) -> bool:
    return type(value).__module__.startswith("scipy.sparse")


def _from_sparse(matrix: Any, what: str) -> GraphArrays:
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"{what} is a matrix of shape {matrix.shape}; an adjacency matrix is square.")
    entries = matrix.tocoo()
    if entries.nnz == 0:
        raise DataError(f"{what} holds no edges; an empty graph cannot be trained on.")
    pairs = np.stack([entries.row, entries.col], axis=1).astype(np.int64)
    return GraphArrays(pairs, matrix.shape[0], edge_columns={"weight": np.asarray(entries.data)})


def _node_ids(ids: np.ndarray, graph: GraphArrays, what: str) -> np.ndarray:
    """Translate the ids of a side table to node positions."""
    if graph.names is not None:
        index = {name: position for position, name in enumerate(graph.names)}
        unknown = [str(value) for value in ids if str(value) not in index]
        if unknown:
            raise DataError(f"{what} names the node {unknown[0]!r}, which no edge mentions.")
        return np.array([index[str(value)] for value in ids], dtype=np.int64)
    if ids.dtype.kind not in "iu":
        raise DataError(f"{what} must use whole node numbers as the edges do, got {ids.dtype}.")
    if len(ids) and (ids.min() < 0 or ids.max() >= graph.num_nodes):
        bad = ids.min() if ids.min() < 0 else ids.max()
        raise DataError(
            f"{what} holds the node id {bad}, out of range 0..{graph.num_nodes - 1}; give num_nodes= to count "
            "nodes without an edge."
        )
    return ids.astype(np.int64)
