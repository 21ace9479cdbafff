"""Text tables: edge lists, and labels or features beside them; errors name the file and the line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError
from graphnetz._core.readers import open_text

IntArray = npt.NDArray[np.int64]
Row = tuple[int, list[str]]
"""Number of the line a row ends on, and its cells."""

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

NODE_TITLES = ("node", "id", "index", "nodeid")
LABEL_TITLES = ("label", "y", "class", "target")
_COMMENT = ("#", "%")
_INTEGER = re.compile(r"[+-]?\d+$")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
_MISSING = ("", "nan", "NaN", "NA", "null")
_PEEK = 50
_LARGE = 1 << 20
"""Bytes from which the reader of plain pairs is worth loading."""


@dataclass(frozen=True)
class EdgeList:
    """Edges ``[E, 2]`` numbered from 0, the ids behind the numbers, and further columns by name."""

    edges: IntArray
    ids: npt.NDArray[Any]
    columns: dict[str, npt.NDArray[Any]] = field(default_factory=dict)


def read_edge_list(path: Path) -> EdgeList:
    r"""Read a text file with one edge per line.

    Parameters
    ----------
    path
        Columns are separated by commas, semicolons, tabs or blanks; lines starting with ``#`` or
        ``%`` are comments; ``.gz`` is unpacked. The first line is a header only where its content
        says so: it names ends ('source', 'target'), or stands over numbers without being one.

    Returns
    -------
    EdgeList
        Ids are whole numbers where all of them are, else text; both in rising order.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edges.csv"
    >>> _ = file.write_text("# friends\nada,bob\nbob,cy\n")
    >>> found = read_edge_list(file)
    >>> found.ids.tolist(), found.edges.tolist()
    (['ada', 'bob', 'cy'], [[0, 1], [1, 2]])
    """
    delimiter, titles, ends, skip = edge_layout(path)
    header = skip > 0
    lowered = [title.lower() for title in titles]
    weight = [position for position, title in enumerate(lowered) if title == "weight"]
    pairs = None if "label" in lowered else _pairs(path, delimiter, ends, skip)
    # the line-by-line reader finds the line of a bad weight
    weights = _fast(path, delimiter, tuple(weight), skip=skip, kind=np.float64) if weight else np.zeros((0, 1))
    # the line-by-line reader finds the line of a bad id
    if pairs is not None and weights is not None and pairs.min() >= 0 and np.isfinite(weights).all():
        ids, edges = numbered(pairs)
        return EdgeList(edges, ids, {titles[i]: weights[:, 0] for i in weight})
    found = edges_of(
        islice(text_rows(path, delimiter), int(header), None), titles, ends=ends, place=f"{path.name}, line"
    )
    if header and not _named(titles) and found.ids.dtype.kind not in "iu" and len(titles) == 2:
        raise DataError(
            f"{path.name}, line {skip}: {','.join(titles)!r} may be a header or the first edge. Name the columns "
            "'source' and 'target' in a first line."
        )
    return found


def numbered(pairs: IntArray) -> tuple[IntArray, IntArray]:
    """Return the ids of an array in rising order and their positions in it, as ``np.unique`` does.

    Ids that lie close together, as those of most files do, need no sorting.

    Examples
    --------
    >>> [part.tolist() for part in numbered(np.array([[7, 3], [3, 5]]))]
    [[3, 5, 7], [[2, 0], [0, 1]]]
    """
    top = int(pairs.max())
    if pairs.min() < 0 or top >= 4 * pairs.size:
        ids, inverse = np.unique(pairs, return_inverse=True)
        return ids, inverse.reshape(pairs.shape)
    held = np.zeros(top + 1, dtype=bool)
    held[pairs.ravel()] = True
    return np.flatnonzero(held), (np.cumsum(held) - 1)[pairs]


def edge_layout(path: Path) -> tuple[str | None, list[str], tuple[int, int], int]:
    """Look at the first rows of an edge list.

    Parameters
    ----------
    path
        As for `read_edge_list`.

    Returns
    -------
    delimiter, titles, ends, skip
        What separates the columns (None: blanks), their names or nothing, the positions of the two id columns, and the
        lines up to the end of the header, 0 without one.
    """
    delimiter, titles = _layout(path)
    head = list(islice(text_rows(path, delimiter), _PEEK))
    cells = [row for _, row in head]
    header = _is_edge_header(cells[0], cells[1:])
    if header:
        titles = cells[0]
    elif not _named(titles) or len(titles) != len(cells[0]):
        titles = []  # an ordinary comment
    ends = end_columns(titles, path.name, width=len(cells[0]))
    if header and len(head) < 2:
        raise DataError(f"{path.name} has a header and no edges. Give one edge per line.")
    return delimiter, titles, ends, head[0][0] if header else 0


def edges_of(rows: Iterable[Row], titles: Sequence[str], *, ends: tuple[int, int], place: str) -> EdgeList:
    """Number the ends of rows of text and keep the titled columns beside them.

    Parameters
    ----------
    rows
        Number and cells of each row.
    titles
        Names of the columns, or nothing.
    ends
        Positions of the two id columns.
    place
        What the number of a row counts, for messages: "graph.csv, line".
    """
    ids: list[str] = []
    lines: list[int] = []
    others = {title: position for position, title in enumerate(titles) if position not in ends}
    columns: dict[str, list[str]] = {title: [] for title in others}
    for number, cells in rows:
        pair = [cells[end] if end < len(cells) else "" for end in ends]
        if not all(pair):
            raise DataError(
                f"{place} {number}: expected two node ids, got {','.join(cells)[:60]!r}. Give both ends of every edge."
            )
        for name in pair:
            if re.match(r"-\s*\d", name):
                raise DataError(f"{place} {number}: negative node id {name}. Node ids are 0 or greater.")
        ids += pair
        lines.append(number)
        for title, position in others.items():
            columns[title].append(cells[position] if position < len(cells) else "")
    for title in (title for title in columns if title.lower() == "weight"):
        _refuse_weights(columns[title], lines, place)
    names, inverse = np.unique(_typed_ids(ids, lines, place), return_inverse=True)
    return EdgeList(inverse.reshape(-1, 2), names, {title: values_of(cells) for title, cells in columns.items()})


def _refuse_weights(cells: Sequence[str], lines: Sequence[int], place: str) -> None:
    """Refuse a weight that is no finite number."""
    for cell, line in zip(cells, lines, strict=True):
        if not _NUMBER.match(cell) or not np.isfinite(float(cell)):
            raise DataError(f"{place} {line}: the weight {cell[:40]!r} is not a number. Give one for every edge.")


def end_columns(titles: Sequence[str], name: str, *, width: int) -> tuple[int, int]:
    """Return the positions of the two id columns: by their titles, else the only two there are."""
    lowered = [title.lower() for title in titles]
    # pairs that are there in full come first
    for pair in sorted(HEADERS.items(), key=lambda pair: not {*pair} <= {*lowered}):
        found = [title for title in pair if title in lowered]
        if len(found) == 2:
            return lowered.index(pair[0]), lowered.index(pair[1])
        if found and width > 1:
            lacking = pair[1 - pair.index(found[0])]
            raise DataError(
                f"{name} has a column {found[0]!r} but no column {lacking!r} (columns: {', '.join(titles)}). "
                f"Name the two id columns {pair[0]!r} and {pair[1]!r}."
            )
    if width < 2:
        raise DataError(f"{name} has one column; an edge list needs two id columns, such as 'source' and 'target'.")
    if not {*lowered[2:]} <= {"weight", "label"}:
        raise DataError(
            f"{name} has the columns {', '.join(titles)}; which two hold the node ids? Name them 'source' and 'target'."
        )
    return 0, 1


def read_table(path: Path, *, nodes: Iterable[str], label: str | None = None) -> tuple[list[str], list[Row]]:
    """Read a table with one row per node.

    Parameters
    ----------
    path
        Text as for `read_edge_list`, cells may be quoted.
    nodes
        Names of nodes, to tell a first row from a header.
    label
        Name of a column that must exist.

    Returns
    -------
    titles, rows
        Without a header the titles are "node" and, for two columns, "label".
    """
    delimiter, titles = _layout(path)
    rows = list(text_rows(path, delimiter))
    cells = [row for _, row in rows]
    if _is_table_header(cells, set(nodes), label):
        titles, rows = cells[0], rows[1:]
    elif len(titles) != len(cells[0]) or not {title.lower() for title in titles} & {*NODE_TITLES}:
        titles = ["node", "label"] if len(cells[0]) == 2 else ["node", *(str(i) for i in range(1, len(cells[0])))]
    if not rows:
        raise DataError(f"{path.name} has a header and nothing below it; give one row per node.")
    for number, row in rows:
        if len(row) < len(titles) or not row[0]:
            raise DataError(f"{path.name}, line {number}: expected {', '.join(titles)}, got {','.join(row)[:60]!r}.")
    return titles, rows


def values_of(cells: Sequence[str]) -> npt.NDArray[Any]:
    """Return text cells as whole numbers, else as numbers (an empty cell is NaN), else as text."""
    array = np.array(cells)
    for kind in (np.int64, np.float64):
        try:
            return np.where(np.isin(array, _MISSING), "nan", array).astype(kind)
        except (ValueError, OverflowError):
            continue
    return np.array([None if cell in _MISSING else cell for cell in cells], dtype=object)


def text_rows(path: Path, delimiter: str | None) -> Iterator[Row]:
    """Yield the rows of a text file that are neither blank nor comments, each with its line."""
    number = 0

    def content() -> Iterator[str]:
        nonlocal number
        for number, line in enumerate(stream, start=1):  # noqa: B007 - read outside
            if line.strip() and not line.lstrip().startswith(_COMMENT):
                yield line

    with open_text(path) as stream:
        rows = map(str.split, content()) if delimiter is None else csv.reader(
            content(), delimiter=delimiter, skipinitialspace=True, strict=True
        )  # fmt: skip
        try:
            for cells in rows:
                yield number, [cell.strip() for cell in cells]
        except csv.Error as error:
            words = "a quotation mark is not closed" if "end of data" in str(error) else str(error)
            raise DataError(f"{path.name}, line {number}: {words}. Save the table as CSV.") from error


def _layout(path: Path) -> tuple[str | None, list[str]]:
    """Return what separates the columns (None: blanks), and the cells of the comment above the first row."""
    try:
        with open_text(path) as stream:
            comment = ""
            for line in map(str.strip, stream):
                if "\0" in line:
                    raise DataError(f"{path.name} is not a text file: it holds a zero byte. Give a table of edges.")
                if line and not line.startswith(_COMMENT):
                    delimiter = next((mark for mark in ",;\t" if mark in line), None)
                    return delimiter, [cell.strip() for cell in comment.split(delimiter)]
                comment = line.lstrip("#% ") or comment
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise DataError(f"{path.name} is not a text file ({error}). Give a CSV file with two id columns.") from error
    raise DataError(f"{path.name} is empty. Give one row per line.")


def _named(cells: Sequence[str]) -> set[str]:
    """The titles of ends among cells: one of "source", "target", "src", "dst", or both of a pair of plain words."""
    lowered = {cell.lower() for cell in cells}
    found = lowered & {"source", "target", "src", "dst"}
    return found.union(*(pair for pair in HEADERS.items() if {*pair} <= lowered))


def _is_edge_header(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first row names columns: by known titles, or by text where the next row has numbers."""
    named = _named(first)
    if named and not named & {cell.lower() for row in others for cell in row[:2]}:
        return True  # a graph of letters may hold nodes called u and v, but then they occur again
    if not others or len(first) < 2 or len(others[0]) < 2:
        return False
    ends = not any(_NUMBER.match(cell) for cell in first[:2]) and all(
        _INTEGER.match(cell) for row in others for cell in row[:2]
    )
    further = zip(first[2:], others[0][2:], strict=False)
    return ends or any(_NUMBER.match(below) and not _NUMBER.match(cell) for cell, below in further if cell)


