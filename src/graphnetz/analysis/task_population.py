"""Beside Friedman and Nemenyi: pairwise Wilcoxon over tasks, and the chance of a gain on a task not measured."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from graphnetz._core.errors import UnknownNameError
from graphnetz.metrics import lookup
from graphnetz.records import ScoreTable, Table
from graphnetz.stats import hierarchical, wilcoxon_holm

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

MARGIN = 0.01
MAX_PAIRS = 45
MAX_POSTERIOR = 600
"""Pairs times tasks whose posteriors are computed for a page; more would take longer than the rest of it."""
MIN_TASKS = 3


def wilcoxon_frame(analysis: Analysis) -> pd.DataFrame:
    """Every two models over tasks by Wilcoxon's test with Holm, the alternative to Nemenyi (Benavoli et al. 2016)."""
    ranking = analysis.ranking
    columns = ["model_a", "model_b", "rank_a", "rank_b", "p_raw", "p_holm", "different", "nemenyi", "reason"]
    if len(ranking.models) < 2 or len(ranking.tasks) < 2:
        return pd.DataFrame(columns=columns)
    found = wilcoxon_holm(ranking.values, ranking.greater_is_better, analysis.options.alpha)
    rows = []
    for n, (i, j) in enumerate(found.pairs):
        a, b = float(found.mean_ranks[i]), float(found.mean_ranks[j])
        rows.append(
            (ranking.models[i], ranking.models[j], a, b, float(found.p_raw[n]), float(found.p_adjusted[n]),
             bool(found.rejected[n]), ranking.apart(i, j), found.reason)
        )  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def hierarchical_frame(analysis: Analysis, *, margin: float = MARGIN) -> pd.DataFrame:
    """Probability that one model beats another by more than ``margin`` on a task that was not measured.

    Only tasks whose metric is a share of 1 take part: differences must mean the same everywhere.
    """
    table = analysis.scores
    tasks = [t for t in range(len(table.tasks)) if is_share(table, t)]
    models = [m for m in analysis.ranking.models if m in table.models]
    columns = ["model_a", "model_b", "tasks", "p_a", "p_equal", "p_b", "mean", "new_low", "new_high", "reason"]
    rows = []
    for a, b in combinations(models, 2):
        differences, ratios = [], []
        for t in tasks:
            x, y = table.paired(table.tasks[t], a, b)
            differences.append((x - y) * (1 if table.greater_is_better[t] else -1))
            ratios.append(table.ratio(t))
        if len(tasks) < MIN_TASKS:
            continue
        found = hierarchical(differences, margin=margin, test_ratio=ratios)
        rows.append(
            (a, b, found.n_tasks, found.p_right, found.p_rope, found.p_left, found.mean, found.new_low, found.new_high,
             found.reason)
        )  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def is_share(table: ScoreTable, t: int) -> bool:
    """Whether the metric of task ``t`` is a share of 1, so that its differences compare with those of other tasks."""
    try:
        return lookup(table.metrics[t]).bounds == (0.0, 1.0)
    except UnknownNameError:
        return False


def population_tables(analysis: Analysis) -> list[tuple[str, Table]]:
    """The two tables of the page; none where there are too few tasks or too many pairs."""
    ranking = analysis.ranking
    k = len(ranking.models)
    if k < 2 or k * (k - 1) // 2 > MAX_PAIRS or len(ranking.tasks) < MIN_TASKS:
        return []
    tables = []
    pairs = wilcoxon_frame(analysis)
    if len(pairs):
        rows = tuple(
            (f"{r.model_a} − {r.model_b}", r.rank_a, r.rank_b, r.p_raw, r.p_holm, _yes(r.different), _yes(r.nemenyi))
            for r in pairs.itertuples()
        )
        note = (
            "Wilcoxon signed-rank over tasks with Holm: the verdict on two models does not depend on the others that "
            "were ranked with them, as Nemenyi's does (Benavoli et al. 2016). It takes a large difference on one task "
            "for as much as a large one on another. "
        )
        columns = ("Models", "Rank of first", "of second", "p", "p after Holm", "Different", "Nemenyi: different")
        tables.append(("Every two models over tasks", Table(columns, rows, (note + pairs["reason"].iloc[0]).strip())))
    if len(pairs) * len(ranking.tasks) > MAX_POSTERIOR:
        return tables
    rule = analysis.facts.rule
    margin = (rule.margin if rule else None) or MARGIN
    found = hierarchical_frame(analysis, margin=margin)
    if len(found) and np.isfinite(found["p_a"]).any():
        chances = tuple(
            (f"{r.model_a} − {r.model_b}", r.p_a, r.p_equal, r.p_b, r.mean, r.new_low, r.new_high)
            for r in found.itertuples()
        )
        note = (
            f"Hierarchical model over the {int(found['tasks'].max())} tasks whose metric is a share of 1 (after Corani "
            f"et al. 2017): probability that on a new task of this kind the first model is better by more than "
            f"{margin:g}, that the two are within {margin:g}, and that the second is better; mean difference, and the "
            "interval of a new task. Tasks come from a Student-t population of unknown tails. In simulations "
            "probabilities are within about 5 points of the truth from 12 tasks on; with fewer they lean to one half."
        )
        columns = ("Models", "First better", "Within the margin", "Second better", "Mean", "New task: low", "high")
        tables.append(("A task that was not measured", Table(columns, chances, note)))
    return tables


def _yes(value: object) -> str:
    return "yes" if value else "no"
