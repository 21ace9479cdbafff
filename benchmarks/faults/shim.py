"""The shim (``shim.c``): built where there is a compiler, loaded before everything, told what to do from inside."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
KINDS = ("write", "sync", "rename", "open", "unlink", "truncate", "malloc", "sqlmalloc")
"""Calls that can be made to fail; ``malloc`` is any allocation of the process, ``sqlmalloc`` one of SQLite."""


def unavailable() -> str | None:
    """Say why the shim cannot be used here, if it cannot."""
    if not sys.platform.startswith("linux"):
        return "the shim stands between a program and the C library of Linux"
    if not shutil.which("gcc"):
        return "there is no C compiler (gcc) to build the shim with"
    return None


def build(folder: Path) -> Path:
    """Compile the shim into ``folder`` and return the library."""
    library = folder / "shim.so"
    flags = ("-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-ldl", "-lpthread")
    subprocess.run(["gcc", "-o", str(library), str(SOURCE), *flags], check=True, capture_output=True, text=True)
    return library


def under(library: Path, arguments: list[str], *, clock: float = 0.0) -> dict[str, object]:
    """Options of `subprocess` that start a Python program under the shim."""
    path = os.pathsep.join([str(SOURCE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    more = {"LD_PRELOAD": str(library), "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    more |= {"FAULT_CLOCK": str(clock)} if clock else {}
    return {"args": [sys.executable, *arguments], "env": {**os.environ, **more}}


@functools.cache
def handle() -> ctypes.CDLL:
    """The shim in this process; it must have been started under it."""
    library = ctypes.CDLL(None)
    library.fault_arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    library.fault_count.restype = ctypes.c_long
    library.fault_clock.argtypes = [ctypes.c_double]
    return library


def watch(folder: Path) -> None:
    """Watch what happens below ``folder``."""
    handle().fault_watch(str(folder).encode())


def arm(kind: str, n: int, error: int, *, persistent: bool = False, half: bool = False) -> None:
    """Let the ``n``-th call of a kind fail from now on; ``persistent``: and every later one."""
    handle().fault_arm(KINDS.index(kind), n, error, persistent, half)


def disarm() -> int:
    """Let everything work again; return how many calls failed."""
    handle().fault_disarm()
    return int(handle().fault_hits())


def count(kind: str) -> int:
    """How many calls of a kind came since `watch` or `arm`."""
    return int(handle().fault_count(KINDS.index(kind)))


def record(path: Path | None) -> None:
    """Write every operation below the watched folder to ``path``, until told otherwise."""
    handle().fault_record(str(path).encode() if path else None)


def mark(text: str) -> None:
    """Put a line of our own into the record."""
    handle().fault_mark(text.encode())


def fast_folder() -> str | None:
    """A place in memory for many small runs, where there is one: what is tried is the order of calls, not the disk."""
    place = Path("/dev/shm")
    return str(place) if os.access(place, os.W_OK) else tempfile.gettempdir()
