"""Arrays that lie in files: mapped, never loaded; the system keeps the pages it has room for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


_TOTAL = [0]


def mapped_bytes() -> int:
    """Return how many bytes of files this process, or the one it was forked from, has mapped so far.

    Returns
    -------
    int
        0 where no graph lies on disk.

    Examples
    --------
    >>> mapped_bytes() >= 0
    True
    """
    return _TOTAL[0]


def mapped(path: Path, dtype: Any, shape: tuple[int, ...], *, write: bool = False) -> Array:
    """Return an array whose numbers lie in a file.

    Parameters
    ----------
    path
        The file, raw numbers row by row. With ``write`` it is made, or brought to this size; parts that nobody writes
        take no place on most file systems.
    dtype, shape
        What it holds.
    write
        Whether the array can be written to.

    Returns
    -------
    ndarray
        Read-only without ``write``.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "numbers"
    >>> mapped(file, np.int32, (2, 3), write=True)[1] = 7
    >>> mapped(file, np.int32, (2, 3)).sum()
    np.int64(21)
    """
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if size == 0:  # nothing can be mapped of an empty file
        path.touch() if write else None
        return np.empty(shape, dtype=dtype)
    if write:
        with open(path, "r+b" if path.exists() else "w+b") as stream:
            stream.truncate(size)
    _make_room(size)
    _TOTAL[0] += size
    return np.asarray(np.memmap(path, dtype=dtype, mode="r+" if write else "r", shape=shape))


def _make_room(size: int) -> None:
    """Let address space grow by a map: workers have a limit on it, which is there to stop allocations."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        wanted = soft + size
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
