"""Models ranked across tasks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from graphnetz._core.grouping import grouped
from graphnetz.records import ScoreTable, Table
from graphnetz.records.analysis import Ranking
from graphnetz.records.views import RankSetView
from graphnetz.stats import FriedmanResult, friedman, nemenyi, rank_rows, rank_sets, rank_stability

TEST_NAMES = {"permutation": "Friedman (permutation)", "f": "Iman-Davenport", "none": "Friedman"}


def rank_models(table: ScoreTable, *, alpha: float = 0.05) -> Ranking:
    """Rank means over shared seeds per task in each task's direction, then test the mean ranks."""
    means = table.common_means()
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
        sets=place_sets(table, means, alive, alpha=alpha),
    )


def place_sets(
    table: ScoreTable, means: npt.NDArray[np.float64], alive: npt.NDArray[np.bool_], *, alpha: float
) -> RankSetView:
    """Places of all models across tasks; a task that a model omits is ranked worst, tasks of one graph count once."""
    there = np.isfinite(means)
    kept = np.flatnonzero(there.any(axis=0))
    if kept.size < 2:
        return RankSetView(reason="places need at least 2 models")
    better = np.asarray(table.greater_is_better)[alive]
    ranks = worst_ranks(means[:, kept], better)
    found = rank_sets(-ranks, alpha=alpha, blocks=[b for b, yes in zip(table.blocks, alive, strict=True) if yes])
    order = np.lexsort((kept, -found.means))
    place = {int(model): n for n, model in enumerate(order)}
    return RankSetView(
        models=tuple(table.models[kept[i]] for i in order),
        mean_ranks=tuple((-found.means[order]).tolist()),
        low=tuple(found.low[order].tolist()),
        high=tuple(found.high[order].tolist()),
        missing=tuple((~there[:, kept]).sum(axis=0)[order].tolist()),
        better=frozenset((place[int(i)], place[int(j)]) for i, j in np.argwhere(found.better)),
        n_tasks=len(ranks),
        n_blocks=found.n,
        level=1 - alpha,
        reason=found.reason,
    )


def worst_ranks(means: npt.NDArray[np.float64], greater_is_better: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Rank the models of every task; those that are absent share the places behind all others."""
    better = np.asarray(greater_is_better, dtype=np.bool_)
    ranks = np.empty(means.shape)
    for row, values, up in zip(ranks, means, better, strict=True):
        there = np.isfinite(values)
        row[~there] = (there.sum() + 1 + values.size) / 2
        if there.any():
            row[there] = rank_rows(values[None, there], [bool(up)])[0]
    return ranks


def place_table(sets: RankSetView) -> Table:
    """Places of all models across tasks, sorted by mean rank with omitted tasks as worst."""
    rows = tuple(
        (model, sets.mean_ranks[i], f"{sets.text(i)} of {len(sets.models)}", sets.missing[i])
        for i, model in enumerate(sets.models)
    )
    note = f"{sets.words}." + (f" {sets.reason[0].upper()}{sets.reason[1:]}." if sets.reason else "")
    return Table(("Model", "Mean rank", "Place", "Tasks omitted"), rows, note)


def _dependent(table: ScoreTable, tasks: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    block = dict(zip(table.tasks, table.blocks, strict=True))
    groups = grouped((task for task in table.tasks if task in tasks), block.__getitem__)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)


def _forms(test: FriedmanResult, cd: float) -> dict[str, Any]:
    """The documented keys (chi2, p_value, rejected, k, N), then the other forms; ``p_chi2`` belongs to ``chi2``."""
    names = ("alpha", "p", "decided_by", "p_chi2", "chi2_ties", "p_ties", "f", "p_f", "p_permutation")
    first = {
        "chi2": test.chi2,
        "p_value": test.p,  # the one that decides, so that it never contradicts ``rejected``
        "rejected": test.rejected,
        "k": test.k,
        "N": test.n,
        "n": test.n,
    }
    return first | {name: getattr(test, name) for name in names} | {"cd": cd, "reason": test.reason}


def stability_frame(found: Ranking, *, n_resamples: int, seed: int) -> pd.DataFrame:
    """Mean ranks, their intervals and shares of being first when tasks are resampled, best model first."""
    moved = rank_stability(found.values, found.greater_is_better, n_resamples=n_resamples, seed=seed)
    columns = {
        "mean_rank": found.mean_ranks,
        "rank_low": moved.mean_rank_low,
        "rank_high": moved.mean_rank_high,
        "p_best": moved.p_best,
    }
    return pd.DataFrame(columns, index=pd.Index(found.models, name="model", dtype=object)).iloc[list(found.order)]
