"""How the GraphNetz paper is replicated: the Planetoid pairs of Table 2 and the categories of Table 3."""

from __future__ import annotations

import functools
from typing import Any

from graphnetz.papers.replicate import REPLICATIONS, FromSuites, Part
from graphnetz.records.replication import Replication, read_claims

CITATION = "da Costa and Modenesi, GraphNetz"

_SETTINGS: dict[str, dict[str, Any]] = {"": {"protocol": "paper"}, "small": {"seeds": 5}, "published": {"seeds": 10}}
_QUICK = ("tsp_random", "mutag_scored_as_published", "cora", "euroroad", "mnist_superpixels_1500", "terrorists_911")

REPLICATIONS.add(
    "graphnetz",
    Replication(
        "graphnetz",
        "Statistically principled benchmarking of graph neural networks",
        CITATION,
        FromSuites(
            "graphnetz",
            CITATION,
            (
                Part("planetoid", ("2",), _SETTINGS, tasks={"small": ("cora", "citeseer")}),
                Part("cross-category", ("3",), _SETTINGS, tasks={"small": _QUICK}),
            ),
            functools.partial(read_claims, "graphnetz.papers.graphnetz"),
            notes={
                "small": "Size small: five seeds instead of ten, and the tasks that take minutes: Cora, CiteSeer, "
                "MUTAG, TSP-random, euroroad, 9/11, and MNIST where its file is at hand. Data, epochs and protocol "
                "of these are the paper's, so cells are compared; claims have less power.",
            },
        ),
        tables={"2": "pairs of architectures on the Planetoid graphs", "3": "one task of each category"},
    ),
)
