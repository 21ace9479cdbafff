"""From finished cells to an evaluation: choose models on validation, decide, describe."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz.metrics import METRICS
from graphnetz.records import CellResult, Task
from graphnetz.rings.agreement import AgreementResult, agreement, correct_examples, correlate
from graphnetz.rings.complementarity import ComplementarityProfile, RingsWarning
from graphnetz.rings.decisions import Decision, Part, Rule
from graphnetz.rings.diversity import DiversityResult, to_diversity
from graphnetz.rings.evaluation import DatasetEvaluation
from graphnetz.rings.separability import SeparabilityResult
from graphnetz.rings.study import (
    MODES,
    ModeScore,
    assess_decisions,
    best_models,
    compare_runs,
    decide_runs,
    runs_of,
)

RELATION_ALPHA = 0.01
"""Level of the relation between modes, as in the paper."""


def judge(
    name: str,
    results: Sequence[CellResult],
    *,
    complementarity: ComplementarityProfile,
    metrics: Sequence[str],
    modes: Sequence[str] = MODES,
    statistic: str = "ks",
    alpha: float = RELATION_ALPHA,
    within_runs: bool = False,
    rule: Rule | None = None,
    notes: tuple[str, ...] = (),
) -> DatasetEvaluation:
    """Turn finished cells (tasks named ``name@mode``) and a complementarity profile into an evaluation.

    ``rule`` decides about structure and features; ``statistic`` and ``alpha`` describe the relation between modes.
    """
    rule = rule or Rule()
    scores = mode_scores(results, metrics)
    separable: dict[str, SeparabilityResult] = {}
    decisions: dict[str, Mapping[Part, Decision]] = {}
    best: dict[str, dict[str, str]] = {}
    blocks = {score.run: cast("int", score.run) % rule.splits for score in scores} if rule.splits else None
    # In rounds the models are chosen once, on the first: a choice that changed later would change what is compared.
    first = [s for s in scores if not rule.looks or cast("int", s.run) < rule.looks[0]]
    for metric in metrics:
        better = METRICS[metric].greater_is_better
        best[metric] = best_models(first, metric, greater_is_better=better)
        if "o" not in best[metric]:
            raise UsageError(
                f"No run on the original data finished with a {metric!r}. Look at the failures of the run."
            )
        runs = {mode: runs_of(scores, metric, mode, best[metric][mode]) for mode in modes if mode in best[metric]}
        decisions[metric] = decide_runs(runs, metric, rule=rule, greater_is_better=better)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RingsWarning)  # the notes are part of the evaluation
            separable[metric] = compare_runs(
                runs, within_runs=within_runs, blocks=blocks, statistic=statistic, alpha=alpha, greater_is_better=better
            )
    values = complementarity.at(1)
    means = {code: complementarity.mean(code).tolist() for code in complementarity.values if code in modes}
    performance = {
        metric: {
            mode: float(np.mean(list(runs_of(scores, metric, mode, model).values()))) for mode, model in item.items()
        }
        for metric, item in best.items()
    }
    failed = sum(not result.ok for result in results)
    if failed:
        notes = (*notes, f"{failed} of {len(results)} runs failed and were left out.")
    return DatasetEvaluation(
        name=name,
        separability=separable,
        assessment=assess_decisions(decisions),
        diversity=DiversityResult(to_diversity(values["ef"]), to_diversity(values["eg"])),
        complementarity=complementarity,
        best=best,
        scores=tuple(scores),
        correlation={metric: correlate(means, item) for metric, item in performance.items()},
        decisions=decisions,
        rule=rule,
        agreement=_agreement(results),
        notes=(*notes, *dict.fromkeys(note for item in separable.values() for note in item.notes)),
    )


def metrics_of(task: Task) -> tuple[str, ...]:
    """Metrics to judge by: accuracy and AUROC for classification, else the task type's headline."""
    from graphnetz.tasktypes import known_task_type

    declared = tuple(known_task_type(task.task_type).metrics)
    both = tuple(key for key in ("acc", "auc") if key in declared)
    return both or (task.metric or declared[0],)


def mode_scores(results: Sequence[CellResult], metrics: Sequence[str]) -> list[ModeScore]:
    """Read one score per (mode, model, metric, run) off finished cells; failed ones are left out."""
    out = []
    for result in results:
        mode = result.task.rpartition("@")[2]
        for metric in metrics:
            value = float(result.metrics.get(f"test_{metric}", math.nan)) if result.ok else math.nan
            if math.isfinite(value):
                chosen_by = float(result.metrics.get(f"val_{metric}", math.nan))
                out.append(ModeScore(mode, result.model, metric, result.seed, value, chosen_by))
    return out


def _agreement(results: Sequence[CellResult]) -> AgreementResult | None:
    """Compare the sets of correctly classified test examples; runs of one seed share their test set."""
    correct: dict[str, dict[object, frozenset[int]]] = {}
    for result in results:
        if result.ok and result.predictions is not None:
            name = f"{result.task.rpartition('@')[2]}/{result.model}"
            correct.setdefault(name, {})[result.seed] = correct_examples(result.predictions)
    return agreement(correct) if correct else None
