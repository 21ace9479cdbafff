"""From cells or histories to one array X[task, model, seed]."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz._core.grouping import grouped
from graphnetz.metrics import label_of, lookup
from graphnetz.records import CellResult, ScoreTable
from graphnetz.records.analysis import Histories
from graphnetz.records.cells import public_error as public_error
from graphnetz.records.task_info import TaskInfo


def model_names(histories: Histories, given: Sequence[str]) -> tuple[str, ...]:
    """Models in their given order, then in order of first appearance."""
    seen = dict.fromkeys(given)
    for models in histories.values():
        seen.update(dict.fromkeys(models))
    return tuple(seen)


def planned_pairs(histories: Histories, results: Sequence[CellResult]) -> set[tuple[str, str]]:
    """(task, model) pairs that were run, whatever came of it."""
    pairs = {(task, model) for task, models in histories.items() for model in models}
    return pairs | {(result.task, result.model) for result in results}


def final_values(
    histories: Histories, results: Sequence[CellResult], seeds: Sequence[int], keys: Mapping[str, str]
) -> dict[str, dict[str, list[float]]]:
    """Value of ``keys[task]`` per (task, model, seed); the selected epoch of a cell, else the last of a history."""
    values: dict[str, dict[str, list[float]]] = {}
    for task, models in histories.items():
        values[task] = {}
        for model, runs in models.items():
            row = [_last(run, keys[task]) for run in runs[: len(seeds)]]
            values[task][model] = row + [math.nan] * (len(seeds) - len(row))
    at = {seed: i for i, seed in enumerate(seeds)}
    for result in results:
        if result.seed in at and result.task in keys:
            row = values.setdefault(result.task, {}).setdefault(result.model, [math.nan] * len(seeds))
            key = keys[result.task]
            # A key that a cell did not select at its epoch is still in its history.
            found = result.metrics.get(key) if result.ok else math.nan
            row[at[result.seed]] = float(found) if found is not None else _last(result.history, key)
    return values


def _last(run: Mapping[str, Sequence[float]], key: str) -> float:
    series = run.get(key)
    return float(series[-1]) if series is not None and len(series) else math.nan


def build_scores(
    values: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    tasks: Mapping[str, TaskInfo],
    models: Sequence[str],
    seeds: Sequence[int],
    reasons: Mapping[tuple[str, str], str],
) -> ScoreTable:
    """Return the score table; a value that is not finite counts as absent."""
    array = np.full((len(tasks), len(models), len(seeds)), np.nan)
    place = {model: i for i, model in enumerate(models)}
    for t, task in enumerate(tasks):
        for model, row in values.get(task, {}).items():
            array[t, place[model]] = row
    array[~np.isfinite(array)] = np.nan
    infos = list(tasks.values())
    return ScoreTable(
        tasks=tuple(tasks),
        models=tuple(models),
        seeds=tuple(seeds),
        values=array,
        greater_is_better=tuple(info.greater_is_better for info in infos),
        metrics=tuple(info.metric for info in infos),
        replication=tuple(info.replication for info in infos),
        test_ratio=tuple(info.test_ratio for info in infos),
        blocks=tuple(info.block or name for name, info in tasks.items()),
        reasons=dict(reasons),
        splits=tuple(info.splits for info in infos),
    )


def absence_reasons(results: Sequence[CellResult], absent: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Why cells have no value: the plan's reason, else what the failed seeds say."""
    reasons = dict(absent)
    failed = (result for result in results if not math.isfinite(result.value))
    for pair, cells in grouped(failed, lambda result: (result.task, result.model)).items():
        first = min(cells, key=lambda cell: cell.seed)
        status = first.status if not first.ok else "undefined metric"
        seeds = f"{len(cells)} seed{'' if len(cells) == 1 else 's'}"
        reasons[pair] = f"{status} on {seeds}: {public_error(first)}" if not first.ok else f"{status} on {seeds}"
    return reasons


def declared_info(metric: str) -> TaskInfo:
    """Return the info of a task of which only the history key is known; the direction must be declared."""
    try:
        declared = lookup(metric)
    except UnknownNameError as error:
        raise UsageError(
            f"The direction of {metric!r} is not declared. Pass tasks={{name: TaskInfo({metric!r}, "
            f"greater_is_better=...)}}, or declare the metric with graphnetz.metrics.metric. ({error})"
        ) from error
    return TaskInfo(metric, greater_is_better=declared.greater_is_better)


def headline_key(histories: Mapping[str, Sequence[Mapping[str, Sequence[float]]]]) -> str:
    """Return the metric of a task that came as bare histories: the last ``test_`` key, else ``val_``."""
    keys = list(dict.fromkeys(key for runs in histories.values() for run in runs for key in run))
    for prefix in ("test_", "val_", ""):
        found = [key for key in keys if key.startswith(prefix)]
        if found:
            return found[-1]
    return ""


def infer_tasks(histories: Histories, given: Mapping[str, TaskInfo]) -> dict[str, TaskInfo]:
    """Return the info of every task: the given one, or what its histories show; labels come from the metric."""
    found = dict(given)
    for task, models in histories.items():
        if task not in found:
            key = headline_key(models)
            found[task] = declared_info(key) if key else TaskInfo("score")
    return {task: info if info.label else replace(info, label=label_of(info.metric)) for task, info in found.items()}


def fill_from_results(tasks: Mapping[str, TaskInfo], results: Sequence[CellResult]) -> dict[str, TaskInfo]:
    """Add test set size and split ratio where only the finished cells know them."""
    sizes: dict[str, tuple[int, int]] = {}
    for result in results:
        if result.ok and result.n_test and result.task not in sizes:
            sizes[result.task] = (result.n_train, result.n_test)
    filled = {}
    for name, info in tasks.items():
        train, test = sizes.get(name, (0, 0))
        ratio = test / train if math.isnan(info.test_ratio) and train else info.test_ratio
        filled[name] = replace(info, n_test=info.n_test or test, test_ratio=ratio)
    return filled
