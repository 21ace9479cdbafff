"""The one way in for files of others: tables, JSON, TOML and text.

Whatever a file holds, what comes out is plain values or one sentence that says where it is wrong. Only regular files
are read, none without an end, and none that unpacks to far more than it weighs.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import stat
import struct
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from graphnetz._core.errors import DataError, GraphnetzError
from graphnetz._core.text import shorten

if TYPE_CHECKING:
    import pandas as pd

MAX_BYTES = 1 << 30
MAX_DEPTH = 60
"""Levels of nested lists and tables; ours have fewer than ten."""
MAX_DIGITS = 400
"""Digits of one number: the longest that a double needs has 309."""
MAX_COLUMNS = 10_000
MAX_RATIO = 250.0
"""How many times its weight a compressed file may unpack to."""
RATIO_FLOOR = 64 << 20
"""Below this size a high ratio is harmless: a column of zeros compresses a thousandfold."""

_KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)  # fmt: skip
_MARKS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x1f\x8b", "gzip"), (b"PK\x03\x04", "zip"))
_BAD_VALUES = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError, MemoryError,
               struct.error, zlib.error)  # fmt: skip


def regular(path: str | Path, *, most: int | None = None, give: str = "", what: str = "") -> Path:
    """Return ``path`` if it is a plain file of at most ``most`` bytes; refuse it in one sentence otherwise.

    Parameters
    ----------
    path
        A file; a link is followed, since the caller named it.
    most
        Largest size in bytes; None takes any.
    give
        What to give instead, as a sentence.
    what
        What the file is, such as "the configuration".

    Examples
    --------
    >>> regular("/dev/null", give="Give a CSV file.")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: Cannot read '/dev/null': it is a device, not a file. Give a CSV file.
    """
    found, named = Path(path), f"{what} {str(path)!r}".lstrip()
    end = f" {give}" if give else ""
    try:
        status = found.stat()
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise DataError(f"Cannot read {named}: {getattr(error, 'strerror', None) or error}.{end}") from error
    for test, word in _KINDS:
        if test(status.st_mode):
            raise DataError(f"Cannot read {named}: it is {word}, not a file.{end}")
    if most is not None and status.st_size > most:
        raise DataError(f"{found.name!r} is larger than {most >> 20:,} MB and was not read.{end}")
    return found


def read_text(path: str | Path, *, most: int = MAX_BYTES, give: str = "", what: str = "") -> str:
    r"""Return a text file, which must be UTF-8; what is not is named with its line and column.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = file.write_bytes("task\ncafé\n".encode("latin-1"))
    >>> read_text(file)
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: 'scores.csv', line 2, column 4: the byte 0xe9 is not UTF-8. ...
    """
    found = regular(path, most=most, give=give, what=what)
    try:
        content = found.read_bytes()
    except OSError as error:
        raise DataError(f"Cannot read {str(path)!r}: {error.strerror}.{' ' * bool(give)}{give}") from error
    for mark, kind in _MARKS:
        if content.startswith(mark):
            raise DataError(f"{found.name!r} is {kind}, not a text in UTF-8. Save the file as UTF-8.")
    return decoded(content, found.name)


def decoded(content: bytes, name: str) -> str:
    """Return bytes as text in UTF-8, with or without its mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode("utf-8-sig", "replace")) + 1
        raise DataError(
            f"{name!r}, line {line}, column {column}: the byte 0x{content[error.start]:02x} is not UTF-8. "
            "Save the file as UTF-8."
        ) from error


# JSON and TOML


def read_json(path: str | Path, *, most: int = MAX_BYTES, give: str = "") -> Any:
    """Return what a JSON file holds; see `parse_json`."""
    return parse_json(read_text(path, most=most, give=give), name=Path(path).name, give=give)


