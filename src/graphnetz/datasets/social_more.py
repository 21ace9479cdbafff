"""More social datasets: collaborations, web pages, and networks that only a mirror has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.sources.facts import GEOM_GCN, MIRROR_ONLY, TU, network, size

if TYPE_CHECKING:
    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root


@dataset("social", serves={"graph_cls": 20}, title="COLLAB", **size(5000, None, None, 0, 3), **TU)
def collab(root: Root = "data/collab", *, mirror: Mirror = None) -> GraphDataset:
    """Return COLLAB (Yanardag and Vishwanathan, 2015); no features."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "COLLAB", mirror=mirror)


@dataset(
    "social",
    serves={"graph_cls": 20},
    title="IMDB-BINARY",
    mirror=("TUDataset/IMDB-BINARY/raw",),
    **size(1000, 19773, 193062, 0, 2),
    **TU,
)
def imdb_binary(root: Root = "data/imdb_binary", *, mirror: Mirror = None) -> GraphDataset:
    """Return IMDB-BINARY (Yanardag and Vishwanathan, 2015); no features."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "IMDB-BINARY", mirror=mirror)


@dataset(
    "social",
    serves={"graph_cls": 20},
    title="IMDB-MULTI",
    mirror=("TUDataset/IMDB-MULTI/raw",),
    **size(1500, 19502, 197806, 0, 3),
    **TU,
)
def imdb_multi(root: Root = "data/imdb_multi", *, mirror: Mirror = None) -> GraphDataset:
    """Return IMDB-MULTI (Yanardag and Vishwanathan, 2015); no features."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "IMDB-MULTI", mirror=mirror)


@dataset("social", serves={"graph_cls": 20}, title="REDDIT-BINARY", **size(2000, None, None, 0, 2), **TU)
def reddit_binary(root: Root = "data/reddit_binary", *, mirror: Mirror = None) -> GraphDataset:
    """Return REDDIT-BINARY (Yanardag and Vishwanathan, 2015); no features."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "REDDIT-BINARY", mirror=mirror)


@dataset("social", serves={"graph_cls": 20}, title="REDDIT-MULTI-5K", **size(4999, None, None, 0, 5), **TU)
def reddit_multi(root: Root = "data/reddit_multi", *, mirror: Mirror = None) -> GraphDataset:
    """Return REDDIT-MULTI-5K (Yanardag and Vishwanathan, 2015); no features."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "REDDIT-MULTI-5K", mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 100},
    title="Cornell",
    mirror=("WebKB/cornell/raw",),
    **size(1, 183, 298, 1703, None),
    **GEOM_GCN,
)
def cornell(root: Root = "data/cornell", *, mirror: Mirror = None) -> GraphDataset:
    """Return the web pages of Cornell (WebKB)."""
    from graphnetz.datasets.sources.node_sets import geom_gcn

    return geom_gcn(root, "cornell", mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 100},
    title="Texas",
    mirror=("WebKB/texas/raw",),
    **size(1, 183, 325, 1703, None),
    **GEOM_GCN,
)
def texas(root: Root = "data/texas", *, mirror: Mirror = None) -> GraphDataset:
    """Return the web pages of Texas (WebKB)."""
    from graphnetz.datasets.sources.node_sets import geom_gcn

    return geom_gcn(root, "texas", mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 100},
    title="Wisconsin",
    mirror=("WebKB/wisconsin/raw",),
    **size(1, 251, 515, 1703, None),
    **GEOM_GCN,
)
def wisconsin(root: Root = "data/wisconsin", *, mirror: Mirror = None) -> GraphDataset:
    """Return the web pages of Wisconsin (WebKB)."""
    from graphnetz.datasets.sources.node_sets import geom_gcn

    return geom_gcn(root, "wisconsin", mirror=mirror)


@dataset(
    "social",
    serves={"node_cls": 100},
    title="Actor",
    mirror=("Actor/raw",),
    **size(1, 7600, 30019, 932, None),
    **GEOM_GCN,
)
def actor(root: Root = "data/actor", *, mirror: Mirror = None) -> GraphDataset:
    """Return actors who share a Wikipedia page."""
    from graphnetz.datasets.sources.node_sets import geom_gcn

    return geom_gcn(root, "film", mirror=mirror)


