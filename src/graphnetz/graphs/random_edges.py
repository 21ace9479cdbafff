"""Random edge sets on a fixed node set: the draws behind the random-graph perturbations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Edges = npt.NDArray[np.int64]


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
