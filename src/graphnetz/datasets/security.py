"""Security: malware, covert networks, botnets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import GENERATED, dataset
from graphnetz.datasets.catalogue import public_loaders

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataset(
    "security",
    serves={"node_cls": 40},
    title="Peer-to-peer botnet in background traffic",
    citation="After Zhou et al., Automating botnet detection with graph neural networks, 2020.",
    nodes=1200,
    classes=2,
    features=8,
    notes=(
        "Weak traffic features; bots keep a regular overlay among themselves.",
        "Every seed draws a new network; 60/20/20 split.",
    ),
    replication="regenerate",
    **GENERATED,
)
def p2p_botnet(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a planted botnet; see `graphnetz.datasets.generators.networks.botnet`."""
    from graphnetz.datasets.generators.build import with_masks
    from graphnetz.datasets.generators.networks import botnet

    return with_masks(botnet(seed, **size), entropy=seed)


globals().update(public_loaders("security"))
