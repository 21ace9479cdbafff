"""The outcome of a dataset evaluation: numbers, verdict, a paragraph in plain words, a Section for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from graphnetz.metrics import label_of
from graphnetz.records import Figure, Section
from graphnetz.rings.agreement import AgreementResult, CorrelationResult, overall_symbol
from graphnetz.rings.complementarity import ComplementarityProfile
from graphnetz.rings.diversity import DiversityResult
from graphnetz.rings.figures import evaluation_figures
from graphnetz.rings.perturbations import PERTURBATIONS
from graphnetz.rings.rules import Assessment, Verdict, taxonomy
from graphnetz.rings.separability import SeparabilityResult
from graphnetz.rings.statistics import DatasetStatistics
from graphnetz.rings.study import ModeScore
from graphnetz.rings.tables import evaluation_tables, plain

ADVICE: dict[Verdict, str] = {
    "keep": "Keep it: comparing models on it says something about graph learning.",
    "realign": "Realign it: the graphs vary enough, but the current task does not need what varies. "
    "Change the target, the task or the features before ranking models on it.",
    "deprecate": "Deprecate it: its graphs offer too little structural variation to tell graph-learning models apart.",
}


@dataclass(frozen=True)
class DatasetEvaluation:
    """What RINGS says about a dataset; made by `evaluate`.

    Attributes
    ----------
    name
        Name of the dataset.
    separability, correlation
        Results by metric.
    assessment
        Whether structure and features are informative for the task.
    diversity, complementarity
        Of the original graphs.
    best
        By metric and mode: the model that counts.
    scores
        One test score per metric, model, mode and run.
    agreement
        Overlap of correctly classified examples; None without predictions.
    notes
        What the reader should know about this evaluation.
    statistics, grid
        Descriptions of the original graphs.
    parts
        Graphs of the first run's split, by train, val and test.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import evaluate
    >>> def graph(i):  # class 0 is a path, class 1 a ring of three
    ...     end = 3 * (1 - i % 2)
    ...     return Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2], [1, 2, end]]), y=torch.tensor([i % 2]))
    >>> result = evaluate(
    ...     [graph(i) for i in range(20)], models=["GCN"], modes=["o", "eg", "rf"], backend="serial", verbose=False,
    ...     tuning={"epochs": 1, "search": {}, "runs": 2},  # far too few runs: only to be quick here
    ... )
    >>> result.provisional, sorted(result.relations)
    (True, ['acc', 'auc'])
    """

    name: str
    separability: Mapping[str, SeparabilityResult]
    assessment: Assessment
    diversity: DiversityResult
    complementarity: ComplementarityProfile = field(repr=False)
    best: Mapping[str, Mapping[str, str]] = field(repr=False)
    scores: tuple[ModeScore, ...] = field(repr=False)
    correlation: Mapping[str, CorrelationResult] = field(repr=False)
    agreement: AgreementResult | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    statistics: DatasetStatistics | None = field(default=None, repr=False)
    grid: Figure | None = field(default=None, repr=False)
    parts: Mapping[str, Sequence[int]] = field(default_factory=dict, repr=False)

    @property
    def verdict(self) -> Verdict:
        """``keep``, ``realign`` or ``deprecate``."""
        return self._judged[0]

    @property
    def reason(self) -> str:
        """The two findings behind the verdict."""
        return self._judged[1]

    @property
    def relations(self) -> dict[str, str]:
        """The relation string of every metric."""
        return {metric: item.relation for metric, item in self.separability.items()}

    @property
    def _judged(self) -> tuple[Verdict, str]:
        return taxonomy(self.assessment.symbol, self.diversity.symbols["structural"][0])

    @property
    def paragraph(self) -> str:
        """The finding in plain words."""
        mean = self.diversity.mean
        relations = "; ".join(f"{label_of(metric)}: {text}" for metric, text in self.relations.items())
        gamma = float(np.nanmean(self.complementarity.at(1)["o"]))
        return (
            f"On {self.name} the graph structure is {self.assessment.structure} and the node features are "
            f"{self.assessment.features} for the task ({relations}; groups joined by / cannot be told apart). "
            f"Performance separability scores {self.assessment.score:g} of 5 ({self.assessment.symbol}). "
            f"Structural diversity is {mean['structural']:.2f} ({self.diversity.symbols['structural'][0]}), feature "
            f"diversity {mean['features']:.2f} ({self.diversity.symbols['features'][0]}), and mode complementarity "
            f"{gamma:.2f}. That is {self.reason}. {ADVICE[self.verdict]}"
            + (
                " The runs are too few to separate all modes at this level: the verdict is provisional."
                * self.provisional
            )
        )

    @property
    def _legend(self) -> str:
        """What the codes stand for."""
        codes = [code for code in self.complementarity.values if code in PERTURBATIONS]
        return "Modes: " + ", ".join(f"{code} {PERTURBATIONS[code].title}" for code in codes) + "."

    @property
    def provisional(self) -> bool:
        """Whether runs or permutations were too few for the modes to be told apart at all."""
        return not all(item.reachable for item in self.separability.values())

    def to_frame(self) -> pd.DataFrame:
        """Return scores by metric, model and mode.

        Returns
        -------
        DataFrame
            Columns metric, model, mode, mean, std, count.

        Examples
        --------
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from graphnetz.rings import evaluate
        >>> def graph(i):  # class 0 is a path, class 1 a ring of three
        ...     end = 3 * (1 - i % 2)
        ...     return Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2], [1, 2, end]]), y=torch.tensor([i % 2]))
        >>> result = evaluate(
        ...     [graph(i) for i in range(20)], models=["GCN"], modes=["o", "eg", "rf"], backend="serial", verbose=False,
        ...     tuning={"epochs": 1, "search": {}, "runs": 2},  # far too few runs: only to be quick here
        ... )
        >>> result.to_frame()["count"].tolist()
        [2, 2, 2, 2, 2, 2]
        """
        frame = pd.DataFrame([vars(score) for score in self.scores])
        grouped = frame.groupby(["metric", "model", "mode"], sort=False)["value"]
        return grouped.agg(["mean", "std", "count"]).reset_index()

    def to_section(self) -> Section:
        """Return the evaluation as a section of the report's page.

        Returns
        -------
        Section
            Verdict, tables and figures as plain data.

        Examples
        --------
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from graphnetz.rings import evaluate
        >>> def graph(i):  # class 0 is a path, class 1 a ring of three
        ...     end = 3 * (1 - i % 2)
        ...     return Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2], [1, 2, end]]), y=torch.tensor([i % 2]))
        >>> result = evaluate(
        ...     [graph(i) for i in range(20)], models=["GCN"], modes=["o", "eg", "rf"], backend="serial", verbose=False,
        ...     tuning={"epochs": 1, "search": {}, "runs": 2},  # far too few runs: only to be quick here
        ... )
        >>> result.to_section().title
        'Is dataset fit to judge models?'
        """
        correlations = {metric: item.values for metric, item in self.correlation.items()}
        return Section(
            name=f"rings-{self.name}",
            title=f"Is {self.name} fit to judge models?",
            verdict=f"{self.verdict}: {self.reason}",
            paragraphs=(self.paragraph, self._legend, *self.notes),
            tables=evaluation_tables(self),
            figures=evaluation_figures(self),
            level="info" if self.verdict == "keep" else "warning",
            extra={
                "verdict": self.verdict,
                "provisional": self.provisional,
                "relations": self.relations,
                "structure": self.assessment.structure,
                "features": self.assessment.features,
                "score": self.assessment.score,
                "diversity": self.diversity.mean,
                "correlation": {metric: [plain(value) for value in item] for metric, item in correlations.items()},
                "correlation_symbol": overall_symbol(list(self.correlation.values())) if self.correlation else "?",
            },
        )
