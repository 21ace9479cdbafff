"""A file of named arrays with a fingerprint: what processed datasets are kept in.

Layout: magic, length of the header, header (JSON), raw array bytes, sha256 of everything before it.
There is nothing in it to execute, and a changed bit anywhere is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from graphnetz._core.errors import DataError
from graphnetz._core.paths import atomic_write

MAGIC = b"GRAPHNETZ-ARRAYS-1\n"
_KINDS = frozenset("biuf")


def write_container(path: str | Path, arrays: Mapping[str, np.ndarray], *, meta: Mapping[str, Any]) -> str:
    """Write ``arrays`` and ``meta`` (plain JSON values) to ``path`` and return the fingerprint."""
    entries, blocks = [], []
    for name, array in arrays.items():
        block = np.ascontiguousarray(array)
        if block.dtype.kind not in _KINDS:
            raise DataError(f"The array {name!r} has the type {block.dtype}; only numbers and booleans are kept.")
        block = block.astype(block.dtype.newbyteorder("<"), copy=False)
        entries.append({"name": name, "dtype": block.dtype.str, "shape": list(np.shape(array))})
        blocks.append(block)
    header = json.dumps({"meta": dict(meta), "arrays": entries}, sort_keys=True).encode()
    digest = hashlib.sha256()
    with atomic_write(path, "wb") as text:
        stream: BinaryIO = text  # type: ignore[assignment]
        pieces: list[Any] = [MAGIC, len(header).to_bytes(8, "little"), header, *(b.reshape(-1).data for b in blocks)]
        for piece in pieces:
            stream.write(piece)
            digest.update(piece)
        stream.write(digest.digest())
    return digest.hexdigest()


def read_container(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any], str]:
    """Return the arrays, the meta values and the fingerprint of a file that is whole.

    Raises
    ------
    DataError
        The file is not such a container, is cut short, or a bit of it has changed.
    """
    path = Path(path)
    content = np.fromfile(path, dtype=np.uint8)
    edge = len(MAGIC) + 8
    if len(content) < edge + 32 or content[: len(MAGIC)].tobytes() != MAGIC:
        raise DataError(f"{path.name!r} is not a file of processed arrays. Remove it; it will be made again.")
    digest = hashlib.sha256(content[:-32].data)
    if digest.digest() != content[-32:].tobytes():
        raise DataError(f"{path.name!r} has been damaged: its fingerprint differs. Remove it; it will be made again.")
    size = int.from_bytes(content[len(MAGIC) : edge].tobytes(), "little")
    header = json.loads(content[edge : edge + size].tobytes())
    arrays, position = {}, edge + size
    for entry in header["arrays"]:
        kind = np.dtype(entry["dtype"])
        count = int(np.prod(entry["shape"], dtype=np.int64)) * kind.itemsize
        # the copy is aligned and writeable, which the view needs
        arrays[entry["name"]] = content[position : position + count].copy().view(kind).reshape(entry["shape"])
        position += count
    return arrays, header["meta"], digest.hexdigest()
