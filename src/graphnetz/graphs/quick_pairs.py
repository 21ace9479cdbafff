"""Pairs of whole numbers from a large text file, in one pass over its bytes.

Only the plainest files are read here: two whole numbers per line, perhaps more columns behind them. At the first byte
that might mean anything else the answer is None, and the reader for every file decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

IntArray = npt.NDArray[np.int64]

_DIGITS = 18
"""Digits that fit a number of 64 bits in any case."""


def quick_pairs(path: Path, delimiter: str | None, *, skip: int = 0) -> IntArray | None:
    r"""Read the first two columns of a text file.

    Parameters
    ----------
    path
        A plain file, not compressed.
    delimiter
        What separates columns: one character, or None for blanks.
    skip
        Lines to leave out at the beginning.

    Returns
    -------
    ndarray or None
        ``[E, 2]``; None where a line is not as simple as that.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edges.csv"
    >>> _ = file.write_text("a,b\n0,1\n1,2,0.5\n")
    >>> quick_pairs(file, ",", skip=1).tolist(), quick_pairs(file, ",")
    ([[0, 1], [1, 2]], None)
    """
    found = _parse(np.fromfile(path, dtype=np.uint8), ord(delimiter) if delimiter else 0, skip)
    return found if len(found) else None


@njit(cache=True, nogil=True)
def _parse(content: Any, delimiter: int, skip: int) -> Any:
    """Pairs of a file, none of them where a line is not understood."""
    size, place = len(content), 0
    for _ in range(skip):
        while place < size and content[place] != 10:
            place += 1
        place += 1
    lines = 1
    for i in range(place, size):
        lines += content[i] == 10
    out = np.empty((lines, 2), dtype=np.int64)
    none = np.empty((0, 2), dtype=np.int64)
    row = 0
    while place < size:
        byte = content[place]
        if byte == 10 or (byte == 13 and place + 1 < size and content[place + 1] == 10):
            place += 1  # an empty line
            continue
        if byte == 35 or byte == 37:  # a comment: "#" or "%"
            while place < size and content[place] != 10:
                if content[place] > 126 or content[place] == 13:
                    return none
                place += 1
            continue
        for column in range(2):
            value, digits = 0, 0
            while place < size and content[place] >= 48 and content[place] <= 57:
                value = value * 10 + (content[place] - 48)
                digits += 1
                place += 1
            if digits == 0 or digits > _DIGITS:
                return none
            out[row, column] = value
            blanks = 0
            while place < size and (content[place] == 32 or content[place] == 9) and content[place] != delimiter:
                blanks += 1
                place += 1
            if column == 0:
                if delimiter:
                    if place >= size or content[place] != delimiter:
                        return none
                    place += 1
                    while place < size and content[place] == 32:
                        place += 1
                elif blanks == 0:
                    return none
            else:  # what follows is the end of the line or a further column
                ended = place >= size or content[place] == 10 or content[place] == 13
                if not ended and (content[place] != delimiter if delimiter else blanks == 0):
                    return none
        while place < size and content[place] != 10:
            byte = content[place]
            quoted = byte == 34 or byte == 35 or byte == 37 or byte > 126 or (byte < 32 and byte != 9 and byte != 13)
            if quoted or (byte == 13 and (place + 1 == size or content[place + 1] != 10)):
                return none
            place += 1
        place += 1
        row += 1
    return out[:row].copy() if row < lines else out
