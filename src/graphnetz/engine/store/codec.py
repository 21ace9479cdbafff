"""Values to bytes and back without pickle: JSON, and compressed numeric buffers with a JSON header."""

from __future__ import annotations

import dataclasses
import json
import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphnetz._core.arrays import inflate, pack_arrays, unpack_arrays
from graphnetz._core.errors import StoreError
from graphnetz.records import Predictions
from graphnetz.records.kept import score_arrays, score_from


def plain(value: Any) -> Any:
    """Reduce ``value`` to what JSON can say; numbers of NumPy become Python's, anything else its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return [plain(item) for item in items]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    return str(value)


def dump_metrics(metrics: Mapping[str, float]) -> str:
    """Return strict JSON: NaN is null, infinities are words, so that any reader can parse it."""
    return json.dumps({str(key): _finite(float(value)) for key, value in metrics.items()}, allow_nan=False)


def load_metrics(text: str) -> dict[str, float]:
    """Rebuild from `dump_metrics`."""
    return {key: _number(value) for key, value in json.loads(text).items()}


def dump_json(value: Any) -> str:
    """Return compact JSON with sorted keys; non-finite numbers as Python writes them."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"))


def pack_json(value: Any) -> bytes | None:
    """Compress a JSON value; None when it is empty."""
    return zlib.compress(json.dumps(plain(value), separators=(",", ":")).encode()) if value else None


def unpack_json(blob: bytes | None) -> Any:
    """Rebuild from `pack_json`; None stays None."""
    return None if blob is None else json.loads(inflate(blob))


def pack_history(history: Mapping[str, list[float]]) -> bytes | None:
    """Compress per-epoch curves; integers stay integers."""
    if not history:
        return None
    arrays = []
    for name, values in history.items():
        whole = len(values) > 0 and all(type(item) is int for item in values)
        arrays.append((str(name), np.asarray(values, dtype=np.int64 if whole else np.float64)))
    return pack_arrays(arrays)


def unpack_history(blob: bytes | None) -> dict[str, list[float]]:
    """Rebuild from `pack_history`."""
    return {} if blob is None else {name: array.tolist() for name, array in unpack_arrays(blob)}


def pack_predictions(predictions: Predictions | None, tested: str = "") -> bytes | None:
    """Compress what one model gave; the examples themselves stand once per split, under the hash ``tested``."""
    if predictions is None:
        return None
    return pack_arrays([*score_arrays(np.asarray(predictions.score)), ("tested", np.array(tested))])


def unpack_predictions(blob: bytes | None, tested: Callable[[str], Predictions]) -> Predictions | None:
    """Rebuild from `pack_predictions`; ``tested`` finds the examples of a split by their hash.

    Older stores hold the examples with every cell.
    """
    if blob is None:
        return None
    arrays = dict(unpack_arrays(blob))
    try:
        if "example" in arrays:
            return Predictions(arrays["example"], arrays["target"], arrays["score"])
        shared, score = tested(str(arrays["tested"])), score_from(arrays)
        if len(score) != len(shared.example):
            raise ValueError(f"{len(score)} scores of {len(shared.example)} examples")
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"Stored predictions cannot be read ({error!r}). The store is damaged.") from None
    return dataclasses.replace(shared, score=score)


def _finite(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else json.dumps(value)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
