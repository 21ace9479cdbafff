"""The real datasets of a mirror, through our loaders, with the network blocked and PyG as witness."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from torch_geometric.datasets import (
    Actor,
    Airports,
    HeterophilousGraphDataset,
    Planetoid,
    RelLinkPredDataset,
    TUDataset,
    WebKB,
)
from training_step import train_one_epoch

from graphnetz._core.archive import unpack
from graphnetz._core.errors import DownloadError
from graphnetz.datasets.cards import CARDS
from graphnetz.datasets.sources.doctor import FIELDS, measure
from graphnetz.datasets.sources.netz import Netz
from graphnetz.datasets.sources.tu import tu_dataset

pytestmark = pytest.mark.data

MIRRORED = sorted(name for name, card in CARDS.items() if card.mirror)
HEAVY = {
    "aids", "aqsol", "arxiv_condmat_coauthors", "bbbp", "citeseer", "clintox", "dd", "ego_facebook", "esol", "lipo", "nci1",
    "proteins", "pubmed", "tolokers", "wordnet18rr", "zinc_held_out",
}  # fmt: skip
"""Loaded in the golden run; the others stand for their sources and task types in every run."""
NOT_TRAINED = {"dd", "lipo", "aqsol", "bbbp", "tolokers", "fb15k_237", "wordnet18rr"}
"""Large; their task types are trained elsewhere."""


def heavy(*values):
    return pytest.param(*values, marks=pytest.mark.golden)


@pytest.fixture
def mirror(shared, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared))
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    return shared


@pytest.fixture(scope="session")
def roots(tmp_path_factory):
    return tmp_path_factory.mktemp("datasets")


@pytest.fixture
def load(mirror, roots):
    """Load a dataset; the folder is shared, so that a second test reads the processed file."""
    return lambda name: CARDS[name].loader(roots / name)


@pytest.mark.parametrize("name", [heavy(name) if name in HEAVY else name for name in MIRRORED])
def test_published_statistics(name, load):
    card = CARDS[name]
    dataset = load(name)
    found = measure(dataset)
    stated = {key: getattr(card, key) for key in FIELDS if getattr(card, key) is not None}
    assert {key: found[key] for key in stated} == stated
    if name not in NOT_TRAINED:
        for kind in card.serves:
            assert train_one_epoch(dataset, kind, batch_size=256).n_train > 0
    if name == "aqsol":
        check_aqsol(dataset)


def test_every_source_of_the_mirror_has_a_dataset_in_the_normal_run():
    """What is left to the golden run must not be the only witness of its reader."""
    families = {CARDS[name].mirror[0].split("/")[0] for name in MIRRORED}
    normal = {CARDS[name].mirror[0].split("/")[0] for name in MIRRORED if name not in HEAVY}
    assert families - normal <= {"AqSolDB", "WordNet18RR", "ZINC"}  # each is a family of one
    assert set(MIRRORED) >= HEAVY


def copied(shared, tmp_path, family, name=""):
    """Return a writable copy, since PyG writes beside the raw files."""
    shutil.copytree(shared / family / name, tmp_path / "pyg" / family / name)
    return tmp_path / "pyg" / family


def same(ours, theirs, keys):
    for key in keys:
        a, b = ours[key], theirs[key]
        assert torch.equal(a.to(b.dtype), b), key


@pytest.mark.parametrize(("name", "real"), [("cora", "Cora"), heavy("citeseer", "CiteSeer"), heavy("pubmed", "PubMed")])
def test_planetoid_equals_pyg(name, real, mirror, load, tmp_path):
    theirs = Planetoid(str(copied(mirror, tmp_path, "Planetoid", real)), real)[0]
    ours = load(name)[0]
    same(ours, theirs, ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"))
    assert [int(ours[f"{p}_mask"].sum()) for p in ("train", "val", "test")] == [20 * len(ours.y.unique()), 500, 1000]


@pytest.mark.parametrize(
    ("real", "attributes"), [("MUTAG", False), ("ENZYMES", True), heavy("ENZYMES", False), heavy("IMDB-BINARY", False)]
)
def test_tu_equals_pyg(real, attributes, mirror, tmp_path):
    theirs = TUDataset(str(copied(mirror, tmp_path, "TUDataset", real)), real, use_node_attr=attributes)
    ours = tu_dataset(tmp_path / "ours", real, use_node_attr=attributes)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        same(a, b, ("edge_index", "y"))
        assert a.num_nodes == b.num_nodes
        if b.x is not None and b.x.numel():
            assert torch.equal(a.x, b.x)
        if b.edge_attr is not None:
            assert torch.equal(a.edge_attr, b.edge_attr)


def test_heterophilous_equals_pyg(mirror, load, tmp_path):
    theirs = HeterophilousGraphDataset(str(copied(mirror, tmp_path, "HeterophilousGraphDataset")), "Minesweeper")[0]
    same(load("minesweeper")[0], theirs, ("x", "edge_index", "y", "train_mask", "test_mask"))


@pytest.mark.parametrize("name", ["cornell", "texas", "wisconsin", "actor"])
def test_geom_gcn_equals_pyg(name, mirror, load, tmp_path):
    if name == "actor":
        theirs = Actor(str(copied(mirror, tmp_path, "Actor")))[0]
    else:
        theirs = WebKB(str(copied(mirror, tmp_path, "WebKB")), name)[0]
    same(load(name)[0], theirs, ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"))


@pytest.mark.parametrize("name", ["usa", "brazil", "europe"])
def test_airports_equal_pyg(name, mirror, load, tmp_path):
    theirs = Airports(str(copied(mirror, tmp_path, "Airports")), name)[0]
    same(load(f"airports_{name}")[0], theirs, ("x", "edge_index", "y"))


def test_fb15k_237_equals_pyg(mirror, load, tmp_path):
    folder = unpack(mirror / "RelLinkPredDataset" / "FB15k-237.zip", tmp_path / "pyg")
    theirs = RelLinkPredDataset(str(folder), "FB15k-237")
    ours = load("fb15k_237")
    keys = ["edge_index", "edge_type"]
    keys += [f"{part}_edge_{kind}" for part in ("train", "valid", "test") for kind in ("index", "type")]
    same(ours[0], theirs[0], keys)
    assert ours.num_relations == theirs.num_relations == 474
    assert ours[0].num_relations == 237
    assert [ours[0][f"{p}_edge_type"].numel() for p in ("train", "valid", "test")] == [272115, 17535, 20466]


def test_wordnet18rr_has_the_published_triples(load):
    data = load("wordnet18rr")[0]
    assert [data[f"{p}_edge_type"].numel() for p in ("train", "valid", "test")] == [86835, 3034, 3134]
    assert data.num_relations == 11


def check_aqsol(dataset):
    """The scaffold split is the published one within half a percent; the targets are those of AqSolDB."""
    for part, published in (("train", 7831), ("val", 996), ("test", 996)):
        assert abs(len(dataset.splits[part]) - published) <= 0.005 * published
    assert len(dataset.info["atomic_numbers"]) == 65
    assert -3.1 < float(torch.cat([graph.y for graph in dataset]).mean()) < -2.7


def test_a_plain_csv_does_not_stand_in_for_another_network(mirror, tmp_path):
    assert Netz(tmp_path, "karate", "78")[0].num_edges == 156
    with pytest.raises(DownloadError):
        Netz(tmp_path, "karate", "77")
    with pytest.raises(DownloadError):
        CARDS["facebook_friends"].loader(tmp_path / "f")


def test_netz_keeps_layers_directions_and_weights_when_asked(mirror, tmp_path):
    rows = np.loadtxt(mirror / "networks" / "london_transport.csv", delimiter=",", skiprows=1)
    multi = Netz(tmp_path, "london_transport", "london_transport", multigraph=True)[0]
    assert multi.num_edges == 2 * len(rows)
    assert sorted(multi.edge_type.unique().tolist()) == [0, 1, 2]
    weighted = Netz(tmp_path, "london_transport", "london_transport", weighted=True)[0]
    assert float(weighted.edge_weight.sum()) == pytest.approx(2 * rows[:, 3].sum())
    directed = Netz(tmp_path, "polblogs", "polblogs", directed=True)
    pairs = np.loadtxt(mirror / "networks" / "polblogs.csv", delimiter=",", skiprows=1, dtype=int)[:, :2]
    assert directed[0].num_edges == len({(a, b) for a, b in pairs.tolist() if a != b})
    assert directed.info["self_loops"] == 3
