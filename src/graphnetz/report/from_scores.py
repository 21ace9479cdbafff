"""Scores trained elsewhere: one table in, the full report out."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from graphnetz._core.errors import DataError, UnknownNameError, unknown_name
from graphnetz._core.readers import place
from graphnetz._core.text import shorten
from graphnetz.metrics import lookup
from graphnetz.records import CellResult
from graphnetz.records.config import LARGEST_SEED, MOST_SEEDS
from graphnetz.records.task_info import TaskInfo
from graphnetz.report.checks import check_score

REQUIRED = ("task", "model", "seed", "score")
_OPTIONAL: dict[str, str | int | float] = {
    "replication": "unknown", "test_ratio": math.nan, "block": "", "category": "", "task_type": "",
    "n_test": 0, "splits": 0,
}  # fmt: skip
FACTS = ("metric", "greater_is_better", *_OPTIONAL)
"""Columns that say something of a task, besides its scores."""
_TRUE = {"true", "1", "yes", "up", "higher"}
_FALSE = {"false", "0", "no", "down", "lower"}
_NOTHING: dict[str, Any] = {}
"""One for all cells: there may be a hundred thousand, and none has a history or reads."""


MOST_FOLDS = 10
"""Seeds that may each be a fold without saying so; more are rather several seeds on each of a few folds."""


def parse_scores(frame: Any, replication: str | Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the arguments of ``BenchmarkReport.from_results`` from a long table of scores.

    Columns task, model, seed, score; metric (a history key, ``score`` when absent) and
    greater_is_better, which may be left out for declared metrics; optionally replication,
    test_ratio, block, category, task_type, n_test and splits (how many folds the seeds take in turn; needed for more
    than ten seeds on folds). What a seed varies is in the column, or told for all tasks or by task in
    ``replication``; it is unknown otherwise.
    """
    data = frame.to_pandas() if hasattr(frame, "to_pandas") else pd.DataFrame(frame)
    refuse_twice(data)
    missing = [name for name in REQUIRED if name not in data.columns]
    if missing:
        raise DataError(
            f"The scores lack the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}. "
            "Give task, model, seed, score, metric, greater_is_better."
        )
    if data.empty:
        raise DataError("The scores have no row. Give one row per task, model and seed.")
    data = data.assign(task=names(data, "task"), model=names(data, "model"), seed=seeds(data))
    data["score"] = numbers(data, "score")
    twice = data[data.duplicated(["task", "model", "seed"])]
    if not twice.empty:
        first = twice.iloc[0]
        raise DataError(
            f"The scores hold task {first['task']!r}, model {first['model']!r}, seed {first['seed']} more than once "
            f"({place(data, twice.index[0], 'seed')}). Give one row per cell."
        )
    data = told(data, replication)
    tasks = {str(name): task_info(str(name), group) for name, group in data.groupby("task", sort=False)}
    for row, task, score in zip(data.index, data["task"], data["score"], strict=True):
        if math.isfinite(score):
            check_score(tasks[task].metric, float(score), place(data, row, "score"))
    results = [
        _result(task, model, int(seed), float(score), tasks[task])
        for task, model, seed, score in zip(data["task"], data["model"], data["seed"], data["score"], strict=True)
    ]
    return {
        "results": results,
        "tasks": tasks,
        "models": tuple(dict.fromkeys(data["model"])),
        "seeds": tuple(sorted({int(seed) for seed in data["seed"]})),
    }


def told(data: pd.DataFrame, replication: str | Mapping[str, str] | None) -> pd.DataFrame:
    """Fill in what a seed varies; a column that says otherwise is refused."""
    if replication is None:
        return data
    table = replication if isinstance(replication, Mapping) else dict.fromkeys(data["task"], replication)
    known = set(data["task"].tolist())
    for task in table:
        if task not in known:
            raise unknown_name("task", task, data["task"].unique())
    wanted = data["task"].map(table)
    given = data.get("replication", wanted).fillna(wanted)
    clash = (wanted.notna() & (given != wanted)).to_numpy()
    if clash.any():
        task = data["task"].to_numpy()[clash][0]
        raise DataError(
            f"Task {task!r} has replication {given.to_numpy()[clash][0]!r} in its column, and {table[task]!r} was "
            "told. Give one of them."
        )
    return data.assign(replication=given)


def refuse_twice(data: pd.DataFrame) -> None:
    """Refuse a table with two columns of one name."""
    twice = data.columns[data.columns.duplicated()]
    if len(twice):
        raise DataError(f"The table has the column {str(twice[0])!r} twice. Give every column a name of its own.")


def names(data: pd.DataFrame, column: str) -> pd.Series:
    """Return a column of names as text; an empty one is refused with its place.

    Examples
    --------
    >>> names(pd.DataFrame({"model": ["GCN", None]}), "model")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: row 1, column 'model' is empty. Give a name.
    """
    empty = data[column].isna() | data[column].map(str).str.strip().eq("")
    if empty.any():
        raise DataError(f"{place(data, data.index[empty][0], column)} is empty. Give a name.")
    return data[column].map(str)


