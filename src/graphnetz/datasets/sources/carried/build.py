"""What the readers share: undirected graphs, labels with splits, and features made of counts."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.errors import DataError
from graphnetz.datasets.generators.build import both_ways, graph, tensor
from graphnetz.datasets.splits import stratified_masks

SPLITS = 10
SMALLEST_CLASS = 20
"""Classes of fewer nodes are none: their parts of a 60/20/20 split would hold one or two."""


def distinct_pairs(pairs: Iterable[tuple[int, int]]) -> np.ndarray:
    """Return the unordered pairs of different ends, each once, sorted: [E, 2]."""
    table = np.sort(np.array(list(pairs), dtype=np.int64).reshape(-1, 2), axis=1)
    if not len(table):
        raise DataError("The file joins nothing; it is not the published one.")
    return np.unique(table[table[:, 0] != table[:, 1]], axis=0)


def undirected(pairs: Iterable[tuple[int, int]], num_nodes: int, **columns: Any) -> Data:
    """Return a graph of the distinct pairs, each as two arcs."""
    return graph(both_ways(distinct_pairs(pairs)), num_nodes, **columns)


def with_labels(data: Data, codes: np.ndarray) -> Data:
    """Add class numbers and ten stratified 60/20/20 splits; nodes of code -1 have no class and are in no part."""
    data.y = tensor(np.maximum(codes, 0))  # what stands at nodes without a class is never read
    masks = stratified_masks(codes, splits=SPLITS)
    for key, mask in zip(("train_mask", "val_mask", "test_mask"), masks, strict=True):
        data[key] = tensor(mask)
    return data


def class_numbers(names: Sequence[str | None]) -> tuple[np.ndarray, list[str]]:
    """Number the classes of nodes in the order of their names; nodes of none, or of a class too small, get -1."""
    sizes = Counter(name for name in names if name is not None)
    kept = sorted(name for name, size in sizes.items() if size >= SMALLEST_CLASS)
    number = {name: i for i, name in enumerate(kept)}
    return np.array([-1 if name is None else number.get(name, -1) for name in names]), kept


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Number names in the order in which they come first."""
    found: dict[str, int] = {}
    for name in names:
        found.setdefault(name, len(found))
    return found


def one_hot(values: Sequence[str], known: Sequence[str]) -> np.ndarray:
    """Return one column per known value; others are rows of zeros."""
    return np.array([[float(value == item) for item in known] for value in values]).reshape(-1, len(known))


def rows_of(content: bytes, *, delimiter: str = ",") -> Iterator[Mapping[str, str]]:
    """Yield the rows of a table with a header."""
    return csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=delimiter)
