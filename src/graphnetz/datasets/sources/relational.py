"""Knowledge graphs with a published split of triples: FB15k-237 and WN18RR."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch_geometric.data import Data

from graphnetz._core.archive import unpack
from graphnetz._core.download import fetch, mirror_has
from graphnetz._core.errors import DataError
from graphnetz.datasets.sources.base import Built, GraphDataset, RawFile, cached, fetch_all

FB_URL = "https://raw.githubusercontent.com/MichSchli/RelationPrediction/master/data/FB-Toutanova"
WN_URL = "https://raw.githubusercontent.com/villmow/datasets_knowledge_embedding/master/WN18RR/original"
FB_FILES = ("entities.dict", "relations.dict", "train.txt", "valid.txt", "test.txt")
SPLITS = ("train", "valid", "test")


class RelationalDataset(GraphDataset):
    """A knowledge graph in the form of PyG's ``RelLinkPredDataset``.

    ``edge_index`` and ``edge_type`` hold the training triples and their inverses, for message
    passing; ``train_edge_index``, ``train_edge_type`` and so on hold the triples of each split.
    """

    @property
    def num_relations(self) -> int:
        """Number of relations with inverses, as PyG counts them."""
        return 2 * int(self.info["relations"])


def fb15k_237(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load FB15k-237 (Toutanova and Chen, 2015)."""

    def build(raw: Path) -> Built:
        packed = "RelLinkPredDataset/FB15k-237.zip"
        plain = "RelLinkPredDataset/FB15k-237/raw"
        if mirror_has(packed, mirror=mirror) and not mirror_has(f"{plain}/train.txt", mirror=mirror):
            archive = fetch((), raw / "FB15k-237.zip", mirror=mirror, names=(packed,))
            folder = unpack(archive, raw / "unpacked") / "FB15k-237" / "raw"
        else:
            fetch_all([RawFile.at(file, FB_URL, plain) for file in FB_FILES], raw, mirror=mirror)
            folder = raw
        entities, relations = _numbers(folder / "entities.dict"), _numbers(folder / "relations.dict")
        triples = {split: _read_triples(folder / f"{split}.txt") for split in SPLITS}
        return _built(triples, entities, relations)

    return cached(root, "fb15k-237", build, kind=RelationalDataset)


def wordnet18rr(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load WN18RR (Dettmers et al., 2018); entities are numbered in order of appearance."""
    files = [RawFile.at(f"{split}.txt", WN_URL, "WordNet18RR/raw") for split in SPLITS]

    def build(raw: Path) -> Built:
        paths = fetch_all(files, raw, mirror=mirror)
        triples = {split: _read_triples(path) for split, path in zip(SPLITS, paths, strict=True)}
        entities: dict[str, int] = {}
        for rows in triples.values():
            for key in [row[0] for row in rows] + [row[2] for row in rows]:
                entities.setdefault(key, len(entities))
        names = sorted({row[1] for rows in triples.values() for row in rows})
        return _built(triples, entities, {name: i for i, name in enumerate(names)})

    return cached(root, "wn18rr", build, kind=RelationalDataset)


def _built(
    triples: Mapping[str, list[tuple[str, str, str]]], entities: Mapping[str, int], relations: Mapping[str, int]
) -> Built:
    data = Data(num_nodes=len(entities))
    for split, rows in triples.items():
        try:
            head = [entities[row[0]] for row in rows]
            kind = [relations[row[1]] for row in rows]
            tail = [entities[row[2]] for row in rows]
        except KeyError as error:
            raise DataError(
                f"The {split} triples name {error}, which is not in the list of entities or relations."
            ) from error
        data[f"{split}_edge_index"] = torch.tensor([head, tail], dtype=torch.long)
        data[f"{split}_edge_type"] = torch.tensor(kind, dtype=torch.long)
    forward, kinds = data.train_edge_index, data.train_edge_type
    data.edge_index = torch.cat([forward, forward.flip(0)], dim=1)
    data.edge_type = torch.cat([kinds, kinds + len(relations)])
    data.num_relations = len(relations)
    data.feature_rule = "degree"
    return Built([data], info={"relations": len(relations), "inverses": True})


def _numbers(path: Path) -> dict[str, int]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line]
    if any(len(row) != 2 or not row[0].isdigit() for row in rows):
        raise DataError(f"{path.name!r} must hold a number and a name in each line.")
    return {name: int(number) for number, name in rows}


def _read_triples(path: Path) -> list[tuple[str, str, str]]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        parts = line.split("\t")
        if len(parts) != 3:
            raise DataError(f"Line {number} of {path.name!r} has {len(parts)} columns instead of head, relation, tail.")
        rows.append((parts[0], parts[1], parts[2]))
    return rows
