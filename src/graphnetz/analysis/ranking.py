"""Models ranked across tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz.records import ScoreTable
from graphnetz.report.views import RankView
from graphnetz.stats import FriedmanResult, NemenyiResult, friedman, nemenyi, rank_rows

TEST_NAMES = {"permutation": "Friedman (permutation)", "f": "Iman-Davenport", "none": "Friedman"}


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranks of the models that are present on every task.

    ``dropped_tasks`` have no value at all; ``excluded`` maps each unranked model to the tasks it
    misses; ``dependent`` lists tasks that stand on the same graph.
    """

    tasks: tuple[str, ...]
    models: tuple[str, ...]
    values: npt.NDArray[np.float64]
    greater_is_better: tuple[bool, ...]
    ranks: npt.NDArray[np.float64]
    omnibus: FriedmanResult
    posthoc: NemenyiResult | None
    excluded: dict[str, tuple[str, ...]]
    dropped_tasks: tuple[str, ...]
    dependent: tuple[tuple[str, ...], ...]

    @property
    def order(self) -> list[int]:
        """Positions of the models from best to worst mean rank."""
        return [int(i) for i in np.argsort(self.omnibus.mean_ranks, kind="stable")] if self.tasks else []


def rank_models(table: ScoreTable, *, alpha: float = 0.05) -> Ranking:
    """Rank seed means per task in each task's direction, then test the mean ranks."""
    means = table.means()
    alive: npt.NDArray[np.bool_] = np.asarray(np.isfinite(means).any(axis=1))
    means = means[alive]
    tasks = tuple(t for t, yes in zip(table.tasks, alive, strict=True) if yes)
    better = tuple(g for g, yes in zip(table.greater_is_better, alive, strict=True) if yes)
    complete: npt.NDArray[np.bool_] = np.asarray(np.isfinite(means).all(axis=0)) & bool(len(tasks))
    models = tuple(m for m, yes in zip(table.models, complete, strict=True) if yes)
    values = means[:, complete]
    ranks = rank_rows(values, better) if values.size else np.empty((len(tasks), len(models)))
    omnibus = friedman(ranks, alpha=alpha)
    posthoc = nemenyi(omnibus.mean_ranks, len(tasks), alpha=alpha) if len(models) > 1 and len(tasks) > 1 else None
    return Ranking(
        tasks=tasks,
        models=models,
        values=values,
        greater_is_better=better,
        ranks=ranks,
        omnibus=omnibus,
        posthoc=posthoc,
        excluded={
            model: tuple(t for t, there in zip(tasks, np.isfinite(means[:, i]), strict=True) if not there)
            for i, model in enumerate(table.models)
            if not complete[i]
        },
        dropped_tasks=tuple(t for t, yes in zip(table.tasks, alive, strict=True) if not yes),
        dependent=_dependent(table, tasks),
    )


def _dependent(table: ScoreTable, tasks: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    groups: dict[str, list[str]] = {}
    for task, block in zip(table.tasks, table.blocks, strict=True):
        if task in tasks:
            groups.setdefault(block, []).append(task)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)


def friedman_dict(ranking: Ranking) -> dict[str, Any]:
    """The documented keys (chi2, p_value, rejected, k, N), then the other forms of the test."""
    test = ranking.omnibus
    return {
        "chi2": test.chi2,
        "p_value": test.p_chi2,
        "rejected": test.rejected,
        "k": test.k,
        "N": test.n,
        "n": test.n,
        "alpha": test.alpha,
        "p": test.p,
        "decided_by": test.decided_by,
        "p_chi2": test.p_chi2,
        "chi2_ties": test.chi2_ties,
        "p_ties": test.p_ties,
        "f": test.f,
        "p_f": test.p_f,
        "p_permutation": test.p_permutation,
        "cd": ranking.posthoc.cd if ranking.posthoc else math.nan,
        "reason": test.reason,
    }


def rank_view(ranking: Ranking) -> RankView:
    """What the critical-difference diagram draws: one clique unless the omnibus rejects."""
    order, test = ranking.order, ranking.omnibus
    place = {model: i for i, model in enumerate(order)}
    cliques: tuple[tuple[int, ...], ...] = (tuple(range(len(order))),)
    if test.rejected and ranking.posthoc:
        cliques = tuple(tuple(place[i] for i in clique) for clique in ranking.posthoc.cliques)
    return RankView(
        models=tuple(ranking.models[i] for i in order),
        mean_ranks=tuple(float(test.mean_ranks[i]) for i in order),
        n_tasks=test.n,
        cd=ranking.posthoc.cd if ranking.posthoc else math.nan,
        cliques=cliques,
        rejected=test.rejected,
        p=test.p,
        alpha=test.alpha,
        test=TEST_NAMES[test.decided_by],
        reason=test.reason,
    )
