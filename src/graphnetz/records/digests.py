"""Digests: what a cell says and what a run says, each as one short text that anyone can compute again."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphnetz._core.plain import jsonable
from graphnetz.records.cells import CellResult, Predictions, public_error
from graphnetz.records.kept import shared_hash
from graphnetz.records.protocol import Protocol

LENGTH = 32
"""Hexadecimal digits of the digest of one cell: 128 bits; those of a run and of files have all 256."""

_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
_SAID = ("epochs", "best_epoch", "parameters", "n_train", "n_test")


def digest_of(value: Any) -> str:
    """Return the SHA-256 of plain JSON values, whatever order their keys have.

    Examples
    --------
    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    return sha256(_ENCODE(value).encode())


def sha256(*parts: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal; OpenSSL says "initialization error" where memory is short.

    Examples
    --------
    >>> sha256(b"a", b"b") == sha256(b"ab")
    True
    """
    try:
        found = hashlib.sha256()
        for part in parts:
            found.update(part)
        return found.hexdigest()
    except ValueError as error:
        raise MemoryError(f"A digest cannot be computed ({error}).") from error


def predictions_digest(predictions: Predictions, tested: str | None = None) -> str:
    """Return the digest of what a cell predicted, for which examples, and what was true.

    Parameters
    ----------
    predictions
        Examples, targets and scores.
    tested
        `shared_hash` of the examples, where it is known already.

    Examples
    --------
    >>> first = Predictions(np.array([7, 9]), np.array([0, 1]), np.array([0, 1], dtype=np.uint8))
    >>> other = Predictions(np.array([7, 9]), np.array([1, 1]), np.array([0, 1], dtype=np.uint8))
    >>> predictions_digest(first) == predictions_digest(other)
    False
    """
    score = np.asarray(predictions.score)
    if score.dtype.byteorder == ">":
        score = score.astype(score.dtype.newbyteorder("<"))
    found = hashlib.sha256(f"{tested or shared_hash(predictions)} {score.dtype.str} {score.shape};".encode())
    found.update(np.ascontiguousarray(score).data)
    return found.hexdigest()[:LENGTH]


def cell_digest(result: CellResult, *, protocol: Protocol | None = None, predicted: str = "") -> str:
    """Return the digest of a finished cell: identity, protocol, status, every metric and what was predicted.

    Keys, curves, seconds, memory and environments are left out: the same cell trained elsewhere has the same digest.

    Parameters
    ----------
    result
        The cell.
    protocol, predicted
        How it was trained and the digest of its predictions, where the result itself does not say so.

    Examples
    --------
    >>> cell = CellResult("", "cora", "GCN", 0, metric="test_acc", metrics={"test_acc": 0.81})
    >>> len(cell_digest(cell)), cell_digest(cell) == cell_digest(CellResult("k", "cora", "GCN", 0, metric="test_acc",
    ...     metrics={"test_acc": 0.81}, seconds=3.5))
    (32, True)
    """
    predicted = predicted or result.predicted
    if not predicted and result.predictions is not None:
        predicted = predictions_digest(result.predictions)
    facts = {
        "cell": [result.task, result.model, int(result.seed), result.status],
        "metrics": {key: _finite(float(value)) for key, value in result.metrics.items()},
        # A cell that failed has no value, so that metric and direction say nothing of it.
        "measured": [result.metric, bool(result.greater_is_better), str(result.replication)] if result.ok else [],
        "said": [_whole(getattr(result, name)) for name in _SAID],
        "error": "" if result.ok else _stable_error(result),
        "notes": [str(note) for note in result.notes],
        "trace": jsonable(list(result.trace)),
        "predictions": predicted,
    }
    return sha256(_protocol(protocol or result.protocol), _ENCODE(facts).encode())[:LENGTH]


def root_digest(cells: Iterable[tuple[str, str, int, str]]) -> str:
    """Chain the digests of cells, given as (task, model, seed, digest), into that of their run.

    Examples
    --------
    >>> cells = [("cora", "GCN", 0, "ab"), ("cora", "GCN", 1, "cd")]
    >>> root_digest(cells) == root_digest(cells[::-1]), root_digest(cells) == root_digest(cells[:1])
    (True, False)
    """
    return digest_of(sorted([task, model, int(seed), found] for task, model, seed, found in cells))


@functools.lru_cache(maxsize=4096)
def _protocol(protocol: Protocol | None) -> bytes:
    return b"null" if protocol is None else _ENCODE(jsonable(protocol.as_dict())).encode()


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _stable_error(result: CellResult) -> str:
    """The error as a report shows it; shortened until it stays, so that a reader of the report finds the same."""
    text, shorter = "", public_error(result)
    while shorter != text:
        text, shorter = shorter, public_error(CellResult("", "", "", 0, status=result.status, error=shorter))
    return text
