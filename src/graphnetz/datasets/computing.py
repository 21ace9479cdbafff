"""Computing: the internet and other networks of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.sources.facts import GENERATED, NETZ, network

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root


@dataset(
    "computing",
    serves={"edge_cls": 60, "node_cls": 60, "link_pred": 40},
    title="Internet-like graph of autonomous systems",
    **GENERATED,
    citation="Elmokashfi, Kvalbein and Dovrolis, On the scalability of BGP, 2010.",
    nodes=1000,
    classes=2,
    protocol={"lr": 1e-2},
    notes=("Simulated, not the measured internet_as.", "Edge labels: peering or transit; node labels: role."),
)
def internet_as_simulated(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a simulated internet; see `graphnetz.datasets.generators.networks.internet_as`."""
    from graphnetz.datasets.generators.build import with_masks
    from graphnetz.datasets.generators.networks import internet_as

    return with_masks(internet_as(seed, **size), entropy=seed)


@dataset(
    "computing",
    serves={"link_pred": 40},
    curated=("link_pred",),
    title="Internet, autonomous systems of 2006",
    mirror=("networks/internet_as.csv",),
    **network(22963, 48436),
    **NETZ,
)
def internet_as(root: Root = "data/internet_as", *, mirror: Mirror = None) -> GraphDataset:
    """Return the AS graph of July 2006 (Newman)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "internet_as", "internet_as", mirror=mirror)


@dataset("computing", serves={"link_pred": 10}, curated=("link_pred",), title="Internet topology", **NETZ)
def topology(root: Root = "data/topology", *, mirror: Mirror = None) -> GraphDataset:
    """Return AS links of 2004 (Zhang et al., 2005)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "topology", "topology", mirror=mirror)


@dataset("computing", serves={"link_pred": 4}, title="AS-Skitter", **NETZ)
def as_skitter(root: Root = "data/as_skitter", *, mirror: Mirror = None) -> GraphDataset:
    """Return the traceroute graph of 2005 (Leskovec et al., 2005)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "as_skitter", "as_skitter", mirror=mirror)


@dataset("computing", serves={"link_pred": 40}, title="Route views", **NETZ)
def route_views(root: Root = "data/route_views", *, mirror: Mirror = None) -> GraphDataset:
    """Return the AS graph of 2 January 2000 (Leskovec et al., 2005)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "route_views", "20000102", mirror=mirror)
