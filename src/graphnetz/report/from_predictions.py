"""Predictions made elsewhere: one row per task, model, seed and test example in, the full report out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from graphnetz._core.errors import DataError, UnknownNameError
from graphnetz._core.readers import from_others
from graphnetz.metrics import lookup
from graphnetz.records import CellResult, Predictions
from graphnetz.records.task_info import TaskInfo
from graphnetz.report.from_scores import _single as single
from graphnetz.report.from_scores import names, refuse_twice, seeds, told

REQUIRED = ("task", "model", "seed", "example", "target")
_SCORE = re.compile(r"score(_\d+)?")
_GIVE = "Give task, model, seed, example, target, and prediction, score or score_0, score_1, ..."
MOST_CLASSES = 10_000
_OF_VALUES = frozenset({"mae", "rmse", "mse", "log_mse", "r2"})
Array = npt.NDArray[Any]


def is_predictions(frame: pd.DataFrame) -> bool:
    """Whether a table holds predictions rather than scores: it has a column for examples and one for targets.

    Examples
    --------
    >>> is_predictions(pd.DataFrame(columns=["task", "model", "seed", "example", "target", "prediction"]))
    True
    """
    return {"example", "target"} <= set(frame.columns)


def parse_predictions(frame: Any, replication: str | Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the arguments of ``BenchmarkReport.from_results`` from a long table of predictions.

    Parameters
    ----------
    frame
        Columns task, model, seed, example, target, and ``prediction`` (a class or a value), ``score`` or ``score_0``,
        ``score_1``, ...; optionally metric, replication, and split (which test split a seed used).
    replication
        What a seed varies, for all tasks or by task, where no column says so.

    Returns
    -------
    dict
        Results with their predictions, tasks, models and seeds.

    Examples
    --------
    >>> rows = {"task": "cora", "model": "GCN", "seed": 0, "example": [7, 9], "target": [0, 1], "prediction": [0, 0]}
    >>> parse_predictions(pd.DataFrame(rows))["results"][0].metrics
    {'test_acc': 0.5}
    """
    data = frame.to_pandas() if hasattr(frame, "to_pandas") else pd.DataFrame(frame)
    refuse_twice(data)
    scores = sorted((name for name in data.columns if _SCORE.fullmatch(str(name))), key=lambda name: (len(name), name))
    missing = [name for name in REQUIRED if name not in data.columns]
    if not missing and not scores and "prediction" not in data.columns:
        missing = ["prediction"]
    if missing:
        raise DataError(f"The predictions lack the column{'s'[: len(missing) > 1]} {', '.join(missing)}. {_GIVE}")
    if data.empty:
        raise DataError("The predictions have no row. Give one row per task, model, seed and example.")
    used = [*REQUIRED, *(scores or ["prediction"])]
    for name in used:
        if data[name].isna().any():
            row = data[data[name].isna()].iloc[0]
            where = f"task {row['task']!r}, model {row['model']!r}, seed {row['seed']}, example {row['example']}"
            raise DataError(f"The predictions have no {name} for {where}. Leave failed cells out altogether.")
    data = data.assign(task=names(data, "task"), model=names(data, "model"), seed=seeds(data))
    data = told(data, replication)
    twice = data[data.duplicated(["task", "model", "seed", "example"])]
    if not twice.empty:
        row = twice.iloc[0]
        where = f"task {row['task']!r}, model {row['model']!r}, seed {row['seed']}"
        raise DataError(f"The predictions hold example {row['example']} of {where} twice. Give one row per example.")
    results: list[CellResult] = []
    tasks = {}
    for name, group in data.groupby("task", sort=False):
        tasks[str(name)] = _add_task(str(name), group, scores, results)
    return {
        "results": results,
        "tasks": tasks,
        "models": tuple(dict.fromkeys(data["model"])),
        "seeds": tuple(sorted({int(seed) for seed in data["seed"]})),
    }


def _add_task(task: str, group: pd.DataFrame, scores: list[str], results: list[CellResult]) -> TaskInfo:
    """Measure every cell of one task."""
    target, given, classes = _values(task, group, scores)
    key = _metric(task, group, classes=classes, columns=given.shape[1])
    if key.key in _OF_VALUES:  # whole numbers that are measured by their distance are no classes
        target, given, classes = target.astype(float), given.astype(float), False
    most = int(max(target.max(), given.max())) if classes and not scores else 0
    if most > MOST_CLASSES:
        raise DataError(
            f"Task {task!r} holds the class {most}; at most {MOST_CLASSES:,} are read. Number classes from 0, or give "
            "a metric such as mae where these are values."
        )
    if not classes and key.key in ("acc", "balanced_acc", "macro_f1", "micro_f1", "f1"):
        raise DataError(f"Task {task!r} is measured by {key.key}, and its targets are not classes. Give class numbers.")
    examples = _numbers(group["example"])
    info = TaskInfo(
        f"test_{key.key}", greater_is_better=key.greater_is_better,
        replication=str(single(task, group, "replication", "unknown")), splits=_splits(task, group),
    )  # fmt: skip
    place = np.arange(len(group))
    seen: dict[int, tuple[str, Array, Array]] = {}
    for (model, number), cell in group.assign(_place=place).groupby(["model", "seed"], sort=False):
        seed = int(str(number))
        rows = cell["_place"].to_numpy()
        rows = rows[np.argsort(examples[rows], kind="stable")]
        other, ids, truth = seen.setdefault(seed, (str(model), examples[rows], target[rows]))
        if not np.array_equal(ids, examples[rows]) or not np.array_equal(truth, target[rows]):
            raise DataError(
                f"On task {task!r}, seed {seed}, the models {other!r} and {str(model)!r} have different examples or "
                "targets. Give every model of a seed the same test examples."
            )
        kept = Predictions(ids, truth, _lean(given[rows], classes=classes and not scores), total=len(rows))
        results.append(_result(task, str(model), seed, info, kept, key))
    return info


