"""Models ranked across tasks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from graphnetz._core.grouping import grouped
from graphnetz.records import ScoreTable
from graphnetz.records.analysis import Ranking
from graphnetz.stats import FriedmanResult, friedman, nemenyi, rank_rows, rank_stability

TEST_NAMES = {"permutation": "Friedman (permutation)", "f": "Iman-Davenport", "none": "Friedman"}


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
    order = tuple(int(i) for i in np.argsort(omnibus.mean_ranks, kind="stable")) if tasks else ()
    # Nemenyi's difference is read only after a rejection: without one all models form one group.
    cliques: tuple[tuple[int, ...], ...] = (tuple(range(len(order))),)
    if omnibus.rejected and posthoc:
        cliques = tuple(tuple(order.index(i) for i in clique) for clique in posthoc.cliques)
    cd = posthoc.cd if posthoc else math.nan
    return Ranking(
        tasks=tasks,
        models=models,
        values=values,
        greater_is_better=better,
        ranks=ranks,
        mean_ranks=omnibus.mean_ranks,
        order=order,
        p=omnibus.p,
        rejected=omnibus.rejected,
        alpha=omnibus.alpha,
        decided_by=omnibus.decided_by,
        test=TEST_NAMES[omnibus.decided_by],
        reason=omnibus.reason,
        cd=cd,
        cliques=cliques,
        forms=_forms(omnibus, cd),
        excluded={
            model: tuple(t for t, there in zip(tasks, np.isfinite(means[:, i]), strict=True) if not there)
            for i, model in enumerate(table.models)
            if not complete[i]
        },
        dropped_tasks=tuple(t for t, yes in zip(table.tasks, alive, strict=True) if not yes),
        dependent=_dependent(table, tasks),
    )


def _dependent(table: ScoreTable, tasks: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    block = dict(zip(table.tasks, table.blocks, strict=True))
    groups = grouped((task for task in table.tasks if task in tasks), block.__getitem__)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)


def _forms(test: FriedmanResult, cd: float) -> dict[str, Any]:
    """The documented keys (chi2, p_value, rejected, k, N), then the other forms of the test."""
    names = ("alpha", "p", "decided_by", "p_chi2", "chi2_ties", "p_ties", "f", "p_f", "p_permutation")
    first = {
        "chi2": test.chi2,
        "p_value": test.p_chi2,
        "rejected": test.rejected,
        "k": test.k,
        "N": test.n,
        "n": test.n,
    }
    return first | {name: getattr(test, name) for name in names} | {"cd": cd, "reason": test.reason}


def stability_frame(found: Ranking, *, n_resamples: int, seed: int) -> pd.DataFrame:
    """Mean ranks, their intervals and shares of being best when tasks are resampled, best model first."""
    moved = rank_stability(found.values, found.greater_is_better, n_resamples=n_resamples, seed=seed)
    columns = {
        "mean_rank": found.mean_ranks,
        "rank_low": moved.mean_rank_low,
        "rank_high": moved.mean_rank_high,
        "p_best": moved.p_best,
    }
    return pd.DataFrame(columns, index=pd.Index(found.models, name="model", dtype=object)).iloc[list(found.order)]
