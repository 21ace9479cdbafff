"""The bundled example graph, and edge lists with node classes beside them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from graphnetz._core.errors import DataError
from graphnetz.graphs.compressed import Graph, as_graph


def example_graph() -> Graph:
    """A made-up network of 400 people in five groups: `scripts/example_graph.py` writes its files."""
    folder = resources.files("graphnetz.selection") / "shipped"
    with (
        resources.as_file(folder / "example.csv") as edges,
        resources.as_file(folder / "example_labels.csv") as classes,
    ):
        return read_labelled(edges, classes)


def read_labelled(edges: str | Path, labels: str | Path | None = None) -> Graph:
    """Read a graph file and, where given, a table of node classes; every node needs its class."""
    graph = as_graph(edges, labels=labels)
    if labels is not None and graph.labels is not None and (graph.labels < 0).any():
        bare = int((graph.labels < 0).sum())
        raise DataError(
            f"{Path(labels).name!r} gives no label for {bare} nodes of {Path(edges).name!r}. "
            "Give one line per node: its id and its label."
        )
    return graph
