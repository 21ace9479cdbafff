"""Arrays to bytes and back without pickle: one compressed buffer with a JSON header."""

from __future__ import annotations

import json
import math
import re
import struct
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import StoreError

MAX_BLOB = 2**30
_DTYPE = re.compile(r"^[<|][biufcUS]\d{1,6}$")


def pack_arrays(arrays: Iterable[tuple[str, npt.NDArray[Any]]], *, level: int = 1) -> bytes:
    """Compress named arrays of numbers or text: header length, JSON header, raw buffers.

    Curves hardly compress further than at the first level, and level 6 takes three times as long.
    """
    header, buffers = [], []
    for name, array in arrays:
        if array.dtype.byteorder == ">":
            array = array.astype(array.dtype.newbyteorder("<"))
        if not _DTYPE.match(array.dtype.str):
            raise StoreError(f"Array {name!r} has dtype {array.dtype}. Only numbers, booleans and text are stored.")
        header.append([name, array.dtype.str, list(array.shape)])
        buffers.append(np.ascontiguousarray(array).tobytes())
    head = json.dumps(header, separators=(",", ":")).encode()
    return zlib.compress(b"".join((struct.pack("<I", len(head)), head, *buffers)), level)


def unpack_arrays(blob: bytes) -> list[tuple[str, npt.NDArray[Any]]]:
    """Rebuild from `pack_arrays`; sizes are checked before anything is believed."""
    raw = inflate(blob)
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


def inflate(blob: bytes) -> bytes:
    """Decompress, and refuse what would fill the memory."""
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(blob, MAX_BLOB)
    except zlib.error as error:
        raise StoreError(f"Stored bytes cannot be decompressed: {error}. The store is damaged.") from None
    if inflater.unconsumed_tail or not inflater.eof:
        raise StoreError(f"Stored bytes are cut short, or inflate to more than {MAX_BLOB} bytes. The store is damaged.")
    return raw
