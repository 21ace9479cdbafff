"""Finished cells as CSV, JSON and Parquet: one row per cell."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphnetz._core.optional import require
from graphnetz._core.paths import atomic_write
from graphnetz.engine.store.codec import dump_metrics
from graphnetz.engine.store.database import Store

EXPORT_VERSION = 1
COLUMNS = (
    "key", "task", "model", "seed", "status", "metric", "value", "greater_is_better", "epochs", "best_epoch",
    "seconds", "peak_memory", "parameters", "error", "environment", "replication", "n_train", "n_test", "metrics",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(store: Store, path: str | Path) -> None:
    """Write one row per finished cell; text that a spreadsheet would run as a formula is quoted."""
    with atomic_write(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in _rows(store):
            writer.writerow([_harmless(row[name]) for name in COLUMNS])


def to_json(store: Store, path: str | Path) -> None:
    """Write strict JSON: ``{"schema": ..., "cells": [...]}``; undefined numbers are null."""
    with atomic_write(path) as stream:
        cells = []
        for row in _rows(store):
            row["metrics"] = json.loads(row["metrics"])
            cells.append({key: _defined(value) for key, value in row.items()})
        json.dump({"schema": EXPORT_VERSION, "cells": cells}, stream, allow_nan=False, indent=1)
        stream.write("\n")


def to_parquet(store: Store, path: str | Path) -> None:
    """Write a Parquet file with the columns of the CSV."""
    arrow = require("pyarrow", extra="parquet", purpose="Export to Parquet")
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Export to Parquet")
    rows = list(_rows(store))
    table = arrow.table({name: [row[name] for row in rows] for name in COLUMNS}, schema=_arrow_schema(arrow))
    with atomic_write(path, "wb") as stream:
        parquet.write_table(table, stream)


def _rows(store: Store) -> Iterator[dict[str, Any]]:
    for result in store.results(histories=False):
        row = {name: getattr(result, name) for name in COLUMNS if name != "metrics"}
        row["metrics"] = dump_metrics(result.metrics)
        yield row


def _arrow_schema(arrow: Any) -> Any:
    whole = {"seed", "epochs", "best_epoch", "parameters", "n_train", "n_test"}
    real = {"value", "seconds", "peak_memory"}

    def kind(name: str) -> Any:
        if name in whole:
            return arrow.int64()
        if name in real:
            return arrow.float64()
        return arrow.bool_() if name == "greater_is_better" else arrow.string()

    return arrow.schema([(name, kind(name)) for name in COLUMNS])


def _harmless(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value


def _defined(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
