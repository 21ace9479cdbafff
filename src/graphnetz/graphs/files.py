"""The one reader of graphs: files and in-memory objects become checked arrays.

Nothing here imports torch: objects of torch, PyTorch Geometric, pandas and networkx are recognised by
their attributes. No pickle is read. What cannot be read is refused in one sentence.
"""

from __future__ import annotations

import csv
import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError, GraphnetzError
from graphnetz.graphs.edgelist import (
    LABEL_TITLES,
    NODE_TITLES,
    EdgeList,
    edges_of,
    end_columns,
    read_edge_list,
    read_table,
    values_of,
)

ACCEPTED = (
    "an edge list, GraphML, GML, Matrix Market or npz file, a PyG Data, a networkx graph, a frame, a scipy sparse "
    "matrix or an array [2, E] or [E, 2]"
)
# a graph of this many nodes needs 16 GB for one float32 feature column and its gradient; beyond it
# an id is far more likely a phone number than a node
_MAX_NODES = 2_000_000_000


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
        One label per node: a table with a column of node ids and one of labels (file or frame), or
        an array. Nodes of an edge list that only such a table names become isolated nodes.
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
    if isinstance(source, str | os.PathLike):
        graph = _read_path(Path(source), label_column, feature_columns)
    elif hasattr(source, "adj") and hasattr(source, "nodes"):
        graph = _from_networkx(source, label_column, feature_columns)
    else:
        graph = _from_object(source, edge_rows=edge_rows)
    tables = [_table_of(side, graph, label_column) for side in (labels, features)]
    if num_nodes is None and _numbered(graph):  # an array of values counts the nodes, those without an edge too
        given = max((len(np.asarray(s)) for s in (labels, features) if isinstance(s, list | np.ndarray)), default=0)
        num_nodes = given if given > graph.num_nodes else None
    if num_nodes is not None:
        graph = _with_nodes(graph, num_nodes)
    graph = _with_isolated(graph, [table for table in tables if table is not None])
    if labels is not None:
        graph = dataclasses.replace(graph, labels=_labels(labels, graph, table=tables[0], column=label_column))
    if features is not None:
        graph = dataclasses.replace(graph, features=_features(features, graph, tables[1], tuple(feature_columns)))
    return graph


def feature_matrix(values: Any, rows: int, *, what: str = "features") -> np.ndarray:
    """Return a dense float32 matrix with ``rows`` finite rows, or say what is wrong."""
    try:
        matrix = np.asarray(values.toarray() if _is_sparse(values) else values, dtype=np.float32)
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
    values = np.asarray(labels, dtype=object)
    known = np.array([v is not None and v == v for v in values], dtype=bool)
    numeric = all(isinstance(v, int | float | np.number) for v in values[known])
    names = values[known].astype(float) if numeric else values[known].astype(str)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known] = np.unique(names, return_inverse=True)[1]
    return codes


# files


def _read_path(path: Path, label: str | None, features: Sequence[str]) -> GraphArrays:
    if not path.is_file():
        raise DataError(f"The file {str(path)!r} does not exist; give the path of an edge list, GraphML or npz file.")
    suffix = next((s.lower() for s in reversed(path.suffixes) if s != ".gz"), "")
    try:
        if suffix in _WITH_ATTRIBUTES:
            read, default = _WITH_ATTRIBUTES[suffix]
            graph = _from_networkx(read(path), label or default, features)
        else:
            graph = _READERS.get(suffix, _read_list)(path)
    except GraphnetzError:
        raise
    except Exception as error:  # parsers of foreign files raise anything
        raise DataError(f"The file {str(path)!r} cannot be read as {suffix or 'text'} ({error}).") from error
    return dataclasses.replace(graph, title=path.stem)


def _read_graphml(path: Path) -> Any:
    import networkx as nx

    return nx.read_graphml(path)


def _read_gml(path: Path) -> Any:
    import networkx as nx

    return nx.read_gml(path, label="id")


def _read_mtx(path: Path) -> GraphArrays:
    from scipy import io, sparse

    return _from_sparse(sparse.coo_array(io.mmread(path)), path.name)


def _read_npz(path: Path) -> GraphArrays:
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


_READERS: Mapping[str, Callable[[Path], GraphArrays]] = {".npz": _read_npz, ".mtx": _read_mtx}
_WITH_ATTRIBUTES: Mapping[str, tuple[Callable[[Path], Any], str]] = {
    ".graphml": (_read_graphml, "label"),
    ".gml": (_read_gml, "value"),
}
"""Readers of formats with node attributes, and the attribute that holds the label by default."""


# objects


