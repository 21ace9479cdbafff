"""Predictions as bytes and back: the examples of a split once, the outputs of every cell, one file per task."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphnetz._core.arrays import MAX_BLOB, pack_arrays, unpack_arrays
from graphnetz._core.errors import StoreError
from graphnetz._core.paths import slug
from graphnetz.records.cells import Predictions

Arrays = list[tuple[str, npt.NDArray[Any]]]
SCHEMA, VERSION = "graphnetz.examples", 1
_LARGE = ("example", "target", "ends", "blocks")
_FACTS = ("unit", "one_graph", "total", "node_columns")


class Kept(NamedTuple):
    """What one cell predicted."""

    model: str
    seed: int
    predictions: Predictions


def shared_arrays(predictions: Predictions) -> Arrays:
    """Return everything but the scores: what all models that were tested on the same split share.

    Examples
    --------
    >>> found = shared_arrays(Predictions(np.array([7, 9]), np.array([0, 1]), np.array([0.5, 2.0])))
    >>> [(name, array.dtype.name) for name, array in found]
    [('facts', 'uint8'), ('example', 'uint8'), ('target', 'uint8')]
    """
    facts = {name: getattr(predictions, name) for name in _FACTS}
    large = [(name, getattr(predictions, name)) for name in _LARGE]
    return [("facts", _text(facts)), *((name, _small(np.asarray(array))) for name, array in large if array is not None)]


def shared_from(arrays: Mapping[str, npt.NDArray[Any]]) -> Predictions:
    """Rebuild from `shared_arrays`, with empty scores."""
    try:
        facts = json.loads(arrays["facts"].tobytes())
        large: dict[str, Any] = {name: _wide(arrays[name]) for name in _LARGE if name in arrays}
        found = Predictions(score=np.empty(0), **large, **{name: facts[name] for name in _FACTS})
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"Stored test examples cannot be read ({error!r}). The file is damaged.") from None
    if len({len(array) for array in large.values()}) != 1:
        raise StoreError("Stored test examples have arrays of different length. The file is damaged.")
    return found


def shared_hash(predictions: Predictions) -> str:
    """Name the examples of a split by their content."""
    digest = hashlib.sha256()
    for name, array in shared_arrays(predictions):
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:32]


def pack_shared(predictions: Predictions) -> bytes:
    """Compress the examples of a split."""
    return pack_arrays(shared_arrays(predictions), level=6)


def unpack_shared(blob: bytes) -> Predictions:
    """Rebuild from `pack_shared`."""
    return shared_from(dict(unpack_arrays(blob)))


def score_arrays(score: npt.NDArray[Any]) -> Arrays:
    """Return the outputs of one cell as they compress best: tables of floats column by column, byte by byte.

    Examples
    --------
    >>> table = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    >>> score_from(dict(score_arrays(table))).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if score.ndim != 2 or score.dtype != np.float32:
        return [("score", score)]
    columns = np.ascontiguousarray(score.T)
    return [("planes", np.moveaxis(columns.view(np.uint8).reshape(*columns.shape, 4), -1, 0))]


def score_from(arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Rebuild from `score_arrays`."""
    if "planes" not in arrays:
        return arrays["score"]
    return np.ascontiguousarray(np.moveaxis(arrays["planes"], 0, -1)).view("<f4")[..., 0].T


def examples_file(task: str) -> str:
    """Return the name of a task's file in ``examples/``; tasks with like names do not share one.

    Examples
    --------
    >>> examples_file("cora"), examples_file("cora/2")
    ('cora.bin', 'cora-2-76289c26.bin')
    """
    plain = slug(task)
    return f"{plain}.bin" if plain == task else f"{plain}-{zlib.crc32(task.encode()):08x}.bin"


def pack_examples(task: str, kept: Iterable[Kept]) -> bytes:
    """Return the file of one task: the same bytes for the same cells, in whatever order they finished.

    Examples
    --------
    >>> cell = Kept("GCN", 0, Predictions(np.array([7, 9]), np.array([0, 1]), np.array([0, 1], dtype=np.uint8)))
    >>> [(found.model, found.predictions.classes.tolist()) for found in unpack_examples(pack_examples("cora", [cell]))]
    [('GCN', [0, 1])]
    """
    splits: dict[str, int] = {}
    stacks: dict[tuple[int, str, tuple[int, ...]], list[npt.NDArray[Any]]] = {}
    arrays: Arrays = []
    cells = []
    for model, seed, predictions in sorted(kept, key=lambda cell: (cell.seed, cell.model)):
        name, score = shared_hash(predictions), np.asarray(predictions.score)
        if name not in splits:
            splits[name] = len(splits)
            arrays += [(f"{part}.{splits[name]}", array) for part, array in shared_arrays(predictions)]
        key = (splits[name], score.dtype.str, score.shape)
        rows = stacks.setdefault(key, [])
        cells.append([model, seed, splits[name], list(stacks).index(key), len(rows)])
        rows.append(score)
    # Models agree on most examples: side by side they compress better than cell by cell.
    arrays += [(f"score.{i}", np.stack(rows, axis=-1)) for i, rows in enumerate(stacks.values())]
    facts = {"schema": SCHEMA, "version": VERSION, "task": task, "cells": cells}
    return pack_arrays([("index", _text(facts)), *arrays], level=6)


def unpack_examples(blob: bytes) -> Iterator[Kept]:
    """Rebuild from `pack_examples`; cells of one split share its arrays."""
    arrays = dict(unpack_arrays(blob))
    splits: dict[int, Predictions] = {}
    try:
        index = json.loads(arrays["index"].tobytes())
        if index["schema"] != SCHEMA or index["version"] != VERSION:
            raise StoreError(f"Its schema is {index['schema']!r}, version {index['version']!r}.")
        for model, seed, split, stack, row in index["cells"]:
            if split not in splits:
                names = ("facts", *_LARGE)
                splits[split] = shared_from({n: arrays[f"{n}.{split}"] for n in names if f"{n}.{split}" in arrays})
            score = arrays[f"score.{stack}"][..., row]
            if len(score) != len(splits[split].example):
                raise StoreError("Scores and examples have different lengths.")
            yield Kept(str(model), int(seed), dataclasses.replace(splits[split], score=score))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise StoreError(f"The predictions cannot be read ({error!r}).") from None


def read_examples(folder: str | Path, task: str) -> list[Kept]:
    """Read what the cells of one task predicted from ``examples/`` of a run folder; nothing where there is no file."""
    path = Path(folder) / "examples" / examples_file(task)
    if not path.is_file():
        return []
    if path.stat().st_size > MAX_BLOB:
        raise StoreError(f"{path.name!r} is larger than {MAX_BLOB >> 20} MB and was not read.")
    try:
        return list(unpack_examples(path.read_bytes()))
    except (OSError, StoreError) as error:
        raise StoreError(f"The predictions in 'examples/{path.name}' cannot be read: {error}") from None


def _text(value: Any) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value, separators=(",", ":")).encode(), dtype=np.uint8)


def _small(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers in the fewest bytes that hold them."""
    if array.dtype.kind not in "iu" or not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(array.max()))


def _wide(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers as they are computed with: unsigned ones would wrap around."""
    return array.astype(np.int64) if array.dtype.kind == "u" else array