def seeds(data: pd.DataFrame) -> pd.Series:
    """Return the column of seeds as whole numbers of 64 bits; what is none is refused with its place.

    Examples
    --------
    >>> seeds(pd.DataFrame({"seed": [0, 1.5]}))
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: row 1, column 'seed' holds 1.5. Give a whole number below 2^63.
    """
    found = [_seed(value) for value in data["seed"]]
    wrong = [row for row, value in zip(data.index, found, strict=True) if value is None]
    if wrong:
        value = data["seed"][wrong[0]]
        given = "nothing" if value != value else shorten(repr(value.item() if hasattr(value, "item") else value), 40)
        raise DataError(f"{place(data, wrong[0], 'seed')} holds {given}. Give a whole number below 2^63.")
    if len(set(found)) > MOST_SEEDS:
        raise DataError(f"The table has {len(set(found)):,} seeds; at most {MOST_SEEDS:,} are read.")
    return pd.Series(found, index=data.index, dtype="int64")


def _seed(value: Any) -> int | None:
    """Read one seed; a float beyond 2^53 may stand for another number than was written."""
    try:
        if isinstance(value, str):
            value = int(value) if value.strip().lstrip("+-").isdecimal() else float(value)
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    exact = abs(whole) <= (2**53 if isinstance(value, float) else LARGEST_SEED)
    return whole if exact and whole == value and not isinstance(value, bool) else None


def numbers(data: pd.DataFrame, column: str) -> pd.Series:
    """Return a column of numbers, NaN where a cell is empty; text and infinite numbers are refused with their place.

    Examples
    --------
    >>> numbers(pd.DataFrame({"score": [0.8, "high"]}), "score")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: row 1, column 'score' holds 'high'. Give a number, or leave the cell empty.
    """
    values = pd.to_numeric(data[column], errors="coerce").astype(float)
    wrong = (values.isna() & data[column].notna()) | np.isinf(values)
    if wrong.any():
        row = data.index[wrong][0]
        given = shorten(repr(str(data[column][wrong].iloc[0])), 40)
        raise DataError(f"{place(data, row, column)} holds {given}. Give a number, or leave the cell empty.")
    return values


def facts_of(task: str, group: pd.DataFrame) -> tuple[str, bool]:
    """Return the metric of a task and whether more of it is better: as a column says, or as the metric is declared."""
    metric = str(_single(task, group, "metric", "score"))
    better = _single(task, group, "greater_is_better", None)
    if better is None:
        try:
            better = lookup(metric).greater_is_better
        except UnknownNameError as error:
            raise DataError(
                f"Task {task!r} has metric {metric!r} and no greater_is_better. Say true or false in that column, or "
                "name a metric that is known, such as --metric acc (see 'graphnetz list metrics')."
            ) from error
    return metric, _truth(task, better)


def task_info(task: str, group: pd.DataFrame) -> TaskInfo:
    """Return what the rows of one task declare of it: `FACTS` that stand there, one value each, and its seeds."""
    metric, better = facts_of(task, group)
    extra = {name: _typed(task, group, name, default) for name, default in _OPTIONAL.items()}
    count = group["seed"].nunique()
    if extra["replication"] == "fold" and "splits" not in group.columns and count > MOST_FOLDS:
        raise DataError(
            f"Task {task!r} has {count} seeds on folds, and nobody said how many folds there are: several seeds of one "
            "fold are no further folds. Give the number of folds in a column splits (seed s takes fold s modulo "
            "splits), or 0 where every seed has a fold of its own."
        )
    return TaskInfo(metric, greater_is_better=better, **extra)


def _typed(task: str, group: pd.DataFrame, column: str, default: Any) -> Any:
    """The one value of ``column`` in the type of its default."""
    value = _single(task, group, column, default)
    try:
        if isinstance(default, int) and int(value) != float(value):
            raise ValueError(value)
        return type(default)(value)
    except (TypeError, ValueError, OverflowError):
        words = "a whole number" if isinstance(default, int) else "a number"
        raise DataError(f"Task {task!r} has {column}={shorten(repr(value), 40)}. Give {words}.") from None


def _single(task: str, group: pd.DataFrame, column: str, default: Any) -> Any:
    """The one value of ``column`` for a task, or the default where there is none."""
    if column not in group.columns:
        return default
    values = group[column].dropna().unique()
    if len(values) > 1:
        raise DataError(
            f"Task {task!r} has several values of {column}: {', '.join(map(str, values[:3]))}. Give one per task."
        )
    return values[0] if len(values) else default


def _truth(task: str, value: Any) -> bool:
    text = str(value).strip().lower().removesuffix(".0")
    if text in _TRUE | _FALSE:
        return text in _TRUE
    raise DataError(f"Task {task!r} has greater_is_better={value!r}. Give true or false.")


def _result(task: str, model: str, seed: int, score: float, info: TaskInfo) -> CellResult:
    finite = math.isfinite(score)
    return CellResult(
        key="",
        task=sys.intern(task),  # a column of text gives a new string for every row
        model=sys.intern(model),
        seed=seed,
        status="ok" if finite else "failed",
        metric=info.metric,
        greater_is_better=info.greater_is_better,
        metrics={info.metric: score} if finite else _NOTHING,
        history=_NOTHING,
        error="" if finite else "its score is not a number",
        replication=info.replication,
        reads=_NOTHING,
    )
