"""Datasets published as files of tensors: Peptides, superpixels of four image collections, QM9.

They are read by PyTorch's restricted loader, which accepts tensors and plain containers only, or, where they are plain
pickles, by our restricted unpickler, and the sha256 of the first copy is recorded and checked ever after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from graphnetz._core.archive import unpack
from graphnetz._core.errors import DataError, unknown_name
from graphnetz._core.unpickle import loads, read_torch
from graphnetz.datasets.sources.base import Built, GraphDataset, RawFile, cached, find_in, first_use, in_parts

PYG_URL = "https://data.pyg.org/datasets"
PEPTIDES: Mapping[str, tuple[str, str]] = {
    "peptides-func": ("https://www.dropbox.com/s/ycsq37q8sxs1ou8/peptidesfunc.zip?dl=1", "peptidesfunc"),
    "peptides-struct": ("https://www.dropbox.com/s/zgv4z8fcpmknhs8/peptidesstruct.zip?dl=1", "peptidesstruct"),
}
LRGB_IMAGES: Mapping[str, tuple[str, str]] = {
    "pascalvoc-sp": ("https://www.dropbox.com/s/8x722ai272wqwl4/pascalvocsp.zip?dl=1", "pascalvocsp"),
    "coco-sp": ("https://www.dropbox.com/s/r6ihg1f4pmyjjy0/cocosp.zip?dl=1", "cocosp"),
}
_NOT_IN_COCO = (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)
"""Numbers below 91 that no class of COCO has; the others are counted through."""
GNN_BENCHMARK = ("PATTERN", "CLUSTER", "MNIST", "CIFAR10", "TSP")


def peptides(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load Peptides-func or Peptides-struct (Dwivedi et al., 2022) with its published split."""
    if name not in PEPTIDES:
        raise unknown_name("peptides dataset", name, PEPTIDES)
    url, folder = PEPTIDES[name]
    file = RawFile(f"{folder}.zip", (url,), (f"LRGBDataset/{folder}.zip",))

    def build(raw: Path) -> Built:
        where = unpack(file.get(raw, mirror=mirror), raw / folder)
        parts = [_listed(read_torch(find_in(where, f"{split}.pt"))) for split in ("train", "val", "test")]
        keys = ("x", "edge_attr", "edge_index", "y")
        return first_use(in_parts(*([_plain(dict(zip(keys, item, strict=True))) for item in part] for part in parts)))

    return cached(root, name, build)


