"""Labels and features beside the edges: tables and arrays with one row per node."""

from __future__ import annotations

import csv
import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError
from graphnetz._core.readers import refuse_bomb, regular
from graphnetz.graphs.arrays import GraphArrays, feature_matrix, is_sparse, to_numpy
from graphnetz.graphs.edgelist import LABEL_TITLES, NODE_TITLES, read_table, values_of
from graphnetz.graphs.parquet import read_parquet


def add_values(
    graph: GraphArrays,
    *,
    labels: Any,
    features: Any,
    num_nodes: int | None,
    label_column: str | None,
    feature_columns: Sequence[str],
) -> GraphArrays:
    """Return the graph with labels and features from tables or arrays; parameters as in `read_graph`."""
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
        named = tuple(feature_columns or (() if tables[1] is None else tables[1].columns))
        found = _features(features, graph, tables[1], tuple(feature_columns))
        graph = dataclasses.replace(graph, features=found, feature_names=named)
    return graph


@dataclass(frozen=True)
class _Table:
    """A table with one row per node: name, ids as text, and the other columns."""

    name: str
    ids: list[str]
    columns: Mapping[str, Any]
    lines: Sequence[int] = ()

    def where(self, row: int) -> str:
        """Say where a row stands."""
        return f"line {self.lines[row]}" if self.lines else f"row {row}"


def _numbered(graph: GraphArrays) -> bool:
    """Whether the ids of nodes are whole numbers, which may stand for positions."""
    return graph.names is None or (graph.listed and graph.names.dtype.kind in "iu")


def _table_of(side: Any, graph: GraphArrays, label: str | None) -> _Table | None:
    """Return a table for a path or a frame, None for anything else."""
    if isinstance(side, str | os.PathLike) and Path(side).suffix.lower() == ".parquet":
        side = read_parquet(Path(side))
    if isinstance(side, str | os.PathLike):
        path = Path(side)
        if not path.exists():
            raise DataError(f"The file {str(path)!r} does not exist; give a CSV file with a column of node ids.")
        regular(path, give="Give a CSV file with a column of node ids.")
        if path.suffix == ".gz":
            refuse_bomb(path)
        names = range(graph.num_nodes) if graph.names is None else graph.names.tolist()
        try:
            titles, rows = read_table(path, nodes=map(str, names), label=label)
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"{path.name} is not a table of text ({error}).") from error
        if twice := next((title for i, title in enumerate(titles) if title in titles[:i]), None):
            raise DataError(f"{path.name} has the column {twice!r} twice. Give every column a name of its own.")
        columns = {title: values_of([row[i] for _, row in rows]) for i, title in enumerate(titles)}
        cells: list[str] = [row[_id_column(titles)] for _, row in rows]
        name, lines = path.name, [number for number, _ in rows]
    elif isinstance(side, Mapping):  # a value, or a row of values, by node
        values = [value if np.ndim(value) else [value] for value in side.values()]
        if len({len(row) for row in values}) > 1:
            raise DataError("The mapping has rows of different length. Give every node as many values.")
        titles, name, lines = ["node", *map(str, range(len(values[0]) if values else 0))], "The mapping", []
        cells = [str(node) for node in side]
        columns = {"node": np.array(cells, dtype=object)} | {
            title: values_of([str(row[i]) for row in values]) for i, title in enumerate(titles[1:])
        }
    elif hasattr(side, "columns"):
        titles, name, lines = [str(column) for column in side.columns], "The table", []
        columns = {title: side[column].to_numpy() for title, column in zip(titles, side.columns, strict=True)}
        cells = [str(value) for value in columns[titles[_id_column(titles)]]]
    else:
        return None
    if _numbered(graph):  # the same number may be written 7, 07 or 7.0
        cells = [str(int(cell.split(".")[0])) if re.fullmatch(r"\d+(\.0*)?", cell) else cell for cell in cells]
    others = {t: v for i, (t, v) in enumerate(columns.items()) if i != _id_column(titles)}
    return _Table(name, cells, others, lines)


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
    if not graph.listed or graph.names is None or not tables:
        return graph
    known = set(map(str, graph.names.tolist()))
    for table in tables:
        if not known & {*table.ids}:
            raise DataError(
                f"{table.name} names none of the nodes of the graph; its first id is {str(table.ids[0])!r}."
            )
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
        values = np.asarray(to_numpy(given))
        if values.ndim == 0 or len(values) != graph.num_nodes:
            raise DataError(f"labels must hold one value per node ({graph.num_nodes}), got shape {values.shape}.")
        return values
    out = np.full(graph.num_nodes, None, dtype=object)
    positions, values = _positions(table, graph), table.columns[_label_column(table, column)]
    _refuse_conflicts(table, positions, values[:, None], "labels")
    out[positions] = values
    return out


def _refuse_conflicts(table: _Table, positions: np.ndarray, values: np.ndarray, what: str) -> None:
    """Refuse a table that says two things about one node; saying the same twice does no harm."""
    first: dict[int, int] = {}
    for row, position in enumerate(positions.tolist()):
        other = first.setdefault(position, row)
        if other != row and [str(value) for value in values[row]] != [str(value) for value in values[other]]:
            raise DataError(
                f"{table.name}: node {table.ids[row]!r} has different {what} in {table.where(other)} and "
                f"{table.where(row)}. Keep one of them."
            )


def _label_column(table: _Table, column: str | None) -> str:
    titles = list(table.columns)
    if column is not None and column not in titles:
        raise DataError(
            f"{table.name} has no column {column!r}; besides the ids it has {', '.join(titles)}. Name one of these."
        )
    usual = [title for title in titles if title.lower() in LABEL_TITLES]
    for choice in ([column] if column is not None else [], titles, usual):
        if len(choice) == 1:
            return str(choice[0])
    raise DataError(
        f"{table.name} has the columns {', '.join(titles) or 'of ids only'}; which one is the label? "
        "Call it 'label', or give label_column= (--label-column)."
    )


def _features(given: Any, graph: GraphArrays, table: _Table | None, wanted: Sequence[str]) -> Any:
    """Return the features in node order: float32, or as given where they are sparse."""
    if table is None:
        values = to_numpy(given)
        if is_sparse(values) and values.shape[0] == graph.num_nodes:
            return values
        return feature_matrix(np.asarray(values)[:, None] if np.ndim(values) == 1 else values, graph.num_nodes)
    positions = _positions(table, graph)
    if len(np.unique(positions)) != graph.num_nodes:
        known = set(positions.tolist())
        gone = next(i for i in range(graph.num_nodes) if i not in known)
        first = repr(str(gone if graph.names is None else graph.names[gone]))
        raise DataError(
            f"{table.name} covers {len(known)} of {graph.num_nodes} nodes, not {first}; give one row per node."
        )
    missing = next((name for name in wanted if name not in table.columns), None)
    if missing is not None:
        raise DataError(
            f"{table.name} has no column {missing!r}, which is one of {', '.join(wanted)}; besides the ids it has "
            f"{', '.join(table.columns)}. Add it."
        )
    out = np.zeros((graph.num_nodes, len(wanted or table.columns)), dtype=np.float32)
    for place, name in enumerate(wanted or table.columns):
        values = feature_matrix(
            table.columns[name][:, None], len(positions), what=f"The column {name!r} of {table.name}"
        )
        _refuse_conflicts(table, positions, values, "features")
        out[positions, place] = values[:, 0]
    return out