def _is_table_header(cells: list[list[str]], nodes: set[str], label: str | None) -> bool:
    first, others = cells[0], cells[1:]
    lowered = [cell.lower() for cell in first]
    if label in first or lowered[0] in NODE_TITLES or {*lowered[1:]} & {*LABEL_TITLES}:
        return True
    if first[0] in nodes or not others or _INTEGER.match(first[0]):
        return False
    if all(_INTEGER.match(row[0]) for row in others):
        return True
    # an unknown name beside a value that no other row has: a title; a node without edges shares its class
    return first[1:2] not in [row[1:2] for row in others]


def _typed_ids(ids: list[str], lines: list[int], place: str) -> npt.NDArray[Any]:
    """Return ids as whole numbers where all of them are numbers (``3.0`` is 3), else as text."""
    array = np.array(ids)
    if not all(map(_NUMBER.match, ids)):
        return array
    try:
        return array.astype(np.int64)
    except (ValueError, OverflowError):
        bad = next((i for i, cell in enumerate(ids) if not float(cell).is_integer()), None)
    if bad is not None:
        raise DataError(
            f"{place} {lines[bad // 2]}: the node id {ids[bad]} is a fraction; ids are whole numbers or names."
        )
    whole = array.astype(np.float64)
    return whole.astype(np.int64) if whole.max() < 2**53 else array


def _pairs(path: Path, delimiter: str | None, ends: tuple[int, int], skip: int) -> Any:
    """Read the two id columns: of a large plain file byte by byte, else as any other numbers."""
    if ends == (0, 1) and path.suffix != ".gz" and path.stat().st_size > _LARGE:
        from graphnetz.graphs.quick_pairs import quick_pairs

        found = quick_pairs(path, delimiter, skip=skip)
        if found is not None:
            return found
    return _fast(path, delimiter, ends, skip=skip, kind=np.int64)


def _fast(path: Path, delimiter: str | None, columns: tuple[int, ...], *, skip: int, kind: type) -> Any:
    """Read numbers with the C reader; None when the file needs the line-by-line reader."""
    options: dict[str, Any] = {"usecols": columns, "comments": _COMMENT, "skiprows": skip, "ndmin": 2}
    try:
        if path.suffix == ".gz":
            with open_text(path) as stream:
                found: Any = np.loadtxt(stream, dtype=kind, delimiter=delimiter, **options)
        else:
            found = np.loadtxt(path, dtype=kind, delimiter=delimiter, encoding="utf-8-sig", **options)
    except (ValueError, IndexError, OverflowError):
        return None
    return found if len(found) else None
