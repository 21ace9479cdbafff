"""From a problem to a dataset: graphs to learn from, graphs of the same sizes to be tested on, and larger ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.errors import unknown_name
from graphnetz._core.rng import generator
from graphnetz.datasets.generators.algorithmic.draws import Rng
from graphnetz.datasets.generators.build import graph
from graphnetz.datasets.splits import consecutive_split
from graphnetz.records import GraphList

PROBLEMS: dict[str, Callable[[Rng, int], Data]] = {}
"""``(rng, nodes) -> graph`` with inputs and the exact answer, by name."""


def problem(make: Callable[[Rng, int], Data]) -> Callable[[Rng, int], Data]:
    """File the decorated function under its name."""
    PROBLEMS[make.__name__] = make
    return make


def instances(
    seed: int = 0,
    *,
    name: str,
    train: int = 240,
    val: int = 60,
    test: int = 120,
    ood: int = 120,
    sizes: tuple[int, int] = (8, 16),
    larger: tuple[int, int] = (32, 48),
) -> GraphList:
    """Return instances of one problem.

    Parameters
    ----------
    seed
        Every seed draws graphs of its own.
    name
        One of `PROBLEMS`.
    train, val, test
        Graphs in these parts, of ``sizes`` nodes (both ends included).
    ood
        Graphs of ``larger`` nodes, in the part ``ood``: no model trains or is chosen on them.
    sizes, larger
        Smallest and largest number of nodes.

    Returns
    -------
    GraphList
        With its split.

    Examples
    --------
    >>> from graphnetz.datasets.generators.algorithmic import instances
    >>> graphs = instances(0, name="bridges", train=2, val=1, test=1, ood=1)
    >>> [graph.num_nodes <= 16 for graph in graphs], graphs.splits["ood"].tolist()
    ([True, True, True, True, False], [4])
    """
    if name not in PROBLEMS:
        raise unknown_name("problem", name, PROBLEMS)
    inside = train + val + test
    graphs = []
    for number in range(inside + ood):
        rng = generator("algorithmic", name, seed, number)
        low, high = sizes if number < inside else larger
        graphs.append(PROBLEMS[name](rng, int(rng.integers(low, high + 1))))
    parts = {**consecutive_split(train, val, test), "ood": np.arange(inside, inside + ood)}
    return GraphList(graphs, splits=parts)


def made(adjacency: np.ndarray, **columns: Any) -> Data:
    """Build the graph of a matrix: every true entry is an arc. Without ``x`` nodes get their degree as features."""
    return graph(np.stack(np.nonzero(adjacency)), len(adjacency), **columns)


def answer(value: float) -> np.ndarray:
    """Return the target of one graph: a class number where it is whole, else a number."""
    return np.array([value])
