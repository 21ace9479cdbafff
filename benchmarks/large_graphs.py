"""Stochastic block models with millions of edges: memory and time grow with the edges, not with node pairs."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import graph
from graphnetz.graphs.random_graphs import block_pairs, block_rates


def large_sbm(
    seed: int,
    *,
    num_nodes: int = 100_000,
    classes: int = 8,
    degree: float = 20.0,
    homophily: float = 0.5,
    signal: float = 0.5,
    features: int = 32,
    train: float = 0.5,
    val: float = 0.1,
) -> Data:
    """Return one graph of equal blocks with weakly informative Gaussian features and masks.

    Parameters
    ----------
    seed
        The graph is a pure function of it and of the settings.
    num_nodes, classes
        Nodes, and the blocks they are dealt to in equal numbers.
    degree, homophily
        Expected degree, and expected share of edges inside a block.
    signal, features
        Distance of the class means from the origin, in random directions of so many dimensions; the
        noise has unit variance.
    train, val
        Shares of the nodes in the training and validation masks; the rest is for testing.
    """
    if num_nodes < 2 * classes:
        raise UsageError(f"Blocks need at least two nodes each, got {num_nodes} nodes in {classes} blocks.")
    rng = generator("large-sbm", seed)
    members = np.array_split(rng.permutation(num_nodes), classes)
    y = np.empty(num_nodes, dtype=np.int64)
    for number, block in enumerate(members):
        y[block] = number
    rates = block_rates(num_nodes, classes, degree=degree, homophily=homophily)
    edges = block_pairs(rng, members, *rates)
    means = rng.standard_normal((classes, features))
    means *= signal / np.linalg.norm(means, axis=1, keepdims=True)
    x = means.astype(np.float32)[y]
    x += rng.standard_normal((num_nodes, features), dtype=np.float32)
    draw = rng.random(num_nodes)
    masks = {
        "train_mask": draw < train,
        "val_mask": (draw >= train) & (draw < train + val),
        "test_mask": draw >= train + val,
    }
    return graph(np.concatenate([edges, edges[::-1]], axis=1), num_nodes, x=x, y=y, **masks)
