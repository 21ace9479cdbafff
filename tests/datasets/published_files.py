"""Tiny self-made datasets in the raw layout of each publisher, keyed by the true address of each file."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Mapping

import numpy as np
import torch

Files = dict[str, bytes]
Case = tuple[Files, dict[str, int]]
CASES: dict[str, Callable[[], Case]] = {}
"""Loader name -> its files by address, and the size that must come out."""

RING = [(i, (i + 1) % 12) for i in range(12)] + [(0, 6), (3, 9)]


def case(*names: str):
    def register(function):
        for name in names:
            CASES[name] = lambda name=name: function(name)
        return function

    return register


def packed(members: Mapping[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def tensors(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def table(rows) -> str:
    return "\n".join(",".join(str(v) for v in np.atleast_1d(row)) for row in rows) + "\n"


def zipped_table(rows) -> bytes:
    return gzip.compress(table(rows).encode())


def graph(rng, *, nodes=8, features=3, kind="float"):
    edges = np.array([(i, (i + 1) % nodes) for i in range(nodes)]).T
    edges = np.concatenate([edges, edges[::-1]], axis=1)
    x = rng.random((nodes, features)).astype("f4") if kind == "float" else rng.integers(0, 4, (nodes, features))
    return torch.from_numpy(x), torch.from_numpy(edges)


NETWORKS = {
    "budapest_connectome": ("budapest_connectome", "all_20k"),
    "high_school_contacts": ("sp_high_school", "proximity"),
    "facebook_friends": ("facebook_friends", "facebook_friends"),
    "dblp_coauthor": ("dblp_coauthor", "dblp_coauthor"),
    "wordnet_netz": ("wordnet", "wordnet"),
    "us_roads": ("us_roads", "DC"),
    "urban_streets": ("urban_streets", "brasilia"),
    "us_patents": ("us_patents", "us_patents"),
    "topology": ("topology", "topology"),
    "as_skitter": ("as_skitter", "as_skitter"),
    "route_views": ("route_views", "20000102"),
}


def netz_zip(rows=RING, nodes=13) -> bytes:
    edges = "# source, target, weight, layer\n" + "".join(f"{a}, {b}, 2.5, {i % 2}\n" for i, (a, b) in enumerate(rows))
    labels = "# index, name, _pos\n" + "".join(f'{i}, "node, {i}", "array([{i}., 0.5])"\n' for i in range(nodes))
    return packed({"edges.csv": edges, "nodes.csv": labels, "gprops.csv": "# name, value\n"})


@case(*NETWORKS)
def netzschleuder(name: str) -> Case:
    dataset, network = NETWORKS[name]
    rows = [*RING, (6, 0), (5, 5)]  # a repeated pair and a loop, which the loader drops
    url = f"https://networks.skewed.de/net/{dataset}/files/{network}.csv.zip"
    return {url: netz_zip(rows)}, {"graphs": 1, "nodes": 13, "edges": 28, "features": 0}


@case("roman_empire", "amazon_ratings", "questions")
def heterophilous(name: str) -> Case:
    rng = np.random.default_rng(0)
    part = rng.integers(0, 3, (10, 40))
    part[:, :6] = [0, 0, 1, 1, 2, 2]
    buffer = io.BytesIO()
    np.savez(
        buffer,
        node_features=rng.random((40, 5)).astype("f4"),
        node_labels=np.arange(40) % 2,
        edges=np.array([(i, (i + 1) % 40) for i in range(40)]),
        train_masks=part == 0,
        val_masks=part == 1,
        test_masks=part == 2,
    )
    url = f"https://github.com/yandex-research/heterophilous-graphs/raw/main/data/{name}.npz"
    return {url: buffer.getvalue()}, {"graphs": 1, "nodes": 40, "edges": 80, "features": 5, "classes": 2}


@case("wikics")
def wikics(_: str) -> Case:
    rng = np.random.default_rng(1)
    part = np.arange(30) % 4
    held = {
        "features": rng.random((30, 4)).tolist(),
        "labels": (np.arange(30) % 3).tolist(),
        "links": [[(i + 1) % 30, (i + 2) % 30] for i in range(30)],
        "train_masks": [(part == 0).tolist()] * 20,
        "val_masks": [(part == 1).tolist()] * 20,
        "stopping_masks": [(part == 2).tolist()] * 20,
        "test_mask": (part == 3).tolist(),
    }
    url = "https://github.com/pmernyei/wiki-cs-dataset/raw/master/dataset/data.json"
    return {url: json.dumps(held).encode()}, {"nodes": 30, "edges": 120, "features": 4, "classes": 3}


@case("peptides_func", "peptides_struct")
def peptides(name: str) -> Case:
    rng = np.random.default_rng(2)
    folder = name.replace("_", "")
    width = 10 if name.endswith("func") else 11

    def one():
        x, edge_index = graph(rng, features=9, kind="int")
        y = torch.from_numpy(rng.integers(0, 2, (1, width)).astype("f4"))
        return x, torch.zeros(edge_index.shape[1], 3, dtype=torch.long), edge_index, y

    sizes = {"train": 12, "val": 5, "test": 5}
    members = {f"{folder}/{part}.pt": tensors([one() for _ in range(n)]) for part, n in sizes.items()}
    key = {"peptides_func": "ycsq37q8sxs1ou8", "peptides_struct": "zgv4z8fcpmknhs8"}[name]
    return {f"https://www.dropbox.com/s/{key}/{folder}.zip": packed(members)}, {
        "graphs": 22,
        "nodes": 176,
        "edges": 352,
        "features": 9,
        "classes": width,
    }


@case("pascalvoc_sp", "coco_sp")
def labelled_images(name: str) -> Case:
    rng = np.random.default_rng(23)
    folder = name.replace("_", "")
    classes = 21 if folder == "pascalvocsp" else 81
    last = 20 if folder == "pascalvocsp" else 90  # COCO leaves ten numbers out

    def one():
        x, edge_index = graph(rng, features=14)
        return x, torch.rand(edge_index.shape[1], 2), edge_index, torch.tensor([0, 1, 2, 3, 4, 5, 13, last])

    sizes = {"train": 12, "val": 5, "test": 5}
    members = {f"{folder}/{part}.pickle": pickle.dumps([one() for _ in range(n)]) for part, n in sizes.items()}
    key = {"pascalvocsp": "8x722ai272wqwl4", "cocosp": "r6ihg1f4pmyjjy0"}[folder]
    return {f"https://www.dropbox.com/s/{key}/{folder}.zip": packed(members)}, {
        "graphs": 22,
        "nodes": 176,
        "edges": 352,
        "features": 14,
        "classes": classes,
    }


def superpixels(rng, count, channels):
    items = []
    for i in range(count):
        x, edge_index = graph(rng, features=channels)
        items.append(
            {
                "x": x,
                "edge_index": edge_index,
                "pos": torch.from_numpy(rng.random((8, 2)).astype("f4")),
                "y": torch.tensor([i % 10]),
            }
        )
    return items


@case("mnist_superpixels")
def mnist(_: str) -> Case:
    rng = np.random.default_rng(3)
    content = tensors((superpixels(rng, 40, 1), superpixels(rng, 10, 1)))
    url = "https://data.pyg.org/datasets/MNISTSuperpixels.zip"
    return {url: packed({"MNISTSuperpixels.pt": content})}, {"graphs": 50, "nodes": 400, "features": 3, "classes": 10}


@case("cifar10_superpixels", "mnist_superpixels_slic")
def gnn_benchmark(name: str) -> Case:
    rng = np.random.default_rng(4)
    stem, channels = ("CIFAR10_v2", 3) if name.startswith("cifar") else ("MNIST_v2", 1)
    content = tensors([superpixels(rng, n, channels) for n in (30, 10, 10)])
    url = f"https://data.pyg.org/datasets/benchmarking-gnns/{stem}.zip"
    return {url: packed({f"{stem}.pt": content})}, {"graphs": 50, "nodes": 400, "features": channels + 2, "classes": 10}


@case("qm9")
def qm9(_: str) -> Case:
    rng = np.random.default_rng(5)
    items = []
    for i in range(20):
        x, edge_index = graph(rng, features=11)
        items.append(
            {
                "x": x,
                "edge_index": edge_index,
                "edge_attr": torch.eye(4)[torch.zeros(edge_index.shape[1], dtype=torch.long)],
                "y": torch.from_numpy(rng.random((1, 19)).astype("f4")),
                "pos": torch.from_numpy(rng.random((8, 3)).astype("f4")),
                "z": torch.full((8,), 6),
                "name": f"gdb_{i}",
                "idx": torch.tensor([i]),
            }
        )
    url = "https://data.pyg.org/datasets/qm9_v3.zip"
    return {url: packed({"qm9_v3.pt": tensors(items)})}, {"graphs": 20, "nodes": 160, "features": 11, "classes": 1}


@case("zinc")
def zinc(_: str) -> Case:
    rng = np.random.default_rng(6)

    def molecule():
        bonds = np.triu(rng.integers(0, 3, (6, 6)), 1)
        bonds[np.arange(5), np.arange(1, 6)] = 1
        return {
            "num_atom": 6,
            "atom_type": torch.from_numpy(rng.integers(0, 28, 6).astype("i1")),
            "bond_type": torch.from_numpy((bonds + bonds.T).astype("i1")),
            "logP_SA_cycle_normalized": torch.from_numpy(rng.random(1).astype("f4")),
        }

    members = {f"molecules/{p}.pickle": pickle.dumps([molecule() for _ in range(12)]) for p in ("train", "val", "test")}
    files = {"https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip": packed(members)}
    base = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/molecules"
    for part, numbers in {"train": "0,2,4,6,8,10", "val": "1,3,5,7", "test": "0,5,11"}.items():
        files[f"{base}/{part}.index"] = (numbers + "\n").encode()
    return files, {"graphs": 13, "nodes": 78, "features": 1, "classes": 1}


@case("bgnn_pattern", "bgnn_cluster", "bgnn_tsp")
def gnn_benchmark_parts(name: str) -> Case:
    rng = np.random.default_rng(14)
    stem = {"bgnn_pattern": "PATTERN_v2", "bgnn_cluster": "CLUSTER_v2", "bgnn_tsp": "TSP_v2"}[name]
    classes = {"bgnn_pattern": 2, "bgnn_cluster": 6, "bgnn_tsp": 2}[name]

    def item(i: int) -> dict[str, torch.Tensor]:
        x, edge_index = graph(rng, features=2)
        made = {"x": x, "edge_index": edge_index, "edge_attr": torch.rand(edge_index.shape[1], 1)}
        if name == "bgnn_tsp":
            return made | {"y": torch.arange(edge_index.shape[1]) % 2}
        wide = {"bgnn_pattern": 3, "bgnn_cluster": 7}[name]
        return made | {"x": torch.eye(wide)[torch.arange(len(x)) % wide], "y": (torch.arange(len(x)) + i) % classes}

    content = tensors([[item(i) for i in range(n)] for n in (12, 6, 6)])
    url = f"https://data.pyg.org/datasets/benchmarking-gnns/{stem}.zip"
    return {url: packed({f"{stem}.pt": content})}, {"graphs": 24, "nodes": 192}


INDEX = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data"


def folds(count: int, number: int) -> dict[str, bytes]:
    """Published folds: one file per part, one line per fold."""
    rows: dict[str, list[str]] = {"train": [], "val": [], "test": []}
    for fold in range(number):
        owner = (np.arange(count) + fold) % number
        for part, chosen in (("test", owner == 0), ("val", owner == 1), ("train", owner > 1)):
            rows[part].append(",".join(map(str, np.flatnonzero(chosen))))
    return {part: ("\n".join(lines) + "\n").encode() for part, lines in rows.items()}


@case("bgnn_csl")
def csl(_: str) -> Case:
    import scipy.sparse as sp

    matrices, labels = [], []
    for i in range(30):
        row = np.arange(11)
        near = sp.coo_matrix(
            (np.ones(22), (np.tile(row, 2), np.concatenate([(row + 1) % 11, (row + 2 + i % 3) % 11]))), (11, 11)
        )
        matrices.append(((near + near.T + sp.identity(11)) > 0).astype(float).tocoo())
        labels.append(i % 3)
    members = {
        "CSL/graphs_Kary_Deterministic_Graphs.pkl": pickle.dumps(matrices),
        "CSL/y_Kary_Deterministic_Graphs.pt": tensors(torch.tensor(labels, dtype=torch.float64)),
    }
    files = {"https://www.dropbox.com/s/rnbkp5ubgk82ocu/CSL.zip": packed(members)}
    files |= {f"{INDEX}/CSL/CSL_{part}.index": text for part, text in folds(30, 5).items()}
    return files, {"graphs": 30, "nodes": 330, "edges": 1320, "features": 1, "classes": 3}


@case("bgnn_aqsol")
def aqsol(_: str) -> Case:
    rng = np.random.default_rng(15)

    def molecule(i: int):
        _, edge_index = graph(rng, features=1)
        kinds = rng.integers(1, 5, edge_index.shape[1])
        if i == 0:  # without bonds, which the paper leaves out
            return np.array([3]), np.array([]), np.zeros((2, 0), dtype=int), -1.0
        return rng.integers(0, 65, 8), kinds, edge_index.numpy(), float(rng.random())

    members = {
        f"asqol_graph_raw/{part}.pickle": pickle.dumps([molecule(i) for i in range(n)])
        for part, n in (("train", 13), ("val", 7), ("test", 7))
    }
    return {"https://www.dropbox.com/s/lzu9lmukwov12kt/aqsol_graph_raw.zip": packed(members)}, {
        "graphs": 24,
        "nodes": 192,
    }


@case("bgnn_enzymes", "bgnn_dd", "bgnn_proteins_full")
def tu_folds(name: str) -> Case:
    theirs = {"bgnn_enzymes": "ENZYMES", "bgnn_dd": "DD", "bgnn_proteins_full": "PROTEINS_full"}[name]
    rng, attributes = np.random.default_rng(16), {"ENZYMES": 18, "PROTEINS_full": 29}.get(theirs, 0)
    ring = [(i, (i + 1) % 5) for i in range(5)]
    pairs = [(5 * g + a + 1, 5 * g + b + 1) for g in range(40) for a, b in (*ring, *((b, a) for a, b in ring))]
    members = {
        f"{theirs}/{theirs}_A.txt": table(pairs),
        f"{theirs}/{theirs}_graph_indicator.txt": table(np.repeat(np.arange(1, 41), 5)),
        f"{theirs}/{theirs}_graph_labels.txt": table(np.arange(40) % 2 + 1),
        f"{theirs}/{theirs}_node_labels.txt": table(np.arange(200) % 3 + 1),
    }
    if attributes:
        members[f"{theirs}/{theirs}_node_attributes.txt"] = table(rng.random((200, attributes)).round(3))
    files = {f"https://www.chrsmrrs.com/graphkerneldatasets/{theirs}.zip": packed(members)}
    files |= {f"{INDEX}/TUs/{theirs}_{part}.index": text for part, text in folds(40, 10).items()}
    return files, {"graphs": 40, "nodes": 200, "edges": 400, "features": attributes or 3, "classes": 2}


@case("ppi")
def ppi(_: str) -> Case:
    rng = np.random.default_rng(7)
    members = {}
    for part, graphs in {"train": 3, "valid": 2, "test": 2}.items():
        count = graphs * 10
        owner = np.repeat(np.arange(1, graphs + 1), 10)
        links = [
            {"source": g * 10 + i, "target": g * 10 + (i + s) % 10}
            for g in range(graphs)
            for i in range(10)
            for s in (1, 3)
        ]
        links += [{"source": link["target"], "target": link["source"]} for link in links]
        nodes = [{"id": i} for i in range(count)]
        members[f"{part}_graph.json"] = json.dumps(
            {"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "links": links}
        )
        members[f"{part}_feats.npy"] = npy(rng.random((count, 50)))
        members[f"{part}_labels.npy"] = npy(rng.integers(0, 2, (count, 6)).astype("f8"))
        members[f"{part}_graph_id.npy"] = npy(owner)
    return {"https://data.dgl.ai/dataset/ppi.zip": packed(members)}, {
        "graphs": 7,
        "nodes": 70,
        "edges": 280,
        "features": 50,
        "classes": 6,
    }


@case("movielens100k")
def movielens(_: str) -> Case:
    movies = "".join(
        f"{i}|Film {i} (1995)|01-Jan-1995||http://x|" + "|".join(["0", "1"] + ["0"] * 17) + "\n" for i in range(1, 13)
    )
    users = "".join(f"{i}|{20 + i}|{'MF'[i % 2]}|{('artist', 'doctor')[i % 2]}|85711\n" for i in range(1, 11))
    pairs = [(u, 1 + (u * 3 + k) % 12) for u in range(1, 11) for k in range(4)]
    lines = [f"{u}\t{m}\t{1 + (u + m) % 5}\t881250949\n" for u, m in pairs]
    members = {"u.item": movies, "u.user": users, "u1.base": "".join(lines[:30]), "u1.test": "".join(lines[30:])}
    url = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"
    return {url: packed({f"ml-100k/{k}": v for k, v in members.items()})}, {"graphs": 1, "nodes": 22, "edges": 80}


@case("elliptic_bitcoin")
def elliptic(_: str) -> Case:
    rng = np.random.default_rng(8)
    ids = 1000 + np.arange(60)
    steps = 1 + np.arange(60) % 49
    features = table([[i, s, *np.round(rng.random(165), 4)] for i, s in zip(ids, steps, strict=True)])
    edges = "txId1,txId2\n" + table([(ids[i], ids[i + 1]) for i in range(59)])
    classes = "txId,class\n" + table([(i, ("1", "2", "unknown")[k % 3]) for k, i in enumerate(ids)])
    base = "https://data.pyg.org/datasets/elliptic"
    held = {
        "elliptic_txs_features.csv": features,
        "elliptic_txs_edgelist.csv": edges,
        "elliptic_txs_classes.csv": classes,
    }
    return {f"{base}/{name}.zip": packed({name: text}) for name, text in held.items()}, {
        "nodes": 60,
        "edges": 118,
        "features": 165,
        "classes": 2,
    }


@case("malnet_tiny")
def malnet(_: str) -> Case:
    buffer = io.BytesIO()
    names = [
        f"{kind}/family/{i}" for i in range(6) for kind in ("addisplay", "adware", "benign", "downloader", "trojan")
    ]
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name in names:
            text = "# a\n# b\n# c\n# d\n# e\n" + "".join(f"{i} {(i + 1) % 9}\n" for i in range(9))
            info = tarfile.TarInfo(f"malnet-graphs-tiny/{name}.edgelist")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    parts = {"train": names[:20], "val": names[20:25], "test": names[25:]}
    split = {f"split_info_tiny/type/{part}.txt": "\n".join(rows) + "\n" for part, rows in parts.items()}
    base = "https://malnet.cc.gatech.edu"
    return {
        f"{base}/graph-data/malnet-graphs-tiny.tar.gz": buffer.getvalue(),
        f"{base}/split-info/split_info_tiny.zip": packed(split),
    }, {"graphs": 30, "nodes": 270, "edges": 270, "features": 0, "classes": 5}


@case("shapenet")
def shapenet(_: str) -> Case:
    from torch_geometric.datasets import ShapeNet

    rng = np.random.default_rng(9)
    top = "shapenetcore_partanno_segmentation_benchmark_v0_normal"
    members = {f"{top}/{code}/": "" for code in ShapeNet.category_ids.values()}
    files = {
        part: [f"shape_data/02691156/{part}{i}" for i in range(n)]
        for part, n in {"train": 4, "val": 2, "test": 2}.items()
    }
    for names in files.values():
        for name in names:
            rows = np.concatenate([rng.random((20, 6)), rng.integers(0, 4, (20, 1))], axis=1)
            members[f"{top}/{name.removeprefix('shape_data/')}.txt"] = (
                "\n".join(" ".join(map(str, r)) for r in rows) + "\n"
            )
    for code in list(ShapeNet.category_ids.values())[1:]:
        members[f"{top}/{code}/.keep"] = " "
    for part, names in files.items():
        members[f"{top}/train_test_split/shuffled_{part}_file_list.json"] = json.dumps(names)
    url = f"https://shapenet.cs.stanford.edu/media/{top}.zip"
    return {url: packed(members)}, {"graphs": 8, "nodes": 160, "features": 6}


@case("modelnet10", "modelnet40")
def modelnet(name: str) -> Case:
    rng = np.random.default_rng(10)
    top = f"ModelNet{name[-2:]}"
    kinds = ["bathtub", "bed", "chair", "desk", "dresser", "monitor", "night_stand", "sofa", "table", "toilet"]
    members = {"__MACOSX/._x": "x"}
    for kind in kinds:
        for part, count in (("train", 4), ("test", 1)):
            for i in range(count):
                points = "\n".join(" ".join(map(str, p)) for p in rng.random((6, 3)))
                faces = "\n".join(f"3 {a} {a + 1} {a + 2}" for a in range(4))
                members[f"{top}/{kind}/{part}/{kind}_{i:04d}.off"] = f"OFF\n6 4 0\n{points}\n{faces}\n"
    url = {
        "modelnet10": "https://3dvision.princeton.edu/projects/2014/3DShapeNets/ModelNet10.zip",
        "modelnet40": "https://modelnet.cs.princeton.edu/ModelNet40.zip",
    }[name]
    return {url: packed(members)}, {"graphs": 50, "nodes": 300, "edges": 50 * 18, "features": 3, "classes": 10}
