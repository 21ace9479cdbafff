"""Random graphs and graphs of points: every draw of edges that datasets, perturbations and the bank use.

Functions take a generator and return node pairs. A seed gives the same bytes as long as the order of the
draws in here does not change.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Edges = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def distinct(rng: np.random.Generator, population: int, size: int) -> npt.NDArray[np.int64]:
    """Draw ``size`` distinct integers below ``population`` uniformly, in rising order.

    Small populations are permuted; large ones are drawn with repetition until enough are distinct
    and then thinned, which keeps the draw uniform without holding the population in memory.
    """
    if size > population:
        raise ValueError(f"{size} distinct values do not exist below {population}.")
    if size == 0:
        return np.empty(0, dtype=np.int64)
    if population <= 1 << 16 or 4 * size > population:
        return np.sort(rng.permutation(population)[:size]).astype(np.int64)
    found = np.empty(0, dtype=np.int64)
    while len(found) < size:
        found = np.unique(np.concatenate([found, rng.integers(population, size=2 * size)]))
    return np.sort(rng.permutation(found)[:size])


def pairs_of(codes: npt.NDArray[np.int64], n: int, *, directed: bool) -> Edges:
    """Turn positions in the list of all node pairs into an ``[2, k]`` array, without loops.

    Directed positions run over all ordered pairs (n (n - 1) of them), undirected ones over the
    pairs i < j (n (n - 1) / 2), counted by j.
    """
    if directed:
        source, rest = np.divmod(codes, max(n - 1, 1))
        return np.stack([source, rest + (rest >= source)])
    high = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) // 2).astype(np.int64)
    high -= high * (high - 1) // 2 > codes  # the square root may be one unit off for huge codes
    high += (high + 1) * high // 2 <= codes
    return np.stack([codes - high * (high - 1) // 2, high])


def codes_of(pairs: Edges, n: int, *, directed: bool) -> npt.NDArray[np.int64]:
    """Invert `pairs_of`."""
    first, second = pairs
    if directed:
        return np.asarray(first * (n - 1) + second - (second > first), dtype=np.int64)
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.asarray(high * (high - 1) // 2 + low, dtype=np.int64)


def capacity(n: int, *, directed: bool) -> int:
    """Number of node pairs an edge may occupy."""
    return n * (n - 1) if directed else n * (n - 1) // 2


def erdos_renyi(rng: np.random.Generator, n: int, *, p: float, directed: bool) -> Edges:
    """Draw each pair independently with probability ``p``."""
    room = capacity(n, directed=directed)
    size = int(rng.binomial(room, p)) if room else 0
    return pairs_of(distinct(rng, room, size), n, directed=directed)


def uniform(rng: np.random.Generator, n: int, *, edges: int, directed: bool) -> Edges:
    """Draw exactly ``edges`` distinct pairs, every set equally likely."""
    room = capacity(n, directed=directed)
    return pairs_of(distinct(rng, room, min(edges, room)), n, directed=directed)


def connected(rng: np.random.Generator, n: int, *, edges: int) -> Edges:
    """Draw a connected undirected graph: a random recursive tree plus uniform extra edges.

    The number of edges is ``edges`` limited to what a connected simple graph on ``n`` nodes can
    have, so the draw ends for every input.
    """
    if n < 2:
        return np.empty((2, 0), dtype=np.int64)
    child = np.arange(1, n)
    order = rng.permutation(n)
    tree = np.stack([order[(rng.random(n - 1) * child).astype(np.int64)], order[child]])
    room = capacity(n, directed=False)
    extra = min(max(edges, n - 1), room) - (n - 1)
    taken = np.sort(codes_of(tree, n, directed=False))
    free = distinct(rng, room - (n - 1), extra)
    # The k-th free code is k plus the number of taken codes at or below it.
    free += np.searchsorted(taken - np.arange(n - 1), free, side="right")
    return np.concatenate([tree, pairs_of(free, n, directed=False)], axis=1)


def block_adjacency(rng: np.random.Generator, block: npt.ArrayLike, p: float, q: float) -> npt.NDArray[np.bool_]:
    """Draw a stochastic block model as a symmetric matrix: ``p`` inside a block, ``q`` between blocks.

    Parameters
    ----------
    rng
        Source of randomness.
    block
        The block of each node.
    p, q
        Probability of an edge inside a block and between two blocks.

    Returns
    -------
    numpy.ndarray
        Boolean ``[nodes, nodes]``, without loops. One draw per node pair: for graphs of millions of
        edges take `block_pairs`.

    Examples
    --------
    >>> block_adjacency(np.random.default_rng(0), [0, 0, 1], 1.0, 0.0).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    side = np.asarray(block)
    upper = np.triu(rng.random((len(side), len(side))) < np.where(side[:, None] == side[None, :], p, q), 1)
    return np.asarray(upper | upper.T)


def block_rates(nodes: int, classes: int, *, degree: float, homophily: float) -> tuple[float, float]:
    """Return the edge probabilities inside and between equal blocks for an expected degree and homophily.

    Examples
    --------
    >>> block_rates(100, 2, degree=10, homophily=0.5)
    (0.1, 0.1)
    """
    inside = degree * homophily / (nodes / classes)
    between = degree * (1.0 - homophily) / (nodes * (classes - 1) / classes) if classes > 1 else 0.0
    return min(inside, 1.0), min(between, 1.0)


