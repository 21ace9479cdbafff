"""What a results.json must hold, and what no report may: the checks that stand before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from graphnetz._core.errors import DataError, UnknownNameError
from graphnetz._core.text import shorten
from graphnetz.metrics import lookup
from graphnetz.records import Cell, CellResult, Status
from graphnetz.records.config import LARGEST_SEED, MOST_SEEDS

MOST_RESAMPLES = 1_000_000
"""Bootstrap resamples that a file may ask for; intervals do not change in the third digit beyond 100,000."""
MOST_CELLS = 50_000_000
"""Tasks times models times seeds of one table: 400 MB of scores."""
SLACK = 1e-9
"""How far beyond its bounds rounding may bring a metric."""

_Count = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
_Seed = Annotated[int, Field(ge=-LARGEST_SEED, le=LARGEST_SEED)]
_Name = Annotated[str, Field(min_length=1)]
_Table = dict[str, Any]
_TEXT = TypeAdapter(str, config=ConfigDict(strict=True))


class _Strict(BaseModel):
    """Values of exactly these types; keys that we do not know are left alone, a later version may need them."""

    model_config = ConfigDict(strict=True, extra="allow")


class _Task(_Strict):
    name: _Name
    metric: _Name
    label: str = ""
    greater_is_better: bool
    replication: str = "init"
    test_ratio: Annotated[float, Field(ge=0)] | None = None
    block: str = ""
    category: str = ""
    task_type: str = ""
    n_test: _Count = 0
    splits: _Count = 0


class _Cell(_Strict):
    task: _Name
    model: _Name
    seed: _Seed
    status: Status
    metrics: dict[str, float | None]
    history: dict[str, list[float | None]] = {}
    epochs: _Count = 0
    best_epoch: _Count | None = None
    parameters: _Count = 0
    n_train: _Count = 0
    n_test: _Count = 0
    notes: list[str] = []
    trace: list[_Table] = []
    error: str = ""


class _Absent(_Strict):
    task: str
    model: str
    reason: str


class _Auto(BaseModel):
    """A rule for seeds in rounds, see `graphnetz.records.seed_rule.SeedRule`."""

    model_config = ConfigDict(strict=True, extra="forbid")
    margin: Annotated[float, Field(gt=0)] | None
    max_seeds: Annotated[int, Field(ge=2, le=MOST_SEEDS)] = 30
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    spending: str = "pocock"
    futility: Annotated[float, Field(ge=0, lt=1)] = 0.1
    first_look: Annotated[int, Field(ge=2, le=MOST_SEEDS)] = 5
    mode: str = "auto"


class _Config(_Strict):
    """The settings that an analysis reads; the others are only shown."""

    baselines: list[str] = []
    budgets: dict[str, dict[str, _Count | None]] = {}
    auto: _Auto | None = None
    suite: str | None = None
    title: str | None = None
    protocols: dict[str, _Table] | None = None
    model_protocols: dict[str, dict[str, _Table]] | None = None
    search: _Table | None = None


class _Results(_Strict):
    seeds: Annotated[list[_Seed], Field(min_length=1, max_length=MOST_SEEDS)]
    models: list[_Name]
    ci_method: str
    bootstrap_n: Annotated[int, Field(ge=1, le=MOST_RESAMPLES)]
    bootstrap_seed: _Count
    pairwise_method: str
    config: _Config = _Config()
    tasks: list[_Task]
    cells: list[_Cell]
    absent: list[_Absent] = []
    sections: list[_Table] = []


def check_results(raw: Mapping[str, Any], name: str) -> None:
    """Refuse a results.json whose values are not of their types, contradict each other or cannot be.

    Parameters
    ----------
    raw
        What the file holds.
    name
        Of the file, for the sentence.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> import json
    >>> raw = json.loads(example_report().to_json())
    >>> check_results(raw, "results.json")
    >>> check_results(raw | {"bootstrap_n": 10**9}, "results.json")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: 'results.json' does not follow its schema in bootstrap_n: Input should be less ...
    """
    try:
        found = _Results.model_validate(dict(raw))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(shorten(part, 40) for part in first["loc"])
        raise DataError(
            f"{name!r} does not follow its schema in {where}: {first['msg']} (got "
            f"{shorten(repr(first['input']), 60)}). Write it again with to_json."
        ) from None
    tasks = {task.name: task for task in found.tasks}
    _once(name, "task", [task.name for task in found.tasks])
    _once(name, "model", found.models)
    _once(name, "seed", found.seeds)
    if len(tasks) * len(found.models) * len(found.seeds) > MOST_CELLS:
        raise DataError(f"{name!r} asks for a table of more than {MOST_CELLS:,} cells and was not read.")
    models, seeds = set(found.models), set(found.seeds)
    _once(name, "cell", [(cell.task, cell.model, cell.seed) for cell in found.cells])
    for cell in found.cells:
        for kind, value, known in (
            ("task", cell.task, tasks),
            ("model", cell.model, models),
            ("seed", cell.seed, seeds),
        ):
            if value not in known:
                raise DataError(f"{name!r} has a cell of the {kind} {_short(value)}, which its list of {kind}s lacks.")
        info, score = tasks[cell.task], cell.metrics.get(tasks[cell.task].metric)
        if cell.status == "ok" and score is not None:
            place = f"{name!r}, task {_short(cell.task)}, model {_short(cell.model)}, seed {cell.seed}"
            check_score(info.metric, score, place)


_STORED = ("task", "model", "seed", "status", "metrics", "epochs", "best_epoch", "parameters", "n_train", "n_test")


def check_cells(results: Iterable[CellResult], name: str, *, planned: Iterable[Cell] = ()) -> None:
    """Refuse results of a store whose values are not of their types, or that their metric cannot take.

    Parameters
    ----------
    results
        Finished cells.
    planned
        Cells that may have no result yet.
    name
        Of the store, for the sentence.

    Examples
    --------
    >>> from graphnetz.records import Cell, CellResult, Status
    >>> check_cells([CellResult("", "cora", "GCN", "first")], "store.sqlite")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: 'store.sqlite', seed: Input should be a valid integer (got 'first'). ...
    """
    for item in planned:
        if not (isinstance(item.task, str) and isinstance(item.model, str) and isinstance(item.seed, int)):
            shown = shorten(repr((item.task, item.model, item.seed)), 80)
            raise DataError(f"{name!r} holds the cell {shown}, which is none of ours: restore it from a copy.")
    for cell in results:
        values = {key: getattr(cell, key) for key in _STORED} | {"notes": list(cell.notes), "error": cell.error}
        try:
            _Cell.model_validate(values | {"metrics": dict(cell.metrics)})
            for text in (cell.metric, cell.replication, cell.environment):
                _TEXT.validate_python(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(shorten(part, 40) for part in first["loc"]) or "a text"
            raise DataError(
                f"{name!r}, {where}: {first['msg']} (got {shorten(repr(first['input']), 60)}). The file is "
                "damaged or not ours: restore it from a copy."
            ) from None
        if cell.ok and math.isfinite(cell.value):
            check_score(cell.metric, cell.value, f"{name!r}, {_short((cell.task, cell.model, cell.seed))}")


def check_score(metric: str, score: float, place: str) -> None:
    """Refuse a score that its declared metric cannot take; a metric that nobody declared may take any.

    Examples
    --------
    >>> check_score("test_acc", 7.5, "line 3")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: line 3: test_acc is 7.5, and accuracy lies between 0 and 1. ...
    """
    try:
        declared = lookup(metric)
    except UnknownNameError:
        return
    low, high = declared.bounds
    if not low - SLACK <= score <= high + SLACK:
        name = metric.removeprefix("test_")
        share = (low, high) == (0.0, 1.0) and 1 < score <= 100
        percent = f" Divide percentages by 100, or say that they are: --metric {name}%." if share else ""
        raise DataError(
            f"{place}: {metric} is {score:g}, and {declared.label} lies between {low:g} and {high:g}."
            f"{percent or ' Give another metric, or correct the score.'}"
        )


def _once(name: str, what: str, items: Sequence[Any]) -> None:
    """Refuse what stands twice: nobody could say which of the two counts."""
    if len(set(items)) != len(items):
        raise DataError(f"{name!r} holds the {what} {_short(_first_twice(items))} more than once. Keep one of them.")


def _first_twice(items: Iterable[Any]) -> Any:
    seen: set[Any] = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    return None


def _short(value: Any) -> str:
    return " / ".join(_short(part) for part in value) if isinstance(value, tuple) else repr(
        shorten(value, 60) if isinstance(value, str) else value
    )  # fmt: skip
