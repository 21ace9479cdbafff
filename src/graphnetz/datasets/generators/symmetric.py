"""Graphs that plain message passing finds hard: CSL and CYCLES."""

from __future__ import annotations

import numpy as np
from numba import njit
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import both_ways, graph
from graphnetz.datasets.splits import consecutive_split
from graphnetz.records import GraphList

SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
CYCLE = 6


def csl(sample: int = 0, *, num_nodes: int = 41, copies: int = 15) -> GraphList:
    """Return circular skip links (Murphy et al., 2019): ten classes of 4-regular graphs.

    Node i is joined to i + 1 and i + C modulo 41, C being the class; ``copies`` random renumberings
    per class. Carries five stratified folds of 60/20/20 %.
    """
    rng = generator("csl", sample)
    ring = np.arange(num_nodes)
    graphs, labels = [], []
    for label, skip in enumerate(SKIPS):
        pairs = np.concatenate([np.stack([ring, (ring + step) % num_nodes], axis=1) for step in (1, skip)])
        for _ in range(copies):
            renumber = rng.permutation(num_nodes)
            zeros = np.zeros((num_nodes, 1), dtype=np.int64)
            graphs.append(graph(both_ways(renumber[pairs]), num_nodes, x=zeros, y=np.array([label])))
            labels.append(label)
    return GraphList(graphs, splits=stratified_folds(np.array(labels), rng, folds=5), replication="fold")


def stratified_folds(labels: np.ndarray, rng: np.random.Generator, *, folds: int) -> list[dict[str, np.ndarray]]:
    """Return ``folds`` splits: one part tested, the next validated, the rest trained, per class."""
    fold = np.empty(len(labels), dtype=np.int64)
    for value in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == value))
        fold[members] = np.arange(len(members)) % folds
    splits = []
    for number in range(folds):
        test, val = fold == number, fold == (number + 1) % folds
        splits.append({"train": np.flatnonzero(~test & ~val), "val": np.flatnonzero(val), "test": np.flatnonzero(test)})
    return splits


def cycles(sample: int = 0, *, train: int = 9_000, val: int = 1_000, test: int = 10_000) -> GraphList:
    """Return sparse graphs of 39..63 nodes in several components; label 1 when a cycle of length six is present.

    Our own generator, not the published file, after the graphs on which lower bounds for finding cycles
    rest: two copies of one vertex set are joined vertex by vertex through a node in between, and every
    edge of a random sparse graph is put into one of the copies. An edge that lies in both closes a cycle
    of length six. Class 1 has one such edge and lacks another one, so that sizes and numbers of edges
    have the same distribution in both classes. Classes are balanced in every part.
    """
    graphs = [_cycle_graph(generator("cycles", sample, i), i % 2) for i in range(train + val + test)]
    return GraphList(graphs, splits=consecutive_split(train, val, test))


def _cycle_graph(rng: np.random.Generator, label: int) -> Data:
    while True:
        size = int(rng.integers(13, 22))
        edges = _sparse_edges(rng, size)
        first = rng.random(len(edges)) < 0.5
        second = ~first
        if label:
            doubled, dropped = rng.choice(len(edges), 2, replace=False)
            first[doubled] = second[doubled] = True
            first[dropped] = second[dropped] = False
        ring = np.arange(size)
        pairs = [
            edges[first], size + edges[second], np.stack([ring, 2 * size + ring], axis=1),
            np.stack([2 * size + ring, size + ring], axis=1),
        ]  # fmt: skip
        nodes = 3 * size
        both = both_ways(rng.permutation(nodes)[np.concatenate(pairs)])
        built = graph(both, nodes, x=np.ones((nodes, 1)), y=np.array([label]))
        if has_cycle(built) == bool(label):  # edges of one copy may close a cycle of length six, too
            return built


def _sparse_edges(rng: np.random.Generator, size: int) -> np.ndarray:
    """A random forest, in which one vertex in ten starts a tree of its own, and up to two edges more."""
    later = np.arange(1, size)
    parents = (rng.random(size - 1) * later).astype(np.int64)
    forest = np.stack([parents, later], axis=1)[rng.random(size - 1) >= 0.1]
    more = np.sort(rng.integers(0, size, (int(rng.integers(0, 3)), 2)), axis=1)
    found = np.unique(np.concatenate([forest, more[more[:, 0] < more[:, 1]]]), axis=0)
    return np.asarray(found[rng.permutation(len(found))])


def has_cycle(data: Data, length: int = CYCLE) -> bool:
    """Whether the graph holds a simple cycle of exactly ``length``, by exhaustive search."""
    n = int(data.num_nodes or 0)
    source, target = data.edge_index.numpy()
    order = np.argsort(source, kind="stable")
    pointer = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n))])
    return bool(_search(pointer, target[order], length))


@njit(cache=True)
def _search(pointer: np.ndarray, neighbour: np.ndarray, length: int) -> bool:
    """Depth-first search for closed paths; the start is the smallest node of its cycle."""
    n = len(pointer) - 1
    path = np.empty(length, dtype=np.int64)
    place = np.empty(length, dtype=np.int64)
    on_path = np.zeros(n, dtype=np.bool_)
    for start in range(n):
        depth = 0
        path[0], place[0] = start, pointer[start]
        on_path[start] = True
        while depth >= 0:
            node = path[depth]
            if place[depth] == pointer[node + 1]:
                on_path[node] = False
                depth -= 1
                continue
            following = neighbour[place[depth]]
            place[depth] += 1
            if depth == length - 1:
                if following == start and length > 2:
                    return True
            elif following > start and not on_path[following]:
                depth += 1
                path[depth], place[depth] = following, pointer[following]
                on_path[following] = True
    return False
