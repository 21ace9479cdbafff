"""The TU collection (Morris et al., 2020): text files, as a zip or as a folder in a mirror."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz._core.archive import unpack
from graphnetz._core.download import fetch, mirror_has
from graphnetz._core.errors import DataError, UsageError
from graphnetz._core.paths import slug
from graphnetz.datasets.sources.base import Built, GraphDataset, cached

URL = "https://www.chrsmrrs.com/graphkerneldatasets"
NEEDED = ("A", "graph_indicator", "graph_labels")
OPTIONAL = ("node_labels", "node_attributes", "edge_labels")


def tu_dataset(
    root: str | Path, name: str, *, use_node_attr: bool = False, mirror: str | Path | None = None
) -> GraphDataset:
    """Load a TU classification dataset.

    ``use_node_attr`` puts the continuous node attributes before the one-hot node labels, as RINGS
    does; without it only the labels are features.
    """
    if slug(name) != name:
        raise UsageError(f"{name!r} is not the name of a TU dataset; use a plain name such as 'MUTAG'.")

    def build(raw: Path) -> Built:
        folder = _folder(raw, name, mirror=mirror)
        return Built(read_tu(folder, name, use_node_attr=use_node_attr))

    return cached(root, f"tu-{name}{'-attr' if use_node_attr else ''}", build)


def read_tu(folder: Path, name: str, *, use_node_attr: bool = False) -> list[Data]:
    """Read the text files of one dataset into graphs, without self-loops and repeated edges."""
    owner = _table(folder, name, "graph_indicator", int).reshape(-1) - 1
    edges = _table(folder, name, "A", int)
    if edges.shape[1] != 2 or edges.min() < 1 or edges.max() > len(owner):
        raise DataError(f"'{name}_A.txt' must hold two node numbers between 1 and {len(owner)} in each line.")
    source, target = edges.T - 1
    if (owner[source] != owner[target]).any() or (np.diff(owner) < 0).any():
        raise DataError(f"The files of {name!r} join nodes of different graphs; they do not belong together.")
    keep = np.flatnonzero(source != target)
    order = keep[np.lexsort((target[keep], source[keep]))]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(source[order]) != 0) | (np.diff(target[order]) != 0)
    order = order[first]
    source, target = source[order], target[order]
    x = _features(folder, name, len(owner), use_node_attr=use_node_attr)
    labels = folder / f"{name}_edge_labels.txt"
    kinds = _one_hot(_table(folder, name, "edge_labels", int))[order] if labels.is_file() else None
    _, y = np.unique(_table(folder, name, "graph_labels", int).reshape(-1), return_inverse=True)
    count = int(owner[-1]) + 1
    if len(y) != count:
        raise DataError(f"{name!r} has {count} graphs but {len(y)} graph labels; the files do not belong together.")
    starts = np.searchsorted(owner, np.arange(count + 1))
    bounds = np.searchsorted(owner[source], np.arange(count + 1))
    graphs = []
    for i in range(count):
        node, edge = slice(starts[i], starts[i + 1]), slice(bounds[i], bounds[i + 1])
        graph = Data(
            edge_index=torch.from_numpy(np.stack([source[edge], target[edge]]) - starts[i]),
            y=torch.tensor([int(y[i])]),
        )
        if x is None:
            graph.num_nodes = int(starts[i + 1] - starts[i])
        else:
            graph.x = torch.from_numpy(x[node])
        if kinds is not None:
            graph.edge_attr = torch.from_numpy(kinds[edge])
        graphs.append(graph)
    return graphs


def _folder(raw: Path, name: str, *, mirror: str | Path | None) -> Path:
    plain = f"TUDataset/{name}/raw"
    packed = f"TUDataset/zips/{name}.zip"
    if not mirror_has(packed, mirror=mirror) and mirror_has(f"{plain}/{name}_A.txt", mirror=mirror):
        present = [p for p in OPTIONAL if mirror_has(f"{plain}/{name}_{p}.txt", mirror=mirror)]
        for part in (*NEEDED, *present):
            file = f"{name}_{part}.txt"
            fetch((), raw / name / file, mirror=mirror, names=(f"{plain}/{file}",))
        return raw / name
    archive = fetch(f"{URL}/{name}.zip", raw / f"{name}.zip", mirror=mirror, names=(packed,))
    folder = unpack(archive, raw / f"{name}-unpacked")
    return folder / name if (folder / name).is_dir() else folder


def _table(folder: Path, name: str, part: str, kind: type) -> np.ndarray:
    import pandas as pd

    path = folder / f"{name}_{part}.txt"
    if not path.is_file():
        raise DataError(f"{name!r} lacks the file {path.name!r}; its archive is not a TU dataset.")
    try:
        frame = pd.read_csv(path, header=None, dtype=np.int64 if kind is int else np.float64, skipinitialspace=True)
    except ValueError as error:
        raise DataError(f"{path.name!r} is not a table of numbers ({error}).") from error
    return frame.to_numpy()


def _features(folder: Path, name: str, nodes: int, *, use_node_attr: bool) -> np.ndarray | None:
    parts = []
    if use_node_attr and (folder / f"{name}_node_attributes.txt").is_file():
        parts.append(_table(folder, name, "node_attributes", float).astype(np.float32))
    if (folder / f"{name}_node_labels.txt").is_file():
        parts.append(_one_hot(_table(folder, name, "node_labels", int)))
    if any(len(part) != nodes for part in parts):
        raise DataError(f"{name!r} has {nodes} nodes, but its node files have other lengths.")
    return np.concatenate(parts, axis=1) if parts else None


def _one_hot(labels: np.ndarray) -> np.ndarray:
    """Return each column's labels one-hot, counted from the smallest; unused numbers keep their column."""
    columns = []
    for column in labels.T:
        shifted = column - column.min()
        columns.append(np.eye(int(shifted.max()) + 1, dtype=np.float32)[shifted])
    return np.concatenate(columns, axis=1)
