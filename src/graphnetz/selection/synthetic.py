"""Random graphs for the bank, made here with a seed, so that the bank may be shipped freely."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.rng import generator
from graphnetz.graphs.compressed import Graph, from_pairs

IntArray = npt.NDArray[np.int64]
Made = tuple[IntArray, IntArray | None, Any]

FAMILIES: dict[str, Callable[..., Made]] = {}


def family(function: Callable[..., Made]) -> Callable[..., Made]:
    """Register a family of graphs (decorator): ``(rng, **params) -> (pairs, labels, features)``."""
    FAMILIES[function.__name__] = function
    return function


def make(family: str, seed: int, **params: Any) -> Graph:
    """Make one graph of a family; the same arguments give the same graph."""
    pairs, labels, features = FAMILIES[family](generator(family, seed), **params)
    name = "-".join([family, *(f"{key}={value}" for key, value in params.items()), f"seed={seed}"])
    nodes = params.get("nodes", int(pairs.max()) + 1 if features is None else len(features))
    return from_pairs(pairs[:, 0], pairs[:, 1], num_nodes=int(nodes), labels=labels, features=features, name=name)


def _networkx(graph: Any) -> IntArray:
    return np.array(list(graph.edges()), dtype=np.int64).reshape(-1, 2)


@family
def erdos_renyi(rng: np.random.Generator, *, nodes: int, degree: float) -> Made:
    """Uniform random pairs with the wanted mean degree (Erdos and Renyi, 1959)."""
    return _uniform_pairs(rng, nodes, round(nodes * degree / 2)), None, None


def _uniform_pairs(rng: np.random.Generator, nodes: int, count: int) -> IntArray:
    pairs = rng.integers(0, nodes, (int(count * 1.2) + 10, 2))
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    return rng.permutation(np.unique(pairs, axis=0))[:count]


@family
def barabasi_albert(rng: np.random.Generator, *, nodes: int, attach: int) -> Made:
    """Preferential attachment (Barabasi and Albert, 1999)."""
    import networkx as nx

    return _networkx(nx.barabasi_albert_graph(nodes, attach, seed=int(rng.integers(2**31)))), None, None


@family
def watts_strogatz(rng: np.random.Generator, *, nodes: int, neighbours: int, rewire: float) -> Made:
    """Ring lattice with rewired edges (Watts and Strogatz, 1998)."""
    import networkx as nx

    return _networkx(nx.watts_strogatz_graph(nodes, neighbours, rewire, seed=int(rng.integers(2**31)))), None, None


@family
def powerlaw_cluster(rng: np.random.Generator, *, nodes: int, attach: int, triangle: float) -> Made:
    """Preferential attachment with triangles (Holme and Kim, 2002)."""
    import networkx as nx

    return _networkx(nx.powerlaw_cluster_graph(nodes, attach, triangle, seed=int(rng.integers(2**31)))), None, None


@family
def kronecker(rng: np.random.Generator, *, nodes: int, degree: float, skew: float) -> Made:
    """Stochastic Kronecker graph with a 2 x 2 initiator (Leskovec et al., 2010), edges thrown one by one."""
    levels = math.ceil(math.log2(nodes))
    weights = np.array([skew, (1 - skew) * 0.45, (1 - skew) * 0.45, (1 - skew) * 0.1])
    count = round(nodes * degree / 2)
    quadrant = rng.choice(4, p=weights / weights.sum(), size=(2 * count, levels))
    powers = 2 ** np.arange(levels)
    pairs = np.stack([(quadrant // 2) @ powers, (quadrant % 2) @ powers], axis=1)
    pairs = rng.permutation(2**levels)[pairs]
    pairs = np.sort(pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs < nodes).all(axis=1)], axis=1)
    return np.unique(pairs, axis=0)[rng.permutation(len(np.unique(pairs, axis=0)))[:count]], None, None


@family
def block_model(
    rng: np.random.Generator, *, nodes: int, classes: int, degree: float, inside: float, signal: float
) -> Made:
    """Stochastic block model; ``inside`` is the share of edges within a block (Holland et al., 1983)."""
    labels = np.sort(rng.integers(0, classes, nodes))
    pairs = _mixed_pairs(rng, labels, round(nodes * degree / 2), np.full(nodes, inside))
    return pairs, labels, class_features(rng, labels, signal=signal)


@family
def random_partition(
    rng: np.random.Generator, *, nodes: int, mean_size: int, degree: float, inside: float, signal: float
) -> Made:
    """Gaussian random partition: blocks of varying size (Brandes et al., 2003); four label classes."""
    sizes = np.maximum(rng.normal(mean_size, mean_size / 3, 4 * nodes // mean_size + 4), 2).astype(int)
    block = np.repeat(np.arange(len(sizes)), sizes)[:nodes]
    labels = block % 4
    return (
        _mixed_pairs(rng, block, round(nodes * degree / 2), np.full(nodes, inside)),
        labels,
        class_features(rng, labels, signal=signal),
    )


@family
def mixed_homophily(
    rng: np.random.Generator, *, nodes: int, classes: int, degree: float, low: float, high: float, signal: float
) -> Made:
    """Blocks whose nodes prefer their own class to a degree between ``low`` and ``high``."""
    labels = np.sort(rng.integers(0, classes, nodes))
    pairs = _mixed_pairs(rng, labels, round(nodes * degree / 2), rng.uniform(low, high, nodes))
    return pairs, labels, class_features(rng, labels, signal=signal)


def _mixed_pairs(rng: np.random.Generator, block: IntArray, count: int, inside: npt.NDArray[np.float64]) -> IntArray:
    """Throw edges: a random source picks its own block with its own probability, else another one."""
    order = np.argsort(block, kind="stable")
    start = np.searchsorted(block[order], np.arange(block.max() + 2))
    source = rng.integers(0, len(block), int(count * 1.3) + 10)
    own = rng.random(len(source)) < inside[source]
    size = np.diff(start)[block[source]]
    within = order[start[block[source]] + (rng.random(len(source)) * size).astype(np.int64)]
    beyond = (start[block[source] + 1] + (rng.random(len(source)) * (len(block) - size)).astype(np.int64)) % len(block)
    pairs = np.sort(np.stack([source, np.where(own, within, order[beyond])], axis=1), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return rng.permutation(pairs)[:count]


def class_features(rng: np.random.Generator, labels: IntArray, *, signal: float, width: int = 16) -> Any:
    """Gaussian features whose class means are ``signal`` apart from the noise of one."""
    centres = rng.standard_normal((int(labels.max()) + 1, width)) * signal
    return (centres[labels] + rng.standard_normal((len(labels), width))).astype(np.float32)
