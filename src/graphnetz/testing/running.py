"""Contracts of executors and trackers."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz.engine.executors import EXECUTORS, Limits
from graphnetz.engine.trackers import LOGGERS
from graphnetz.records import Cell, CellResult, Protocol
from graphnetz.testing.contract import require


def _cells(*models: str, seeds: int = 3) -> list[Cell]:
    return [Cell(f"{t}/{m}/{s}", t, m, s, Protocol()) for t in ("s", "t") for m in models for s in range(seeds)]


def _work(cell: Cell) -> Any:
    """Answer with a number that depends on the seed; some models fail."""
    if cell.model == "raises":
        raise TypeError("no such thing")
    if cell.model == "lies":
        return "not a result"
    value = float(np.random.default_rng(cell.seed).normal())
    return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="m", metrics={"m": value})


def check_executor(name: str, **options: Any) -> None:
    """Hold an executor to its contract.

    Every cell that is granted comes back once with the number that a plain call gives, refused cells are
    not run, a cell that raises or returns the wrong thing is a failed result with its reason and the
    others go on, ``on_start`` is asked in this process before each cell, and the environment of the
    workers is known.

    Parameters
    ----------
    name
        Key of `graphnetz.engine.executors.EXECUTORS`.
    **options
        Arguments of the executor, such as ``workers=2``.

    Examples
    --------
    >>> check_executor("serial")
    """
    who, cells = f"The executor {name!r}", _cells("a", "raises", "lies", "b")
    asked: list[str] = []
    results: list[CellResult] = []
    ticks: list[int] = []

    def grant(cell: Cell) -> bool:
        asked.append(cell.key)
        return cell.seed != 1

    executor = EXECUTORS[name](**options)
    executor.run(
        cells, _work, limits=Limits(), on_start=grant, on_result=results.append, tick=lambda: ticks.append(len(asked))
    )
    require(sorted(asked) == sorted(cell.key for cell in cells), f"{who} does not ask on_start once for each cell.")
    got, wanted = sorted(r.key for r in results), sorted(cell.key for cell in cells if cell.seed != 1)
    require(got == wanted, f"{who} gives {len(got)} results for {len(wanted)} granted cells, each wanted once.")
    require(ticks, f"{who} never calls tick; heartbeats would stop.")
    by_key = {cell.key: cell for cell in cells}
    for result in results:
        cell = by_key[result.key]
        if cell.model in "ab":
            require(result.ok, f"{who} fails a cell that works: {result.error}")
            require(result.value == _work(cell).value, f"{who} gives another number than the cell does by itself.")
        else:
            word = {"raises": "TypeError: no such thing", "lies": "returned str"}[cell.model]
            told = result.status == "failed" and word in result.error
            require(told, f"{who} reports a cell that {cell.model} as {result.status!r}: {result.error!r}.")
        require(math.isfinite(result.seconds), f"{who} does not say how long a cell took.")
        require(result.environment, f"{who} does not say in which environment a cell ran.")
    known = executor.environments()
    require({r.environment for r in results} <= set(known), f"{who} cannot describe the environment of its results.")
    try:
        EXECUTORS[name](**{**options, "workers": 0})
    except UsageError:
        return
    raise AssertionError(f"{who} takes workers=0; leave the check of workers to Executor.__init__.")


def check_tracker(name: str, where: str = "") -> None:
    """Hold a tracker to its contract: it takes finished, failed and oddly named cells, and closes.

    Parameters
    ----------
    name
        Key of `graphnetz.engine.trackers.LOGGERS`.
    where
        What a user would write after the colon of ``--log name:where``.

    Raises
    ------
    MissingExtraError
        When the tracker needs a package that is not installed.

    Examples
    --------
    >>> check_tracker("tensorboard")  # doctest: +SKIP
    """
    history = {"train_loss": [1.0, math.nan, 0.2], "test_acc": [0.1, 0.2, 0.3]}
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "run"
        tracker = LOGGERS[name](where, inside)
        for method in ("cell", "close"):
            require(callable(getattr(tracker, method, None)), f"The tracker {name!r} has no method {method!r}.")
        for task, seed in (("cora", 0), ("cora", 1), ("../../</script>", 0)):
            cell = Cell(f"key-{task}-{seed}", task, "GCN", seed, Protocol(epochs=6))
            given = (cell.key, cell.task, cell.model, cell.seed)
            if seed:
                tracker.cell(cell, CellResult(*given, status="failed", error="TypeError: no such thing"))
            else:
                metrics = {"test_acc": 0.3, "test_f1": math.nan}
                tracker.cell(cell, CellResult(*given, metric="test_acc", metrics=metrics, history=history, epochs=6))
        tracker.close()
        outside = [path.name for path in Path(folder).iterdir() if path.name != "run"]
        require(not outside, f"The tracker {name!r} writes beside its folder: {', '.join(outside)}.")