@dataset(
    "social",
    serves={"link_pred": 40},
    title="Facebook ego networks",
    citation="McAuley and Leskovec, Learning to discover social circles in ego networks, 2012.",
    mirror=("networks/ego_facebook.csv",),
    notes=("Stands beside facebook_friends, not for it.",),
    **network(4039, 88234),
    **MIRROR_ONLY,
)
def ego_facebook(root: Root = "data/ego_facebook", *, mirror: Mirror = None) -> GraphDataset:
    """Return ten joined ego networks (McAuley and Leskovec, 2012)."""
    from graphnetz.datasets.sources.netz import plain_network

    return plain_network(root, "ego_facebook", mirror=mirror)


@dataset(
    "social",
    serves={"link_pred": 40},
    title="Coauthors in condensed matter",
    citation="Newman, The structure of scientific collaboration networks, 2001.",
    mirror=("networks/arxiv_condmat_coauthors.csv.gz",),
    notes=("Stands beside dblp_coauthor, not for it.",),
    **network(30561, 125959),
    **MIRROR_ONLY,
)
def arxiv_condmat_coauthors(root: Root = "data/arxiv_condmat_coauthors", *, mirror: Mirror = None) -> GraphDataset:
    """Return coauthors of condensed-matter preprints."""
    from graphnetz.datasets.sources.netz import plain_network

    return plain_network(root, "arxiv_condmat_coauthors", mirror=mirror)


@dataset(
    "social",
    serves={"link_pred": 80},
    title="Coauthors in network science",
    citation="Newman, Finding community structure in networks using the eigenvectors of matrices, 2006.",
    mirror=("networks/netscience_coauthors.csv",),
    **network(1589, 2742),
    **MIRROR_ONLY,
)
def netscience_coauthors(root: Root = "data/netscience_coauthors", *, mirror: Mirror = None) -> GraphDataset:
    """Return coauthors in network science (Newman, 2006)."""
    from graphnetz.datasets.sources.netz import plain_network

    return plain_network(root, "netscience_coauthors", mirror=mirror)


@dataset(
    "social",
    serves={"link_pred": 80},
    title="DNC co-recipients",
    citation="Emails of the Democratic National Committee, 2016; KONECT collection, Kunegis, 2013.",
    mirror=("networks/dnc_corecipient.csv",),
    **network(906, 10429),
    **MIRROR_ONLY,
)
def dnc_corecipient(root: Root = "data/dnc_corecipient", *, mirror: Mirror = None) -> GraphDataset:
    """Return people who received the same e-mail of the DNC leak."""
    from graphnetz.datasets.sources.netz import plain_network

    return plain_network(root, "dnc_corecipient", mirror=mirror)


@dataset(
    "social",
    serves={"link_pred": 80, "node_cls": 100},
    title="Political blogs",
    citation="Adamic and Glance, The political blogosphere and the 2004 U.S. election, 2005.",
    mirror=("networks/polblogs.csv",),
    notes=("No published split: ten stratified 60/20/20 splits of ours.",),
    **network(1490, 16715, classes=2),
    **MIRROR_ONLY,
)
def polblogs(root: Root = "data/polblogs", *, mirror: Mirror = None) -> GraphDataset:
    """Return blogs of 2004 with their leaning (Adamic and Glance, 2005); directions dropped."""
    from graphnetz.datasets.sources.netz import plain_network

    return plain_network(root, "polblogs", label="pol", mirror=mirror)


@dataset(
    "social",
    serves={"link_pred": 80, "node_cls": 100},
    title="Political books",
    citation="Krebs, Books about U.S. politics, unpublished, 2004.",
    mirror=("networks/polbooks.csv",),
    notes=("No published split: ten stratified 60/20/20 splits of ours.",),
    **network(105, 441, classes=3),
    **MIRROR_ONLY,
)
def polbooks(root: Root = "data/polbooks", *, mirror: Mirror = None) -> GraphDataset:
    """Return books bought together, with their leaning (Krebs, 2004)."""
    from graphnetz.datasets.sources.netz import plain_network

    return plain_network(root, "polbooks", label="ideology", mirror=mirror)
