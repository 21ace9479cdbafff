"""Finance: transactions, products, boards, patents and trust between traders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.sources.facts import GENERATED, NETZ, OGB, network, size

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root


@dataset(
    "finance",
    serves={"edge_cls": 40},
    title="Trust and distrust between traders",
    **GENERATED,
    citation="Harary, On the notion of balance of a signed graph, 1953; block model of Holland et al., 1983.",
    nodes=1000,
    features=8,
    classes=2,
    protocol={"lr": 1e-2},
    notes=("Signs are balanced between two factions, 2 % flipped.", "Every seed draws a new network."),
)
def trader_trust(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a signed network; see `graphnetz.datasets.generators.networks.signed_trust`."""
    from graphnetz.datasets.generators.networks import signed_trust

    return signed_trust(seed, **size)


@dataset(
    "finance",
    serves={"node_cls": 50},
    title="Elliptic Bitcoin transactions",
    source="data.pyg.org",
    licence="CC BY-NC-ND 4.0",
    citation="Weber et al., Anti-money laundering in Bitcoin, 2019.",
    **size(1, 203769, None, 165, 2),
)
def elliptic_bitcoin(root: Root = "data/elliptic_bitcoin", *, mirror: Mirror = None) -> GraphDataset:
    """Return transactions, licit or illicit, split in time."""
    from graphnetz.datasets.sources.packaged import elliptic_bitcoin

    return elliptic_bitcoin(root, mirror=mirror)


@dataset(
    "finance",
    serves={"node_cls": 20},
    title="ogbn-products",
    licence="Amazon licence",
    **size(1, None, None, 100, 47),
    **OGB,
)
def ogbn_products(root: Root = "data/ogbn_products", *, mirror: Mirror = None) -> GraphDataset:
    """Return Amazon products bought together, split by sales rank."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbn-products", mirror=mirror)


@dataset(
    "finance",
    serves={"link_pred": 80},
    curated=("link_pred",),
    title="Product space (SITC)",
    mirror=("networks/product_space.csv",),
    **network(774, 1779),
    **NETZ,
)
def product_space(root: Root = "data/product_space", *, mirror: Mirror = None) -> GraphDataset:
    """Return products exported together (Hidalgo et al., 2007)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "product_space", "SITC", mirror=mirror)


@dataset(
    "finance",
    serves={"link_pred": 40},
    curated=("link_pred",),
    title="Norwegian board directors",
    mirror=("networks/board_directors.csv",),
    notes=("The plain copy of the mirror has 1,421 directors and 3,855 pairs; its month is not stated.",),
    **NETZ,
)
def board_directors(root: Root = "data/board_directors", *, mirror: Mirror = None) -> GraphDataset:
    """Return directors who share a board (Seierstad and Opsahl, 2011)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "board_directors", "net1m_2002-05-01", mirror=mirror)


@dataset("finance", serves={"link_pred": 4}, title="US patent citations", **NETZ)
def us_patents(root: Root = "data/us_patents", *, mirror: Mirror = None) -> GraphDataset:
    """Return citations between patents (Leskovec et al., 2005); directions are dropped."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "us_patents", "us_patents", mirror=mirror)
