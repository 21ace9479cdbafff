"""ZINC-12k (Dwivedi et al., 2023): pickled tensors, read by the restricted unpickler."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz._core.download import fetch
from graphnetz._core.errors import DataError
from graphnetz._core.pins import user_pin
from graphnetz._core.unpickle import loads
from graphnetz.datasets.sources.base import Built, GraphDataset, RawFile, cached, fetch_all, first_use, in_parts

URL = "https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1"
INDEX_URL = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/molecules"
PARTS = ("train", "val", "test")
HELD_OUT_SHA256 = "f36beeacb658fe42d4f3276b1307bd9158becae452480b229b9d18d62a2d4475"


def zinc(root: str | Path, *, sha256: str | None = None, mirror: str | Path | None = None) -> GraphDataset:
    """Load the 10,000 / 1,000 / 1,000 molecules of the subset.

    The published archive comes without a checksum: that of the first copy is recorded beside it and checked ever
    after. ``sha256=``, or an entry ``"molecules.zip"`` in the file named by ``GRAPHNETZ_PINS``, pins it from the start.
    """

    def build(raw: Path) -> Built:
        pin = sha256 or user_pin("molecules.zip")
        archive = fetch(URL, raw / "molecules.zip", sha256=pin, mirror=mirror, names=("ZINC/molecules.zip",))
        indices = fetch_all([RawFile.at(f"{p}.index", INDEX_URL, "ZINC") for p in PARTS], raw, mirror=mirror)
        parts = []
        with zipfile.ZipFile(archive) as source:
            for part, index in zip(PARTS, indices, strict=True):
                molecules = loads(source.read(f"molecules/{part}.pickle"), name=f"{part}.pickle")
                parts.append([_molecule(molecules[i]) for i in _numbers(index, len(molecules))])
        built = in_parts(*parts)
        return built if pin else first_use(built)

    return cached(root, "zinc-subset", build)


def zinc_held_out(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load only the 1,000 validation and 1,000 test molecules, from a copy in plain arrays.

    This is not the published benchmark: there is no training part, so tasks split these 2,000
    molecules themselves.
    """
    file = RawFile("zinc_subset_val_test.npz", (), ("ZINC/zinc_subset_val_test.npz",), HELD_OUT_SHA256)

    def build(raw: Path) -> Built:
        with np.load(file.get(raw, mirror=mirror), allow_pickle=False) as held:
            return Built([graph for part in ("val", "test") for graph in _from_arrays(held, part)])

    return cached(root, "zinc-held-out", build)


def _molecule(item: Any) -> Data:
    bonds = item["bond_type"]
    edge_index = bonds.nonzero().t().contiguous()
    return Data(
        x=item["atom_type"].long().view(-1, 1),
        edge_index=edge_index,
        edge_attr=bonds[edge_index[0], edge_index[1]].long(),
        y=item["logP_SA_cycle_normalized"].float().view(-1),
    )


def _numbers(path: Path, count: int) -> Sequence[int]:
    try:
        numbers = [int(part) for part in path.read_text().strip().strip(",").split(",")]
    except ValueError as error:
        raise DataError(f"{path.name!r} is not a list of numbers ({error}).") from error
    if min(numbers) < 0 or max(numbers) >= count:
        raise DataError(f"{path.name!r} names the molecule {max(numbers)}, but there are {count}.")
    return numbers


def _from_arrays(held: Any, part: str) -> list[Data]:
    nodes, edges = held[f"{part}_node_ptr"], held[f"{part}_edge_ptr"]
    x, y = held[f"{part}_x"].astype(np.int64), held[f"{part}_y"].astype(np.float32)
    ends, kinds = held[f"{part}_edge_index"].astype(np.int64), held[f"{part}_edge_attr"].astype(np.int64)
    return [
        Data(
            x=torch.from_numpy(x[nodes[i] : nodes[i + 1]]).view(-1, 1),
            edge_index=torch.from_numpy(np.ascontiguousarray(ends[:, edges[i] : edges[i + 1]])),
            edge_attr=torch.from_numpy(kinds[edges[i] : edges[i + 1]]),
            y=torch.from_numpy(y[i : i + 1]),
        )
        for i in range(len(y))
    ]
