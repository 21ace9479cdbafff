"""Rows of the store to records and back."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence
from typing import Any

from graphnetz.engine.store.codec import (
    dump_json,
    dump_metrics,
    load_metrics,
    pack_history,
    pack_json,
    pack_predictions,
    unpack_history,
    unpack_json,
    unpack_predictions,
)
from graphnetz.records import Cell, CellResult, Protocol

RESULT_COLUMNS = (
    "key", "task", "model", "seed", "status", "metric", "value", "greater_is_better", "metrics", "epochs",
    "best_epoch", "seconds", "peak_memory", "parameters", "error", "environment", "replication", "n_train", "n_test",
    "notes",
)  # fmt: skip
SETTABLE = RESULT_COLUMNS[4:]


def protocol_row(protocol: Protocol) -> tuple[str, str]:
    """Return the hash and the text of a protocol; many cells share one."""
    body = dump_json(protocol.as_dict())
    return hashlib.sha256(body.encode()).hexdigest()[:16], body


def cell_from_row(row: Sequence[Any]) -> Cell:
    """Rebuild a planned cell from (key, task, model, seed, protocol text)."""
    key, task, model, seed, body = row
    return Cell(key, task, model, seed, Protocol().replace(**json.loads(body)))


def result_values(result: CellResult) -> tuple[Any, ...]:
    """Values of the columns `SETTABLE`; NaN becomes NULL."""
    return (
        result.status,
        result.metric,
        _null(result.value),
        int(result.greater_is_better),
        dump_metrics(result.metrics),
        int(result.epochs),
        None if result.best_epoch is None else int(result.best_epoch),
        _null(result.seconds),
        _null(result.peak_memory),
        int(result.parameters),
        result.error,
        result.environment,
        result.replication,
        int(result.n_train),
        int(result.n_test),
        dump_json(result.notes),
    )


def detail_values(result: CellResult) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Compressed history, trace and predictions."""
    return pack_history(result.history), pack_json(list(result.trace)), pack_predictions(result.predictions)


def finish_statement() -> str:
    """Return the owner-checked update that ends a cell."""
    columns = ", ".join(f"{name} = ?" for name in SETTABLE)
    return (
        f"UPDATE cells SET {columns}, owner = NULL, lease = NULL, finished_at = ? "  # noqa: S608 (our own names)
        "WHERE key = ? AND owner = ? AND status = 'running'"
    )


def finish_values(result: CellResult, owner: str) -> tuple[Any, ...]:
    """Values for `finish_statement`."""
    return (*result_values(result), time.time(), result.key, owner)


def result_from_row(row: Sequence[Any]) -> CellResult:
    """Rebuild a result from `RESULT_COLUMNS`, optionally followed by the three detail blobs."""
    (key, task, model, seed, status, metric, _, greater, metrics, epochs, best, seconds, memory, parameters, error,
     environment, replication, n_train, n_test, notes) = row[: len(RESULT_COLUMNS)]  # fmt: skip
    blobs = tuple(row[len(RESULT_COLUMNS) :]) or (None, None, None)
    return CellResult(
        key=key,
        task=task,
        model=model,
        seed=seed,
        status=status,
        metric=metric,
        greater_is_better=bool(greater),
        metrics=load_metrics(metrics),
        history=unpack_history(blobs[0]),
        epochs=epochs,
        best_epoch=best,
        seconds=_nan(seconds),
        peak_memory=_nan(memory),
        parameters=parameters,
        error=error,
        environment=environment,
        replication=replication,
        n_train=n_train,
        n_test=n_test,
        trace=tuple(unpack_json(blobs[1]) or ()),
        notes=tuple(json.loads(notes)),
        predictions=unpack_predictions(blobs[2]),
    )


def _null(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _nan(value: float | None) -> float:
    return math.nan if value is None else float(value)
