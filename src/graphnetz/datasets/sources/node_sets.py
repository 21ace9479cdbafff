"""Node classification sets with published splits: heterophilous, WebKB, Actor, WikiCS, airports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, to_undirected

from graphnetz._core.errors import DataError, unknown_name
from graphnetz.datasets.generators.build import with_masks
from graphnetz.datasets.sources.base import Built, GraphDataset, RawFile, cached, fetch_all

HETEROPHILOUS_URL = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"
GEOM_URL = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
AIRPORTS_URL = "https://github.com/leoribeiro/struc2vec/raw/master/graph"
WIKICS_URL = "https://github.com/pmernyei/wiki-cs-dataset/raw/master/dataset/data.json"
HETEROPHILOUS = ("roman_empire", "amazon_ratings", "minesweeper", "tolokers", "questions")
HETEROPHILOUS_SHA256: Mapping[str, str] = {
    "minesweeper": "e664c8dacf1e8ac466c2c09ed4b237bd2c5541f47a6eae9c6092cb87f16412b3",
    "tolokers": "dacf3ac94cec53d03cd2adb5255c08b33dee1656c33ca8164a464bd9450a1667",
}
WEBKB = ("cornell", "texas", "wisconsin")
AIRPORTS = ("usa", "brazil", "europe")


def heterophilous(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load one of the five heterophilous graphs (Platonov et al., 2023) with its ten splits."""
    if name not in HETEROPHILOUS:
        raise unknown_name("heterophilous graph", name, HETEROPHILOUS)
    place, pin = f"HeterophilousGraphDataset/{name}/raw", HETEROPHILOUS_SHA256.get(name)
    file = RawFile.at(f"{name}.npz", HETEROPHILOUS_URL, place, pin)

    def build(raw: Path) -> Built:
        held = _npz(file.get(raw, mirror=mirror))
        x = torch.from_numpy(held["node_features"])
        edges = torch.from_numpy(held["edges"]).t().contiguous().long()
        data = Data(
            x=x.float(),
            edge_index=to_undirected(edges, num_nodes=len(x)),
            y=torch.from_numpy(held["node_labels"]).long(),
        )
        for key in ("train", "val", "test"):
            data[f"{key}_mask"] = torch.from_numpy(held[f"{key}_masks"]).t().contiguous().bool()
        return Built([data])

    return cached(root, f"heterophilous-{name}", build)


def geom_gcn(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load Cornell, Texas, Wisconsin or Actor (``"film"``) with the ten splits of Pei et al. (2020)."""
    if name not in (*WEBKB, "film"):
        raise unknown_name("Geom-GCN graph", name, (*WEBKB, "film"))
    family = "Actor/raw" if name == "film" else f"WebKB/{name}/raw"
    tables = ("out1_node_feature_label.txt", "out1_graph_edges.txt")
    files = [RawFile.at(file, f"{GEOM_URL}/new_data/{name}", family) for file in tables]
    files += [RawFile.at(f"{name}_split_0.6_0.2_{i}.npz", f"{GEOM_URL}/splits", family) for i in range(10)]

    def build(raw: Path) -> Built:
        features, edges, *splits = fetch_all(files, raw, mirror=mirror)
        x, y = _feature_table(features, sparse=name == "film")
        edge_index = torch.from_numpy(_pairs(edges, len(x)))
        data = Data(x=x, edge_index=coalesce(edge_index, num_nodes=len(x)), y=y)
        held = [_npz(path) for path in splits]
        for key in ("train_mask", "val_mask", "test_mask"):
            data[key] = torch.from_numpy(np.stack([part[key] for part in held], axis=1)).bool()
        return Built([data], info={"directed": True})

    return cached(root, f"geom-gcn-{name}", build)


def airports(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load an air-traffic network (Ribeiro et al., 2017); the label is the quartile of activity."""
    if name not in AIRPORTS:
        raise unknown_name("airport network", name, AIRPORTS)
    names = (f"{name}-airports.edgelist", f"labels-{name}-airports.txt")
    files = [RawFile.at(file, AIRPORTS_URL, f"Airports/{name}/raw") for file in names]

    def build(raw: Path) -> Built:
        edges, labels = fetch_all(files, raw, mirror=mirror)
        table = np.loadtxt(labels, dtype=np.int64, skiprows=1, ndmin=2)
        position = {int(code): i for i, code in enumerate(table[:, 0])}
        raw_pairs = np.loadtxt(edges, dtype=np.int64, ndmin=2)
        try:
            pairs = [[position[int(a)], position[int(b)]] for a, b in raw_pairs]
        except KeyError as error:
            raise DataError(f"{edges.name!r} names the airport {error}, which has no label.") from error
        edge_index = coalesce(torch.tensor(pairs).t().contiguous(), num_nodes=len(table))
        data = Data(x=torch.eye(len(table)), edge_index=edge_index, y=torch.from_numpy(table[:, 1].copy()))
        return Built([with_masks(data, splits=10)], info={"split": "ten stratified 60/20/20 splits, ours"})

    return cached(root, f"airports-{name}", build)


def wikics(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load WikiCS (Mernyei and Cangea, 2020) as an undirected graph with its twenty splits."""
    file = RawFile("data.json", (WIKICS_URL,), ("WikiCS/raw/data.json",))

    def build(raw: Path) -> Built:
        path = file.get(raw, mirror=mirror)
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            links: Sequence[Sequence[int]] = held["links"]
            pairs = [(node, other) for node, others in enumerate(links) for other in others]
            data = Data(
                x=torch.tensor(held["features"], dtype=torch.float),
                y=torch.tensor(held["labels"], dtype=torch.long),
                edge_index=to_undirected(
                    torch.tensor(pairs, dtype=torch.long).t().contiguous(), num_nodes=len(held["features"])
                ),
            )
            for key in ("train", "val", "stopping"):
                data[f"{key}_mask"] = torch.tensor(held[f"{key}_masks"], dtype=torch.bool).t().contiguous()
            data.test_mask = torch.tensor(held["test_mask"], dtype=torch.bool)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path.name!r} is not the WikiCS file ({error}). Remove it and try again.") from error
        return Built([data])

    return cached(root, "wikics", build)


def _npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path.name!r} is not a file of plain arrays ({error}).") from error


def _feature_table(path: Path, *, sparse: bool) -> tuple[torch.Tensor, torch.Tensor]:
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:] if line]
    order = np.array([int(row[0]) for row in rows])
    if sorted(order.tolist()) != list(range(len(rows))):
        raise DataError(f"{path.name!r} does not number its nodes 0..{len(rows) - 1}.")
    values = [np.array(row[1].split(","), dtype=np.float32) for row in rows]
    width = int(max(v.max() for v in values)) + 1 if sparse else len(values[0])
    x = np.zeros((len(rows), width), dtype=np.float32)
    y = np.zeros(len(rows), dtype=np.int64)
    for node, value, row in zip(order, values, rows, strict=True):
        if sparse:  # Actor lists the columns that are one
            x[node, value.astype(np.int64)] = 1.0
        else:
            x[node] = value
        y[node] = int(row[2])
    return torch.from_numpy(x), torch.from_numpy(y)


def _pairs(path: Path, nodes: int) -> np.ndarray:
    pairs = np.loadtxt(path, dtype=np.int64, skiprows=1, ndmin=2).T
    if pairs.shape[0] != 2 or pairs.min() < 0 or pairs.max() >= nodes:
        raise DataError(f"{path.name!r} must hold two node numbers below {nodes} in each line.")
    return np.ascontiguousarray(pairs)
