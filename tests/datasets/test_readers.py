"""Processed caches, readers of strange files, and the wrapper around PyG's classes."""

from __future__ import annotations

import builtins
import importlib.util
import multiprocessing
import pickle
import shutil
import socket
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from published_files import CASES, RING, netz_zip, packed
from torch_geometric.data import Data
from torch_geometric.datasets import PPI, WikiCS

from graphnetz._core.errors import DataError, DownloadError, UnknownNameError, UsageError
from graphnetz._core.pins import user_pin
from graphnetz.datasets.cards import CARDS
from graphnetz.datasets.sources import base
from graphnetz.datasets.sources.base import Built, RawFile, cached
from graphnetz.datasets.sources.container import read_container, write_container
from graphnetz.datasets.sources.mirror import make_mirror
from graphnetz.datasets.sources.netz import Network, Netz, network_data
from graphnetz.datasets.sources.planetoid import planetoid
from graphnetz.datasets.sources.pyg import process_with, pyg_dataset
from graphnetz.datasets.sources.tu import tu_dataset


def graphs(count=5, *, features=True):
    out = []
    for i in range(count):
        data = Data(edge_index=torch.tensor([[0, 1, i + 1], [1, 0, 0]]), y=torch.tensor([i % 2]))
        if features:
            data.x = torch.full((i + 2, 3), float(i))
        else:
            data.num_nodes = i + 2
        out.append(data)
    return out


def test_container_round_trip_and_every_bit_matters(tmp_path):
    arrays = {
        "a": np.arange(6, dtype=np.int64).reshape(2, 3),
        "b": np.array([True, False]),
        "c": np.zeros((0, 4), dtype=np.float32),
        "d": np.array(2.5),
        "e": np.asfortranarray(np.arange(4.0).reshape(2, 2)),
    }
    path = tmp_path / "x.gnz"
    fingerprint = write_container(path, arrays, meta={"name": "é", "n": 1})
    back, meta, again = read_container(path)
    assert meta == {"name": "é", "n": 1}
    assert again == fingerprint
    for key, value in arrays.items():
        np.testing.assert_array_equal(back[key], value)
        assert back[key].dtype == value.dtype
        assert back[key].shape == value.shape
    content = path.read_bytes()
    for position in range(0, len(content), 7):
        flipped = bytearray(content)
        flipped[position] ^= 1 << (position % 8)
        path.write_bytes(flipped)
        with pytest.raises(DataError):
            read_container(path)
    path.write_bytes(content[:-5])
    with pytest.raises(DataError):
        read_container(path)


def test_container_holds_no_objects(tmp_path):
    with pytest.raises(DataError, match="only numbers"):
        write_container(tmp_path / "x", {"a": np.array([{}], dtype=object)}, meta={})


@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("count", [1, 5])
def test_cache_gives_back_what_was_built(tmp_path, features, count):
    made = graphs(count, features=features)
    splits = (
        [{"train": [0], "val": [0], "test": [0]}] * 2 if count == 1 else {"train": [0, 1], "val": [2], "test": [3, 4]}
    )
    dataset = cached(tmp_path, "t", lambda raw: Built(made, splits=splits, replication="fold", info={"k": [1]}))
    assert len(dataset) == count
    for ours, original in zip(dataset, made, strict=True):
        assert torch.equal(ours.edge_index, original.edge_index)
        assert torch.equal(ours.y, original.y)
        assert ours.num_nodes == original.num_nodes
        assert (ours.x is None) is not features
    assert dataset.info == {"k": [1]}
    assert dataset.replication == "fold"
    if count == 1:
        assert len(dataset.splits) == 2
    else:
        assert dataset.splits["test"].tolist() == [3, 4]
    assert not [p for p in tmp_path.rglob("*") if p.suffix in (".pt", ".pkl", ".pickle")]


def test_damaged_or_outdated_cache_is_rebuilt(tmp_path, caplog):
    calls = []

    def build(raw):
        calls.append(raw)
        return Built(graphs())

    first = cached(tmp_path, "t", build)
    cached(tmp_path, "t", build)
    assert len(calls) == 1
    path = tmp_path / "processed" / "t.gnz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    again = cached(tmp_path, "t", build)
    assert len(calls) == 2
    assert "damaged" in caplog.text
    assert again.fingerprint == first.fingerprint
    cached(tmp_path, "t", build, version=2)
    assert len(calls) == 3


