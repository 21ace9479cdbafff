"""Node and edge splits of the bank: 64 / 16 / 20, kept in files so that later measurements reuse them."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.paths import atomic_write, slug
from graphnetz._core.rng import generator
from graphnetz.graphs.compressed import Graph

IntArray = npt.NDArray[np.int64]
TRAIN, VALIDATION = 0.64, 0.16


def node_split(graph: Graph, seed: int = 0, *, recipe: str = "") -> dict[str, IntArray]:
    """Random nodes for training, validation and testing; parameters as in `stored_split`."""
    order = generator("selection-nodes", recipe, seed).permutation(graph.num_nodes)
    return dict(zip(("train", "val", "test"), np.split(order, bounds(graph.num_nodes)), strict=True))


def edge_split(graph: Graph, seed: int = 0, *, recipe: str = "") -> dict[str, IntArray]:
    """Random edges for training, validation and testing, and as many non-edges for the last two."""
    rng = generator("selection-edges", recipe, seed)
    edges = graph.edges[rng.permutation(graph.num_edges)]
    parts = dict(zip(("train", "val", "test"), np.split(edges, bounds(len(edges))), strict=True))
    wanted = len(parts["val"]) + len(parts["test"])
    free = _non_edges(graph, wanted, rng)
    parts["val_negative"], parts["test_negative"] = np.split(free, [round(len(free) * len(parts["val"]) / wanted)])
    return parts


def bounds(count: int) -> list[int]:
    """Where training ends and where validation does, of so many."""
    return [round(count * TRAIN), round(count * (TRAIN + VALIDATION))]


def _non_edges(graph: Graph, count: int, rng: np.random.Generator) -> IntArray:
    nodes = graph.num_nodes
    taken = set((graph.edges[:, 0] * nodes + graph.edges[:, 1]).tolist())
    count = min(count, nodes * (nodes - 1) // 2 - len(taken))
    out: list[tuple[int, int]] = []
    while len(out) < count:
        for a, b in np.sort(rng.integers(0, nodes, (2 * (count - len(out)) + 8, 2)), axis=1).tolist():
            if a != b and a * nodes + b not in taken and len(out) < count:
                taken.add(a * nodes + b)
                out.append((a, b))
    return np.array(out, dtype=np.int64).reshape(-1, 2)


def stored_split(
    graph: Graph, task_type: str, folder: Path | None, seed: int = 0, *, recipe: str = ""
) -> dict[str, Any]:
    """Return the split kept in ``folder`` for this graph, or make it and keep it there.

    Parameters
    ----------
    graph
        What is split. Its name takes no part: the same edges in a file of another name are split alike.
    task_type
        Edges are split for link prediction, nodes for anything else.
    folder
        Where splits are kept; None keeps none.
    seed
        Which of the splits.
    recipe
        How a generated graph is made: takes part in the draw, so that no two generated graphs share one.
    """
    make = edge_split if task_type == "link_pred" else node_split
    if folder is None:
        return make(graph, seed, recipe=recipe)
    content = zlib.crc32(graph.edges.tobytes(), graph.num_nodes)  # a graph that was edited is another graph
    path = folder / f"{slug(graph.name, length=150)}-{task_type}-{seed}-{content:08x}.npz"
    if not path.exists():
        with atomic_write(path, "wb") as stream:
            np.savez_compressed(stream, **make(graph, seed, recipe=recipe))  # type: ignore[arg-type]
    with np.load(path, allow_pickle=False) as kept:
        return {key: kept[key] for key in kept.files}


def graph_split(labels: IntArray, seed: int = 0) -> dict[str, IntArray]:
    """Random graphs for training, validation and testing, the same share of every class; parts are sorted."""
    rng = generator("selection-graphs", len(labels), seed)
    order = rng.permutation(len(labels))
    # Members of a class are spread evenly over the places of the order, each class from a start of its own.
    place = np.empty(len(labels))
    for value in np.unique(labels):
        members = order[labels[order] == value]
        place[members] = (np.arange(len(members)) + rng.random()) / len(members)
    found = np.split(np.lexsort((order.argsort(), place)), bounds(len(labels)))
    return {part: np.sort(index) for part, index in zip(("train", "val", "test"), found, strict=True)}
