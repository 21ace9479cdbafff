"""Finished cells as CSV, JSON and Parquet: one row per cell."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from graphnetz._core.optional import require
from graphnetz._core.paths import atomic_write
from graphnetz.engine.store.codec import dump_metrics
from graphnetz.engine.store.database import Store
from graphnetz.engine.store.rows import RESULT_COLUMNS

EXPORT_VERSION = 1
COLUMNS = (*(name for name in RESULT_COLUMNS if name not in ("metrics", "notes")), "metrics")
_TYPES = {
    **dict.fromkeys(COLUMNS, "string"),
    **dict.fromkeys(("seed", "epochs", "best_epoch", "parameters", "n_train", "n_test"), "Int64"),
    **dict.fromkeys(("value", "seconds", "peak_memory"), "float64"),
    "greater_is_better": "bool",
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(store: Store, path: str | Path) -> None:
    """Write one row per finished cell; text that a spreadsheet would run as a formula is quoted."""
    with atomic_write(path) as stream:
        _frame(store).map(_harmless).to_csv(stream, index=False, lineterminator="\n")


def to_json(store: Store, path: str | Path) -> None:
    """Write strict JSON: ``{"schema": ..., "cells": [...]}``; undefined numbers are null."""
    cells = [{name: _defined(value) for name, value in row.items()} for row in _rows(store)]
    for cell in cells:
        cell["metrics"] = json.loads(cell["metrics"])
    with atomic_write(path) as stream:
        json.dump({"schema": EXPORT_VERSION, "cells": cells}, stream, allow_nan=False, indent=1)
        stream.write("\n")


def to_parquet(store: Store, path: str | Path) -> None:
    """Write a Parquet file with the columns of the CSV."""
    require("pyarrow", extra="parquet", purpose="Export to Parquet")
    with atomic_write(path, "wb") as stream:
        _frame(store).to_parquet(stream, index=False)


def _rows(store: Store) -> list[dict[str, Any]]:
    found = store.results(histories=False)
    return [{n: dump_metrics(r.metrics) if n == "metrics" else getattr(r, n) for n in COLUMNS} for r in found]


def _frame(store: Store) -> Any:
    import pandas as pd

    return pd.DataFrame(_rows(store), columns=list(COLUMNS)).astype(_TYPES)


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _defined(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
