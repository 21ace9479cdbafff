"""Values to bytes and back without pickle: JSON, and compressed numeric buffers with a JSON header."""

from __future__ import annotations

import json
import math
import re
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import StoreError
from graphnetz.records import Predictions

MAX_BLOB = 2**30
_LEVEL = 1  # curves hardly compress further, and level 6 takes three times as long
_DTYPE = re.compile(r"^[<|][biufcUS]\d{1,6}$")


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
    return None if blob is None else json.loads(_inflate(blob))


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


def pack_predictions(predictions: Predictions | None) -> bytes | None:
    """Compress the test-set outputs of one cell."""
    if predictions is None:
        return None
    names = ("example", "target", "score")
    return pack_arrays((name, np.asarray(getattr(predictions, name))) for name in names)


def unpack_predictions(blob: bytes | None) -> Predictions | None:
    """Rebuild from `pack_predictions`."""
    if blob is None:
        return None
    arrays = dict(unpack_arrays(blob))
    try:
        return Predictions(arrays["example"], arrays["target"], arrays["score"])
    except KeyError as error:
        raise StoreError(f"Stored predictions lack {error}. The store is damaged.") from None


def pack_arrays(arrays: Iterable[tuple[str, npt.NDArray[Any]]]) -> bytes:
    """Compress named arrays of numbers or text: header length, JSON header, raw buffers."""
    header, buffers = [], []
    for name, array in arrays:
        if array.dtype.byteorder == ">":
            array = array.astype(array.dtype.newbyteorder("<"))
        if not _DTYPE.match(array.dtype.str):
            raise StoreError(f"Array {name!r} has dtype {array.dtype}. Only numbers, booleans and text are stored.")
        header.append([name, array.dtype.str, list(array.shape)])
        buffers.append(np.ascontiguousarray(array).tobytes())
    head = json.dumps(header, separators=(",", ":")).encode()
    return zlib.compress(b"".join((struct.pack("<I", len(head)), head, *buffers)), _LEVEL)


def unpack_arrays(blob: bytes) -> list[tuple[str, npt.NDArray[Any]]]:
    """Rebuild from `pack_arrays`; sizes are checked before anything is believed."""
    raw = _inflate(blob)
    try:
        (length,) = struct.unpack_from("<I", raw)
        header = json.loads(raw[4 : 4 + length])
        offset, arrays = 4 + length, []
        for name, code, shape in header:
            if not _DTYPE.match(code) or any(not isinstance(n, int) or n < 0 for n in shape):
                raise ValueError(f"dtype {code!r}, shape {shape!r}")
            dtype = np.dtype(code)
            size = math.prod(shape) * dtype.itemsize
            if offset + size > len(raw):
                raise ValueError("a buffer is too short")
            arrays.append((str(name), np.frombuffer(raw, dtype, math.prod(shape), offset).reshape(shape)))
            offset += size
    except (ValueError, TypeError, struct.error) as error:
        raise StoreError(f"Stored arrays cannot be read: {error}. The store is damaged.") from None
    return arrays


def _inflate(blob: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(blob, MAX_BLOB)
    except zlib.error as error:
        raise StoreError(f"Stored bytes cannot be decompressed: {error}. The store is damaged.") from None
    if inflater.unconsumed_tail or not inflater.eof:
        raise StoreError(f"Stored bytes are cut short, or inflate to more than {MAX_BLOB} bytes. The store is damaged.")
    return raw


def _finite(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else json.dumps(value)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
