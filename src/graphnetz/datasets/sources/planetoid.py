"""Cora, CiteSeer and PubMed (Yang et al., 2016): pickled arrays, read only with their pinned sha256."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, remove_self_loops

from graphnetz._core.errors import DataError, unknown_name
from graphnetz._core.unpickle import read_pickle
from graphnetz.datasets.sources.base import Built, GraphDataset, RawFile, cached, fetch_all, mask_of

URL = "https://github.com/kimiyoung/planetoid/raw/master/data"
PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
SHA256: Mapping[str, Mapping[str, str]] = json.loads(
    (resources.files(__package__) / "planetoid.json").read_text(encoding="utf-8")
)


def raw_files(name: str) -> list[RawFile]:
    """Return the eight published files of one citation network."""
    if name not in SHA256:
        raise unknown_name("citation network", name, SHA256)
    stem = f"ind.{name.lower()}"
    return [RawFile.at(f"{stem}.{part}", URL, f"Planetoid/{name}/raw", SHA256[name][part]) for part in PARTS]


def planetoid(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load a citation network with its public split (20 per class, 500, 1000)."""

    def build(raw: Path) -> Built:
        paths = fetch_all(raw_files(name), raw, mirror=mirror)
        parts = {
            part: _index(path) if part == "test.index" else read_pickle(path, sha256=SHA256[name][part])
            for part, path in zip(PARTS, paths, strict=True)
        }
        return Built([_graph(parts, name)])

    return cached(root, f"planetoid-{name}", build)


def _index(path: Path) -> np.ndarray:
    return np.loadtxt(path, dtype=np.int64, ndmin=1)


def _graph(parts: Mapping[str, Any], name: str) -> Data:
    test = parts["test.index"]
    first, last = int(test.min()), int(test.max())
    known = parts["ally"].shape[0]
    if first != known:
        raise DataError(f"The test nodes of {name!r} start at {first}, but {known} nodes come before them.")
    size = last + 1
    x = np.zeros((size, parts["allx"].shape[1]), dtype=np.float32)
    y = np.zeros((size, parts["ally"].shape[1]), dtype=np.float32)
    x[:known] = _dense(parts["allx"])
    y[:known] = parts["ally"]
    # row i of tx belongs to the i-th entry of the index file; nodes that no entry names (isolated
    # documents of CiteSeer) stay without features and fall to class 0, as in the published loaders
    x[test] = _dense(parts["tx"])
    y[test] = parts["ty"]
    train = parts["y"].shape[0]
    pairs = [(node, other) for node, others in parts["graph"].items() for other in others]
    edge_index = torch.tensor(pairs, dtype=torch.long).t().contiguous()
    if int(edge_index.max()) >= size or int(edge_index.min()) < 0:
        raise DataError(f"The graph of {name!r} names a node outside 0..{size - 1}.")
    # by target, then source: the order of PyG, so that sums over neighbours agree to the last bit
    edge_index = coalesce(remove_self_loops(edge_index)[0], num_nodes=size, sort_by_row=False)
    return Data(
        x=torch.from_numpy(x),
        edge_index=edge_index,
        y=torch.from_numpy(y.argmax(axis=1)),
        train_mask=mask_of(np.arange(train), size),
        val_mask=mask_of(np.arange(train, train + 500), size),
        test_mask=mask_of(test, size),
    )


def _dense(matrix: Any) -> np.ndarray:
    matrix.check_format(full_check=True)  # a broken index array would be read out of bounds
    return np.asarray(matrix.todense(), dtype=np.float32)
