"""How Benchmarking Graph Neural Networks is replicated: suites of the tables, small or as published."""

from __future__ import annotations

import functools

from graphnetz.papers.benchmarking_gnns.suite import CITATION
from graphnetz.papers.benchmarking_gnns.tables import every_row, groups
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
    "13": "positional encodings of GatedGCN",
    "14": "edge representations on TSP and OGBL-COLLAB",
    "15": "edge representations of GraphSAGE",
    "16": "ENZYMES, DD and PROTEINS_full",
    "16 (second run)": "the same with another seed",
}
"""What each table is about."""

_BLOCKS = ["bgnn.MLP", "bgnn.GCN-vanilla", "bgnn.GCN", "bgnn.GatedGCN"]
_POSITIONS = ["bgnn.GIN", "bgnn.GatedGCN"]
_EDGES = ["bgnn.GatedGCN-isotropic", "bgnn.GatedGCN-edgefeat", "bgnn.GatedGCN"]
_WHOLE = ("3", "4", "5", "6", "7a", "7b", "8a", "8b", "9", "16")


def _small(suite: str, tables: tuple[str, ...], models: list[str], *tasks: str) -> Part:
    """A part of size small: some models on some tasks of a study, which minutes suffice for."""
    chosen = {"small": tasks} if tasks else {}
    return Part(suite, tables, {"small": {"model": models}}, chosen, sizes=("small",))


def _whole() -> tuple[Part, ...]:
    """Every row of every table, with the width, rate, batch and schedule of that row."""
    return tuple(
        Part(f"bgnn-table-{name}", tuple(dict.fromkeys(row.table for row in found)), sizes=("generated", "published"))
        for name, (_, found) in groups().items()
    )


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
                _small("benchmarking-gnns", _WHOLE, _BLOCKS, "pattern", "cluster", "tsp", "enzymes_attributes"),
                _small("csl-study", ("10",), _POSITIONS),
                _small("pe-study", ("11",), _POSITIONS, "cycles_1000", "cycles_1000_pe"),
                _small("pe-study", ("12",), ["bgnn.GatedGCN-GRU"], "graph_theory_prop", "graph_theory_prop_pe"),
                _small("edge-study", ("14", "15"), _EDGES, "tsp"),
                *_whole(),
            ),
            functools.partial(read_claims, "graphnetz.papers.benchmarking_gnns"),
            rest=every_row,
            notes={
                "small": "Size small: fewer graphs (of our generators, where there is one) and shorter training; "
                "levels cannot be compared with the paper, directions can.",
                "generated": "Size generated: networks, folds, seeds and training as published, on data of our own "
                "generators or rebuilt from its sources in the place of the published files; levels cannot be "
                "compared with the paper, directions can.",
            },
        ),
        tables=TABLES,
        sizes=("small", "generated", "published"),
    ),
)
