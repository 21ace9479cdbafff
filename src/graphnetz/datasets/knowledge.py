"""Knowledge: entities joined by typed relations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import GENERATED, dataset
from graphnetz.datasets.catalogue import public_loaders

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataset(
    "knowledge",
    serves={"link_pred": 25},
    title="Kinship with exact composition rules",
    citation="Own generator after the kinship task of Hinton, 1986.",
    notes=("Seven relations; all but parent and spouse follow from these two.", "Every seed draws new families."),
    replication="regenerate",
    **GENERATED,
)
def kinship_rules(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a kinship graph; see `graphnetz.datasets.generators.kinship.kinship`."""
    from graphnetz.datasets.generators.kinship import kinship

    return kinship(seed, **size)


globals().update(public_loaders("knowledge"))
