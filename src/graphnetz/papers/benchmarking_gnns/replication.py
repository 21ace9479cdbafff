"""How Benchmarking Graph Neural Networks is replicated: suites of the tables, small or as published."""

from __future__ import annotations

import functools

from graphnetz.papers.benchmarking_gnns.suite import CITATION
from graphnetz.papers.benchmarking_gnns.tables import every_row
from graphnetz.papers.replicate import REPLICATIONS, FromSuites, Part
from graphnetz.records.replication import Replication, read_claims

TABLES = {
    "3": "ZINC",
    "4": "AQSOL",
    "5": "OGBL-COLLAB",
    "6": "WikiCS",
    "7a": "MNIST superpixels",
    "7b": "CIFAR10 superpixels",
    "8a": "PATTERN",
    "8b": "CLUSTER",
    "9": "TSP",
    "10": "CSL",
    "11": "CYCLES",
    "12": "GraphTheoryProp",
    "14": "edge representations on TSP and OGBL-COLLAB",
    "15": "edge representations of GraphSAGE",
    "16": "ENZYMES, DD and PROTEINS_full",
}
"""What each table is about."""

_BLOCKS = ["bgnn.MLP", "bgnn.GCN-vanilla", "bgnn.GCN", "bgnn.GatedGCN"]
_POSITIONS = ["bgnn.GIN", "bgnn.GatedGCN"]
_EDGES = ["bgnn.GatedGCN-isotropic", "bgnn.GatedGCN-edgefeat", "bgnn.GatedGCN"]
_WHOLE = ("3", "4", "5", "6", "7a", "7b", "8a", "8b", "9", "16")


def _small(models: list[str]) -> dict[str, dict[str, object]]:
    return {"small": {"model": models}}


REPLICATIONS.add(
    "benchmarking-gnns",
    Replication(
        "benchmarking-gnns",
        "Benchmarking Graph Neural Networks",
        CITATION,
        FromSuites(
            "benchmarking-gnns",
            CITATION,
            (
                Part(
                    "benchmarking-gnns",
                    _WHOLE,
                    _small(_BLOCKS),
                    {"small": ("pattern", "cluster", "tsp", "enzymes_attributes")},
                ),
                Part("csl-study", ("10",), _small(_POSITIONS)),
                Part(
                    "pe-study",
                    ("11",),
                    _small(["bgnn.GIN", "bgnn.GatedGCN"]),
                    {"small": ("cycles_1000", "cycles_1000_pe")},
                ),
                Part(
                    "pe-study",
                    ("12",),
                    _small(["bgnn.GatedGCN-GRU"]),
                    {"small": ("graph_theory_prop", "graph_theory_prop_pe")},
                ),
                Part("edge-study", ("14", "15"), _small(_EDGES), {"small": ("tsp",)}),
            ),
            functools.partial(read_claims, "graphnetz.papers.benchmarking_gnns"),
            rest=every_row,
            notes={
                "small": "Size small: fewer graphs (of our generators, where there is one) and shorter training; "
                "levels cannot be compared with the paper, directions can.",
            },
        ),
        tables=TABLES,
    ),
)