def parse_json(text: str, *, name: str, give: str = "") -> Any:
    """Return what a JSON text holds, or say where it is wrong.

    Refused are also keys that stand twice, NaN and infinite numbers, numbers without end, texts that no file can hold,
    and more than `MAX_DEPTH` levels.

    Parameters
    ----------
    text
        JSON.
    name
        Of the file, for the sentence.
    give
        What to give instead, as a sentence.

    Examples
    --------
    >>> parse_json('{"a": 1, "a": 2}', name="results.json")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: 'results.json' holds the key 'a' twice.
    """
    end = f" {give}" if give else ""

    def refuse(words: str) -> NoReturn:
        raise DataError(f"{name!r} {words}.{end}")

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            refuse(f"holds the key {shorten(next(k for k, _ in pairs if k in seen or seen.add(k)))!r} twice")  # type: ignore[func-returns-value]
        return found

    def whole(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            refuse(f"holds a number of {len(digits):,} digits; at most {MAX_DIGITS} are read")
        return int(digits)

    def fraction(digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            refuse(f"holds the number {shorten(digits, 20)}, which is larger than any that can be computed with")
        return value

    def word(constant: str) -> NoReturn:
        refuse(f"holds {constant}, which is not JSON; write null")

    try:
        found = json.loads(text, object_pairs_hook=table, parse_int=whole, parse_float=fraction, parse_constant=word)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{name!r}, line {error.lineno}, column {error.colno}: this is not JSON ({error.msg}).{end}"
        ) from error
    except RecursionError as error:
        raise DataError(f"{name!r} is nested deeper than {MAX_DEPTH} levels.{end}") from error
    _refuse_deep(found, refuse)
    if "\\u" in text:  # halves of a pair can only be written this way
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise DataError(f"{name!r} holds half a character (a lone surrogate), which is no text.{end}") from error
    return found


def read_toml(path: str | Path, *, most: int = 1 << 20, what: str = "") -> dict[str, Any]:
    r"""Return the tables of a TOML file, or say where it is wrong.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "run.toml"
    >>> _ = file.write_text("epochs = [\n")
    >>> read_toml(file)
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: 'run.toml' is not valid TOML: Invalid value (at end of document).
    """
    name, text = Path(path).name, read_text(path, most=most, what=what)

    def refuse(words: str) -> NoReturn:
        raise DataError(f"{name!r} {words}.")

    try:
        found = tomllib.loads(text)
    except RecursionError as error:
        raise DataError(f"{name!r} is nested deeper than {MAX_DEPTH} levels.") from error
    except ValueError as error:  # an integer without end is not a TOMLDecodeError
        known = isinstance(error, tomllib.TOMLDecodeError)
        words = str(error) if known else f"a number has more than {MAX_DIGITS} digits"
        raise DataError(f"{name!r} is not valid TOML: {words}.") from error
    _refuse_deep(found, refuse)
    return found


def _refuse_deep(found: Any, refuse: Callable[[str], NoReturn]) -> None:
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            item
            for node in level
            for item in (node.values() if isinstance(node, dict) else node)
            if isinstance(item, dict | list)
        ]
        if not level:
            return
    refuse(f"is nested deeper than {MAX_DEPTH} levels")


# tables


def read_csv(path: str | Path, *, text: Container[str] = ("task", "model"), most: int = MAX_BYTES) -> pd.DataFrame:
    r"""Return a table with a header; what is wrong with it is named with its line.

    Parameters
    ----------
    path
        CSV in UTF-8.
    text
        Columns that are read as they are written: a model called ``NA`` or ``007`` keeps its name.
    most
        Largest size in bytes.

    Returns
    -------
    pandas.DataFrame
        Its index holds the number of the line that each row ends on, and is named after the file, so that later
        refusals can say where; see `graphnetz._core.readers.place`.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = file.write_text("task,model,seed,score\ncora,GCN,0,0.8\ncora,GCN,1\n")
    >>> read_csv(file)
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: 'scores.csv', line 3: 3 cells below a header of 4. Give every row as many.
    """
    import pandas as pd

    name = Path(path).name
    content = read_text(path, most=most, give="Give a CSV file with a header.")
    separator, decimal = _separators(content)
    titles, lines = _shape(content, name, separator)
    plain = [title for title in titles if title in text]
    missing = {title: sorted(_NOTHING) for title in titles if title not in plain}
    try:
        frame = pd.read_csv(
            io.StringIO(content), dtype=dict.fromkeys(plain, str), keep_default_na=False, na_values=missing,
            skip_blank_lines=True, index_col=False, sep=separator, decimal=decimal,
        )  # fmt: skip
    except (ValueError, OverflowError, MemoryError) as error:  # pandas' own errors are ValueErrors
        raise DataError(f"{name!r} is not a table ({shorten(error, 120)}). Give a CSV file with a header.") from error
    if len(frame) != len(lines):
        raise DataError(f"{name!r} has lines that are no rows. Give a header and one line per row.")
    frame.index = pd.Index(lines, name=f"{name!r}{_LINE}")
    return frame


_LINE = ", line"
_NOTHING = {"", "nan", "NaN", "NAN", "NA", "N/A", "n/a", "null", "NULL", "None", "<NA>"}


def _separators(content: str) -> tuple[str, str]:
    """What stands between cells, by the header, and before decimals: spreadsheets of many countries write ``0,81;``."""
    header = next((line for line in content.splitlines() if line.strip()), "")
    separator = next((mark for mark in ("\t", ";") if mark in header and "," not in header), ",")
    return separator, "," if separator != "," and re.search(r"(?m)(?:^|[;\t])-?\d+,\d+(?:$|[;\t])", content) else "."


