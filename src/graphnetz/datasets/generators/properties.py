"""GraphTheoryProp: node and graph properties of random graphs (Corso et al., 2020)."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import graph, tensor
from graphnetz.datasets.splits import consecutive_split
from graphnetz.records import GraphList


def _largest_divisor(n: int) -> int:
    return max(d for d in range(1, int(np.sqrt(n)) + 1) if n % d == 0)


def _preferential(n: int, rng: np.random.Generator) -> nx.Graph:
    return nx.barabasi_albert_graph(n, 1 + int(rng.random() * (n - 1)), seed=int(rng.integers(2**31)))


def _powerlaw_tree(n: int, rng: np.random.Generator) -> nx.Graph:
    return nx.random_powerlaw_tree(n, gamma=3, seed=int(rng.integers(2**31)), tries=10_000)


def _ladder(n: int, _: np.random.Generator) -> nx.Graph:
    built = nx.ladder_graph(n // 2)
    if n % 2:  # an odd node hangs on the first rung
        built.add_edge(0, n - 1)
    return built


def _caterpillar(n: int, rng: np.random.Generator) -> nx.Graph:
    backbone = int(rng.integers(1, n))
    built = nx.path_graph(backbone)
    built.add_edges_from((int(rng.integers(backbone)), node) for node in range(backbone, n))
    return built


def _lobster(n: int, rng: np.random.Generator) -> nx.Graph:
    backbone = int(rng.integers(1, n))
    legs = int(rng.integers(backbone, n)) + 1
    built = nx.path_graph(backbone)
    built.add_edges_from((int(rng.integers(backbone)), node) for node in range(backbone, legs))
    built.add_edges_from((int(rng.integers(legs)), node) for node in range(legs, n))
    return built


_FAMILIES: tuple[tuple[float, Callable[[int, np.random.Generator], nx.Graph]], ...] = (
    (0.20, lambda n, rng: nx.gnp_random_graph(n, rng.random(), seed=int(rng.integers(2**31)))),
    (0.20, _preferential),
    (0.05, lambda n, _: nx.grid_2d_graph(_largest_divisor(n), n // _largest_divisor(n))),
    (0.05, lambda n, _: nx.caveman_graph(_largest_divisor(n), n // _largest_divisor(n))),
    (0.15, _powerlaw_tree),
    (0.05, _ladder),
    (0.05, lambda n, _: nx.path_graph(n)),
    (0.05, lambda n, _: nx.star_graph(n - 1)),
    (0.10, _caterpillar),
    (0.10, _lobster),
)
_SHARES = np.array([share for share, _ in _FAMILIES])


def graph_theory(
    sample: int = 0,
    *,
    train: int = 5_120,
    val: int = 640,
    test: int = 1_280,
    train_sizes: tuple[int, int] = (15, 24),
    test_sizes: tuple[int, int] = (15, 19),
) -> GraphList:
    """Return graphs with six targets: ``y_node`` [n, 3] and ``y_graph`` [1, 3].

    Ten families with the published shares, nodes shuffled, edges toggled at random until no node is
    isolated. ``x`` holds a one-hot random source and U(0, 1). Node targets: distance from the source
    (0 when unreachable), eccentricity (largest finite distance), (D - A) x. Graph targets: connected,
    diameter (largest eccentricity), spectral radius. Each target is divided by its largest magnitude
    over the training graphs. Sizes are inclusive; validation and test use ``test_sizes``, as published.
    """
    graphs = []
    for number in range(train + val + test):
        low, high = train_sizes if number < train else test_sizes
        graphs.append(_instance(generator("graph-theory", sample, number), low, high))
    for key, parts in (
        ("y_node", [g.y_node for g in graphs[:train]]),
        ("y_graph", [g.y_graph for g in graphs[:train]]),
    ):
        scale = np.abs(np.concatenate([part.numpy() for part in parts])).max(axis=0)
        for item in graphs:
            item[key] = item[key] / tensor(np.maximum(scale, 1e-12))
    return GraphList(graphs, splits=consecutive_split(train, val, test))


def _instance(rng: np.random.Generator, low: int, high: int) -> Data:
    n = int(rng.integers(low, high + 1))
    family = _FAMILIES[int(rng.choice(len(_FAMILIES), p=_SHARES))][1]
    while True:
        adjacency = nx.to_numpy_array(family(n, rng), dtype=np.int64)
        order = rng.permutation(n)
        adjacency = toggled(adjacency[np.ix_(order, order)], rng)
        if adjacency.any(axis=1).all():
            break
    source, noise = int(rng.integers(n)), rng.random(n)
    node, whole = properties(adjacency, source, noise)
    marked = (np.arange(n) == source).astype(float)
    rows, cols = np.nonzero(adjacency)
    return graph(np.stack([rows, cols]), n, x=np.column_stack([marked, noise]), y_node=node, y_graph=whole[None, :])


def toggled(adjacency: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Drop and add edges at random so that their expected number stays about the same."""
    n = len(adjacency)
    present = int(adjacency.sum()) // 2
    absent = n * (n - 1) // 2 - present
    keep, add = 0.9, 0.1 * present / max(absent, 1)
    if present > absent:
        keep, add = 0.9 + 0.1 * (present - absent) / present, 0.1
    half = rng.uniform(0.0, 0.5, (n, n))
    noise = half + half.T
    chosen = np.where(adjacency > 0, noise < keep, noise < add)
    np.fill_diagonal(chosen, False)
    return chosen.astype(np.int64)


def properties(adjacency: np.ndarray, source: int, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the node targets [n, 3] and graph targets [3], unscaled."""
    from scipy.sparse.csgraph import shortest_path

    distance = shortest_path(adjacency, unweighted=True, directed=False)
    connected = bool(np.isfinite(distance).all())
    distance[~np.isfinite(distance)] = 0.0
    eccentricity = distance.max(axis=1)
    laplacian = adjacency.sum(axis=1) * noise - adjacency @ noise
    radius = float(np.abs(np.linalg.eigvalsh(adjacency.astype(float))).max())
    node = np.column_stack([distance[source], eccentricity, laplacian])
    return node, np.array([float(connected), eccentricity.max(), radius])