def _from_object(source: Any, *, edge_rows: bool) -> GraphArrays:
    if hasattr(source, "edge_index") or (isinstance(source, Mapping) and "edge_index" in source):
        return _from_pyg(source)
    if _is_sparse(source):
        return _from_sparse(source, "The matrix")
    if hasattr(source, "columns"):
        titles = [str(column) for column in source.columns]
        cells = [["" if c is None or c != c else str(c) for c in row] for row in source.to_numpy(dtype=object)]
        ends = end_columns(titles, "The frame of edges", width=len(titles))
        if not cells:
            raise DataError("The frame of edges holds no edges; give one row per edge.")
        return _from_list(edges_of(enumerate(cells, 1), titles, ends=ends, place="The frame of edges, data row"))
    array = np.asarray(_numpy(source))
    if array.ndim == 2 and array.shape[0] == 2 and not (array.shape[1] == 2 and edge_rows):
        array = array.T
    return _from_array(array, "edges")


def _numpy(value: Any) -> Any:
    """Array of a tensor without importing torch; other values unchanged."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def _from_pyg(data: Any) -> GraphArrays:
    def get(key: str) -> Any:
        return _numpy(data.get(key) if isinstance(data, Mapping) else getattr(data, key, None))

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


def _is_sparse(value: Any) -> bool:
    return hasattr(value, "tocoo")


def _from_sparse(matrix: Any, what: str) -> GraphArrays:
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"{what} has the shape {matrix.shape}; an adjacency matrix is square.")
    entries = matrix.tocoo()
    held = np.asarray(entries.data) != 0
    if not held.any():
        raise DataError(f"{what} holds no edges; give at least one edge.")
    pairs = np.stack([entries.row, entries.col], axis=1)[held].astype(np.int64)
    return GraphArrays(pairs, int(matrix.shape[0]), edge_columns={"weight": np.asarray(entries.data)[held]})


def _from_networkx(graph: Any, label: str | None, features: Sequence[str]) -> GraphArrays:
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
    return GraphArrays(
        edges=np.array([(index[u], index[v]) for u, v in graph.edges()], dtype=np.int64).reshape(-1, 2),
        num_nodes=len(nodes),
        names=np.array([str(node) for node in nodes]),
        edge_columns=columns,
        features=_attributes(graph, features) if features else None,
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


# values beside the edges


@dataclass(frozen=True)
class _Table:
    """A table with one row per node: name, ids as text, and the other columns."""

    name: str
    ids: list[str]
    columns: Mapping[str, Any]


def _numbered(graph: GraphArrays) -> bool:
    """Whether the ids of nodes are whole numbers, which may stand for positions."""
    return graph.names is None or (graph.listed and graph.names.dtype.kind in "iu")


def _table_of(side: Any, graph: GraphArrays, label: str | None) -> _Table | None:
    """Return a table for a path or a frame, None for anything else."""
    if isinstance(side, str | os.PathLike):
        path = Path(side)
        if not path.is_file():
            raise DataError(f"The file {str(path)!r} does not exist; give a CSV file with a column of node ids.")
        names = range(graph.num_nodes) if graph.names is None else graph.names.tolist()
        try:
            titles, rows = read_table(path, nodes=map(str, names), label=label)
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"{path.name} is not a table of text ({error}).") from error
        columns = {title: values_of([row[i] for _, row in rows]) for i, title in enumerate(titles)}
        cells: list[str] = [row[_id_column(titles)] for _, row in rows]
        name = path.name
    elif hasattr(side, "columns"):
        titles, name = [str(column) for column in side.columns], "The table"
        columns = {title: side[column].to_numpy() for title, column in zip(titles, side.columns, strict=True)}
        cells = [str(value) for value in columns[titles[_id_column(titles)]]]
    else:
        return None
    if _numbered(graph):  # the same number may be written 7, 07 or 7.0
        cells = [str(int(cell.split(".")[0])) if re.fullmatch(r"\d+(\.0*)?", cell) else cell for cell in cells]
    return _Table(name, cells, {t: v for i, (t, v) in enumerate(columns.items()) if i != _id_column(titles)})


def _id_column(titles: Sequence[str]) -> int:
    lowered = [title.lower() for title in titles]
    return next((lowered.index(name) for name in NODE_TITLES if name in lowered), 0)


def _with_nodes(graph: GraphArrays, num_nodes: int) -> GraphArrays:
    """Return the graph with ``num_nodes`` nodes: whole numbers as ids become positions."""
    names = graph.names
    if not _numbered(graph):
        if num_nodes == graph.num_nodes:
            return graph
        raise DataError(f"num_nodes is {num_nodes}, but the graph names {graph.num_nodes} nodes. Leave num_nodes out.")
    top = graph.num_nodes - 1 if names is None else int(names[-1])
    if names is not None and top >= num_nodes == len(names):
        return graph
    if top >= num_nodes:
        raise DataError(f"The edges hold the node id {top}, out of range: the graph has {num_nodes} nodes.")
    edges = graph.edges if names is None else names[graph.edges]
    return dataclasses.replace(graph, edges=edges, num_nodes=num_nodes, names=None)


def _with_isolated(graph: GraphArrays, tables: Sequence[_Table]) -> GraphArrays:
    """Add the nodes that only a table names; an edge list has no other way to name them."""
    if not graph.listed or graph.names is None:
        return graph
    known = set(map(str, graph.names.tolist()))
    for table in tables:
        if not known & {*table.ids}:
            raise DataError(f"{table.name} names none of the nodes of the graph; its first id is {table.ids[:1]}.")
    further = list({name for table in tables for name in table.ids} - known)
    if not further:
        return graph
    numbered = graph.names.dtype.kind in "iu"
    stray = next((name for name in further if numbered and not name.isdecimal()), None)
    if stray is not None:
        raise DataError(f"{tables[0].name} names the node {stray!r}, but the edges number the nodes.")
    names = np.unique(np.concatenate([graph.names, np.array(further).astype(graph.names.dtype if numbered else str)]))
    places = np.searchsorted(names, graph.names)
    return dataclasses.replace(graph, edges=places[graph.edges], num_nodes=len(names), names=names)


def _positions(table: _Table, graph: GraphArrays) -> np.ndarray:
    """Translate the ids of a table to node positions."""
    if graph.names is not None:
        index = {str(name): position for position, name in enumerate(graph.names.tolist())}
        unknown = next((name for name in table.ids if name not in index), None)
        if unknown is not None:
            raise DataError(f"{table.name} names the node {unknown!r}, which the graph does not have.")
        return np.array([index[name] for name in table.ids], dtype=np.int64)
    bad = next((name for name in table.ids if not name.isdecimal() or int(name) >= graph.num_nodes), None)
    if bad is not None:
        raise DataError(
            f"{table.name} holds the node id {bad}, out of range 0..{graph.num_nodes - 1}; give num_nodes= to count "
            "nodes without an edge."
        )
    return np.array(table.ids, dtype=np.int64)


def _labels(given: Any, graph: GraphArrays, *, table: _Table | None, column: str | None) -> np.ndarray:
    """Return one label per node, in node order; nodes without one hold None."""
    if table is None:
        values = np.asarray(_numpy(given))
        if values.ndim == 0 or len(values) != graph.num_nodes:
            raise DataError(f"labels must hold one value per node ({graph.num_nodes}), got shape {values.shape}.")
        return values
    out = np.full(graph.num_nodes, None, dtype=object)
    out[_positions(table, graph)] = table.columns[_label_column(table, column)]
    return out


def _label_column(table: _Table, column: str | None) -> str:
    titles = list(table.columns)
    if column is not None and column not in titles:
        raise DataError(f"{table.name} has no column {column!r}; besides the ids it has {', '.join(titles)}.")
    usual = [title for title in titles if title.lower() in LABEL_TITLES]
    for choice in ([column] if column is not None else [], titles, usual):
        if len(choice) == 1:
            return str(choice[0])
    raise DataError(
        f"{table.name} has the columns {', '.join(titles) or 'of ids only'}; which one is the label? "
        "Call it 'label', or give label_column=."
    )


def _features(given: Any, graph: GraphArrays, table: _Table | None, wanted: Sequence[str]) -> Any:
    """Return the features in node order: float32, or as given where they are sparse."""
    if table is None:
        values = _numpy(given)
        if _is_sparse(values) and values.shape[0] == graph.num_nodes:
            return values
        return feature_matrix(np.asarray(values)[:, None] if np.ndim(values) == 1 else values, graph.num_nodes)
    positions = _positions(table, graph)
    if len(np.unique(positions)) != graph.num_nodes:
        covered = len(np.unique(positions))
        raise DataError(f"{table.name} covers {covered} of {graph.num_nodes} nodes; give one row per node.")
    missing = next((name for name in wanted if name not in table.columns), None)
    if missing is not None:
        raise DataError(f"{table.name} has no column {missing!r}; besides the ids it has {', '.join(table.columns)}.")
    out = np.zeros((graph.num_nodes, len(wanted or table.columns)), dtype=np.float32)
    for place, name in enumerate(wanted or table.columns):
        values = feature_matrix(
            table.columns[name][:, None], len(positions), what=f"The column {name!r} of {table.name}"
        )
        out[positions, place] = values[:, 0]
    return out
