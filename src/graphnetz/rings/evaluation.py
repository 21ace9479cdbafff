"""The outcome of a dataset evaluation: numbers, verdict, a paragraph in plain words, a Section for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from graphnetz.metrics import label_of
from graphnetz.records import Figure, Section
from graphnetz.rings.agreement import AgreementResult, CorrelationResult, overall_symbol
from graphnetz.rings.complementarity import ComplementarityProfile
from graphnetz.rings.decisions import Decision, Part, Rule
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
    "undecided": "Undecided: neither keep nor drop it on these runs.",
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
        By metric and mode: the model that counts, chosen on validation.
    scores
        One test score per metric, model, mode and run.
    decisions, rule
        By metric: what the direct tests show about structure and features, and the level, margin and looks they were
        made with.
    agreement
        Overlap of correctly classified examples; None without predictions.
    notes
        What the reader should know about this evaluation.
    statistics, grid
        Descriptions of the original graphs.
    parts
        Graphs of the first run's split, by train, val and test.
    width
        Columns of the node features; 0 when not known.
    untrained
        By metric, the mean on the original data of the best model before it has learned anything.

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
    >>> result.verdict, sorted(result.relations)
    ('undecided', ['acc', 'auc'])
    """

    name: str
    separability: Mapping[str, SeparabilityResult]
    assessment: Assessment
    diversity: DiversityResult
    complementarity: ComplementarityProfile = field(repr=False)
    best: Mapping[str, Mapping[str, str]] = field(repr=False)
    scores: tuple[ModeScore, ...] = field(repr=False)
    correlation: Mapping[str, CorrelationResult] = field(repr=False)
    decisions: Mapping[str, Mapping[Part, Decision]] = field(default_factory=dict, repr=False)
    rule: Rule = field(default_factory=Rule, repr=False)
    agreement: AgreementResult | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    statistics: DatasetStatistics | None = field(default=None, repr=False)
    grid: Figure | None = field(default=None, repr=False)
    parts: Mapping[str, Sequence[int]] = field(default_factory=dict, repr=False)
    width: int = 0
    untrained: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def verdict(self) -> Verdict:
        """``keep``, ``realign``, ``deprecate`` or ``undecided``."""
        return self._judged[0]

    @property
    def reason(self) -> str:
        """The findings behind the verdict."""
        return self._judged[1]

    @property
    def relations(self) -> dict[str, str]:
        """The relation string of every metric: a description of all pairs, by which nothing is decided."""
        return {metric: item.relation for metric, item in self.separability.items()}

    @property
    def _judged(self) -> tuple[Verdict, str]:
        return taxonomy(self.assessment.high, self.diversity.symbols["structural"][0])

    @property
    def decided(self) -> bool:
        """Whether structure and features are both decided."""
        return "undecided" not in (self.assessment.structure, self.assessment.features)

    @property
    def provisional(self) -> bool:
        """Whether something is undecided that more runs can decide."""
        return not self.decided

    @property
    def needed(self) -> int | None:
        """Runs per mode (folds or splits, where runs share them) that would decide what is undecided.

        None when all is decided or no number can be stated. With a chance of 0.8 for each open question, if the
        differences are what they seem to be.
        """
        asked = [found.needed for found in self._open() if found.against]
        known = [number for number in asked if number is not None]
        return max(known) if known and len(known) == len(asked) else None

    def _open(self) -> list[Decision]:
        """Decisions of single metrics that keep structure or features undecided."""
        parts: list[Part] = [
            part for part in ("structure", "features") if getattr(self.assessment, part) == "undecided"
        ]
        return [
            found[part] for part in parts for found in self.decisions.values() if found[part].outcome == "undecided"
        ]

    @property
    def standing(self) -> str:
        """Both findings and, where something is open, the runs that would decide it, in one clause."""
        text = f"structure {self.assessment.structure}, features {self.assessment.features}"
        if self.decided:
            return text
        return text + (f"; about {self._asked} would decide" if self.needed else "; no number of runs is known")

    @property
    def _asked(self) -> str:
        """The number that would decide, with what is counted."""
        clustered = any(found.blocks for found in self._open())
        return f"{self.needed} {'folds or splits' if clustered else 'runs per mode'}"

    @property
    def paragraph(self) -> str:
        """The finding in plain words."""
        mean, found = self.diversity.mean, self.assessment
        gamma = float(np.nanmean(self.complementarity.at(1)["o"]))
        low, high = found.scores
        score = f"scores {low:g} of 5 ({found.symbol})" if low == high else f"can still score {low:g} to {high:g} of 5"
        more = f" About {self._asked} would decide the rest." if not self.decided and self.needed else ""
        models = ", ".join(dict.fromkeys(item.model for item in self.scores))
        return (
            f"On {self.name}, trained with {models}, the graph structure is {found.structure} and the node features "
            f"are {found.features} for the task. Performance separability {score}. "
            f"Structural diversity is {mean['structural']:.2f} ({self.diversity.symbols['structural'][0]}), feature "
            f"diversity {mean['features']:.2f} ({self.diversity.symbols['features'][0]}), and mode complementarity "
            f"{gamma:.2f}. That is {self.reason}. {ADVICE[self.verdict]}{more}"
        )

    @property
    def evidence(self) -> tuple[str, ...]:
        """One sentence per metric and part, with the differences behind it, and how they were tested."""
        sentences = tuple(found[part].sentence for found in self.decisions.values() for part in found)
        margins = dict.fromkeys(f"{found.margin:g}" for item in self.decisions.values() for found in item.values())
        looks = f", read after {', '.join(map(str, self.rule.looks))} runs" if self.rule.looks else ""
        rule = (
            "Differences are paired by run: original minus perturbation, positive where the original is better. A "
            f"claim is false with a chance of at most {self.rule.alpha:g}; an advantage below {' or '.join(margins)} "
            f"does not count{looks}."
        )
        return (*sentences, rule)

    @property
    def _described(self) -> str:
        relations = "; ".join(f"{label_of(metric)}: {text}" for metric, text in self.relations.items())
        unordered = "modes joined by / are not ordered"
        return f"All pairs of modes, a description by which nothing is decided: {relations} ({unordered})."

    @property
    def _legend(self) -> str:
        """What the codes stand for."""
        codes = [code for code in self.complementarity.values if code in PERTURBATIONS]
        return "Modes: " + ", ".join(f"{code} {PERTURBATIONS[code].title}" for code in codes) + "."

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
        return Section(
            name=f"rings-{self.name}",
            title=f"Is {self.name} fit to judge models?",
            verdict=f"{self.verdict}: {self.reason}",
            paragraphs=(self.paragraph, *self.evidence, self._described, self._legend, *self.notes),
            tables=evaluation_tables(self),
            figures=evaluation_figures(self),
            level="info" if self.verdict == "keep" else "warning",
            extra=self.facts,
        )

    @property
    def facts(self) -> dict[str, Any]:
        """The findings as plain values, for programs and for tables of many datasets."""
        correlations = {metric: item.values for metric, item in self.correlation.items()}
        return {
            "dataset": self.name,
            "verdict": self.verdict,
            "reason": self.reason,
            "provisional": self.provisional,
            "relations": self.relations,
            "structure": self.assessment.structure,
            "features": self.assessment.features,
            "score": plain(self.assessment.score),
            "scores": list(self.assessment.scores),
            "symbol": self.assessment.symbol,
            "needed": self.needed,
            "width": self.width,
            "runs": max(item.runs["o"] for item in self.separability.values()),
            "alpha": self.rule.alpha,
            "splits": self.rule.splits,
            "looks": list(self.rule.looks),
            "decisions": [
                {
                    "metric": metric, "part": part, "outcome": found.outcome, "margin": found.margin,
                    "needed": found.needed,
                    "against": [
                        {key: plain(value) if isinstance(value, float) else value for key, value in vars(item).items()}
                        for item in found.against
                    ],
                }
                for metric, both in self.decisions.items()
                for part, found in both.items()
            ],
            "diversity": {key: plain(value) for key, value in self.diversity.mean.items()},
            "diversity_symbols": {key: value[0] for key, value in self.diversity.symbols.items()},
            "complementarity": plain(float(np.nanmean(self.complementarity.at(1)["o"]))),
            "means": {
                metric: {mode: plain(value) for mode, value in item.means.items()}
                for metric, item in self.separability.items()
            },
            "untrained": {metric: plain(value) for metric, value in self.untrained.items()},
            "best": {metric: dict(item) for metric, item in self.best.items()},
            "correlation": {metric: [plain(value) for value in item] for metric, item in correlations.items()},
            "correlation_symbol": overall_symbol(list(self.correlation.values())) if self.correlation else "?",
        }  # fmt: skip
