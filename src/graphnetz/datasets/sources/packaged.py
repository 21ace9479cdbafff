"""Datasets that PyTorch Geometric's classes process from raw files we fetch."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import (
    PPI,
    EllipticBitcoinDataset,
    MalNetTiny,
    ModelNet,
    MovieLens100K,
    ShapeNet,
)
from torch_geometric.utils import coalesce, to_undirected

from graphnetz._core.archive import unpack
from graphnetz._core.errors import DataError, unknown_name
from graphnetz.datasets.sources.base import Built, GraphDataset, RawFile, find_in, in_parts
from graphnetz.datasets.sources.pyg import pyg_dataset
from graphnetz.datasets.splits import consecutive_split

MODELNET_URLS = {
    "10": ("https://3dvision.princeton.edu/projects/2014/3DShapeNets/ModelNet10.zip",),
    "40": ("https://modelnet.cs.princeton.edu/ModelNet40.zip",),
}
SHAPENET = "shapenetcore_partanno_segmentation_benchmark_v0_normal"
NEIGHBOURS = 6
ELLIPTIC = ("elliptic_txs_features.csv", "elliptic_txs_edgelist.csv", "elliptic_txs_classes.csv")


def ppi(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load the 24 tissue networks of PPI (Zitnik and Leskovec, 2017): 20 / 2 / 2 graphs, 121 labels each node."""
    file = RawFile.at("ppi.zip", "https://data.dgl.ai/dataset", "PPI")

    def finish(saved: dict[str, list[Any]]) -> Built:
        return in_parts(*(saved[f"{part}.pt"] for part in ("train", "val", "test")))

    return pyg_dataset(root, PPI, [file], name="ppi", prepare=_unpack_flat, finish=finish, mirror=mirror)


