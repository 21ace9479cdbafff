"""Security: malware, covert networks, botnets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.sources.facts import GENERATED, NETZ, network, size

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root


@dataset(
    "security",
    serves={"node_cls": 40},
    title="Peer-to-peer botnet in background traffic",
    **GENERATED,
    citation="After Zhou et al., Automating botnet detection with graph neural networks, 2020.",
    nodes=1200,
    classes=2,
    features=8,
    notes=(
        "Weak traffic features; bots keep a regular overlay among themselves.",
        "Every seed draws a new network; 60/20/20 split.",
    ),
)
def p2p_botnet(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a planted botnet; see `graphnetz.datasets.generators.networks.botnet`."""
    from graphnetz.datasets.generators.build import with_masks
    from graphnetz.datasets.generators.networks import botnet

    return with_masks(botnet(seed, **size), entropy=seed)


@dataset(
    "security",
    serves={"graph_cls": 10},
    title="MalNet-Tiny",
    source="malnet.cc.gatech.edu",
    licence="CC BY",
    citation="Freitas et al., A large-scale database for graph representation learning, 2021.",
    **size(5000, None, None, 0, 5),
)
def malnet_tiny(root: Root = "data/malnet_tiny", *, mirror: Mirror = None) -> GraphDataset:
    """Return 5,000 function call graphs of five types."""
    from graphnetz.datasets.sources.packaged import malnet_tiny

    return malnet_tiny(root, mirror=mirror)


@dataset(
    "security",
    serves={"link_pred": 120},
    curated=("link_pred",),
    title="9/11 terrorists",
    mirror=("networks/terrorists_911.csv",),
    **network(60, 125),
    **NETZ,
)
def terrorists_911(root: Root = "data/terrorists_911", *, mirror: Mirror = None) -> GraphDataset:
    """Return the hijackers and their associates (Krebs, 2002)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "terrorists_911", "terrorists_911", mirror=mirror)


@dataset(
    "security",
    serves={"link_pred": 120},
    title="Madrid train bombers",
    mirror=("networks/train_terrorists.csv",),
    **network(70, 243),
    **NETZ,
)
def train_terrorists(root: Root = "data/train_terrorists", *, mirror: Mirror = None) -> GraphDataset:
    """Return ties between the bombers of 2004 (Hayes, 2006)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "train_terrorists", "train_terrorists", mirror=mirror)
