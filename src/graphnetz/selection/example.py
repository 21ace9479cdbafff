"""The bundled example graph, and edge lists with node classes beside them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np

from graphnetz._core.errors import DataError
from graphnetz.graphs.compressed import Graph, as_graph, from_pairs
from graphnetz.graphs.edgelist import read_edge_list


def example_graph() -> Graph:
    """A made-up network of 400 people in five groups: `scripts/example_graph.py` writes its files."""
    folder = resources.files("graphnetz.selection") / "shipped"
    with (
        resources.as_file(folder / "example.csv") as edges,
        resources.as_file(folder / "example_labels.csv") as classes,
    ):
        return read_labelled(edges, classes)


def read_labelled(edges: str | Path, labels: str | Path | None = None) -> Graph:
    """Read an edge list and, where given, a CSV with the columns node and label.

    Labels of nodes without edges are ignored; every node with an edge needs one.
    """
    path = Path(edges)
    if labels is None:
        return as_graph(path)
    row, col, ids = read_edge_list(path)
    table = _rows(Path(labels))
    names = [str(node) for node in ids.tolist()]
    bare = [name for name in names if name not in table]
    if bare:
        raise DataError(
            f"{Path(labels).name!r} gives no label for {len(bare)} nodes of {path.name!r}, the first is {bare[0]!r}. "
            "Give one line per node: its id and its label."
        )
    classes = np.array([table[name] for name in names])
    return from_pairs(row, col, num_nodes=len(names), labels=classes, name=path.stem)


def _rows(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read the labels {str(path)!r}: {error}.") from error
    out: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.split(",")]
        if not line.strip() or (number == 1 and [cell.lower() for cell in cells[:2]] == ["node", "label"]):
            continue
        if len(cells) < 2 or not cells[0] or not cells[1]:
            raise DataError(f"Line {number} of {path.name!r} is {line.strip()!r}. Expected a node id and its label.")
        out[cells[0]] = cells[1]
    return out