def lrgb_images(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load PascalVOC-SP or COCO-SP (Dwivedi et al., 2022): superpixels, each with the class of what it shows.

    Node features are twelve statistics of colour and the position, edge attributes two.
    """
    if name not in LRGB_IMAGES:
        raise unknown_name("superpixel dataset", name, LRGB_IMAGES)
    url, folder = LRGB_IMAGES[name]
    file = RawFile(f"{folder}.zip", (url,), (f"LRGBDataset/{folder}.zip",))
    numbers = torch.tensor([i for i in range(91) if i not in _NOT_IN_COCO] if name == "coco-sp" else range(21))

    def build(raw: Path) -> Built:
        where = unpack(file.get(raw, mirror=mirror), raw / folder)
        paths = [find_in(where, f"{split}.pickle") for split in ("train", "val", "test")]
        parts = [_listed(loads(path.read_bytes(), name=path.name)) for path in paths]
        return first_use(in_parts(*([_image(item, numbers) for item in part] for part in parts)))

    return cached(root, name, build)


def _image(item: Sequence[Any], numbers: torch.Tensor) -> Data:
    x, edge_attr, edge_index, y = (torch.as_tensor(value) for value in item)
    place = torch.searchsorted(numbers, y.long()).clamp(max=len(numbers) - 1)
    if not torch.equal(numbers[place], y.long()):
        raise DataError(f"The file holds the class {int(y[numbers[place] != y][0])}, which the dataset does not have.")
    return Data(x=x.float(), edge_index=edge_index.long(), edge_attr=edge_attr.float(), y=place)


def mnist_superpixels(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load MNIST superpixels (Monti et al., 2017): 60,000 and 10,000 graphs of 75 nodes.

    The publication has no validation part: the last 5,000 training graphs serve as one. Features
    are the intensity and the position.
    """
    file = RawFile.at("MNISTSuperpixels.zip", PYG_URL, "MNISTSuperpixels")

    def build(raw: Path) -> Built:
        where = unpack(file.get(raw, mirror=mirror), raw / "MNISTSuperpixels")
        found = _parts(read_torch(find_in(where, "MNISTSuperpixels.pt")), 2)
        train, test = ([_with_position(item) for item in _listed(part)] for part in found)
        held = min(5000, max(1, len(train) // 12))
        return in_parts(train[:-held], train[-held:], test)

    return cached(root, "mnist-superpixels", build)


def gnn_benchmark(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load a published file of Benchmarking-GNNs (Dwivedi et al., 2023) with its split."""
    if name not in GNN_BENCHMARK:
        raise unknown_name("Benchmarking-GNNs file", name, GNN_BENCHMARK)
    stem = f"{name}_v2"
    file = RawFile.at(f"{stem}.zip", f"{PYG_URL}/benchmarking-gnns", "GNNBenchmarkDataset")

    def build(raw: Path) -> Built:
        where = unpack(file.get(raw, mirror=mirror), raw / stem)
        parts = [_listed(part) for part in _parts(read_torch(find_in(where, f"{stem}.pt")), 3)]
        make: Callable[[Mapping[str, Any]], Data] = _with_position if name in ("MNIST", "CIFAR10") else _plain
        return first_use(in_parts(*([make(item) for item in part] for part in parts)))

    return cached(root, f"gnn-benchmark-{name}", build)


def qm9(root: str | Path, *, target: int | None = 0, mirror: str | Path | None = None) -> GraphDataset:
    """Load QM9 (Ramakrishnan et al., 2014) from the preprocessed file of tensors.

    ``target`` chooses one of the 19 targets (0 is the dipole moment, as in RINGS); None keeps all.
    """
    file = RawFile.at("qm9_v3.zip", PYG_URL, "QM9")
    if target is not None and not 0 <= target < 19:
        raise unknown_name("QM9 target", target, map(str, range(19)))

    def build(raw: Path) -> Built:
        where = unpack(file.get(raw, mirror=mirror), raw / "qm9_v3")
        graphs = [
            _plain(item, keep=("x", "edge_index", "edge_attr", "y", "pos", "z"))
            for item in _listed(read_torch(find_in(where, "qm9_v3.pt")))
        ]
        if target is not None:
            for graph in graphs:
                graph.y = graph.y[:, target]
        return Built(graphs)

    return cached(root, "qm9" if target is None else f"qm9-{target}", build)


def _plain(item: Mapping[str, Any], *, keep: Sequence[str] | None = None) -> Data:
    if not isinstance(item, Mapping):
        raise DataError(f"The file holds a {type(item).__name__} where a graph is expected.")
    data = Data()
    for key, value in item.items():
        if value is not None and (keep is None or key in keep):
            data[key] = value if isinstance(value, torch.Tensor) else torch.as_tensor(value)
    if data.edge_index is None:
        raise DataError("The file holds a graph without edges.")
    return data


def _with_position(item: Mapping[str, Any]) -> Data:
    """Put the position behind the intensities: the features of the paper's experiments."""
    data = _plain(item)
    if data.pos is not None:
        data.x = torch.cat([data.x.float(), data.pos.float()], dim=1)
    if data.y is not None:
        data.y = data.y.reshape(-1).long()
    return data


def _listed(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise DataError(f"The file holds a {type(value).__name__} where a list of graphs is expected.")
    return value


def _parts(value: Any, count: int) -> Sequence[Any]:
    parts = _listed(value)
    if len(parts) != count:
        raise DataError(f"The file holds {len(parts)} parts instead of {count}.")
    return parts
