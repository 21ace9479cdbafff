"""Generated graphs exactly as the GraphNetz paper used them, flaws included.

They serve one purpose: to stand beside the published numbers. For new work take `random_tsp` and
`ising_lattice`.
"""

from __future__ import annotations

import numpy as np

from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import both_ways, graph, tensor
from graphnetz.graphs.random_graphs import nearest_pairs
from graphnetz.records import GraphList
from graphnetz.tasktypes.pairs import sample_non_edges

VALIDATION, TEST = 0.05, 0.10
TEMPERATURE = 2.27


def tsp_neighbours(seed: int, *, num_nodes: int = 200, k: int = 4) -> GraphList:
    """Return one set of uniform points in the unit square, each joined to its ``k`` nearest ones.

    ``x`` holds the coordinates. No tour is solved: the published task only hides edges of this graph.
    """
    points = generator("tsp-published", seed).random((num_nodes, 2))
    return GraphList([graph(both_ways(nearest_pairs(points, k)), num_nodes, x=points)])


def grid_pairs(side: int) -> np.ndarray:
    """Return the pairs i <= j of a square grid with open borders, eight neighbours and a loop per site."""
    row, column = np.divmod(np.arange(side * side), side)
    near = (np.abs(row[:, None] - row) <= 1) & (np.abs(column[:, None] - column) <= 1)
    return np.argwhere(np.triu(near))


def ising_grid(seed: int, *, side: int = 20, loops: bool = True) -> GraphList:
    """Return one grid with independent spins and the published way of hiding its edges.

    A spin is up with probability (1 + tanh(1 / 2.27)) / 2 = 0.71, whatever its neighbours do: what
    models find is the overlap of neighbourhoods. The grid has a loop at every site, and loops are hidden
    and asked for like any other edge (``loops=False`` leaves them out): the dot product of a vector
    with itself is large, which adds 0.02 to 0.06 to the AUC. Validation and test pairs come
    with as many pairs that are no edge.
    """
    rng = generator("ising-published", seed)
    nodes = side * side
    pairs = grid_pairs(side)
    pairs = pairs if loops else pairs[pairs[:, 0] != pairs[:, 1]]
    up = rng.random(nodes) < 0.5 + np.tanh(1.0 / TEMPERATURE) / 2.0
    order = rng.permutation(len(pairs))
    val, test = int(VALIDATION * len(pairs)), int(TEST * len(pairs))
    parts = {"val": pairs[order[:val]], "test": pairs[order[val : val + test]], "train": pairs[order[val + test :]]}
    proper = pairs[pairs[:, 0] != pairs[:, 1]]
    absent = sample_non_edges(proper[:, 0] * nodes + proper[:, 1], nodes, val + test, rng)
    data = graph(both_ways(parts["train"]), nodes, x=np.where(up, 1.0, -1.0)[:, None])
    for part, rows in parts.items():
        data[f"{part}_pos_edge_index"] = tensor(rows.T)
    data.val_neg_edge_index, data.test_neg_edge_index = tensor(absent[:, :val]), tensor(absent[:, val:])
    return GraphList([data])
