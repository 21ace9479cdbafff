"""Many graphs with a class each: what graph classification is about, read from wherever they are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError, UsageError
from graphnetz.graphs.compressed import Graph, from_pairs
from graphnetz.records import Task

IntArray = npt.NDArray[np.int64]
LEAST_GRAPHS = 30
"""Graphs below which a split leaves nothing to learn from."""


@dataclass(frozen=True, eq=False)
class Collection:
    """Graphs with one class each; made by `as_collection`.

    Parameters
    ----------
    graphs
        The graphs, as PyG ``Data``.
    labels
        Number of the class of each.
    name
        What the collection is called.
    class_names
        What the source calls the classes; empty where they have only numbers.

    Examples
    --------
    >>> from graphnetz.testing.examples import rings_and_stars
    >>> held = as_collection(rings_and_stars(), name="shapes")
    >>> held.num_graphs == len(held.labels), held.classes
    (True, 2)
    """

    graphs: tuple[Any, ...]
    labels: IntArray
    name: str = "graphs"
    class_names: tuple[str, ...] = ()

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return len(self.graphs)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1

    @cached_property
    def sizes(self) -> IntArray:
        """Nodes of each graph."""
        return np.array([int(graph.num_nodes) for graph in self.graphs])

    @property
    def num_nodes(self) -> int:
        """Nodes of all graphs together."""
        return int(self.sizes.sum())

    @property
    def num_edges(self) -> int:
        """Undirected edges of all graphs together, without self-loops."""
        return self.union.num_edges

    @property
    def width(self) -> int:
        """Columns of the node features; 0 where there are none."""
        x = self.graphs[0].x
        return 0 if x is None else int(x.reshape(len(x), -1).shape[1])

    @property
    def vocabulary(self) -> tuple[int, ...]:
        """Values of each column where features are whole numbers, which are categories; else empty."""
        x = self.features
        return () if x is None or x.dtype.kind not in "iu" else tuple((x.max(axis=0) + 1).tolist())

    @cached_property
    def owner(self) -> IntArray:
        """The graph of each node, nodes of all graphs numbered through."""
        return np.repeat(np.arange(self.num_graphs), self.sizes)

    @cached_property
    def arcs(self) -> IntArray:
        """Edges as given ``[2, arcs]``, nodes of all graphs numbered through."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        parts = [graph.edge_index.numpy() + start for graph, start in zip(self.graphs, starts, strict=True)]
        return np.concatenate(parts, axis=1).astype(np.int64)

    @cached_property
    def union(self) -> Graph:
        """All graphs side by side as one."""
        return from_pairs(self.arcs[0], self.arcs[1], num_nodes=self.num_nodes, directed=True, name=self.name)

    @cached_property
    def features(self) -> npt.NDArray[Any] | None:
        """One row per node of all graphs; None where there are no features."""
        if not self.width:
            return None
        return np.concatenate([graph.x.numpy().reshape(int(graph.num_nodes), -1) for graph in self.graphs])

    @cached_property
    def digest(self) -> str:
        """Hash of edges, classes and features: what tells collections apart that have the same name."""
        found = hashlib.sha256()
        for part in (self.sizes, self.arcs, self.labels, *(() if self.features is None else (self.features,))):
            found.update(f"{part.dtype.str}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
        return found.hexdigest()

    def take(self, chosen: Any, name: str | None = None) -> Collection:
        """Some of the graphs, by position.

        Parameters
        ----------
        chosen
            Positions, rising.
        name
            What the part is called; default: like the whole.

        Returns
        -------
        Collection
            Classes keep their numbers.

        Examples
        --------
        >>> from graphnetz.testing.examples import rings_and_stars
        >>> as_collection(rings_and_stars()).take([0, 2]).num_graphs
        2
        """
        places = [int(place) for place in chosen]
        return Collection(
            tuple(self.graphs[place] for place in places), self.labels[places], name or self.name, self.class_names
        )


def as_collection(source: Any, *, name: str | None = None, class_names: Sequence[str] = ()) -> Collection:
    """Check graphs with one class each.

    Parameters
    ----------
    source
        A `Collection`, a PyG dataset or a list of ``Data`` with ``y``, or a list of networkx graphs with the attribute
        ``label``.
    name
        What it is called.
    class_names
        Names of the classes in the order of their numbers.

    Returns
    -------
    Collection
        Classes numbered from 0 in rising order.

    Examples
    --------
    >>> import networkx as nx
    >>> shapes = [nx.cycle_graph(n, create_using=nx.Graph) for n in range(3, 40)]
    >>> for graph in shapes:
    ...     graph.graph["label"] = "odd" if len(graph) % 2 else "even"
    >>> as_collection(shapes).classes
    2
    """
    if isinstance(source, Collection):
        return source
    single = not hasattr(source, "__len__") or (hasattr(source, "edge_index") and not hasattr(source, "slices"))
    graphs = [] if single else [source[place] for place in range(len(source))]
    if graphs and hasattr(graphs[0], "adj"):  # networkx
        from graphnetz.datasets import task_from_networkx

        task = task_from_networkx(name or "graphs", graphs)
        graphs, class_names = list(task.loader(None)), class_names or _class_names(task)
    if len(graphs) < 2 or not all(hasattr(graph, "edge_index") for graph in graphs):
        raise UsageError("Graphs are classified: give a dataset or a list of graphs, each with its class y.")
    if any(graph.get("y") is None for graph in graphs):
        raise DataError("Not all graphs have a class y. Give one per graph.")
    if any(graph.y.numel() != 1 for graph in graphs):
        raise DataError(
            "Each graph has several labels; the bank knows collections with one class per graph. Give one label."
        )
    raw = np.array([float(graph.y) for graph in graphs])
    if not np.isfinite(raw).all() or (raw != np.floor(raw)).any():
        raise DataError("Graphs have numbers as targets and not classes; the bank has no records of regression.")
    values, labels = np.unique(raw.astype(np.int64), return_inverse=True)
    if len(values) < 2:
        raise DataError("All graphs are of one class: there is nothing to tell apart.")
    if len(graphs) < LEAST_GRAPHS:
        raise DataError(f"There are {len(graphs)} graphs; a split into three parts needs {LEAST_GRAPHS}.")
    title = name or getattr(source, "name", None)
    return Collection(
        tuple(graphs), labels.astype(np.int64), title if isinstance(title, str) else "graphs",
        tuple(class_names) if len(class_names) == len(values) else (),
    )  # fmt: skip


def _class_names(task: Task) -> tuple[str, ...]:
    return () if task.names is None else tuple(task.names.classes)


def read_collection(
    source: str | Path | None = None, *, labels: str | Path | None = None, label_column: str | None = None,
    features: str | Path | None = None, root: str = "data/benchmark",
) -> Collection:  # fmt: skip
    """Read a collection by name or path.

    Parameters
    ----------
    source
        Name of a dataset of the catalogue, a folder in TU layout, a ``.pt`` file of PyG graphs, or a table of edges
        with a column ``graph``; None takes scikit-learn's handwritten digits as superpixels.
    labels, label_column, features
        Beside a table: classes of graphs, the column of the classes, and features of nodes.
    root
        Where datasets are kept.

    Returns
    -------
    Collection
        Fetched where it is not at hand.

    Examples
    --------
    >>> read_collection("csl").num_graphs
    150
    """
    from graphnetz.datasets import CARDS

    name = "digits_superpixels" if source is None else str(source)
    if name in CARDS and not Path(name).exists():
        card = CARDS[name]
        if "graph_cls" not in card.serves:
            raise UsageError(f"{name!r} has no classes of graphs; it serves {', '.join(card.serves)}.")
        return as_collection(card.loader(str(Path(root) / card.category / name)), name=name)
    if Path(name).is_file() and Path(name).suffix not in (".pt", ".pth"):
        from graphnetz.datasets import task_from_edges
        from graphnetz.graphs.several import has_graph_column

        if not has_graph_column(name):
            raise UsageError(
                f"{Path(name).name!r} holds one graph. Graphs are classified: give a table with a column 'graph' and "
                "its --labels, a folder in TU layout, a .pt file, or a dataset of graphs."
            )
        task = task_from_edges(
            Path(name).stem, name, labels=labels, features=features, label_column=label_column, task_type="graph_cls"
        )
    else:
        from graphnetz.rings import task_from_source

        task = task_from_source(name, task_type="graph_cls")
    return as_collection(task.loader(None), name=Path(name).stem, class_names=_class_names(task))
