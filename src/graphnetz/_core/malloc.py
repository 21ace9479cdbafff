"""How the C library keeps freed memory: a setting of worker processes, never of the caller's."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEPT_BELOW = 1 << 30
_KEPT = [0]  # bytes from which this process gives arrays back; 0 where nothing was asked for
_SAVING = [False]
LARGE_ARRAY = 16 << 20
"""Bytes of an array whose pages may be asked for again at every step: at less, that takes much of the step."""


def reuse_memory() -> bool:
    """Let the C library keep freed arrays for the next epoch; return whether it could be told to.

    Arrays of megabytes are otherwise given back to the system and faulted in again at every step,
    a third of the time of an epoch. The setting holds for the whole process: worker processes call it when they start.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    told = bool(mallopt(_MMAP_THRESHOLD, _KEPT_BELOW)) and bool(mallopt(_TRIM_THRESHOLD, (1 << 31) - 1))
    _KEPT[0] = _KEPT_BELOW if told else 0
    return told


def save_memory() -> None:
    """Note that memory is dearer than time in this process: it has a limit."""
    _SAVING[0] = True


def is_saving() -> bool:
    """Return whether memory is dearer than time in this process.

    Returns
    -------
    bool
        What `save_memory` said.

    Examples
    --------
    >>> is_saving()
    False
    """
    return _SAVING[0]


@contextmanager
def giving_back(wanted: bool = True, *, size: int = LARGE_ARRAY) -> Iterator[None]:
    """Give freed arrays of so many bytes and more back to the system inside a ``with`` block.

    What a process takes is then what it holds. Kept arrays leave holes that fit the next request or do not, so of the
    same cell one run took twice as much memory as another. Nothing happens in a process that did not call
    `reuse_memory`, such as a user's own.

    Parameters
    ----------
    wanted
        False changes nothing.
    size
        The smallest that are given back.
    """
    before = _KEPT[0]
    if not wanted or before <= size:
        yield
        return
    library = ctypes.CDLL(None)
    library.mallopt(_MMAP_THRESHOLD, size)
    _KEPT[0] = size
    try:
        yield
    finally:
        library.mallopt(_MMAP_THRESHOLD, before)
        _KEPT[0] = before