def _build_slowly(folder, barrier, counter):
    def build(raw):
        with counter.get_lock():
            counter.value += 1
        return Built(graphs())

    barrier.wait(10)
    cached(folder, "t", build)


def test_two_processes_build_once(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, counter = context.Barrier(2), context.Value("i", 0)
    children = [context.Process(target=_build_slowly, args=(tmp_path, barrier, counter)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(30)
    assert [child.exitcode for child in children] == [0, 0]
    assert counter.value == 1


edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@given(edges, st.booleans(), st.booleans())
def test_networks_agree_with_networkx(rows, multigraph, directed):
    import networkx as nx

    kind = {(0, 0): nx.Graph, (0, 1): nx.DiGraph, (1, 0): nx.MultiGraph, (1, 1): nx.MultiDiGraph}[multigraph, directed]
    witness = kind()
    witness.add_nodes_from(range(7))
    witness.add_edges_from(rows if multigraph else [(a, b) for a, b in rows if a != b])
    built = network_data(Network(np.array(rows).T, 7), multigraph=multigraph, directed=directed, weighted=True)
    data = built.graphs[0]
    expected = sorted(
        pair for a, b in witness.edges() for pair in ([(a, b)] if directed or a == b else [(a, b), (b, a)])
    )
    assert sorted(map(tuple, data.edge_index.t().tolist())) == expected
    assert data.num_nodes == 7
    merged = [r for r in rows if multigraph or r[0] != r[1]]
    total = sum(1 if directed or a == b else 2 for a, b in merged)
    assert float(data.edge_weight.sum()) == total


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# source, weight\n0, 1\n", "lacks the column 'target'"),
        ("# source, target\n", "holds no edge"),
        ("# source, target\n0, 1\n0, 99\n", "names the node 99"),
        ("# source, target\n0, -1\n", "names the node -1"),
        ("# source, target\n0, x\n", "not a whole number"),
        ("# source, target, weight\n0, 1, 2\n1, 2\n", "Row 3"),
    ],
)
def test_strange_network_tables_are_named(tmp_path, text, message):
    mirror = tmp_path / "netzschleuder" / "d"
    mirror.mkdir(parents=True)
    (mirror / "n.csv.zip").write_bytes(packed({"edges.csv": text, "nodes.csv": "# index\n0\n1\n2\n"}))
    with pytest.raises(DataError, match=message):
        Netz(tmp_path / "root", "d", "n", mirror=tmp_path)
    assert not list((tmp_path / "root").rglob("*.gnz"))


@pytest.mark.parametrize("name", ["../x", "a/b", "", "..", "a\\b", "/etc"])
def test_names_cannot_leave_the_root(tmp_path, name):
    for call in (
        lambda: Netz(tmp_path, name, "n"),
        lambda: Netz(tmp_path, "d", name),
        lambda: tu_dataset(tmp_path, name),
    ):
        with pytest.raises(UsageError):
            call()
    assert list(tmp_path.iterdir()) == []


def test_unknown_network_lists_those_of_the_site(site, tmp_path, monkeypatch):
    from graphnetz.datasets.sources import netz

    monkeypatch.setattr(netz, "SITE", site.url)
    site.add("net/d/files/good.csv.zip", netz_zip())
    site.add("api/net/d", b'{"nets": ["good", "better"]}')
    assert Netz(tmp_path, "d", "good")[0].num_edges == 2 * len(RING)
    with pytest.raises(DownloadError, match="it has: good, better"):
        Netz(tmp_path, "d", "bad")


def test_netz_is_a_pyg_dataset_with_transforms(site, tmp_path, monkeypatch):
    from graphnetz.datasets.sources import netz

    monkeypatch.setattr(netz, "SITE", site.url)
    site.add("net/urban_streets/files/brasilia.csv.zip", netz_zip())

    def before(data):
        data.before = True
        return data

    def every(data):
        data.seen = True
        return data

    dataset = Netz(str(tmp_path), transform=every, pre_transform=before)
    assert len(dataset) == 1
    assert dataset[0].before
    assert dataset[0].seen
    assert repr(dataset) == "Netz(urban_streets/brasilia)"
    assert dataset[0].feature_rule == "identity"
    assert base.rule_for(8192) == "identity"
    assert base.rule_for(8193) == "degree"


def test_pyg_wrapper_never_downloads_and_names_what_is_missing(tmp_path, monkeypatch):
    def forbidden(*args, **kwargs):
        raise AssertionError("PyG's own download was reached")

    monkeypatch.setattr(urllib.request, "urlopen", forbidden)
    monkeypatch.setattr(socket.socket, "connect", forbidden)
    with pytest.raises(DownloadError, match=r"train_feats\.npy"):
        process_with(PPI, tmp_path, lambda folder: None)


def test_pyg_wrapper_serves_other_classes(tmp_path):
    ((url, content),) = CASES["wikics"]()[0].items()
    (tmp_path / "data.json").write_bytes(content)
    file = RawFile("data.json", (url,), ("data.json",))
    theirs = pyg_dataset(tmp_path / "r", WikiCS, [file], mirror=tmp_path, is_undirected=True)
    shutil.copytree(tmp_path / "r" / "raw", tmp_path / "WikiCS" / "raw")
    ours = CARDS["wikics"].loader(tmp_path / "o", mirror=tmp_path)
    for key in ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(ours[0][key], theirs[0][key])


def test_pyg_wrapper_reads_no_pickle(tmp_path):
    from torch_geometric.datasets import MNISTSuperpixels

    class Evil:
        def __reduce__(self):
            return Path.touch, (tmp_path / "pwned",)

    def place(folder):
        (folder / "MNISTSuperpixels.pt").write_bytes(pickle.dumps([[Evil()], []]))

    with pytest.raises(DataError, match="was not read"):
        process_with(MNISTSuperpixels, tmp_path, place)
    assert not (tmp_path / "pwned").exists()


def test_a_planetoid_file_with_another_hash_is_never_unpickled(tmp_path, monkeypatch):
    folder = tmp_path / "m" / "Planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)

    class Evil:
        def __reduce__(self):
            return Path.touch, (tmp_path / "pwned",)

    for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"):
        (folder / f"ind.cora.{part}").write_bytes(pickle.dumps(Evil()))
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    with pytest.raises(DownloadError, match="expected 23cfa55d"):
        planetoid(tmp_path / "root", "Cora", mirror=tmp_path / "m")
    assert not (tmp_path / "pwned").exists()
    assert not list((tmp_path / "root").rglob("ind.*"))


def test_zinc_pickles_are_restricted_and_may_be_pinned(tmp_path, monkeypatch):
    from graphnetz.datasets.sources.zinc import zinc

    class Evil:
        def __reduce__(self):
            return Path.touch, (tmp_path / "pwned",)

    import hashlib

    evil = packed({f"molecules/{p}.pickle": pickle.dumps([Evil()]) for p in ("train", "val", "test")})
    (tmp_path / "ZINC").mkdir()
    (tmp_path / "ZINC" / "molecules.zip").write_bytes(evil)
    for part in ("train", "val", "test"):
        (tmp_path / "ZINC" / f"{part}.index").write_text("0\n")
    with pytest.raises(DataError, match="refused"):
        zinc(tmp_path / "b", sha256=hashlib.sha256(evil).hexdigest(), mirror=tmp_path)
    assert not (tmp_path / "pwned").exists()
    (tmp_path / "pins.json").write_text('{"molecules.zip": "short"}')
    monkeypatch.setenv("GRAPHNETZ_PINS", str(tmp_path / "pins.json"))
    with pytest.raises(UsageError, match="64 hexadecimal"):
        user_pin("molecules.zip")


def test_missing_ogb_extra_is_named_and_nothing_prompts(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "ogb" else find(name, *a))
    monkeypatch.setattr(builtins, "input", lambda *a: pytest.fail("a prompt appeared"))
    with pytest.raises(ImportError, match="requires the 'ogb' extra"):
        CARDS["ogbn_arxiv"].loader(tmp_path)


def test_unknown_names_are_answered_with_the_known_ones(tmp_path, monkeypatch):
    with pytest.raises(UnknownNameError, match="Did you mean 'cora'"):
        make_mirror(["coora"], tmp_path)
    with pytest.raises(UnknownNameError, match="Known: CiteSeer, Cora, PubMed"):
        planetoid(tmp_path, "Nell")
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(tmp_path))
    with pytest.raises(UsageError, match="mirror in use"):
        make_mirror(["cora"], tmp_path)