def block_pairs(rng: np.random.Generator, members: list[npt.NDArray[np.int64]], p: float, q: float) -> Edges:
    """Draw a stochastic block model in memory and time that grow with its edges, not with the node pairs.

    Parameters
    ----------
    rng
        Source of randomness.
    members
        The nodes of each block.
    p, q
        Probability of an edge inside a block and between two blocks.

    Returns
    -------
    numpy.ndarray
        Pairs ``[2, E]``, each once.

    Examples
    --------
    >>> block_pairs(np.random.default_rng(0), [np.array([0, 2]), np.array([1])], 1.0, 0.0).tolist()
    [[0], [2]]
    """
    parts = []
    for a, own in enumerate(members):
        for b in range(a, len(members)):
            other = members[b]
            room = capacity(len(own), directed=False) if a == b else len(own) * len(other)
            places = distinct(rng, room, int(rng.binomial(room, p if a == b else q)))
            pair = pairs_of(places, len(own), directed=False) if a == b else np.divmod(places, max(len(other), 1))
            parts.append(np.stack([own[pair[0]], other[pair[1]]]))
    return np.concatenate(parts, axis=1)


def block_throws(rng: np.random.Generator, block: npt.NDArray[np.int64], *, edges: int, inside: FloatArray) -> Edges:
    """Throw edges: a random source picks its own block with its own probability, else another one.

    Returns at most ``edges`` pairs ``[E, 2]`` with i < j.
    """
    order = np.argsort(block, kind="stable")
    start = np.searchsorted(block[order], np.arange(block.max() + 2))
    source = rng.integers(0, len(block), int(edges * 1.3) + 10)
    own = rng.random(len(source)) < inside[source]
    size = np.diff(start)[block[source]]
    within = order[start[block[source]] + (rng.random(len(source)) * size).astype(np.int64)]
    beyond = (start[block[source] + 1] + (rng.random(len(source)) * (len(block) - size)).astype(np.int64)) % len(block)
    return rng.permutation(simple_pairs(np.stack([source, np.where(own, within, order[beyond])], axis=1)))[:edges]


def uniform_throws(rng: np.random.Generator, nodes: int, *, edges: int) -> Edges:
    """Throw edges uniformly; repeated pairs are left out. Returns at most ``edges`` pairs ``[E, 2]``."""
    return rng.permutation(simple_pairs(rng.integers(0, nodes, (int(edges * 1.2) + 10, 2))))[:edges]


def kronecker(rng: np.random.Generator, nodes: int, *, edges: int, skew: float) -> Edges:
    """Throw the edges of a stochastic Kronecker graph with a 2 x 2 initiator (Leskovec et al., 2010).

    Returns at most ``edges`` pairs ``[E, 2]`` of nodes below ``nodes``.
    """
    levels = math.ceil(math.log2(nodes))
    weights = np.array([skew, (1 - skew) * 0.45, (1 - skew) * 0.45, (1 - skew) * 0.1])
    quadrant = rng.choice(4, p=weights / weights.sum(), size=(2 * edges, levels))
    powers = 2 ** np.arange(levels)
    pairs = np.stack([(quadrant // 2) @ powers, (quadrant % 2) @ powers], axis=1)
    pairs = rng.permutation(2**levels)[pairs]
    pairs = simple_pairs(pairs[(pairs < nodes).all(axis=1)])
    return pairs[rng.permutation(len(pairs))[:edges]]


def from_networkx(kind: str, rng: np.random.Generator, *settings: Any) -> Edges:
    """Return the pairs ``[E, 2]`` of a generator of networkx, seeded by one draw.

    Examples
    --------
    >>> from_networkx("barabasi_albert_graph", np.random.default_rng(0), 5, 1).shape
    (4, 2)
    """
    import networkx as nx

    built = getattr(nx, kind)(*settings, seed=int(rng.integers(2**31)))
    return np.array(list(built.edges()), dtype=np.int64).reshape(-1, 2)


def simple_pairs(pairs: Edges) -> Edges:
    """Return each pair ``[E, 2]`` once with i < j, in order; loops are left out."""
    return np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)


def nearest_pairs(points: npt.NDArray[Any], k: int) -> Edges:
    """Return the pairs ``[E, 2]`` with i < j in which one is among the other's ``k`` nearest (Euclid).

    Examples
    --------
    >>> nearest_pairs(np.array([[0.0], [1.0], [3.0]]), 1).tolist()
    [[0, 1], [1, 2]]
    """
    from scipy.spatial import cKDTree

    k = min(k, len(points) - 1)
    _, found = cKDTree(points).query(points, k=k + 1)
    return simple_pairs(np.stack([np.repeat(np.arange(len(points)), k + 1), found.ravel()], axis=1))


def standardised(table: npt.ArrayLike) -> FloatArray:
    """Return the columns of a table with mean 0 and deviation 1; constant ones are only centred."""
    values = np.asarray(table, dtype=np.float64)
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def class_features(
    rng: np.random.Generator, labels: npt.NDArray[np.int64], *, classes: int, signal: float, width: int
) -> FloatArray:
    """Draw Gaussian features whose class means lie ``signal`` from the origin in random directions."""
    means = rng.standard_normal((classes, width))
    means *= signal / np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means[labels] + rng.standard_normal((len(labels), width)))
