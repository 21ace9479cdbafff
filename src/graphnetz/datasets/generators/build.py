"""From numpy arrays to PyTorch Geometric graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz.datasets.splits import stratified_masks


def tensor(array: Any) -> torch.Tensor:
    """Return ``array`` as a tensor: float32 for reals, int64 for integers, bool as it is."""
    values = np.ascontiguousarray(array)
    if values.dtype.kind == "f":
        values = values.astype(np.float32)
    elif values.dtype.kind in "iu":
        values = values.astype(np.int64)
    return torch.from_numpy(values)


def both_ways(pairs: np.ndarray) -> np.ndarray:
    """Return undirected pairs [E, 2] as directed edges [2, 2E]: the pairs, then their mirrors."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    return np.concatenate([pairs, pairs[:, ::-1]]).T


def graph(edge_index: np.ndarray, num_nodes: int, **columns: Any) -> Data:
    """Build ``Data`` from directed edges [2, E]; arrays among ``columns`` become tensors.

    Answers that models must not see go into ``solution``, a plain dictionary that batches leave out.
    """
    data = Data(edge_index=tensor(np.asarray(edge_index, dtype=np.int64).reshape(2, -1)), num_nodes=int(num_nodes))
    for key, value in columns.items():
        data[key] = tensor(value) if isinstance(value, np.ndarray) else value
    return data


def pairs_of(adjacency: np.ndarray) -> np.ndarray:
    """Return the undirected pairs i < j of a dense symmetric adjacency matrix, in row order."""
    return np.argwhere(np.triu(adjacency, 1))


def with_masks(data: Data, *, splits: int = 1, per_class: int | None = None, entropy: int = 0) -> Data:
    """Add stratified masks for ``data.y``: columns [nodes, splits], or plain [nodes] for one split."""
    masks = stratified_masks(data.y.numpy(), splits=splits, per_class=per_class, entropy=entropy)
    for key, mask in zip(("train_mask", "val_mask", "test_mask"), masks, strict=True):
        data[key] = tensor(mask[:, 0] if splits == 1 else mask)
    return data
