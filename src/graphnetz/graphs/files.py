"""The one reader of graphs: files and in-memory objects become checked arrays.

Nothing here imports torch: objects of torch, PyTorch Geometric, pandas and networkx are recognised by
their attributes. No pickle is read. What cannot be read is refused in one sentence.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError, GraphnetzError, unknown_name
from graphnetz._core.readers import open_binary, refuse_bomb, regular
from graphnetz._core.text import shorten
from graphnetz.graphs.arrays import GraphArrays, feature_matrix, is_sparse, to_numpy
from graphnetz.graphs.edgelist import EdgeList, edges_of, end_columns, read_edge_list
from graphnetz.graphs.node_values import add_values
from graphnetz.graphs.parquet import read_parquet

ACCEPTED = (
    "an edge list, Parquet, GraphML, GML, Matrix Market or npz file, a PyG Data, a networkx graph, a frame, a scipy "
    "sparse matrix or an array [2, E] or [E, 2]"
)
# a graph of this many nodes needs 16 GB for one float32 feature column and its gradient; beyond it
# an id is far more likely a phone number than a node
_MAX_NODES = 2_000_000_000


def read_graph(
    source: Any,
    *,
    labels: Any = None,
    features: Any = None,
    num_nodes: int | None = None,
    label_column: str | None = None,
    feature_columns: Sequence[str] = (),
    edge_rows: bool = False,
) -> GraphArrays:
    """Read one graph from whatever a user has at hand.

    Parameters
    ----------
    source
        Path of a ``.graphml``, ``.gml``, ``.mtx`` or ``.npz`` file or, with any other suffix, of an
        edge list (see `read_edge_list`; ``.gz`` is unpacked); a PyG ``Data`` or mapping with
        ``edge_index``; a networkx graph; a frame; a scipy sparse matrix; an array or tensor
        ``[2, E]`` or ``[E, 2]``.
    labels
        One label per node: a table with a column of node ids and one of labels (file or frame), a
        mapping by node, or an array. Nodes of an edge list that only such a table names become isolated nodes.
    features
        One row of numbers per node, likewise.
    num_nodes
        Number of nodes, where the last ones have no edge; node ids are then positions.
    label_column, feature_columns
        Names of the columns to take from the tables or, for networkx, GraphML and GML, of node
        attributes. Default: the only column besides the id or the one called "label"; all columns.
    edge_rows
        Read an array of shape [2, 2] as two edges in rows, not as an ``edge_index``.

    Returns
    -------
    GraphArrays
        The graph as listed; `graphnetz.graphs.as_graph` makes it simple and compressed.

    Examples
    --------
    >>> graph = read_graph([[0, 1, 2], [1, 2, 0]], labels=["a", "b", "a"])
    >>> graph.num_nodes, graph.edges.tolist()
    (3, [[0, 1], [1, 2], [2, 0]])
    """
    required = labels is None and label_column is not None
    if isinstance(source, str | os.PathLike):
        graph = _read_path(Path(source), label_column, feature_columns, required)
    elif hasattr(source, "adj") and hasattr(source, "nodes"):
        graph = _from_networkx(source, label_column, feature_columns, required)
    else:
        graph = _from_object(source, edge_rows=edge_rows)
    return add_values(
        graph, labels=labels, features=features, num_nodes=num_nodes, label_column=label_column,
        feature_columns=feature_columns,
    )  # fmt: skip


# files


def _read_path(path: Path, label: str | None, features: Sequence[str], required: bool) -> GraphArrays:
    if not path.exists():
        raise DataError(f"The file {str(path)!r} does not exist; give the path of an edge list, GraphML or npz file.")
    regular(path, give="Give the path of an edge list, GraphML or npz file.")
    suffix = next((s.lower() for s in reversed(path.suffixes) if s != ".gz"), "")
    try:
        if path.suffix == ".gz":
            refuse_bomb(path)
        if suffix in _WITH_ATTRIBUTES:
            read, default = _WITH_ATTRIBUTES[suffix]
            graph = _from_networkx(read(path), label or default, features, required)
        else:
            graph = _READERS.get(suffix, _read_list)(path)
    except GraphnetzError:
        raise
    except Exception as error:  # parsers of foreign files raise anything
        words = shorten(f"{type(error).__name__}: {error}", 160)
        raise DataError(f"The file {str(path)!r} cannot be read as {suffix or 'text'} ({words}).") from error
    return dataclasses.replace(graph, title=path.stem)


def _read_graphml(path: Path) -> Any:
    import networkx as nx

    with open_binary(path) as stream:
        return nx.read_graphml(stream)


def _read_gml(path: Path) -> Any:
    import networkx as nx

    with open_binary(path) as stream:
        graph = nx.read_gml(stream, label="id")
    names = dict(graph.nodes(data="label"))
    # Labels name the nodes where every node has one of its own; elsewhere there are only numbers.
    own = None not in names.values() and len(set(names.values())) == len(names)
    return nx.relabel_nodes(graph, names) if own and any(str(key) != str(names[key]) for key in names) else graph


def _read_mtx(path: Path) -> GraphArrays:
    from scipy import io, sparse

    with open_binary(path) as stream:
        return _from_sparse(sparse.coo_array(io.mmread(stream)), path.name)


def _read_npz(path: Path) -> GraphArrays:
    refuse_bomb(path)
    with np.load(path, allow_pickle=False) as archive:
        held = {key: archive[key] for key in archive.files}
    if {"format", "shape", "data"} <= held.keys():
        from scipy import sparse

        return _from_sparse(sparse.load_npz(path), path.name)
    if not {"edge_index", "edges"} & held.keys():
        raise DataError(
            f"{path.name!r} holds {sorted(held)}; an npz graph needs 'edge_index' [2, E], 'edges' [E, 2] or a scipy "
            "sparse matrix (and may hold 'x' and 'y')."
        )
    rows = next((len(held[key]) for key in ("x", "y") if key in held), None)
    pairs = held["edge_index"].T if "edge_index" in held else held["edges"]
    graph = _from_array(pairs, path.name, num_nodes=rows)
    x = held.get("x")
    checked = None if x is None else feature_matrix(x, graph.num_nodes)
    return dataclasses.replace(graph, features=checked, labels=held.get("y"))


def _read_list(path: Path) -> GraphArrays:
    return _from_list(read_edge_list(path))


def _from_list(found: EdgeList) -> GraphArrays:
    return GraphArrays(found.edges, len(found.ids), found.ids, found.columns, directed=False, listed=True)


def _read_parquet(path: Path) -> GraphArrays:
    return _from_frame(read_parquet(path))


_READERS: Mapping[str, Callable[[Path], GraphArrays]] = {
    ".npz": _read_npz, ".mtx": _read_mtx, ".parquet": _read_parquet
}  # fmt: skip
_WITH_ATTRIBUTES: Mapping[str, tuple[Callable[[Path], Any], str]] = {
    ".graphml": (_read_graphml, "label"),
    ".gml": (_read_gml, "value"),
}
"""Readers of formats with node attributes, and the attribute that holds the label by default."""


# objects


def _from_object(source: Any, *, edge_rows: bool) -> GraphArrays:
    if hasattr(source, "edge_index") or (isinstance(source, Mapping) and "edge_index" in source):
        return _from_pyg(source)
    if is_sparse(source):
        return _from_sparse(source, "The matrix")
    if hasattr(source, "columns"):
        return _from_frame(source)
    array = np.asarray(to_numpy(source))
    if array.ndim == 2 and array.shape[0] == 2 and not (array.shape[1] == 2 and edge_rows):
        array = array.T
    return _from_array(array, "edges")


def _from_frame(frame: Any) -> GraphArrays:
    titles = [str(column) for column in frame.columns]
    ends = end_columns(titles, "The frame of edges", width=len(titles))
    pairs = frame.iloc[:, list(ends)].to_numpy()
    if not len(pairs):
        raise DataError("The frame of edges holds no edges; give one row per edge.")
    if pairs.dtype.kind in "iu" and pairs.min() >= 0:  # no need to go through text
        ids, inverse = np.unique(pairs, return_inverse=True)
        others = {title: frame.iloc[:, i].to_numpy() for i, title in enumerate(titles) if i not in ends}
        return _from_list(EdgeList(inverse.reshape(pairs.shape), ids, others))
    cells = [["" if c is None or c != c else str(c) for c in row] for row in frame.to_numpy(dtype=object)]
    return _from_list(edges_of(enumerate(cells, 1), titles, ends=ends, place="The frame of edges, data row"))


def _from_pyg(data: Any) -> GraphArrays:
    def get(key: str) -> Any:
        return to_numpy(data.get(key) if isinstance(data, Mapping) else getattr(data, key, None))

    edge_index, nodes, title = get("edge_index"), get("num_nodes"), get("name")
    if edge_index is None:
        raise DataError("The PyG Data has no edge_index. Give a homogeneous graph with edge_index [2, E].")
    graph = _from_array(np.asarray(edge_index).T, "edge_index", num_nodes=None if nodes is None else int(nodes))
    title = title if isinstance(title, str) else None
    return dataclasses.replace(graph, features=get("x"), labels=get("y"), title=title)


def _from_array(array: np.ndarray, what: str, *, num_nodes: int | None = None) -> GraphArrays:
    if array.size == 0:
        raise DataError(f"{what} holds no edges; give at least one edge.")
    if array.ndim != 2 or array.shape[1] != 2:
        raise DataError(f"Cannot read a graph from an array of shape {array.shape}. Give {ACCEPTED}.")
    if array.dtype.kind not in "iu" and (array.dtype.kind != "f" or not np.array_equal(array, np.floor(array))):
        raise DataError(f"{what} must hold whole node numbers, got {array.dtype}.")
    pairs = array.astype(np.int64)
    if pairs.min() < 0:
        raise DataError(f"{what} holds the negative node id {pairs.min()}; ids start at 0.")
    count, limit = int(pairs.max()) + 1, _MAX_NODES if num_nodes is None else num_nodes
    if count > limit:
        raise DataError(f"{what} holds the node id {count - 1}, out of range: the graph has {limit} nodes.")
    return GraphArrays(pairs, count if num_nodes is None else num_nodes)


def _from_sparse(matrix: Any, what: str) -> GraphArrays:
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"{what} has the shape {matrix.shape}; an adjacency matrix is square.")
    entries = matrix.tocoo()
    held = np.asarray(entries.data) != 0
    if not held.any():
        raise DataError(f"{what} holds no edges; give at least one edge.")
    pairs = np.stack([entries.row, entries.col], axis=1)[held].astype(np.int64)
    return GraphArrays(pairs, int(matrix.shape[0]), edge_columns={"weight": np.asarray(entries.data)[held]})


def _from_networkx(graph: Any, label: str | None, features: Sequence[str], required: bool) -> GraphArrays:
    """Nodes keep the graph's own order."""
    nodes = list(graph.nodes())
    if not nodes:
        raise DataError("The graph has no nodes; give one with at least one edge.")
    index = {node: position for position, node in enumerate(nodes)}
    columns = {}
    for key in ("weight", "label"):
        values = [value for _, _, value in graph.edges(data=key)]
        if values and all(value is not None for value in values):
            columns[key] = np.asarray(values)
    classes = [] if label is None else [value for _, value in graph.nodes(data=label)]
    if required and all(value is None for value in classes):
        raise unknown_name("node attribute", str(label), {key for _, held in graph.nodes(data=True) for key in held})
    return GraphArrays(
        edges=np.array([(index[u], index[v]) for u, v in graph.edges()], dtype=np.int64).reshape(-1, 2),
        num_nodes=len(nodes),
        names=np.array([str(node) for node in nodes]),
        edge_columns=columns,
        features=_attributes(graph, features) if features else None,
        feature_names=tuple(features),
        labels=np.array(classes, dtype=object) if any(value is not None for value in classes) else None,
        directed=graph.is_directed(),
        title=str(getattr(graph, "name", "")) or None,
    )


def _attributes(graph: Any, keys: Sequence[str]) -> np.ndarray:
    rows = []
    for node, data in graph.nodes(data=True):
        missing = [key for key in keys if key not in data]
        if missing:
            raise DataError(f"Node {node!r} lacks the feature attribute {missing[0]!r}; give it to every node.")
        rows.append([data[key] for key in keys])
    return feature_matrix(rows, len(rows))
