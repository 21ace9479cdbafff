"""Computing: the internet and other networks of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import GENERATED, dataset
from graphnetz.datasets.catalogue import public_loaders

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataset(
    "computing",
    serves={"edge_cls": 60, "node_cls": 60, "link_pred": 40},
    title="Internet-like graph of autonomous systems",
    citation="Elmokashfi, Kvalbein and Dovrolis, On the scalability of BGP, 2010.",
    nodes=1000,
    classes=2,
    protocol={"lr": 1e-2},
    notes=("Simulated, not the measured internet_as.", "Edge labels: peering or transit; node labels: role."),
    replication="regenerate",
    **GENERATED,
)
def internet_as_simulated(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a simulated internet; see `graphnetz.datasets.generators.networks.internet_as`."""
    from graphnetz.datasets.generators.build import with_masks
    from graphnetz.datasets.generators.networks import internet_as

    return with_masks(internet_as(seed, **size), entropy=seed)


globals().update(public_loaders("computing"))
