"""Finance: transactions, products, boards, patents and trust between traders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import GENERATED, dataset
from graphnetz.datasets.catalogue import public_loaders

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataset(
    "finance",
    serves={"edge_cls": 40},
    title="Trust and distrust between traders",
    citation="Harary, On the notion of balance of a signed graph, 1953; block model of Holland et al., 1983.",
    nodes=1000,
    features=8,
    classes=2,
    protocol={"lr": 1e-2},
    notes=("Signs are balanced between two factions, 2 % flipped.", "Every seed draws a new network."),
    replication="regenerate",
    **GENERATED,
)
def trader_trust(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a signed network; see `graphnetz.datasets.generators.networks.signed_trust`."""
    from graphnetz.datasets.generators.networks import signed_trust

    return signed_trust(seed, **size)


globals().update(public_loaders("finance"))
