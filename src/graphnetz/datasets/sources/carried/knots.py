"""Knot diagrams as graphs: crossings joined by arcs."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import numpy as np

from graphnetz.datasets.generators.build import graph
from graphnetz.datasets.sources.base import Built
from graphnetz.datasets.sources.carried.build import rows_of

MOST_CROSSINGS = 10
FACES = (2, 3, 4, 5, 6)
"""Sides of faces that are told apart; larger ones count as the last."""


def volumes(files: Mapping[str, bytes]) -> Built:
    """Return every prime hyperbolic knot of at most ten crossings, those of Rolfsen's table, with its volume.

    Nodes are crossings with their sign and the sizes of the four faces around them, edges the arcs between them, with
    whether the arc is the upper strand at either end; two arcs between the same crossings are two edges.
    """
    graphs = []
    for row in rows_of(files["knotinfo_data_complete.csv"], delimiter="|"):
        if not row["crossing_number"].isdigit():
            continue  # the second header line
        if int(row["crossing_number"]) > MOST_CROSSINGS:
            break  # the table is ordered by crossings
        if float(row["volume"] or 0) > 0:
            graphs.append(_diagram(ast.literal_eval(row["pd_notation"]), float(row["volume"])))
    return Built(graphs)


def _diagram(crossings: list[list[int]], volume: float) -> object:
    """Build the diagram of a planar-diagram code.

    The code lists the four arcs at each crossing counter-clockwise, beginning with the incoming lower one.
    """
    positive = [j - last == 1 or last - j > 1 for _, j, _, last in crossings]
    ends: dict[int, list[tuple[int, int]]] = {}
    for number, arcs in enumerate(crossings):
        for place, arc in enumerate(arcs):
            ends.setdefault(arc, []).append((number, place))
    rows = [(a, b, place_a % 2, place_b % 2) for (a, place_a), (b, place_b) in ends.values()]  # odd: the upper strand
    rows += [(b, a, upper_b, upper_a) for a, b, upper_a, upper_b in rows]
    table = np.array(rows)
    x = np.zeros((len(crossings), 1 + len(FACES)))
    x[:, 0] = np.where(positive, 1.0, -1.0)
    for (number, _), sides in _faces(ends).items():
        x[number, 1 + FACES.index(min(sides, FACES[-1]))] += 1.0
    edges = table[:, :2].T.astype(np.int64)
    return graph(edges, len(crossings), x=x, edge_attr=table[:, 2:].astype(float), y=np.array([volume]))


def _faces(ends: Mapping[int, list[tuple[int, int]]]) -> dict[tuple[int, int], int]:
    """Return the number of sides of the face at every corner, named by its crossing and the place before it."""
    across = {here: there for first, second in ends.values() for here, there in ((first, second), (second, first))}
    found: dict[tuple[int, int], int] = {}
    for start in across:
        if start in found:
            continue
        walk = [start]
        while True:
            number, place = across[walk[-1]]
            step = (number, (place + 1) % 4)
            if step == start:
                break
            walk.append(step)
        found |= dict.fromkeys(walk, len(walk))
    return found