def _result(task: str, model: str, seed: int, info: TaskInfo, kept: Predictions, key: Any) -> CellResult:
    score = kept.score
    if score.dtype.kind == "u":
        score = np.eye(int(max(score.max(), kept.target.max(), 1)) + 1)[score]
    with from_others(f"Task {task!r}, model {model!r}, seed {seed}", f"Give predictions that {key.key} can measure."):
        value = float(key.compute(kept.target, score))
    finite = math.isfinite(value)
    return CellResult(
        "", task, model, seed, status="ok" if finite else "failed", metric=info.metric,
        greater_is_better=info.greater_is_better, metrics={info.metric: value} if finite else {},
        error="" if finite else f"{key.label} is not defined for these predictions", replication=info.replication,
        n_test=len(kept.example), predictions=kept if finite else None,
    )  # fmt: skip


def _values(task: str, group: pd.DataFrame, scores: list[str]) -> tuple[Array, Array, bool]:
    """Targets, what was predicted, and whether targets are classes; names of classes become numbers."""
    target = group["target"]
    if scores:
        columns = [name for name in scores if name != "score"] or scores
        truth = _floats(task, group, "target")
        whole = bool((truth == np.round(truth)).all() and (truth >= 0).all())
        if len(columns) > 1 and (not whole or truth.max() >= len(columns)):
            last = len(columns) - 1
            raise DataError(f"Task {task!r} has scores of {last + 1} classes. Give targets from 0 to {last}.")
        given = np.column_stack([_floats(task, group, name) for name in columns])
        return (truth.astype(np.int64) if whole else truth), given, whole
    numeric = [pd.to_numeric(group[name], errors="coerce") for name in ("target", "prediction")]
    if any(column.isna().any() for column in numeric):
        known = sorted({*map(str, target), *map(str, group["prediction"])})
        number = {name: place for place, name in enumerate(known)}
        found = [group[name].map(str).map(number).to_numpy() for name in ("target", "prediction")]
        return found[0], found[1].reshape(-1, 1), True
    truth, guess = (column.to_numpy(dtype=float) for column in numeric)
    if not (np.isfinite(truth).all() and np.isfinite(guess).all()):
        raise DataError(f"Task {task!r} has infinite targets or predictions. Leave failed cells out altogether.")
    whole = all(bool((part == np.round(part)).all() and (part >= 0).all()) for part in (truth, guess))
    return (truth.astype(np.int64) if whole else truth), guess.reshape(-1, 1), whole


def _metric(task: str, group: pd.DataFrame, *, classes: bool, columns: int) -> Any:
    """The metric that was asked for, or the usual one of such predictions."""
    ranked = "prediction" not in group.columns and columns == 1
    usual = ("auc" if ranked else "acc") if classes else "mae"
    name = str(single(task, group, "metric", usual))
    try:
        return lookup(name)
    except UnknownNameError as error:
        raise DataError(f"Task {task!r}: {error}") from error


def _splits(task: str, group: pd.DataFrame) -> int:
    """How many fixed splits the seeds share, where a column says so."""
    if "split" not in group.columns:
        return 0
    pairs = group[["seed", "split"]].drop_duplicates()
    if pairs["seed"].duplicated().any():
        seed = pairs["seed"][pairs["seed"].duplicated()].iloc[0]
        raise DataError(f"Task {task!r} has several splits for seed {seed}. Give one split per seed.")
    count = pairs["split"].nunique()
    return int(count) if count < len(pairs) else 0


def _lean(given: Array, *, classes: bool) -> Array:
    if classes:
        return given.reshape(-1).astype(np.min_scalar_type(int(given.max(initial=0))))
    return given.reshape(-1) if given.shape[1] == 1 else given


def _numbers(column: pd.Series) -> Array:
    """Ids of examples: numbers as they are, anything else in the order of its text."""
    values = pd.to_numeric(column, errors="coerce")
    if values.notna().all() and (values % 1 == 0).all():
        return values.to_numpy(dtype=np.int64)
    return np.unique(column.map(str).to_numpy(dtype=str), return_inverse=True)[1].astype(np.int64)


def _floats(task: str, group: pd.DataFrame, name: str) -> Array:
    values = pd.to_numeric(group[name], errors="coerce").to_numpy(dtype=float)
    if not np.isfinite(values).all():
        wrong = group[name][~np.isfinite(values)].iloc[0]
        raise DataError(f"Task {task!r} has {wrong!r} as {name}. Give numbers, and leave failed cells out altogether.")
    return values
