"""The bundled example graph, and edge lists with node classes beside them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from graphnetz._core.errors import DataError, UsageError, unknown_name
from graphnetz.graphs.compressed import Graph, as_graph
from graphnetz.graphs.folder import GraphFolder, is_folder
from graphnetz.selection.collection import Collection, read_collection


def example_graph() -> Graph:
    """A made-up network of 400 people in five groups: `scripts/example_graph.py` writes its files."""
    folder = resources.files("graphnetz.selection") / "shipped"
    with (
        resources.as_file(folder / "example.csv") as edges,
        resources.as_file(folder / "example_labels.csv") as classes,
    ):
        return read_labelled(edges, classes)


def read_labelled(
    edges: str | Path,
    labels: str | Path | None = None,
    *,
    label_column: str | None = None,
    features: str | Path | None = None,
) -> Graph:
    """Read a graph file and, where given, tables of node classes and features; every node needs its class."""
    graph = as_graph(
        edges, labels=None if labels is None else str(labels), label_column=label_column,
        features=None if features is None else str(features),
    )  # fmt: skip
    if labels is not None and graph.labels is not None and (graph.labels < 0).any():
        bare = int((graph.labels < 0).sum())
        raise DataError(
            f"{Path(labels).name!r} gives no label for {bare} nodes of {Path(edges).name!r}. "
            "Give one line per node: its id and its label."
        )
    return graph


def named_graph(name: str, *, root: str = "data/benchmark") -> Graph:
    """Load the one graph of a dataset of the catalogue, with features and classes where all nodes have them.

    Parameters
    ----------
    name
        Name of a dataset, as ``graphnetz list datasets`` shows it.
    root
        Where datasets are kept.

    Returns
    -------
    Graph
        Fetched where it is not at hand.

    Examples
    --------
    >>> named_graph("karate_club").num_edges
    78
    """
    from graphnetz.datasets import CARDS

    if name not in CARDS:
        raise unknown_name("file or dataset", name, CARDS)
    card = CARDS[name]
    loaded = card.loader(str(Path(root) / card.category / name))
    data = loaded
    if not hasattr(loaded, "edge_index") or hasattr(loaded, "slices"):
        if len(loaded) != 1:
            raise UsageError(f"{name!r} holds {len(loaded)} graphs; select answers for one graph. Give one of them.")
        data = loaded[0]
    y = getattr(data, "y", None)
    classes = y.numpy() if y is not None and y.dim() == 1 and not y.is_floating_point() and (y >= 0).all() else None
    features = None if data.x is None else data.x.numpy()
    return as_graph(data.edge_index.T.numpy(), int(data.num_nodes), labels=classes, features=features, name=name)


@dataclass(frozen=True)
class Source:
    """Where the graph of a command comes from: a file, the name of a dataset, or neither for the bundled example.

    Parameters
    ----------
    name
        Path of a file that `graphnetz.graphs.read_graph` reads, or name of a dataset.
    labels, label_column, features
        Tables of node classes and features beside a file, and the column of the classes.
    root
        Where datasets are kept.

    Examples
    --------
    >>> Source("karate_club").read().num_nodes
    34
    """

    name: str | None = None
    labels: Path | None = None
    label_column: str | None = None
    features: Path | None = None
    root: str = "data/benchmark"

    def read(self, task_type: str = "") -> Graph | GraphFolder | Collection:
        """Return the graph, or for graph classification the graphs.

        Parameters
        ----------
        task_type
            What is to be predicted.

        Returns
        -------
        Graph or Collection
            With classes and features where there are any; a graph folder is opened and not loaded.

        Examples
        --------
        >>> Source().read().num_nodes
        400
        """
        if task_type == "graph_cls":
            return read_collection(self.name, root=self.root, **self._tables())
        given = [option for option, value in self._beside().items() if value is not None]
        if given and (self.name is None or self._is_dataset):
            what = "a dataset has its own" if self.name else "give a file of edges as well"
            raise UsageError(f"--{given[0].replace('_', '-')} describes the nodes of a file: {what}.")
        if self.name is None:
            return example_graph()
        if self._is_dataset:
            return named_graph(self.name, root=self.root)
        if is_folder(self.name):
            if given:
                raise UsageError(f"A graph folder holds its own classes and features: leave --{given[0]} out.")
            return GraphFolder.open(self.name)
        return read_labelled(self.name, self.labels, label_column=self.label_column, features=self.features)

    def to_code(self, task_type: str = "") -> str:
        """Return the Python expression that reads it, with its import.

        Parameters
        ----------
        task_type
            What is to be predicted.

        Returns
        -------
        str
            Two lines that leave a variable ``graph``.

        Examples
        --------
        >>> print(Source("mine.csv").to_code())
        from graphnetz.selection.example import read_labelled
        graph = read_labelled('mine.csv')
        """
        if task_type == "graph_cls":
            call, more = "read_collection", [f"{key}={value!r}" for key, value in self._tables().items() if value]
            more += [f"root={self.root!r}"] if self.root != "data/benchmark" else []
            listed = ", ".join([*([repr(self.name)] if self.name else []), *more])
            return f"from graphnetz.selection.collection import {call}\ngraph = {call}({listed})"
        call, arguments = "example_graph", []
        if self.name is not None:
            call, arguments = ("named_graph" if self._is_dataset else "read_labelled"), [repr(self.name)]
            if self._is_dataset and self.root != "data/benchmark":
                arguments.append(f"root={self.root!r}")
            arguments += [f"{key}={str(value)!r}" for key, value in self._beside().items() if value is not None]
        return f"from graphnetz.selection.example import {call}\ngraph = {call}({', '.join(arguments)})"

    @property
    def _is_dataset(self) -> bool:
        from graphnetz.datasets import CARDS

        return (
            self.name is not None
            and not Path(self.name).exists()
            and (Path(self.name).suffix == "" or self.name in CARDS)
        )

    def _tables(self) -> dict[str, Any]:
        """What stands beside a table of many graphs; nothing else can have it."""
        found = {key: None if value is None else str(value) for key, value in self._beside().items()}
        given = [option for option, value in found.items() if value is not None]
        if given and (self.name is None or not Path(self.name).is_file()):
            raise UsageError(f"--{given[0].replace('_', '-')} describes the graphs of a table with a column 'graph'.")
        return found

    def _beside(self) -> dict[str, Path | str | None]:
        return {"labels": self.labels, "label_column": self.label_column, "features": self.features}
