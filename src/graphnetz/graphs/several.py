"""Many graphs in one table: edges with a column that says which graph they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError
from graphnetz._core.readers import read_csv
from graphnetz.graphs.arrays import feature_matrix
from graphnetz.graphs.edgelist import NODE_TITLES, end_columns

GRAPH_TITLES = ("graph", "graph_id", "graphid")


@dataclass(frozen=True, eq=False)
class NamedGraph:
    """One graph of a table: its name, edges as positions, names of its nodes, features and target where given."""

    name: str
    edges: np.ndarray
    nodes: np.ndarray
    features: np.ndarray | None = None
    label: Any = None


def has_graph_column(path: str | Path) -> bool:
    r"""Whether a table of edges says to which graph each edge belongs.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edges.csv"
    >>> _ = file.write_text("graph,source,target\na,1,2\n")
    >>> has_graph_column(file)
    True
    """
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        return _graph_column(list(_table(path).columns)) is not None
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as stream:
        first = stream.readline()
    return _graph_column([cell.strip() for cell in first.split(",")]) is not None


def read_graphs(
    edges: str | Path,
    *,
    labels: str | Path | None = None,
    features: str | Path | None = None,
    label_column: str | None = None,
    feature_columns: Sequence[str] = (),
) -> list[NamedGraph]:
    r"""Read many graphs from tables with a column ``graph``.

    Parameters
    ----------
    edges
        Columns graph, source and target.
    labels
        Columns graph and label: the target of each graph.
    features
        Columns graph, node and one per feature. A node that only stands here has no edge.
    label_column, feature_columns
        Which columns to take, where there are several.

    Returns
    -------
    list of NamedGraph
        In the order of their first row.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edges.csv"
    >>> _ = file.write_text("graph,source,target\na,x,y\na,y,z\nb,1,2\n")
    >>> [(graph.name, graph.edges.tolist()) for graph in read_graphs(file)]
    [('a', [[0, 1], [1, 2]]), ('b', [[0, 1]])]
    """
    table = _table(edges)
    of = _required_graph(table, Path(edges).name)
    titles = [str(column) for column in table.columns if column != of]
    ends = [titles[i] for i in end_columns(titles, Path(edges).name, width=len(titles))]
    held = None if features is None else _table(features)
    targets = {} if labels is None else _targets(_table(labels), Path(labels).name, label_column)
    by_graph = dict(tuple(table.groupby(of, sort=False)))
    named = list(dict.fromkeys([*by_graph, *([] if held is None else held[_required_graph(held, str(features))])]))
    rows = None if held is None else dict(tuple(held.groupby(_required_graph(held, str(features)), sort=False)))
    found = []
    for name in named:
        pairs = by_graph[name][ends].to_numpy() if name in by_graph else np.zeros((0, 2), dtype=object)
        mine = None if rows is None else _rows(rows.get(name), str(name), Path(str(features)).name, feature_columns)
        nodes = np.array(sorted({*pairs.ravel().tolist(), *(() if mine is None else mine[0])}), dtype=object)
        place = {node: i for i, node in enumerate(nodes.tolist())}
        index = np.array([[place[a], place[b]] for a, b in pairs], dtype=np.int64).reshape(-1, 2)
        x = None if mine is None else _ordered(mine, nodes, str(name))
        if labels is not None and name not in targets:
            raise DataError(f"{Path(labels).name} has no row for the graph {name!r}. Give one label per graph.")
        found.append(NamedGraph(str(name), index, nodes, x, targets.get(name)))
    return found


def _table(path: str | Path) -> Any:
    path = Path(path)
    if not path.is_file():
        raise DataError(f"The file {str(path)!r} does not exist; give a CSV or Parquet table.")
    if path.suffix.lower() == ".parquet":
        from graphnetz.graphs.parquet import read_parquet

        return read_parquet(path).astype(str)
    with path.open(encoding="utf-8", errors="replace") as stream:
        titles = [cell.strip() for cell in stream.readline().split(",")]
    return read_csv(path, text=titles)


def _graph_column(titles: Sequence[str]) -> str | None:
    return next((title for title in titles if str(title).lower() in GRAPH_TITLES), None)


def _required_graph(table: Any, name: str) -> str:
    found = _graph_column([str(column) for column in table.columns])
    if found is None:
        raise DataError(f"{name} has no column 'graph'; it has {', '.join(map(str, table.columns))}.")
    return found


def _targets(table: Any, name: str, column: str | None) -> dict[str, Any]:
    of = _required_graph(table, name)
    others = [str(title) for title in table.columns if title != of]
    chosen = column or (others[0] if len(others) == 1 else "label")
    if chosen not in others:
        raise DataError(
            f"{name} has the columns {', '.join(others)} beside 'graph'; which is the target? Give label_column=."
        )
    return dict(zip(table[of], table[chosen], strict=True))


def _rows(table: Any, graph: str, name: str, wanted: Sequence[str]) -> tuple[list[Any], np.ndarray]:
    if table is None:
        raise DataError(f"{name} has no row for the graph {graph!r}. Give one row per node.")
    titles = [str(title) for title in table.columns]
    node = next((title for title in titles if title.lower() in NODE_TITLES), None)
    if node is None:
        raise DataError(f"{name} has no column 'node'; it has {', '.join(titles)}.")
    columns = list(wanted) or [title for title in titles if title not in (node, _graph_column(titles))]
    if missing := next((title for title in columns if title not in titles), None):
        raise DataError(f"{name} has no column {missing!r}; it has {', '.join(titles)}.")
    return table[node].tolist(), feature_matrix(table[columns].to_numpy(), len(table), what=f"The features of {name}")


def _ordered(held: tuple[list[Any], np.ndarray], nodes: np.ndarray, graph: str) -> np.ndarray:
    place = {node: i for i, node in enumerate(held[0])}
    if missing := next((node for node in nodes.tolist() if node not in place), None):
        raise DataError(f"The node {missing!r} of the graph {graph!r} has no row of features. Give one row per node.")
    return held[1][[place[node] for node in nodes.tolist()]]
