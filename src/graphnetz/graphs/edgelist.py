"""Edge list files: two columns of node ids, with or without a header; errors name the line."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError

IntArray = npt.NDArray[np.int64]

HEADERS = {
    "source": "target",
    "src": "dst",
    "from": "to",
    "u": "v",
    "node1": "node2",
    "node_1": "node_2",
    "id1": "id2",
    "i": "j",
    "head": "tail",
}
"""Names of the first column and the name of the second one that belongs to it."""

_COMMENT = ("#", "%")
_INTEGER = re.compile(r"[+-]?\d+$")


def read_edge_list(path: Path) -> tuple[IntArray, IntArray, npt.NDArray[np.str_] | IntArray]:
    """Read ``path`` and return rows, columns (renumbered from 0) and the original node ids.

    Columns are separated by commas, semicolons, tabs or blanks; lines starting with ``#`` or ``%``
    are comments; further columns are ignored. With a header the two id columns are found by name.
    Ids are non-negative integers or text.
    """
    if not path.is_file():
        raise DataError(f"There is no edge list file {str(path)!r}. Give the path of a CSV file with two id columns.")
    try:
        head = list(islice(_content(path), 2))
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise DataError(f"{path.name} is not a text file ({error}). Give a CSV file with two id columns.") from error
    if not head:
        raise DataError(f"{path.name} is empty. Give one edge per line: two node ids.")
    delimiter = _delimiter(head[0][1])
    first = _fields(head[0][1], delimiter)
    columns, has_header = _columns(first, path, known_rows=len(head) > 1)
    if has_header and len(head) < 2:
        raise DataError(f"{path.name} has a header and no edges. Give one edge per line.")
    pairs = _fast(path, delimiter, columns, skip=head[0][0] if has_header else 0)
    if pairs is None:
        return _slow(path, delimiter, columns, header=has_header)
    if pairs.min() < 0:
        return _slow(path, delimiter, columns, header=has_header)  # it finds the line
    ids, inverse = np.unique(pairs, return_inverse=True)
    inverse = inverse.reshape(pairs.shape)
    return inverse[:, 0], inverse[:, 1], ids


def _content(path: Path) -> Iterator[tuple[int, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            text = line.strip()
            if text and not text.startswith(_COMMENT):
                yield number, text


def _delimiter(line: str) -> str | None:
    return next((mark for mark in (",", ";", "\t") if mark in line), None)


def _fields(line: str, delimiter: str | None) -> list[str]:
    return [item.strip().strip("\"'") for item in line.split(delimiter)]


def _columns(first: list[str], path: Path, *, known_rows: bool) -> tuple[tuple[int, int], bool]:
    lowered = [item.lower() for item in first]
    for left, right in HEADERS.items():
        if left in lowered:
            if right not in lowered:
                raise DataError(
                    f"{path.name} has a column {left!r} but no column {right!r} (columns: {', '.join(first)}). "
                    f"Name the two id columns {left!r} and {right!r}."
                )
            return (lowered.index(left), lowered.index(right)), True
        if right in lowered and left not in lowered:
            raise DataError(
                f"{path.name} has a column {right!r} but no column {left!r} (columns: {', '.join(first)}). "
                f"Name the two id columns {left!r} and {right!r}."
            )
    if len(first) < 2:
        raise DataError(f"{path.name} has one column ({first[0]!r}); an edge list needs two id columns.")
    numeric = all(_INTEGER.match(item) for item in first[:2])
    if not numeric and known_rows and _looks_like_header(path):
        raise DataError(
            f"{path.name} has the columns {', '.join(first)}; which two hold the node ids? "
            "Name them 'source' and 'target'."
        )
    return (0, 1), False


def _looks_like_header(path: Path) -> bool:
    """Text in the first line over integers in the second one is a header with unknown names."""
    lines = [text for _, text in islice(_content(path), 2)]
    delimiter = _delimiter(lines[0])
    return all(_INTEGER.match(item) for item in _fields(lines[1], delimiter)[:2])


def _fast(path: Path, delimiter: str | None, columns: tuple[int, int], *, skip: int) -> IntArray | None:
    """Read integers with the C reader; None when the file needs the line-by-line reader."""
    try:
        pairs = np.loadtxt(
            path,
            dtype=np.int64,
            delimiter=delimiter,
            usecols=columns,
            comments=_COMMENT,
            skiprows=skip,
            ndmin=2,
            encoding="utf-8-sig",
        )
    except (ValueError, IndexError, OverflowError):
        return None
    return pairs if len(pairs) else None


def _slow(
    path: Path, delimiter: str | None, columns: tuple[int, int], *, header: bool
) -> tuple[IntArray, IntArray, npt.NDArray[np.str_] | IntArray]:
    left: list[str] = []
    right: list[str] = []
    for number, text in islice(_content(path), 1 if header else 0, None):
        fields = _fields(text, delimiter)
        if len(fields) <= max(columns) or not fields[columns[0]] or not fields[columns[1]]:
            raise DataError(f"{path.name}, line {number}: expected two node ids, got {text[:60]!r}.")
        for column in columns:
            if re.match(r"-\s*\d", fields[column]):
                raise DataError(
                    f"{path.name}, line {number}: negative node id {fields[column]}. Node ids are 0 or greater."
                )
        left.append(fields[columns[0]])
        right.append(fields[columns[1]])
    if not left:
        raise DataError(f"{path.name} has no edges. Give one edge per line: two node ids.")
    ids, inverse = np.unique(np.array(left + right), return_inverse=True)
    half = len(left)
    return inverse[:half], inverse[half:], ids
