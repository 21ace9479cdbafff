"""Model selection: meta-features, selectors, testbeds, the performance bank and recommendations."""

from graphnetz.graphs.compressed import Graph, as_graph, edge_orbits
from graphnetz.graphs.counts import ORBITS
from graphnetz.selection.bank import PerformanceBank, PerformanceRecord
from graphnetz.selection.metafeatures import EXTRACTORS, FEATURE_SETS, extractor, feature_names, meta_features
from graphnetz.selection.recommend import Choice, Recommendation, recommend
from graphnetz.selection.scoring import SelectionScores, selection_scores
from graphnetz.selection.selectors import SELECTORS, Selector
from graphnetz.selection.space import Configuration, configuration_space
from graphnetz.selection.statistics63 import STATISTICS, statistics63
from graphnetz.selection.testbeds import (
    SelectionResult,
    Testbed,
    cross_task,
    evaluate,
    fully_observed,
    out_of_domain,
    small_to_large,
    sparse,
)

__all__ = [
    "EXTRACTORS",
    "FEATURE_SETS",
    "ORBITS",
    "SELECTORS",
    "STATISTICS",
    "Choice",
    "Configuration",
    "Graph",
    "PerformanceBank",
    "PerformanceRecord",
    "Recommendation",
    "SelectionResult",
    "SelectionScores",
    "Selector",
    "Testbed",
    "as_graph",
    "configuration_space",
    "cross_task",
    "edge_orbits",
    "evaluate",
    "extractor",
    "feature_names",
    "fully_observed",
    "meta_features",
    "out_of_domain",
    "recommend",
    "selection_scores",
    "small_to_large",
    "sparse",
    "statistics63",
]
