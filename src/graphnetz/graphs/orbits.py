"""Edge orbits of 3- and 4-node graphlets, counted exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz.graphs.compressed import as_graph

ORBITS = (
    "path3",
    "triangle",
    "path4_end",
    "path4_centre",
    "claw",
    "cycle4",
    "paw_tail",
    "paw_opposite",
    "paw_side",
    "diamond_rim",
    "diamond_chord",
    "clique4",
)
"""Names of the twelve edge orbits, in the order of the columns of `edge_orbits`."""


def edge_orbits(edge_index: Any, num_nodes: int | None = None) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Count, for every edge, the induced 3- and 4-node graphlets in which it plays each role.

    Parameters
    ----------
    edge_index
        Array or tensor ``[2, E]``; direction, duplicates and self-loops are ignored. Anything else
        that `as_graph` reads is accepted too.
    num_nodes
        Number of nodes; default is the largest id plus one.

    Returns
    -------
    edges, counts
        ``edges`` holds the unique pairs i < j in lexicographic order, ``counts[E, 12]`` the roles
        named in `ORBITS`.

    Examples
    --------
    >>> edges, counts = edge_orbits(np.array([[0, 1, 2], [1, 2, 0]]), 3)
    >>> counts[:, 1].tolist()
    [1, 1, 1]
    """
    graph = as_graph(edge_index, num_nodes)
    return graph.edges, graph.orbits
