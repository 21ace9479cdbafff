"""Social: citations, pages, friendships and communities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.social_more import (  # noqa: F401 - one category, two files
    actor,
    arxiv_condmat_coauthors,
    collab,
    cornell,
    dnc_corecipient,
    ego_facebook,
    imdb_binary,
    imdb_multi,
    netscience_coauthors,
    polblogs,
    polbooks,
    reddit_binary,
    reddit_multi,
    texas,
    wisconsin,
)
from graphnetz.datasets.sources.facts import GENERATED as _GENERATED
from graphnetz.datasets.sources.facts import HETEROPHILOUS, NETZ, OGB, PLANETOID, network, size

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root
    from graphnetz.records import GraphList

_NETWORKX: dict[str, Any] = {"source": "networkx", "licence": "facts published in the literature", "offline": True}
_DWIVEDI = "Dwivedi et al., Benchmarking Graph Neural Networks, JMLR 24(43), 2023."


def _networkx(built: Any) -> Data:
    """Return a networkx graph whose nodes models know by number."""
    import numpy as np

    from graphnetz.datasets.generators.build import both_ways, graph

    number = {node: position for position, node in enumerate(built.nodes())}
    data = graph(both_ways(np.array([(number[u], number[v]) for u, v in built.edges()])), len(number))
    data.feature_rule = "identity"
    return data


@dataset(
    "social",
    serves={"node_cls": 100, "link_pred": 80},
    title="Zachary's karate club",
    citation="Zachary, An information flow model for conflict and fission in small groups, 1977.",
    nodes=34,
    edges=156,
    classes=2,
    notes=("34 nodes: a classic, and far too small to tell models apart.", "4 labels per class."),
    **_NETWORKX,
)
def karate_club(_root: object = None) -> Data:
    """Return the karate club; the label is the faction after the split."""
    import networkx as nx
    import numpy as np

    from graphnetz.datasets.generators.build import tensor, with_masks

    built = nx.karate_club_graph()
    data = _networkx(built)
    data.y = tensor(np.array([int(club == "Officer") for _, club in built.nodes(data="club")]))
    return with_masks(data, splits=10, per_class=4)


@dataset(
    "social",
    serves={"link_pred": 80},
    title="Les Miserables",
    citation="Knuth, The Stanford GraphBase, 1993.",
    nodes=77,
    edges=508,
    notes=("Real co-appearances of 77 characters; 25 tested pairs per split.",),
    **_NETWORKX,
)
def les_miserables(_root: object = None) -> Data:
    """Return characters joined when they appear in the same chapter."""
    import networkx as nx

    return _networkx(nx.les_miserables_graph())


@dataset(
    "social",
    serves={"link_pred": 80},
    title="Southern women and the events they went to",
    citation="Davis, Gardner and Gardner, Deep South, 1941.",
    nodes=32,
    edges=178,
    notes=("Bipartite, 32 nodes: too small to tell models apart.",),
    **_NETWORKX,
)
def davis_southern_women(_root: object = None) -> Data:
    """Return the women and events, joined by attendance."""
    import networkx as nx

    return _networkx(nx.davis_southern_women_graph())


@dataset(
    "social",
    serves={"link_pred": 80},
    title="Marriages of Florentine families",
    citation="Breiger and Pattison, Cumulated social roles, 1986.",
    nodes=15,
    edges=40,
    notes=("15 nodes and 20 marriages: an illustration, not a benchmark.",),
    **_NETWORKX,
)
def florentine_families(_root: object = None) -> Data:
    """Return fifteen families joined by marriage."""
    import networkx as nx

    return _networkx(nx.florentine_families_graph())


@dataset(
    "social",
    serves={"node_cls": 30},
    title="Communities with weak features",
    citation="Holland, Laskey and Leinhardt, Stochastic blockmodels, 1983.",
    nodes=1000,
    features=16,
    classes=4,
    notes=("20 labels per class; every seed draws a new graph.",),
    **_GENERATED,
)
def sbm_communities(_root: object = None, *, seed: int = 0, per_class: int = 20, **size: Any) -> Data:
    """Return one block model; see `graphnetz.datasets.generators.sbm.sbm`."""
    from graphnetz.datasets.generators.build import with_masks
    from graphnetz.datasets.generators.sbm import sbm

    return with_masks(sbm(seed, **size), per_class=per_class, entropy=seed)


@dataset(
    "social",
    serves={"node_cls": 100},
    title="PATTERN: nodes of a hidden pattern",
    citation=_DWIVEDI,
    graphs=14000,
    features=1,
    classes=2,
    notes=("Published sizes; report balanced accuracy beside accuracy.",),
    protocol={"lr": 1e-3, "weight_decay": 0.0, "batch_size": 128},
    **_GENERATED,
)
def pattern(_root: object = None, *, sample: int = 0, **size: Any) -> GraphList:
    """Return PATTERN; see `graphnetz.datasets.generators.sbm.pattern`."""
    from graphnetz.datasets.generators import sbm

    return sbm.pattern(sample, **size)


@dataset(
    "social",
    serves={"node_cls": 100},
    title="CLUSTER: communities from one labelled node each",
    citation=_DWIVEDI,
    graphs=12000,
    features=1,
    classes=6,
    notes=("Published sizes.",),
    protocol={"lr": 1e-3, "weight_decay": 0.0, "batch_size": 128},
    **_GENERATED,
)
def cluster(_root: object = None, *, sample: int = 0, **size: Any) -> GraphList:
    """Return CLUSTER; see `graphnetz.datasets.generators.sbm.cluster`."""
    from graphnetz.datasets.generators import sbm

    return sbm.cluster(sample, **size)


@dataset(
    "social",
    serves={"node_cls": 100, "link_pred": 80},
    curated=("node_cls", "link_pred"),
    title="Cora",
    mirror=("Planetoid/Cora/raw",),
    **size(1, 2708, 10556, 1433, 7),
    **PLANETOID,
)
def cora(root: Root = "data/cora", *, mirror: Mirror = None) -> GraphDataset:
    """Return the Cora citation network with its public split."""
    from graphnetz.datasets.sources.planetoid import planetoid

    return planetoid(root, "Cora", mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 100, "link_pred": 80},
    curated=("node_cls", "link_pred"),
    title="CiteSeer",
    mirror=("Planetoid/CiteSeer/raw",),
    **size(1, 3327, 9104, 3703, 6),
    **PLANETOID,
)
def citeseer(root: Root = "data/citeseer", *, mirror: Mirror = None) -> GraphDataset:
    """Return the CiteSeer citation network with its public split."""
    from graphnetz.datasets.sources.planetoid import planetoid

    return planetoid(root, "CiteSeer", mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 100, "link_pred": 80},
    curated=("node_cls",),
    title="PubMed",
    mirror=("Planetoid/PubMed/raw",),
    **size(1, 19717, 88648, 500, 3),
    **PLANETOID,
)
def pubmed(root: Root = "data/pubmed", *, mirror: Mirror = None) -> GraphDataset:
    """Return the PubMed citation network with its public split."""
    from graphnetz.datasets.sources.planetoid import planetoid

    return planetoid(root, "PubMed", mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 100},
    title="WikiCS",
    source="github.com/pmernyei/wiki-cs-dataset",
    licence="MIT (repository)",
    citation="Mernyei and Cangea, Wiki-CS, 2020.",
    notes=("Undirected, without repeated links; Benchmarking-GNNs keeps repeated ones.",),
    **size(1, 11701, None, 300, 10),
)
def wikics(root: Root = "data/wikics", *, mirror: Mirror = None) -> GraphDataset:
    """Return the computer science pages of Wikipedia with twenty splits."""
    from graphnetz.datasets.sources.node_sets import wikics

    return wikics(root, mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 80},
    curated=("node_cls",),
    title="Roman-empire",
    **size(1, 22662, 65854, 300, 18),
    **HETEROPHILOUS,
)
def roman_empire(root: Root = "data/roman_empire", *, mirror: Mirror = None) -> GraphDataset:
    """Return Roman-empire with its ten splits."""
    from graphnetz.datasets.sources.node_sets import heterophilous

    return heterophilous(root, "roman_empire", mirror=mirror)


@dataset("social", serves={"node_cls": 80}, title="Amazon-ratings", **size(1, 24492, 186100, 300, 5), **HETEROPHILOUS)
def amazon_ratings(root: Root = "data/amazon_ratings", *, mirror: Mirror = None) -> GraphDataset:
    """Return Amazon-ratings with its ten splits."""
    from graphnetz.datasets.sources.node_sets import heterophilous

    return heterophilous(root, "amazon_ratings", mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 80},
    curated=("node_cls",),
    title="Minesweeper",
    mirror=("HeterophilousGraphDataset/minesweeper/raw",),
    **size(1, 10000, 78804, 7, 2),
    **HETEROPHILOUS,
)
def minesweeper(root: Root = "data/minesweeper", *, mirror: Mirror = None) -> GraphDataset:
    """Return Minesweeper with its ten splits."""
    from graphnetz.datasets.sources.node_sets import heterophilous

    return heterophilous(root, "minesweeper", mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 80},
    title="Tolokers",
    mirror=("HeterophilousGraphDataset/tolokers/raw",),
    **size(1, 11758, 1038000, 10, 2),
    **HETEROPHILOUS,
)
def tolokers(root: Root = "data/tolokers", *, mirror: Mirror = None) -> GraphDataset:
    """Return Tolokers with its ten splits."""
    from graphnetz.datasets.sources.node_sets import heterophilous

    return heterophilous(root, "tolokers", mirror=mirror)


@dataset("social", serves={"node_cls": 80}, title="Questions", **size(1, 48921, 307080, 301, 2), **HETEROPHILOUS)
def questions(root: Root = "data/questions", *, mirror: Mirror = None) -> GraphDataset:
    """Return Questions with its ten splits."""
    from graphnetz.datasets.sources.node_sets import heterophilous

    return heterophilous(root, "questions", mirror=mirror)


@dataset("social", serves={"node_cls": 50}, title="ogbn-arxiv", licence="ODC-BY", **size(1, None, None, 128, 40), **OGB)
def ogbn_arxiv(root: Root = "data/ogbn_arxiv", *, mirror: Mirror = None) -> GraphDataset:
    """Return arXiv papers of computer science, split by year; citations go both ways."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbn-arxiv", mirror=mirror)


