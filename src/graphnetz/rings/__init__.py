"""RINGS: is this dataset fit to judge models? (Coupette, Wayland, Simons and Rieck, ICML 2025)."""

from importlib import import_module
from typing import Any

from graphnetz.rings.agreement import (
    AgreementResult,
    CorrelationResult,
    agreement,
    correct_examples,
    correlate,
    overall_symbol,
)
from graphnetz.rings.complementarity import ComplementarityProfile, RingsWarning, complementarity, profile
from graphnetz.rings.diversity import DiversityResult, diversity
from graphnetz.rings.evaluate import evaluate
from graphnetz.rings.evaluation import DatasetEvaluation
from graphnetz.rings.message import perturb_split
from graphnetz.rings.perturbations import (
    PERTURBATIONS,
    CompleteFeatures,
    CompleteGraph,
    ConnectedRandomGraph,
    EmptyFeatures,
    EmptyGraph,
    Original,
    Perturbation,
    RandomFeatures,
    RandomGraph,
    ShuffledFeatures,
    ShuffledGraph,
    perturb,
    perturb_dataset,
    perturbation,
)
from graphnetz.rings.presets import PRESETS, Tuning
from graphnetz.rings.rules import Assessment, assess, taxonomy
from graphnetz.rings.separability import SeparabilityResult, separability
from graphnetz.rings.spaces import FEATURES, STRUCTURES, structure_metric
from graphnetz.rings.statistics import DatasetStatistics, by_split, dataset_statistics, ego_graphs
from graphnetz.rings.study import SeparabilityStudy
from graphnetz.rings.tasks import degree_features, perturb_task

__all__ = [
    "FEATURES",
    "PERTURBATIONS",
    "PRESETS",
    "STRUCTURES",
    "AgreementResult",
    "Assessment",
    "ComplementarityProfile",
    "CompleteFeatures",
    "CompleteGraph",
    "ConnectedRandomGraph",
    "CorrelationResult",
    "DatasetEvaluation",
    "DatasetStatistics",
    "DiversityResult",
    "EmptyFeatures",
    "EmptyGraph",
    "Original",
    "Perturbation",
    "RandomFeatures",
    "RandomGraph",
    "RingsWarning",
    "SeparabilityResult",
    "SeparabilityStudy",
    "ShuffledFeatures",
    "ShuffledGraph",
    "Tuning",
    "agreement",
    "assess",
    "by_split",
    "compare_judgement",
    "compare_paper",
    "complementarity",
    "correct_examples",
    "correlate",
    "dataset_statistics",
    "degree_features",
    "diversity",
    "ego_graphs",
    "evaluate",
    "overall_symbol",
    "perturb",
    "perturb_dataset",
    "perturb_split",
    "perturb_task",
    "perturbation",
    "profile",
    "published_scores",
    "separability",
    "structure_metric",
    "taxonomy",
]


def __getattr__(name: str) -> Any:
    if name in ("compare_judgement", "compare_paper", "published_scores"):
        # What the paper printed stands above this package, which does not need it.
        return getattr(import_module("graphnetz.papers.rings"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
