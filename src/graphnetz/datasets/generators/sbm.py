"""Stochastic block models: plain, PATTERN and CLUSTER (Dwivedi et al., 2023)."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import both_ways, graph, pairs_of, with_masks
from graphnetz.datasets.splits import consecutive_split
from graphnetz.graphs.random_graphs import block_adjacency, block_rates, class_features
from graphnetz.records import GraphList

LOW, HIGH = 5, 35  # community and pattern sizes are 5..34
PATTERNS = 100


def sbm(
    seed: int,
    *,
    num_nodes: int = 1000,
    classes: int = 4,
    degree: float = 12.0,
    homophily: float = 0.7,
    signal: float = 0.5,
    features: int = 16,
    per_class: int = 20,
) -> Data:
    """Return one graph of equal blocks with weakly informative Gaussian features.

    ``degree`` is the expected degree, ``homophily`` the expected share of edges inside a block. The
    class means lie ``signal`` from the origin in random directions, the noise has unit variance, so
    that features alone stay far from the truth.
    """
    rng = generator("sbm", seed)
    y = rng.permutation(np.arange(num_nodes) % classes)
    adjacency = block_adjacency(rng, y, *block_rates(num_nodes, classes, degree=degree, homophily=homophily))
    x = class_features(rng, y, classes=classes, signal=signal, width=features)
    return with_masks(graph(both_ways(pairs_of(adjacency)), num_nodes, x=x, y=y), per_class=per_class, entropy=seed)


def pattern(sample: int = 0, *, train: int = 10_000, val: int = 2_000, test: int = 2_000) -> GraphList:
    """Return PATTERN: find the nodes of a pattern hidden in a block model.

    Five communities of 5..34 nodes (p = 0.5, q = 0.35) with a feature from {0, 1, 2}; one of 100
    patterns of 5..34 nodes (p = 0.5, its own fixed features) is joined to every node with probability
    0.5. Label 1 marks pattern nodes. Every part uses all patterns, as published.
    """
    shelf = [_pattern_shape(generator("pattern-shape", sample, number)) for number in range(PATTERNS)]
    graphs = [_pattern_graph(generator("pattern", sample, i), shelf[i % PATTERNS]) for i in range(train + val + test)]
    return GraphList(graphs, splits=consecutive_split(train, val, test))


def _pattern_shape(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    size = int(rng.integers(LOW, HIGH))
    return block_adjacency(rng, np.zeros(size), 0.5, 0.5), rng.integers(0, 3, size)


def _pattern_graph(rng: np.random.Generator, shape: tuple[np.ndarray, np.ndarray]) -> Data:
    inner, inner_x = shape
    block = np.repeat(np.arange(5), rng.integers(LOW, HIGH, 5))
    base, size = len(block), len(inner_x)
    adjacency = np.zeros((base + size, base + size), dtype=bool)
    adjacency[:base, :base] = block_adjacency(rng, block, 0.5, 0.35)
    adjacency[base:, base:] = inner
    bridge = rng.random((base, size)) < 0.5
    adjacency[:base, base:], adjacency[base:, :base] = bridge, bridge.T
    x = np.concatenate([rng.integers(0, 3, base), inner_x])
    y = (np.arange(base + size) >= base).astype(np.int64)
    return _shuffled(rng, adjacency, x, y)


def cluster(sample: int = 0, *, train: int = 10_000, val: int = 1_000, test: int = 1_000) -> GraphList:
    """Return CLUSTER: recover six communities from one labelled node in each.

    Six communities of 5..34 nodes (p = 0.55, q = 0.25). One random node per community carries its
    community number (1..6) as feature, all others 0; the label is the community.
    """
    graphs = [_cluster_graph(generator("cluster", sample, i)) for i in range(train + val + test)]
    return GraphList(graphs, splits=consecutive_split(train, val, test))


def _cluster_graph(rng: np.random.Generator) -> Data:
    sizes = rng.integers(LOW, HIGH, 6)
    block = np.repeat(np.arange(6), sizes)
    x = np.zeros(len(block), dtype=np.int64)
    x[np.cumsum(sizes) - sizes + rng.integers(0, sizes)] = np.arange(1, 7)
    return _shuffled(rng, block_adjacency(rng, block, 0.55, 0.25), x, block)


def _shuffled(rng: np.random.Generator, adjacency: np.ndarray, x: np.ndarray, y: np.ndarray) -> Data:
    order = rng.permutation(len(y))
    rows, cols = np.nonzero(adjacency[np.ix_(order, order)])
    return graph(np.stack([rows, cols]), len(y), x=x[order][:, None], y=y[order])
