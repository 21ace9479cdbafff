"""Scores of millions of cells in Parquet: read by row groups into one array, no object per cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from graphnetz._core.errors import DataError
from graphnetz._core.optional import require
from graphnetz._core.readers import regular
from graphnetz._core.text import names, shorten
from graphnetz.metrics import bounds_of
from graphnetz.records import ScoreTable
from graphnetz.records.config import MOST_SEEDS
from graphnetz.records.task_info import TaskInfo
from graphnetz.report.checks import SLACK, check_score
from graphnetz.report.from_scores import FACTS, task_info

SUFFIX = ".parquet"
ROWS = 1 << 20
"""Rows in memory as Parquet at a time."""
MOST_PLACES = 1 << 27
"""Tasks x models x seeds that are held, 1 GB of numbers."""
_SCORES, _MEANS = ("score", "value"), ("mean",)
_FACTS = tuple(fact for fact in FACTS if fact not in ("n_test", "test_ratio"))
"""What a board asks of a task; sizes of test parts, which may differ from fold to fold, are not among it."""
_GIVE = "Give task, model, seed and score, or task, model and mean."
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Cells:
    """Scores of many cells as an array, with what is declared of their tasks.

    Attributes
    ----------
    table
        Scores ``[task, model, seed]``; means have one entry per task and model.
    infos
        Facts per task.
    made, failed
        Runs, and runs without a score, ``[task, model]``.
    rows, files
        How much was read.
    single
        Whether a score is that of one run, and not a mean of several.
    """

    table: ScoreTable
    infos: Mapping[str, TaskInfo]
    made: npt.NDArray[np.int64]
    failed: npt.NDArray[np.int64]
    rows: int
    files: int
    single: bool

    def runs(self, tasks: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return runs and failures of every model on some tasks."""
        at = np.isin(np.array(self.table.tasks, dtype=object), list(tasks))
        counts = zip(self.made[at].sum(axis=0).tolist(), self.failed[at].sum(axis=0).tolist(), strict=True)
        return {model: pair for model, pair in zip(self.table.models, counts, strict=True) if pair[0]}


def parquet_files(source: Path) -> list[Path]:
    """Return the Parquet files that a file or a folder stands for, none where it is no such source.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "b.parquet").touch(), (folder / "a.parquet").touch(), (folder / "notes.txt").touch()
    (None, None, None)
    >>> [path.name for path in parquet_files(folder)], parquet_files(folder / "notes.txt")
    (['a.parquet', 'b.parquet'], [])
    """
    if source.is_dir():
        return sorted(path for path in source.glob(f"*{SUFFIX}") if not path.is_symlink())
    return [source] if source.suffix == SUFFIX else []


def read_cells(files: Sequence[Path]) -> Cells:
    """Read the cells of Parquet files, which may be shards of one table, into one array.

    Parameters
    ----------
    files
        Each with the columns task, model, seed and score (also called value), or task, model and mean; and, as in
        other tables of scores, metric, greater_is_better, block, category, task_type, replication.

    Returns
    -------
    Cells
        The scores, in the order in which tasks and models appear.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = pd.DataFrame({"task": "cora", "model": ["GCN", "MLP"], "mean": [0.8, 0.5], "metric": "test_acc"})
    >>> rows.to_parquet(folder / "means.parquet")
    >>> read_cells([folder / "means.parquet"]).table.values.tolist()
    [[[0.8], [0.5]]]
    """
    require("pyarrow", extra="parquet", purpose="Reading Parquet")
    gathered = _Gathered()
    for file in files:
        gathered.read(regular(file, give="Give a file of scores in Parquet."))
    return gathered.cells(len(files))


