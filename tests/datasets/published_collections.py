"""More tiny published datasets: the OGB and TU collections. Import `CASES` from here to have them all."""

from __future__ import annotations

import numpy as np
from published_files import CASES, Case, case, packed, table, tensors, zipped_table

__all__ = ["CASES"]

OGB_GRAPHS = {
    "ogbg_molhiv": ("hiv", 1),
    "ogbg_molpcba": ("pcba", 128),
    "ogbg_molbace": ("bace", 1),
    "ogbg_molbbbp": ("bbbp", 1),
    "ogbg_molclintox": ("clintox", 2),
    "ogbg_molmuv": ("muv", 17),
    "ogbg_molsider": ("sider", 27),
    "ogbg_moltox21": ("tox21", 12),
    "ogbg_moltoxcast": ("toxcast", 617),
}


def ogb_members(top, edges, nodes, counts, split, parts, **tables):
    members = {
        f"{top}/RELEASE_v1.txt": "",
        f"{top}/raw/edge.csv.gz": zipped_table(edges),
        f"{top}/raw/num-node-list.csv.gz": zipped_table(nodes),
        f"{top}/raw/num-edge-list.csv.gz": zipped_table(counts),
    }
    for key, rows in tables.items():
        members[f"{top}/raw/{key.replace('_', '-')}.csv.gz"] = zipped_table(rows)
    for part, index in parts.items():
        members[f"{top}/split/{split}/{part}.csv.gz"] = zipped_table(index)
    return members


@case(*OGB_GRAPHS)
def ogb_graphs(name: str) -> Case:
    rng = np.random.default_rng(11)
    top, tasks = OGB_GRAPHS[name]
    count = 24
    edges = [(i, i + 1) for _ in range(count) for i in range(5)]
    label = rng.integers(0, 2, (count, tasks)).astype(object)
    label[:2] = [[0] * tasks, [1] * tasks]
    if tasks > 2:
        label[5, 0] = ""  # a missing assay
    members = ogb_members(
        top,
        edges,
        [6] * count,
        [5] * count,
        "scaffold",
        {"train": range(14), "valid": range(14, 19), "test": range(19, 24)},
        node_feat=rng.integers(0, 5, (6 * count, 9)),
        edge_feat=rng.integers(0, 3, (5 * count, 3)),
        graph_label=label,
    )
    url = f"https://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/{top}.zip"
    return {url: packed(members)}, {"graphs": 24, "nodes": 144, "edges": 240, "features": 9, "classes": max(tasks, 2)}


