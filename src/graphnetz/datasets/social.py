"""Social: citations, pages, friendships and communities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import GENERATED, dataset
from graphnetz.datasets.catalogue import public_loaders

if TYPE_CHECKING:
    from torch_geometric.data import Data

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
    replication="regenerate",
    **GENERATED,
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
    **GENERATED,
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
    **GENERATED,
)
def cluster(_root: object = None, *, sample: int = 0, **size: Any) -> GraphList:
    """Return CLUSTER; see `graphnetz.datasets.generators.sbm.cluster`."""
    from graphnetz.datasets.generators import sbm

    return sbm.cluster(sample, **size)


globals().update(public_loaders("social"))