def _shape(content: str, name: str, separator: str = ",") -> tuple[list[str], list[int]]:
    """Check that every row has the cells of the header; return the header and the line of each row."""
    if not content.strip():
        raise DataError(f"{name!r} is empty. Give a CSV file with a header.")
    if "\x00" in content:
        line = content[: content.index("\x00")].count("\n") + 1
        raise DataError(f"{name!r}, line {line}: a NUL character is no text. Save the table as CSV in UTF-8.")
    reader = csv.reader(io.StringIO(content, newline=""), strict=True, delimiter=separator)
    lines: list[int] = []
    titles: list[str] = []
    try:
        for row in reader:
            if not any(row) and len(row) < 2:
                continue
            if not titles:
                titles = row
                _refuse_titles(titles, name)
            elif len(row) != len(titles):
                raise DataError(
                    f"{name!r}, line {reader.line_num}: {len(row)} cells below a header of {len(titles)}. "
                    "Give every row as many."
                )
            else:
                lines.append(reader.line_num)
    except csv.Error as error:
        words = "a quotation mark is not closed" if "end of data" in str(error) else str(error)
        raise DataError(f"{name!r}, line {lines[-1] + 1 if lines else 1}: {words}. Save the table as CSV.") from error
    return titles, lines


def _refuse_titles(titles: Sequence[str], name: str) -> None:
    twice = next((title for i, title in enumerate(titles) if title and title in titles[:i]), None)
    if twice is not None:
        raise DataError(f"{name!r} has the column {shorten(twice)!r} twice. Give every column a name of its own.")
    if len(titles) > MAX_COLUMNS:
        raise DataError(f"{name!r} has {len(titles):,} columns; at most {MAX_COLUMNS:,} are read.")


def place(frame: Any, row: Any, column: str) -> str:
    """Say where a cell stands: its line in the file a frame was read from, or its row in a frame of the caller.

    Examples
    --------
    >>> import pandas as pd
    >>> place(pd.DataFrame({"seed": [0.5]}), 0, "seed")
    "row 0, column 'seed'"
    """
    if str(frame.index.name).endswith(_LINE):
        return f"{frame.index.name} {row}, column {column!r}"
    return f"row {row!r}, column {column!r}"


# streams


@contextmanager
def open_text(path: str | Path) -> Iterator[io.TextIOWrapper]:
    """Open a text file, unpacked where its name ends in ``.gz``; refuse one that unpacks without end."""
    with open_binary(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
        yield stream


@contextmanager
def open_binary(path: str | Path) -> Iterator[Any]:
    """Open a file to read its bytes, unpacked where its name ends in ``.gz``; see `open_text`."""
    found = regular(path)
    if found.suffix != ".gz":
        with found.open("rb") as stream:
            yield stream
        return
    with gzip.open(found, "rb") as packed:
        yield io.BufferedReader(Bounded(packed, found), 1 << 18)


class Bounded(io.RawIOBase):
    """Bytes of a compressed file, which end in an error when they are far more than the file weighs."""

    def __init__(self, packed: Any, path: Path) -> None:
        self._packed, self._name, self._size, self._read = packed, path.name, path.stat().st_size, 0
        self._most = unpacked_limit(self._size)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes, and count them."""
        content = self._packed.read(len(buffer))
        self._read += len(content)
        if self._read > self._most:
            raise DataError(
                f"{self._name!r} ({self._size:,} bytes) unpacks to more than {self._most:,} bytes, which looks like a "
                "decompression bomb; it was not read."
            )
        buffer[: len(content)] = content
        return len(content)


def refuse_bomb(path: str | Path) -> None:
    """Refuse a compressed file that unpacks to far more than it weighs, before anybody parses it.

    A ``.gz`` is unpacked once to see it; a zip, such as npz, says itself how large it becomes.
    """
    found = regular(path)
    if found.suffix == ".gz":
        with open_binary(found) as stream:
            while stream.read(1 << 20):
                pass
        return
    try:
        with zipfile.ZipFile(found) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{found.name!r} is not a complete file ({shorten(error, 80)}).") from error
    if size > unpacked_limit(found.stat().st_size):
        raise DataError(
            f"{found.name!r} ({found.stat().st_size:,} bytes) unpacks to {size:,} bytes, which looks like a "
            "decompression bomb; it was not read."
        )


def unpacked_limit(size: int) -> int:
    """Return how many bytes a compressed file of ``size`` bytes may hold."""
    return max(RATIO_FLOOR, int(MAX_RATIO * size))


@contextmanager
def from_others(what: str, give: str = "") -> Iterator[None]:
    """While values from a stranger's file are put to use: what does not fit is the file's fault, in one sentence.

    Parameters
    ----------
    what
        The file or folder, as the subject of the sentence.
    give
        What to do about it, as a sentence.

    Examples
    --------
    >>> with from_others("The store 'run'", "Restore it from a copy."):
    ...     int("many")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.DataError: The store 'run' holds what cannot be used (ValueError: inva...
    """
    try:
        yield
    except GraphnetzError:
        raise
    except _BAD_VALUES as error:
        words = shorten(f"{type(error).__name__}: {error}".rstrip(": "), 160)
        raise DataError(f"{what} holds what cannot be used ({words}).{' ' * bool(give)}{give}") from error
