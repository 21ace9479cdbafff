"""Stochastic block models with millions of edges: memory and time grow with the edges, not with node pairs."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import graph


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
    inside = min(degree * homophily / (num_nodes / classes), 1.0)
    between = min(degree * (1.0 - homophily) / (num_nodes * (classes - 1) / classes), 1.0) if classes > 1 else 0.0
    parts = []
    for a in range(classes):
        for b in range(a, classes):
            size, other = members[a].size, members[b].size
            pairs = size * (size - 1) // 2 if a == b else size * other
            places = distinct(rng, pairs, int(rng.binomial(pairs, inside if a == b else between)))
            rows, columns = triangle(places) if a == b else np.divmod(places, other)
            parts.append(np.stack([members[a][rows], members[b][columns]]))
    edges = np.concatenate(parts, axis=1)
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


def distinct(rng: np.random.Generator, total: int, count: int) -> np.ndarray:
    """Draw ``count`` distinct numbers below ``total``, every set equally likely, in rising order."""
    if 2 * count > total:  # dense: leave some out instead
        out = np.ones(total, dtype=bool)
        out[distinct(rng, total, total - count)] = False
        return np.flatnonzero(out)
    chosen = np.unique(rng.integers(0, total, size=count))
    while chosen.size < count:
        # Draws that are new continue the sequence of distinct draws: the set stays uniform.
        fresh = rng.integers(0, total, size=count - chosen.size)
        chosen = np.union1d(chosen, fresh)
    return chosen


def triangle(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn numbers 0, 1, ... into pairs (row, column) with column < row, row after row."""
    rows = ((1.0 + np.sqrt(1.0 + 8.0 * places)) / 2.0).astype(np.int64)
    rows -= rows * (rows - 1) // 2 > places  # the root is rounded: put right what is one off
    rows += (rows + 1) * rows // 2 <= places
    return rows, places - rows * (rows - 1) // 2