@dataset(
    "social",
    serves={"link_pred": 40},
    title="MovieLens 100K",
    source="files.grouplens.org",
    licence="GroupLens terms: research use, no redistribution",
    citation="Harper and Konstan, The MovieLens datasets, 2015.",
    **size(1, 2625, 200000, None, None),
)
def movielens100k(root: Root = "data/movielens100k", *, mirror: Mirror = None) -> GraphDataset:
    """Return users and movies joined by ratings."""
    from graphnetz.datasets.sources.packaged import movielens100k

    return movielens100k(root, mirror=mirror)


@dataset(
    "social",
    serves={"link_pred": 80},
    title="Karate club (Netzschleuder)",
    mirror=("networks/karate.csv",),
    **network(34, 78),
    **NETZ,
)
def karate(root: Root = "data/karate", *, mirror: Mirror = None) -> GraphDataset:
    """Return the 78-edge version of the karate club (Zachary, 1977)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "karate", "78", mirror=mirror)


@dataset("social", serves={"link_pred": 80}, title="Facebook friends", **NETZ)
def facebook_friends(root: Root = "data/facebook_friends", *, mirror: Mirror = None) -> GraphDataset:
    """Return one person's Facebook friends (Maier and Brockmann, 2017)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "facebook_friends", "facebook_friends", mirror=mirror)


@dataset("social", serves={"link_pred": 20}, title="DBLP coauthors", **NETZ)
def dblp_coauthor(root: Root = "data/dblp_coauthor", *, mirror: Mirror = None) -> GraphDataset:
    """Return coauthorship in DBLP (Ley, 2002)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "dblp_coauthor", "dblp_coauthor", mirror=mirror)


@dataset(
    "social", serves={"link_pred": 80}, title="DNC emails", mirror=("networks/dnc.csv",), **network(1891, 4384), **NETZ
)
def dnc_emails(root: Root = "data/dnc_emails", *, mirror: Mirror = None) -> GraphDataset:
    """Return e-mails of the DNC leak; directions and repetitions are dropped."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "dnc", "dnc", mirror=mirror)


@dataset(
    "social", serves={"link_pred": 20}, title="ogbl-collab", licence="ODC-BY", **size(1, 235868, None, 128, None), **OGB
)
def ogbl_collab(root: Root = "data/ogbl_collab", *, mirror: Mirror = None) -> GraphDataset:
    """Return author collaborations split by year, with the supplied negatives."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbl-collab", mirror=mirror)
