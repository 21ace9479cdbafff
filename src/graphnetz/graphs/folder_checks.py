"""Whether a graph folder is what its header says: the header against the files, and the numbers against the header.

Kernels follow pointers and numbers of nodes without asking. So a folder of somebody else is looked through once, when
its bytes are compared with their digests, and refused in one sentence where a number points outside the graph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError

VERSION = 1
"""Version of the format; folders of another version are refused."""

FORMAT = "graphnetz graph folder"
BLOCK = 64 << 20
"""Bytes of a file that share one digest."""

PARTS = ("train", "val", "test")
TYPES: Mapping[str, tuple[str, ...]] = {
    "indptr": ("int64",), "indices": ("int32",), "features": ("float16", "float32"), "labels": ("int32",),
    "train": ("int64",), "val": ("int64",), "test": ("int64",),
}  # fmt: skip
"""The files of a folder, and the types their numbers may have."""

AGAIN = "Convert the source again with 'graphnetz convert'"
_MOST_NODES = 2**31 - 1
_CHUNK = 1 << 20
"""Numbers looked at together."""

Array = npt.NDArray[Any]


def header_digest(header: Mapping[str, Any]) -> str:
    """Return the digest of a header without the digest it carries.

    Parameters
    ----------
    header
        As read or about to be written.

    Returns
    -------
    str
        40 characters.
    """
    rest = {key: value for key, value in header.items() if key != "digest"}
    return hashlib.blake2b(json.dumps(rest, sort_keys=True).encode(), digest_size=20).hexdigest()


def check_header(folder: Path, header: Any) -> None:
    """Refuse a header that is not ours, not whole, or does not fit the files beside it.

    Parameters
    ----------
    folder
        Where it lies.
    header
        What was read.
    """
    here = f"The graph folder {str(folder)!r}"
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DataError(f"{here} has a header of something else. Give a folder that 'graphnetz convert' made.")
    if header.get("version") != VERSION:
        raise DataError(f"{here} has version {header.get('version')!r} of the format, known is {VERSION}. {AGAIN}.")
    if header.get("digest") != header_digest(header) or header.get("complete") is not True:
        raise DataError(f"{here} has an edited header: it does not fit its digest. {AGAIN}.")
    try:
        words = _misfit(folder, header)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        words = f"has a header in which something is missing or of another kind ({type(error).__name__}: {error})"
    if words:
        raise DataError(f"{here} {words}.")


def _misfit(folder: Path, header: Mapping[str, Any]) -> str:
    """What is wrong with a header that carries its digest, in words; nothing where it fits."""
    files: Mapping[str, Any] = header["files"]
    if not {"indptr", "indices"} <= files.keys():
        return f"lists no arcs. {AGAIN}"
    for name, facts in files.items():
        if name not in TYPES or facts["dtype"] not in TYPES[name]:
            return f"lists the unknown file {name!r} of type {facts.get('dtype')!r}. {AGAIN}"
        shape = facts["shape"]
        if not _fits(shape, _shape(name, header)):
            return f"has a header whose counts do not fit each other: {name!r} has the shape {shape}. {AGAIN}"
        wanted = int(np.prod(shape, dtype=np.int64)) * np.dtype(facts["dtype"]).itemsize
        path = folder / name
        found = path.stat().st_size if path.is_file() else None
        if found != wanted:
            what = "is missing" if found is None else f"has {found:,} bytes instead of {wanted:,}"
            return f"is incomplete: its file {name!r} {what}. {AGAIN}, or restore the file"
        if len(facts["blocks"]) != -(-wanted // BLOCK):
            return f"has a header without the digests of {name!r}. {AGAIN}"
    nodes, loops = header["nodes"], header["self_loops"]
    if not (_whole(loops) and loops <= min(nodes, header["arcs"]) and nodes <= _MOST_NODES):
        return f"has a header whose counts do not fit each other: {nodes} nodes, {loops} self-loops. {AGAIN}"
    return ""


def _whole(value: Any) -> bool:
    return type(value) is int and value >= 0


def _shape(name: str, header: Mapping[str, Any]) -> tuple[int | None, ...]:
    """The shape that the counts of a header ask of a file; None where any is right."""
    nodes = header["nodes"]
    shapes: Mapping[str, tuple[int | None, ...]] = {
        "indptr": (nodes + 1,), "indices": (header["arcs"],), "features": (nodes, None), "labels": (nodes,),
    }  # fmt: skip
    return shapes.get(name, (None,))


def _fits(shape: Any, wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        _whole(size) and (want is None or size == want) for size, want in zip(shape, wanted, strict=True)
    )


def check_numbers(header: Mapping[str, Any], array: Callable[[str], Array]) -> str:
    """Say what numbers of a folder no conversion writes, such as a neighbour that is no node.

    Parameters
    ----------
    header
        As `check_header` let it pass.
    array
        Maps the name of a file to its numbers.

    Returns
    -------
    str
        The first thing wrong, in words; empty where there is none. Memory is bounded.
    """
    nodes, arcs = header["nodes"], header["arcs"]
    indptr = array("indptr")
    if indptr[0] != 0 or indptr[-1] != arcs or any((part[1:] < part[:-1]).any() for part in _chunks(indptr)):
        return "'indptr' does not rise from 0 to the number of arcs"
    if not all(_inside(part, 0, nodes) for part in _chunks(array("indices"))):
        return f"'indices' names a node outside 0 to {nodes - 1}"
    if words := _rows(indptr, array("indices"), header["self_loops"]):
        return words
    if "labels" in header["files"] and not _inside(array("labels"), -1, header["classes"]):
        return f"'labels' has a class outside 0 to {header['classes'] - 1}"
    for name in PARTS:
        if name in header["files"] and (words := _part(name, array(name), header, array)):
            return words
    return ""


def _part(name: str, ids: Array, header: Mapping[str, Any], array: Callable[[str], Array]) -> str:
    if not _inside(ids, 0, header["nodes"]) or (ids[1:] <= ids[:-1]).any():
        return f"{name!r} does not hold rising numbers of nodes"
    if "labels" in header["files"] and (array("labels")[ids] < 0).any():
        return f"{name!r} names a node without a class"
    return ""


def _rows(indptr: Array, indices: Array, loops: int) -> str:
    """Whether the sources in each row rise, so that no arc is there twice, and how many are self-loops."""
    found, before = 0, -1
    for start in range(0, indices.size, _CHUNK):
        stop = min(start + _CHUNK, indices.size)
        first, last = np.searchsorted(indptr, (start, stop - 1), side="right") - 1
        counts = np.diff(np.clip(indptr[first : last + 2], start, stop))
        row = np.repeat(np.arange(first, last + 1), counts)
        key = row << 32 | indices[start:stop]
        if key[0] <= before or (key[1:] <= key[:-1]).any():
            return "'indices' does not rise within the rows, or holds an arc twice"
        found, before = found + int(np.count_nonzero(row == indices[start:stop])), int(key[-1])
    return "" if found == loops else f"'indices' holds {found:,} self-loops instead of {loops:,}"


def _chunks(array: Array) -> Iterator[Array]:
    """Yield an array in parts, each with the first number of the next one."""
    for start in range(0, array.size, _CHUNK):
        yield array[start : start + _CHUNK + 1]


def _inside(array: Array, low: int, high: int) -> bool:
    return not array.size or bool(array.min() >= low and array.max() < high)
