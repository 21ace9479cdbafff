"""Random graphs for the bank, made here with a seed, so that the bank may be shipped freely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphnetz._core.rng import generator
from graphnetz.graphs import random_graphs as draws
from graphnetz.graphs.compressed import Graph, IntArray, from_pairs

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


@family
def erdos_renyi(rng: np.random.Generator, *, nodes: int, degree: float) -> Made:
    """Uniform random pairs with the wanted mean degree (Erdos and Renyi, 1959)."""
    return draws.uniform_throws(rng, nodes, edges=round(nodes * degree / 2)), None, None


@family
def barabasi_albert(rng: np.random.Generator, *, nodes: int, attach: int) -> Made:
    """Preferential attachment (Barabasi and Albert, 1999)."""
    return draws.from_networkx("barabasi_albert_graph", rng, nodes, attach), None, None


@family
def watts_strogatz(rng: np.random.Generator, *, nodes: int, neighbours: int, rewire: float) -> Made:
    """Ring lattice with rewired edges (Watts and Strogatz, 1998)."""
    return draws.from_networkx("watts_strogatz_graph", rng, nodes, neighbours, rewire), None, None


@family
def powerlaw_cluster(rng: np.random.Generator, *, nodes: int, attach: int, triangle: float) -> Made:
    """Preferential attachment with triangles (Holme and Kim, 2002)."""
    return draws.from_networkx("powerlaw_cluster_graph", rng, nodes, attach, triangle), None, None


@family
def kronecker(rng: np.random.Generator, *, nodes: int, degree: float, skew: float) -> Made:
    """Stochastic Kronecker graph with a 2 x 2 initiator (Leskovec et al., 2010)."""
    return draws.kronecker(rng, nodes, edges=round(nodes * degree / 2), skew=skew), None, None


@family
def block_model(
    rng: np.random.Generator, *, nodes: int, classes: int, degree: float, inside: float, signal: float
) -> Made:
    """Stochastic block model; ``inside`` is the share of edges within a block (Holland et al., 1983)."""
    labels = np.sort(rng.integers(0, classes, nodes))
    pairs = draws.block_throws(rng, labels, edges=round(nodes * degree / 2), inside=np.full(nodes, inside))
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
        draws.block_throws(rng, block, edges=round(nodes * degree / 2), inside=np.full(nodes, inside)),
        labels,
        class_features(rng, labels, signal=signal),
    )


@family
def mixed_homophily(
    rng: np.random.Generator, *, nodes: int, classes: int, degree: float, low: float, high: float, signal: float
) -> Made:
    """Blocks whose nodes prefer their own class to a degree between ``low`` and ``high``."""
    labels = np.sort(rng.integers(0, classes, nodes))
    pairs = draws.block_throws(rng, labels, edges=round(nodes * degree / 2), inside=rng.uniform(low, high, nodes))
    return pairs, labels, class_features(rng, labels, signal=signal)


def class_features(rng: np.random.Generator, labels: IntArray, *, signal: float, width: int = 16) -> Any:
    """Gaussian features whose class means are ``signal`` apart from the noise of one."""
    centres = rng.standard_normal((int(labels.max()) + 1, width)) * signal
    return (centres[labels] + rng.standard_normal((len(labels), width))).astype(np.float32)
