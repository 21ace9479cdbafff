"""A generated graph of the shape of ogbn-papers100M, streamed: 1.1 % training nodes, 128 features, skewed degrees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphnetz._core.rng import generator
from graphnetz.graphs.streams import ROWS, Stream

EDGES_PER_NODE = 14.5
"""Of papers100M: 1.6 billion citations among 111 million papers."""

CLASSES = 172
PARTS = {"train": 0.011, "val": 0.0011, "test": 0.0019}


def papers_like(edges: int, *, width: int = 128, seed: int = 0) -> Stream:
    """Return a stream of about ``edges`` edges; nothing of it is held.

    Half of the edges stay in the class of their first end, which are the nodes of one remainder; second ends are
    skewed towards small numbers, so that there are hubs.
    """
    nodes = int(edges / EDGES_PER_NODE) // CLASSES * CLASSES
    means = generator("papers-means", seed).standard_normal((CLASSES, width)).astype(np.float32) * 0.3

    def pieces() -> Iterator[np.ndarray]:
        for number, start in enumerate(range(0, edges, ROWS)):
            rng = generator("papers-edges", seed, number)
            count = min(ROWS, edges - start)
            source = rng.integers(0, nodes, count)
            target = (nodes * rng.random(count) ** 2).astype(np.int64)
            inside = rng.random(count) < 0.5
            target[inside] = (target[inside] // CLASSES) * CLASSES + source[inside] % CLASSES
            yield np.stack([source, np.minimum(target, nodes - 1)], axis=1)

    def rows() -> Iterator[np.ndarray]:
        for number, start in enumerate(range(0, nodes, ROWS // 8)):
            rng = generator("papers-features", seed, number)
            ids = np.arange(start, min(start + ROWS // 8, nodes))
            yield means[ids % CLASSES] + rng.standard_normal((ids.size, width), dtype=np.float32)

    def labels() -> np.ndarray:
        return (np.arange(nodes) % CLASSES).astype(np.int32)

    def split() -> dict[str, np.ndarray]:
        chosen = generator("papers-split", seed).permutation(nodes)[: int(nodes * sum(PARTS.values()))]
        bounds = (np.cumsum(list(PARTS.values()))[:-1] * nodes).astype(int)
        return dict(zip(PARTS, np.split(chosen, bounds), strict=True))

    return Stream((), pieces, nodes, rows, labels, split)