class _Names:
    """Names of one column by the order of their first row, whatever file they stand in."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def add(self, column: Any, where: str, start: int) -> Codes:
        """Return the code of every row of an Arrow column, which begins at a row of its file."""
        values, at = _coded(column)
        words = [None if value is None else str(value) for value in values]
        empty = [i for i, word in enumerate(words) if word is None or not word.strip()]
        if (wrong := np.isin(at, empty) | (at < 0)).any():
            raise DataError(f"{where}, row {start + int(np.argmax(wrong)) + 1:,} is empty. Give a name.")
        codes = np.zeros(len(words), dtype=np.int32)
        for i in np.argsort(_first_rows(at, len(words)), kind="stable").tolist():
            codes[i] = self.codes.setdefault(str(words[i]), len(self.codes))
        return codes[at]


def _coded(column: Any) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """Distinct values of an Arrow column, and which of them stands in every row; -1 where none does."""
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    at = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return column.dictionary.to_pylist(), at


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _written(column: Any) -> npt.NDArray[np.bool_]:
    """Whether a text stands in every row."""
    values, at = _coded(column)
    return np.array([*(bool(value) for value in values), False])[at]


def _first_rows(at: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """First row of every code; of those that stand nowhere, one behind all."""
    first = np.full(size, at.size, dtype=np.int64)
    first[at[::-1]] = np.arange(at.size)[::-1]
    return first


class _Gathered:
    """What was read so far: codes and scores, row by row, and the facts of the tasks."""

    def __init__(self) -> None:
        self.tasks, self.models = _Names(), _Names()
        self.seeds: dict[int, int] = {}
        self.parts: list[tuple[Codes, Codes, Codes, npt.NDArray[np.float64]]] = []
        self.counts: list[npt.NDArray[np.int64]] = []
        self.facts: dict[str, dict[int, set[Any]]] = {name: {} for name in _FACTS}
        self.single: bool | None = None
        self.rows = 0

    def read(self, file: Path) -> None:
        from pyarrow import ArrowException, parquet

        try:
            schema, start = parquet.read_schema(file), 0
            chosen = self._columns(file.name, list(schema.names))
            texts = [title for title in chosen.values() if _is_text(schema.field(title).type)]
            with parquet.ParquetFile(file, read_dictionary=texts) as opened:  # names once, and a number per row
                self._refuse_too_many(file.name, opened.metadata.num_rows)
                for batch in opened.iter_batches(ROWS, columns=list(chosen.values())):
                    self._batch(file.name, {role: batch.column(title) for role, title in chosen.items()}, start)
                    start += len(batch)
        except (ArrowException, OSError) as error:  # a page that does not unpack is an OSError
            raise DataError(f"The file {file.name!r} cannot be read as Parquet ({error}).") from error

    def _refuse_too_many(self, name: str, rows: int) -> None:
        """A small file may unpack to rows without end; there is no place for more rows than places."""
        self.rows += rows
        if self.rows > MOST_PLACES:
            raise DataError(
                f"{name!r} brings the rows to {self.rows:,}, more than the {MOST_PLACES:,} that are held at once. Give "
                "means instead of runs, or one category at a time."
            )

    def _columns(self, name: str, titles: list[str]) -> dict[str, str]:
        """Which column is what; a table of means has no seeds."""
        score = next((title for title in (*_SCORES, *_MEANS) if title in titles), None)
        single = score in _SCORES
        needed = ("task", "model", *(("seed",) if single else ()))
        if score is None or (missing := [role for role in needed if role not in titles]):
            lacking = names(missing) if score else "score"
            raise DataError(f"{name!r} lacks the column {lacking}; it has {names(titles, most=12)}. {_GIVE}")
        if self.single not in (None, single):
            raise DataError(f"{name!r} holds {'runs' if single else 'means'}, other files the other. Give one kind.")
        self.single = single
        if not single and "n" in titles:
            needed = (*needed, "n")
        return {role: role for role in (*needed, *(fact for fact in _FACTS if fact in titles))} | {"score": score}

    def _batch(self, name: str, columns: Mapping[str, Any], start: int) -> None:
        tasks = self.tasks.add(columns["task"], f"{name!r}, column 'task'", start)
        models = self.models.add(columns["model"], f"{name!r}, column 'model'", start)
        scores = _floats(columns["score"], name, "score")
        seeds = self._seeds(columns["seed"], name) if self.single else np.zeros(tasks.size, dtype=np.int32)
        self.parts.append((tasks, models, seeds, scores))
        if not self.single:
            counts = _floats(columns["n"], name, "n") if "n" in columns else np.ones(tasks.size)
            self.counts.append(np.where(np.isfinite(counts), counts, 1).astype(np.int64))
        known = _written(columns["metric"]) if "metric" in columns else np.ones(tasks.size, dtype=np.bool_)
        for fact in _FACTS:  # a run that failed early may not have learned its metric and direction
            if fact in columns:
                self._fact(self.facts[fact], tasks, columns[fact], known)

    def _seeds(self, column: Any, name: str) -> Codes:
        from pyarrow import types

        if not types.is_integer(column.type) or column.null_count:
            raise DataError(f"{name!r}: the column 'seed' holds no whole numbers. Give a whole number in every row.")
        values, at = _coded(column)
        codes = np.zeros(len(values), dtype=np.int32)
        for i in np.argsort(_first_rows(at, len(values)), kind="stable").tolist():
            codes[i] = self.seeds.setdefault(int(values[i]), len(self.seeds))
        if len(self.seeds) > MOST_SEEDS:
            raise DataError(f"The tables have more than {MOST_SEEDS:,} seeds, the most that are read.")
        return codes[at]

    def _fact(self, found: dict[int, set[Any]], tasks: Codes, column: Any, known: npt.NDArray[np.bool_]) -> None:
        values, at = _coded(column)
        there = known & (at >= 0)
        for pair in np.unique(tasks[there].astype(np.int64) * max(len(values), 1) + at[there]).tolist():
            task, value = divmod(pair, max(len(values), 1))
            found.setdefault(task, set()).add(values[value])

    def cells(self, files: int) -> Cells:
        """Put what was read into one array."""
        if not self.parts or not self.tasks.codes:
            raise DataError("The tables have no row. Give one row per task, model and seed.")
        tasks, models, seeds, scores = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        self.parts.clear()
        order = sorted(self.seeds) if self.single else [0]
        shape = (len(self.tasks.codes), len(self.models.codes), len(order))
        if math.prod(shape) > MOST_PLACES:
            raise DataError(
                f"{shape[0]:,} tasks x {shape[1]:,} models x {shape[2]:,} seeds are more than the {MOST_PLACES:,} "
                "places that are held at once. Give means instead of runs, or one category at a time."
            )
        rank = np.argsort(np.argsort(list(self.seeds))) if self.single else np.zeros(1, dtype=np.int64)
        pair = tasks.astype(np.int64) * shape[1] + models
        flat = pair * shape[2] + rank[seeds]
        if (twice := _repeated(flat, math.prod(shape))) is not None:
            t, m = tuple(self.tasks.codes)[tasks[twice]], tuple(self.models.codes)[models[twice]]
            which = f"seed {order[rank[seeds[twice]]]}" if self.single else "mean"
            raise DataError(f"Task {t!r}, model {m!r}, {which} stands there more than once. Give one row per cell.")
        values = np.full(math.prod(shape), np.nan)
        values[flat] = scores
        counts = np.concatenate(self.counts) if self.counts else np.ones(pair.size, dtype=np.int64)
        made = np.bincount(pair, weights=counts, minlength=shape[0] * shape[1]).astype(np.int64)
        lost = np.bincount(pair, weights=counts * ~np.isfinite(scores), minlength=shape[0] * shape[1]).astype(np.int64)
        infos = self._infos(pair, seeds, np.isfinite(scores), shape)
        table = _table(infos, tuple(self.models.codes), order, values.reshape(shape))
        _check_bounds(table)
        single = bool(self.single)
        return Cells(
            table, infos, made.reshape(shape[:2]), lost.reshape(shape[:2]), rows=scores.size, files=files, single=single
        )

    def _infos(
        self, pair: npt.NDArray[np.int64], seeds: Codes, there: npt.NDArray[np.bool_], shape: tuple[int, ...]
    ) -> dict[str, TaskInfo]:
        """What is declared of every task, read as tables of scores are; nothing where no run finished."""
        used = np.zeros((shape[0], shape[2]), dtype=np.bool_)
        used[pair[there] // shape[1], seeds[there]] = True
        infos = {}
        for task, code in self.tasks.codes.items():
            told = {fact: sorted(found[code], key=str) for fact, found in self.facts.items() if code in found}
            told |= {"seed": np.flatnonzero(used[code]).tolist()}
            group = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in told.items()})
            infos[task] = task_info(task, group) if used[code].any() else TaskInfo("score")
        return infos


def _floats(column: Any, name: str, title: str) -> npt.NDArray[np.float64]:
    """Return a column of numbers, NaN where a cell is empty."""
    from pyarrow import types

    kind = column.type
    if not (types.is_floating(kind) or types.is_integer(kind)):
        raise DataError(f"{name!r}: the column {title!r} holds no numbers. Give numbers, or leave cells empty.")
    values: npt.NDArray[np.float64] = column.to_numpy(zero_copy_only=False).astype(np.float64)
    if np.isinf(values).any():
        raise DataError(f"{name!r}: the column {title!r} holds an infinite number. Leave the cell empty instead.")
    return values


def _repeated(flat: npt.NDArray[np.int64], size: int) -> int | None:
    """A row whose place was taken by an earlier one, None where every row has its own."""
    taken = np.zeros(size, dtype=np.bool_)
    taken[flat] = True
    if int(taken.sum()) == flat.size:
        return None
    order = np.argsort(flat, kind="stable")
    return int(order[1:][np.diff(flat[order]) == 0].min())


def _table(
    infos: Mapping[str, TaskInfo], models: tuple[str, ...], seeds: Sequence[int], values: npt.NDArray[np.float64]
) -> ScoreTable:
    facts = list(infos.values())
    return ScoreTable(
        tasks=tuple(infos), models=models, seeds=tuple(seeds), values=values,
        greater_is_better=tuple(info.greater_is_better for info in facts),
        metrics=tuple(info.metric for info in facts),
        replication=tuple(info.replication for info in facts),
        test_ratio=tuple(info.test_ratio for info in facts),
        blocks=tuple(info.block or task for task, info in infos.items()),
        splits=tuple(info.splits for info in facts),
    )  # fmt: skip


def _check_bounds(table: ScoreTable) -> None:
    """Refuse scores that their metric cannot take; see `check_score`."""
    for t, task in enumerate(table.tasks):
        low, high = bounds_of(table.metrics[t])
        row = table.values[t]
        for m, s in np.argwhere((row < low - SLACK) | (row > high + SLACK))[:1].tolist():
            place = f"task {shorten(task, 60)!r}, model {shorten(table.models[m], 60)!r}, seed {table.seeds[s]}"
            check_score(table.metrics[t], float(row[m, s]), place)