@case("ogbn_proteins")
def ogb_proteins(_: str) -> Case:
    rng = np.random.default_rng(21)
    members = ogb_members(
        "proteins",
        [(i, (i + 1) % 40) for i in range(40)],
        [40],
        [40],
        "species",
        {"train": range(20), "valid": range(20, 30), "test": range(30, 40)},
        edge_feat=np.round(rng.random((40, 8)), 4),
        node_label=np.array([[(i // 2**j) % 2 for j in range(3)] for i in range(40)]),
        node_species=np.full(40, 9606),
    )
    url = "https://snap.stanford.edu/ogb/data/nodeproppred/proteins.zip"
    return {url: packed(members)}, {"graphs": 1, "nodes": 40, "edges": 80, "features": 8, "classes": 3}


@case("ogbn_arxiv", "ogbn_products")
def ogb_nodes(name: str) -> Case:
    rng = np.random.default_rng(12)
    top, split = {"ogbn_arxiv": ("arxiv", "time"), "ogbn_products": ("products", "sales_ranking")}[name]
    members = ogb_members(
        top,
        [(i, (i + 1) % 40) for i in range(40)],
        [40],
        [40],
        split,
        {"train": range(20), "valid": range(20, 30), "test": range(30, 40)},
        node_feat=np.round(rng.random((40, 7)), 4),
        node_label=np.arange(40) % 4,
        node_year=np.full(40, 2015),
    )
    url = f"https://snap.stanford.edu/ogb/data/nodeproppred/{top}.zip"
    return {url: packed(members)}, {"graphs": 1, "nodes": 40, "edges": 80, "features": 7, "classes": 4}


OGB_LINKS = {"ogbl_collab": ("collab", "time"), "ogbl_ppa": ("ppassoc", "throughput"), "ogbl_ddi": ("ddi", "target")}


@case(*OGB_LINKS)
def ogb_links(name: str) -> Case:
    rng = np.random.default_rng(13)
    top, split = OGB_LINKS[name]
    train = np.array([(i, (i + 1) % 30) for i in range(30)])
    more = {} if name == "ogbl_ddi" else {"node_feat": np.round(rng.random((30, 5)), 4)}
    if name == "ogbl_collab":
        more |= {"edge_weight": np.ones(30, dtype=int), "edge_year": np.full(30, 2017)}
    members = ogb_members(top, train, [30], [30], split, {}, **more)
    pairs = {"train": {"edge": train, "weight": np.ones(30), "year": np.full(30, 2017)}}
    for part, step in (("valid", 2), ("test", 3)):
        held = np.array([(i, (i + step) % 30) for i in range(10)])
        pairs[part] = {
            "edge": held,
            "edge_neg": (held + np.array([0, 9])) % 30,
            "weight": np.ones(10),
            "year": np.full(10, 2018),
        }
    for part, value in pairs.items():
        members[f"{top}/split/{split}/{part}.pt"] = tensors(value)
    url = f"https://snap.stanford.edu/ogb/data/linkproppred/{top}.zip"
    found = {"graphs": 1, "nodes": 30, "edges": 60}
    return {url: packed(members)}, found if name == "ogbl_ddi" else {**found, "features": 5}


@case("ogbl_citation2")
def ogb_citations(_: str) -> Case:
    rng = np.random.default_rng(22)
    ring = np.array([(i, (i + 1) % 30) for i in range(30)])
    members = ogb_members(
        "citation-v2", ring, [30], [30], "time", {}, node_feat=np.round(rng.random((30, 5)), 4),
        node_year=np.full(30, 2018),
    )  # fmt: skip
    parts = {"train": {"source_node": ring[:, 0], "target_node": ring[:, 1]}}
    for part, step in (("valid", 2), ("test", 3)):
        source = np.arange(10)
        parts[part] = {
            "source_node": source,
            "target_node": (source + step) % 30,
            "target_node_neg": (source[:, None] + np.arange(5, 11)) % 30,
        }
    for part, value in parts.items():
        members[f"citation-v2/split/time/{part}.pt"] = tensors(value)
    url = "https://snap.stanford.edu/ogb/data/linkproppred/citation-v2.zip"
    return {url: packed(members)}, {"graphs": 1, "nodes": 30, "edges": 60, "features": 5}


@case("ogbl_wikikg2")
def ogb_triples(_: str) -> Case:
    rng = np.random.default_rng(23)
    ring = np.array([(i, (i + 1) % 30) for i in range(30)])
    members = ogb_members("wikikg-v2", ring, [30], [30], "time", {}, edge_reltype=np.arange(30) % 4)
    parts = {"train": {"head": ring[:, 0], "relation": np.arange(30) % 4, "tail": ring[:, 1]}}
    for part, step in (("valid", 2), ("test", 3)):
        head = np.arange(10)
        parts[part] = {"head": head, "relation": head % 4, "tail": (head + step) % 30}
        parts[part] |= {
            f"{end}_neg": (head[:, None] + rng.permuted(np.arange(12, 18))) % 30 for end in ("head", "tail")
        }
    for part, value in parts.items():
        members[f"wikikg-v2/split/time/{part}.pt"] = tensors(value)
    url = "https://snap.stanford.edu/ogb/data/linkproppred/wikikg-v2.zip"
    return {url: packed(members)}, {"graphs": 1, "nodes": 30, "edges": 60}


TU_SETS = {
    "proteins_full": "PROTEINS_full",
    "collab": "COLLAB",
    "reddit_binary": "REDDIT-BINARY",
    "reddit_multi": "REDDIT-MULTI-5K",
}


@case(*TU_SETS)
def tu(name: str) -> Case:
    rng = np.random.default_rng(14)
    real = TU_SETS[name]
    classes, count = {"collab": 3, "reddit_multi": 5}.get(name, 2), 30
    edges, owner = [], []
    for g in range(count):
        base = 6 * g + 1
        for i in range(6):
            edges += [(base + i, base + (i + 1) % 6), (base + (i + 1) % 6, base + i)]
        edges += [(base, base), (base, base + 1)]  # a loop and a repeated edge, which are dropped
        owner += [g + 1] * 6
    members = {
        f"{real}/{real}_A.txt": "".join(f"{a}, {b}\n" for a, b in edges),
        f"{real}/{real}_graph_indicator.txt": table(owner),
        f"{real}/{real}_graph_labels.txt": table(1 + np.arange(count) % classes),
        f"{real}/README.txt": "x",
    }
    features = 0
    if name == "proteins_full":
        members[f"{real}/{real}_node_attributes.txt"] = table(np.round(rng.random((180, 29)), 3))
        members[f"{real}/{real}_node_labels.txt"] = table(np.arange(180) % 3)
        features = 32
    url = f"https://www.chrsmrrs.com/graphkerneldatasets/{real}.zip"
    return {url: packed(members)}, {"graphs": 30, "nodes": 180, "edges": 360, "features": features, "classes": classes}
