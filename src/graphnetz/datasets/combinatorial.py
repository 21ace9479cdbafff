"""Combinatorial optimisation: instances with solutions, and graphs that test what models can see.

Link prediction uses held-out edges of the first instance, as published; edge classification asks for
the solution. Every benchmark seed draws fresh instances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import GENERATED, L, dataset

if TYPE_CHECKING:
    from graphnetz.records import GraphList

_GRAPHNETZ = "Setting of da Costa and Modenesi, GraphNetz."
_DWIVEDI = "Dwivedi et al., Benchmarking Graph Neural Networks, JMLR 24(43), 2023."


def _instances(citation: str, **facts: Any) -> Callable[[L], L]:
    """Return the decorator shared by the six problems: link_pred as published, edge_cls on the solution."""
    serves = {"link_pred": 80, "edge_cls": 20}
    fixed = {**GENERATED} | {"replication": "regenerate"}
    return dataset("combinatorial", serves=serves, curated=("link_pred",), citation=citation, **fixed, **facts)


@_instances(
    f"{_GRAPHNETZ} Held and Karp, 1962; Croes, 1958.",
    title="Travelling salesman on random points",
    graphs=128,
    nodes=6400,
    features=2,
    classes=2,
    notes=("Tours of 50 cities are 2-opt and Or-opt local optima, not certified optima.",),
)
def random_tsp(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return travelling-salesman instances; see `graphnetz.datasets.generators.routing.tsp`."""
    from graphnetz.datasets.generators.routing import tsp

    return tsp(seed, **size)


@dataset(
    "combinatorial",
    serves={"link_pred": 80},
    title="TSP-random of the GraphNetz paper",
    citation="da Costa and Modenesi, GraphNetz, Table 3.",
    graphs=1,
    nodes=200,
    features=2,
    notes=("One set of 200 points per seed, four nearest neighbours; edges are hidden, no tour is asked for.",),
    replication="regenerate",
    **GENERATED,
)
def tsp_random(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return the published neighbour graph; see `graphnetz.datasets.generators.published`."""
    from graphnetz.datasets.generators.published import tsp_neighbours

    return tsp_neighbours(seed, **size)


@_instances(
    f"{_GRAPHNETZ} Clarke and Wright, 1964.",
    title="Capacitated vehicle routing on random points",
    graphs=128,
    nodes=6400,
    features=4,
    classes=2,
    notes=("Routes come from the savings heuristic; they are feasible, not certified optimal.",),
)
def random_vrp(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return vehicle-routing instances; see `graphnetz.datasets.generators.routing.vrp`."""
    from graphnetz.datasets.generators.routing import vrp

    return vrp(seed, **size)


@_instances(
    f"{_GRAPHNETZ} Ford and Fulkerson, 1956.",
    title="Maximum flow in random networks",
    graphs=128,
    nodes=3840,
    features=2,
    classes=2,
    notes=("A maximum flow need not be unique; labels are those of the one that scipy returns.",),
)
def random_maxflow(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return maximum-flow instances; see `graphnetz.datasets.generators.flows.maxflow`."""
    from graphnetz.datasets.generators.flows import maxflow

    return maxflow(seed, **size)


@_instances(
    f"{_GRAPHNETZ} Kuhn, 1955.",
    title="Bipartite matching of largest weight",
    graphs=128,
    nodes=5120,
    features=2,
    classes=2,
)
def random_bipartite_matching(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return matching instances; see `graphnetz.datasets.generators.flows.bipartite_matching`."""
    from graphnetz.datasets.generators.flows import bipartite_matching

    return bipartite_matching(seed, **size)


@_instances(
    f"{_GRAPHNETZ} Brelaz, 1979.",
    title="Colouring of random graphs",
    graphs=128,
    nodes=5120,
    features=2,
    classes=2,
    notes=("A colouring is one of many; the edge task asks for edges between its two most used colours.",),
)
def random_coloring(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return colouring instances; see `graphnetz.datasets.generators.partition.coloring`."""
    from graphnetz.datasets.generators.partition import coloring

    return coloring(seed, **size)


@_instances(
    f"{_GRAPHNETZ} Johnson, 1974.",
    title="Maximum cut of random graphs",
    graphs=128,
    nodes=6400,
    features=2,
    classes=2,
    notes=("Cuts of 50 nodes are local optima over 32 starts; up to 20 nodes they are proved largest.",),
)
def random_maxcut(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return maximum-cut instances; see `graphnetz.datasets.generators.partition.maxcut`."""
    from graphnetz.datasets.generators.partition import maxcut

    return maxcut(seed, **size)


@dataset(
    "combinatorial",
    serves={"graph_cls": 100},
    title="CSL: circular skip links",
    citation=f"Murphy et al., Relational Pooling, ICML 2019; {_DWIVEDI}",
    graphs=150,
    nodes=6150,
    edges=24600,
    features=1,
    classes=10,
    notes=("Message passing without positional encodings stays at 10 %.", "Five stratified folds of 90/30/30."),
    protocol={"lr": 5e-4, "batch_size": 5},
    **GENERATED,
)
def csl(_root: object = None, *, sample: int = 0, **size: Any) -> GraphList:
    """Return the 150 CSL graphs; see `graphnetz.datasets.generators.symmetric.csl`."""
    from graphnetz.datasets.generators import symmetric

    return symmetric.csl(sample, **size)


@dataset(
    "combinatorial",
    serves={"graph_cls": 100},
    title="CYCLES: is there a cycle of length six?",
    citation=f"Own generator after Loukas, 2020, and {_DWIVEDI}",
    graphs=20000,
    features=1,
    classes=2,
    notes=("Our own generator, not the published file; sizes and degrees do not give the class away.",),
    protocol={"lr": 1e-4, "batch_size": 25},
    **GENERATED,
)
def cycles(_root: object = None, *, sample: int = 0, **size: Any) -> GraphList:
    """Return the CYCLES graphs; see `graphnetz.datasets.generators.symmetric.cycles`."""
    from graphnetz.datasets.generators import symmetric

    return symmetric.cycles(sample, **size)


@dataset(
    "combinatorial",
    serves={"multi_reg": 50},
    title="GraphTheoryProp: three node and three graph properties",
    citation=f"Corso et al., Principal Neighbourhood Aggregation, NeurIPS 2020; {_DWIVEDI}",
    graphs=7040,
    features=2,
    protocol={"batch_size": 25},
    **GENERATED,
)
def graph_theory_prop(_root: object = None, *, sample: int = 0, **size: Any) -> GraphList:
    """Return GraphTheoryProp at its published size; see `graphnetz.datasets.generators.properties`."""
    from graphnetz.datasets.generators.properties import graph_theory

    return graph_theory(sample, **size)


@dataset(
    "combinatorial",
    serves={"multi_reg": 20},
    title="GraphTheoryProp, 300 graphs",
    citation=f"Corso et al., Principal Neighbourhood Aggregation, NeurIPS 2020; {_DWIVEDI}",
    graphs=300,
    features=2,
    notes=("The published generator at a size for laptops; every part has 15 to 19 nodes per graph.",),
    **GENERATED,
)
def graph_properties(_root: object = None, *, sample: int = 0) -> GraphList:
    """Return a small sample of GraphTheoryProp, split 200/40/60."""
    from graphnetz.datasets.generators.properties import graph_theory

    return graph_theory(sample, train=200, val=40, test=60, train_sizes=(15, 19))
