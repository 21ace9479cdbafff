"""Splits for separability: a larger test part than the benchmark's, and fresh ones where data carry a fixed split."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator

MASKS = ("train_mask", "val_mask", "test_mask")
SPLITS = 100
"""Splits a dataset gets at least, whatever the number of runs: more runs then leave the earlier ones as they are."""


def share_splits(
    graphs: Sequence[Data], *, test: float, val: float = 0.1, count: int = SPLITS
) -> list[dict[str, npt.NDArray[np.int32]]]:
    """Draw ``count`` random splits by graphs, each with the class proportions of the whole.

    A run is compared by its test score, and with few test graphs that score is mostly noise: the
    paper's five folds test on 20 % of the graphs, the benchmark's own split on 10 %.

    Parameters
    ----------
    graphs
        The dataset. Class numbers in ``y`` are kept in proportion; other targets are not looked at.
    test, val
        Shares of the test and validation part.
    count
        How many splits; number s is a function of s and the targets only.
    """
    if not (0 < test < 1 and 0 < val < 1 and test + val < 1):
        raise UsageError(f"test and validation shares must be positive and leave room to train, got {test} and {val}.")
    if len(graphs) < 3:
        raise UsageError(f"{len(graphs)} graphs cannot be split into training, validation and test. Give at least 3.")
    label = _classes(graphs)
    sizes = np.bincount(label)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    out = []
    for number in range(count):
        rng = generator("rings-split", number)
        order = rng.permutation(len(graphs))
        order = order[np.argsort(label[order], kind="stable")]
        # Each class is laid out evenly on [0, 1); the offset lets rounding favour no class and no graph.
        place = (np.arange(len(order)) - starts[label[order]] + rng.random()) / sizes[label[order]]
        part = np.where(place < test, 0, np.where(place < test + val, 1, 2))
        for wanted in (0, 1):
            if not (part == wanted).any():  # small classes can all round to nothing: take the nearest training graph
                nearest = np.flatnonzero(part == 2)[np.argsort(place[part == 2], kind="stable")]
                part[nearest[:1]] = wanted
        names = enumerate(("test", "val", "train"))
        out.append({name: np.sort(order[part == number]).astype(np.int32) for number, name in names})
    return out


def fresh_masks(data: Data, *, count: int = SPLITS) -> Data:
    """Return the graph with ``count`` random splits of the nodes that its own split names, in the place of that one.

    Every class keeps as many training, validation and test nodes as it has in the first split of the data. Models
    that are compared on one published split are compared on one set of test nodes, which is one example of a split.

    Parameters
    ----------
    data
        One graph with boolean masks; without them it is returned as it is.
    count
        How many splits; number s is a function of s, the labels and the split of the data only.

    Returns
    -------
    Data
        A copy whose masks have ``count`` columns; seeds take them in turn.

    Examples
    --------
    >>> import torch
    >>> masks = {f"{part}_mask": torch.arange(6) % 3 == place for place, part in enumerate(("train", "val", "test"))}
    >>> fresh = fresh_masks(Data(y=torch.tensor([0, 0, 0, 1, 1, 1]), **masks), count=4)
    >>> fresh.train_mask.shape, fresh.train_mask.sum(dim=0).tolist()
    (torch.Size([6, 4]), [2, 2, 2, 2])
    """
    if any(data.get(key) is None for key in MASKS):
        return data
    first = np.stack([mask[:, 0] if mask.ndim == 2 else mask for mask in (data[key].numpy() for key in MASKS)])
    named = first.any(axis=0)
    part = first.argmax(axis=0)
    y = data.get("y")
    single = y is not None and y.numel() == len(part) and not y.is_floating_point()
    label = y.numpy().reshape(-1) if single else np.zeros(len(part), dtype=np.int64)
    out = np.zeros((len(MASKS), len(part), count), dtype=bool)
    members = [np.flatnonzero(named & (label == value)) for value in np.unique(label[named])]
    for number in range(count):
        rng = generator("rings-masks", number)
        for nodes in members:
            out[part[nodes], rng.permutation(nodes), number] = True
    changed = copy.copy(data)
    for key, mask in zip(MASKS, out, strict=True):
        changed[key] = torch.from_numpy(mask)
    return changed


def _classes(graphs: Sequence[Data]) -> npt.NDArray[np.int64]:
    """Number the classes from 0; one class for targets that are not one class number per graph."""
    targets: list[Any] = [data.get("y") for data in graphs]
    single = all(y is not None and y.numel() == 1 and not y.is_floating_point() for y in targets)
    if not single:
        return np.zeros(len(graphs), dtype=np.int64)
    _, label = np.unique([int(y) for y in targets], return_inverse=True)
    return label.astype(np.int64)
