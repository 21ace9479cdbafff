"""Infrastructure: power, road, air, transit and radio networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import GENERATED, dataset
from graphnetz.datasets.catalogue import public_loaders

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataset(
    "infrastructure",
    serves={"link_pred": 20},
    title="Radio mesh: a random geometric network",
    citation="Gilbert, Random plane networks, 1961.",
    nodes=1000,
    notes=("Masts within reach of each other are linked; positions are not shown to models.",),
    replication="regenerate",
    **GENERATED,
)
def radio_mesh(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a random geometric graph; see `graphnetz.datasets.generators.networks.geometric`."""
    from graphnetz.datasets.generators.networks import geometric

    return geometric(seed, **size)


globals().update(public_loaders("infrastructure"))
