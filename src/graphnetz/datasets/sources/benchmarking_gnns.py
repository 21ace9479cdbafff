"""Files of Benchmarking-GNNs (Dwivedi et al., 2023) beyond those of tensors: CSL, AQSOL, and folds of TU datasets.

CSL and AQSOL are pickles without a published checksum: they go through the restricted unpickler, and the sha256 of the
first copy is recorded beside it and checked ever after. CYCLES and GraphTheoryProp are published as objects of another
library (DGL), which no restricted reader can read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz._core.archive import unpack
from graphnetz._core.errors import DataError
from graphnetz._core.unpickle import loads, read_torch
from graphnetz.datasets.sources.base import (
    Built,
    GraphDataset,
    RawFile,
    cached,
    fetch_all,
    find_in,
    first_use,
    in_parts,
)
from graphnetz.datasets.sources.tensor_files import gnn_benchmark
from graphnetz.datasets.sources.tu import tu_dataset

REPOSITORY = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data"
CSL_URL = "https://www.dropbox.com/s/rnbkp5ubgk82ocu/CSL.zip?dl=1"
AQSOL_URL = "https://www.dropbox.com/s/lzu9lmukwov12kt/aqsol_graph_raw.zip?dl=1"
PARTS = ("train", "val", "test")


def block_model(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load the published PATTERN or CLUSTER; node features are category numbers, as the paper embeds them."""
    whole = gnn_benchmark(root, name, mirror=mirror)

    def build(_: Path) -> Built:
        graphs = [whole[i] for i in range(len(whole))]
        for graph in graphs:
            graph.x = graph.x.argmax(dim=1, keepdim=True) if graph.x.size(-1) > 1 else graph.x.long()
            graph.y, graph.edge_attr = graph.y.reshape(-1).long(), None
        return first_use(Built(graphs, splits=whole.splits))

    return cached(root, f"bgnn-{name}", build)


def tours(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load the published TSP graphs: is an edge on the tour that Concorde found?"""
    whole = gnn_benchmark(root, "TSP", mirror=mirror)

    def build(_: Path) -> Built:
        graphs = [whole[i] for i in range(len(whole))]
        for graph in graphs:
            graph.edge_label, graph.y = graph.y.reshape(-1).long(), None
            graph.edge_attr = graph.edge_attr.float().reshape(len(graph.edge_label), -1)
        return first_use(Built(graphs, splits=whole.splits))

    return cached(root, "bgnn-TSP", build)


def csl(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load the published CSL graphs with the five published folds."""
    archive = RawFile("CSL.zip", (CSL_URL,), ("CSL/CSL.zip",))

    def build(raw: Path) -> Built:
        folder = unpack(archive.get(raw, mirror=mirror), raw / "CSL")
        held = find_in(folder, "graphs_Kary_Deterministic_Graphs.pkl")
        matrices = loads(held.read_bytes(), name=held.name)
        labels = read_torch(find_in(folder, "y_Kary_Deterministic_Graphs.pt")).reshape(-1).long()
        graphs = [_circulant(matrix, int(y)) for matrix, y in zip(matrices, labels, strict=True)]
        folds = _folds("CSL", "CSL", raw, len(graphs), mirror=mirror)
        return first_use(Built(graphs, splits=folds, replication="fold"))

    return cached(root, "bgnn-csl", build)


def _circulant(matrix: object, label: int) -> Data:
    pairs = matrix.tocoo()  # type: ignore[attr-defined]
    keep = pairs.row != pairs.col
    edge_index = torch.from_numpy(np.stack([pairs.row[keep], pairs.col[keep]]).astype(np.int64))
    return Data(x=torch.zeros(matrix.shape[0], 1).long(), edge_index=edge_index, y=torch.tensor([label]))  # type: ignore[attr-defined]


def aqsol(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load the published AQSOL molecules with their split; those without a bond are left out, as published."""
    archive = RawFile("aqsol_graph_raw.zip", (AQSOL_URL,), ("AQSOL/aqsol_graph_raw.zip",))

    def build(raw: Path) -> Built:
        folder = unpack(archive.get(raw, mirror=mirror), raw / "AQSOL")
        parts = []
        for part in PARTS:
            held = find_in(folder, f"{part}.pickle")
            made = [_molecule(item) for item in loads(held.read_bytes(), name=held.name)]
            parts.append([graph for graph in made if graph is not None])
        return first_use(in_parts(*parts))

    return cached(root, "bgnn-aqsol", build)


def _molecule(item: Sequence[object]) -> Data | None:
    """One molecule, or None without bonds, or with atoms that no bond reaches (the paper's second filter)."""
    x, edge_attr, edge_index, y = item
    ends = torch.as_tensor(np.asarray(edge_index), dtype=torch.long).reshape(2, -1)
    atoms = torch.as_tensor(np.asarray(x), dtype=torch.long).reshape(-1, 1)
    if ends.numel() == 0 or int(ends.max()) + 1 != len(atoms):
        return None
    bonds = torch.as_tensor(np.asarray(edge_attr), dtype=torch.long).reshape(-1)
    return Data(x=atoms, edge_index=ends, edge_attr=bonds, y=torch.tensor([float(np.asarray(y))]))


def tu_folds(
    root: str | Path, name: str, *, attributes: int | None = None, mirror: str | Path | None = None
) -> GraphDataset:
    """Load a TU dataset with the ten published folds.

    ``attributes`` keeps that many continuous node attributes and drops the node labels, as the paper does.
    """
    whole = tu_dataset(root, name, use_node_attr=attributes is not None, mirror=mirror)

    def build(raw: Path) -> Built:
        graphs = [whole[i].clone() for i in range(len(whole))]
        for graph in graphs:
            graph.x = graph.x[:, :attributes]
        folds = _folds("TUs", name, raw, len(graphs), mirror=mirror)
        return Built(graphs, splits=folds, replication="fold")

    return cached(root, f"bgnn-tu-{name}", build)


def _folds(place: str, name: str, raw: Path, count: int, *, mirror: str | Path | None) -> list[dict[str, np.ndarray]]:
    """Read the published folds: one file per part, one line per fold."""
    files = [
        RawFile.at(f"{name}_{part}.index", f"{REPOSITORY}/{place}", f"benchmarking-gnns/{place}") for part in PARTS
    ]
    parts = []
    for path in fetch_all(files, raw, mirror=mirror):
        try:
            lines = [line for line in path.read_text().splitlines() if line.strip()]
            rows = [np.array([int(number) for number in line.split(",")]) for line in lines]
        except ValueError as error:
            raise DataError(f"{path.name!r} is not a list of folds ({error}).") from error
        if not rows or min(row.min() for row in rows) < 0 or max(row.max() for row in rows) >= count:
            raise DataError(f"{path.name!r} names graphs that are not there: there are {count}.")
        parts.append(rows)
    if len({len(rows) for rows in parts}) != 1:
        raise DataError(f"The published folds of {name!r} have different numbers of lines.")
    return [dict(zip(PARTS, fold, strict=True)) for fold in zip(*parts, strict=True)]