def movielens100k(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load MovieLens 100K as one graph: users first, then movies, an edge for every rating.

    Features are the users' and the movies' columns side by side, zero for the other kind. The stars
    are in ``edge_rating``; negatives of a link task may also join two users or two movies.
    """
    file = RawFile.at("ml-100k.zip", "https://files.grouplens.org/datasets/movielens", "MovieLens100K")

    def finish(saved: dict[str, list[Any]]) -> Built:
        (hetero,) = saved["data.pt"]
        users, movies = hetero["user"].x, hetero["movie"].x
        store = hetero["user", "rates", "movie"]
        pairs = torch.cat([store.edge_index, store.edge_label_index], dim=1)
        rating = torch.cat([store.rating.float(), store.edge_label.float()])
        pairs = torch.stack([pairs[0], pairs[1] + len(users)])
        x = torch.zeros(len(users) + len(movies), users.shape[1] + movies.shape[1])
        x[: len(users), : users.shape[1]] = users
        x[len(users) :, users.shape[1] :] = movies
        edge_index, edge_rating = to_undirected(pairs, rating, num_nodes=len(x), reduce="max")
        data = Data(x=x, edge_index=edge_index, edge_rating=edge_rating)
        return Built([data], info={"users": len(users), "movies": len(movies), "bipartite": True})

    return pyg_dataset(
        root,
        MovieLens100K,
        [file],
        name="movielens100k",
        prepare=_unpack_inner("ml-100k"),
        finish=finish,
        mirror=mirror,
    )


def elliptic_bitcoin(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load the Elliptic transactions (Weber et al., 2019): licit or illicit, a split in time.

    Time steps 1 to 29 train, 30 to 34 validate, 35 to 49 test; unlabelled transactions are in no part
    (``known_mask`` is false, and their class number 0 means nothing). Payments are followed both ways.
    """
    address = "https://data.pyg.org/datasets/elliptic"
    files = [RawFile.at(f"{file}.zip", address, "EllipticBitcoin") for file in ELLIPTIC]
    steps: dict[str, np.ndarray] = {}

    def prepare(fetched: list[Path], folder: Path) -> None:
        import pandas as pd

        _unpack_each(fetched, folder, ELLIPTIC)
        table = pd.read_csv(folder / ELLIPTIC[0], header=None, usecols=[1])
        steps["time"] = table.to_numpy().reshape(-1)

    def finish(saved: dict[str, list[Any]]) -> Built:
        (data,) = saved["data.pt"]
        time = torch.from_numpy(steps["time"].astype(np.int64))
        known = data.y != 2
        data.y = torch.where(known, data.y, torch.zeros_like(data.y))
        data.known_mask = known
        data.edge_index = to_undirected(data.edge_index, num_nodes=data.num_nodes)
        data.train_mask, data.val_mask = known & (time < 30), known & (time >= 30) & (time < 35)
        data.test_mask = known & (time >= 35)
        return Built([data], info={"directed": False, "split": "time steps 1-29 / 30-34 / 35-49"})

    return pyg_dataset(
        root, EllipticBitcoinDataset, files, name="elliptic-bitcoin", prepare=prepare, finish=finish, mirror=mirror
    )


def malnet_tiny(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load MalNet-Tiny (Freitas et al., 2021): 5,000 function call graphs of five types, no features."""
    base = "https://malnet.cc.gatech.edu"
    files = [
        RawFile.at("malnet-graphs-tiny.tar.gz", f"{base}/graph-data", "MalNetTiny"),
        RawFile.at("split_info_tiny.zip", f"{base}/split-info", "MalNetTiny"),
    ]
    sizes: list[int] = []

    def prepare(fetched: list[Path], folder: Path) -> None:
        _unpack_each(fetched, folder, ("malnet-graphs-tiny", "split_info_tiny"))
        for part in ("train", "val", "test"):
            lines = (folder / "split_info_tiny" / "type" / f"{part}.txt").read_text().split()
            for line in lines:
                if ".." in Path(line).parts or Path(line).is_absolute():
                    raise DataError(f"The split file names {line!r}, which lies outside its folder.")
            sizes.append(len(lines))

    def finish(saved: dict[str, list[Any]]) -> Built:
        graphs = saved["data.pt"]
        for graph in graphs:
            graph.y = torch.tensor([int(graph.y)])
            graph.edge_index = coalesce(graph.edge_index, num_nodes=graph.num_nodes)
        return Built(graphs, splits=consecutive_split(*sizes), info={"directed": True})

    return pyg_dataset(root, MalNetTiny, files, name="malnet-tiny", prepare=prepare, finish=finish, mirror=mirror)


def shapenet(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load the ShapeNet part segmentation (Yi et al., 2016) as graphs of six nearest points.

    Features are position and normal; the label of a point is its part among 50.
    """
    file = RawFile.at(f"{SHAPENET}.zip", "https://shapenet.cs.stanford.edu/media", "ShapeNet")

    def finish(saved: dict[str, list[Any]]) -> Built:
        keys = [next(key for key in saved if key.endswith(f"_{part}.pt")) for part in ("train", "val", "test")]
        return in_parts(*([_cloud(shape) for shape in saved[key]] for key in keys))

    return pyg_dataset(
        root, ShapeNet, [file], name="shapenet", prepare=_unpack_inner(SHAPENET), finish=finish, mirror=mirror
    )


def modelnet(root: str | Path, size: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load ModelNet10 or ModelNet40 (Wu et al., 2015) as mesh graphs: vertices joined along faces.

    Features are positions, centred and scaled to the unit ball. The publication has no validation
    part: every tenth training shape serves as one.
    """
    if size not in MODELNET_URLS:
        raise unknown_name("ModelNet size", size, MODELNET_URLS)
    stem = f"ModelNet{size}"
    file = RawFile(f"{stem}.zip", MODELNET_URLS[size], (f"ModelNet/{stem}.zip",))

    def finish(saved: dict[str, list[Any]]) -> Built:
        train, test = saved["training.pt"], saved["test.pt"]
        graphs = [_mesh(shape) for shape in (*train, *test)]
        order = np.arange(len(train))
        splits = {
            "train": order[order % 10 != 9],
            "val": order[order % 10 == 9],
            "test": np.arange(len(train), len(graphs)),
        }
        return Built(graphs, splits=splits)

    return pyg_dataset(
        root, ModelNet, [file], name=stem.lower(), prepare=_unpack_inner(stem), finish=finish, mirror=mirror
    )


def _cloud(shape: Data) -> Data:
    from scipy.spatial import cKDTree

    points = shape.pos.numpy()
    k = min(NEIGHBOURS, len(points) - 1)
    near = np.asarray(cKDTree(points).query(points, k=k + 1)[1])[:, 1:].reshape(-1)
    pairs = np.stack([np.repeat(np.arange(len(points)), k), near])
    edge_index = to_undirected(torch.from_numpy(pairs.astype(np.int64)), num_nodes=len(points))
    return Data(x=torch.cat([shape.pos, shape.x], dim=1), edge_index=edge_index, y=shape.y)


def _mesh(shape: Data) -> Data:
    face = shape.face
    pairs = torch.cat([face[:2], face[1:], face[::2]], dim=1)
    x = shape.pos - shape.pos.mean(dim=0)
    x = x / x.norm(dim=1).max().clamp(min=1e-12)
    return Data(x=x, edge_index=to_undirected(pairs, num_nodes=len(x)), y=shape.y)


def _unpack_flat(fetched: list[Path], folder: Path) -> None:
    inner = unpack(fetched[0], folder / "unpacked")
    for path in inner.rglob("*"):
        if path.is_file():
            shutil.move(str(path), folder / path.name)


def _unpack_each(fetched: list[Path], folder: Path, names: Sequence[str]) -> None:
    for path, name in zip(fetched, names, strict=True):
        shutil.move(str(find_in(unpack(path, folder / f"{name}-unpacked"), name)), folder / name)


def _unpack_inner(name: str) -> Any:
    def prepare(fetched: list[Path], folder: Path) -> None:
        inner = find_in(unpack(fetched[0], folder.parent / f"{name}-unpacked"), name)
        shutil.rmtree(folder)
        shutil.move(str(inner), folder)

    return prepare
