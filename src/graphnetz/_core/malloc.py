"""How the C library keeps freed memory: a setting of worker processes, never of the caller's."""

from __future__ import annotations

import ctypes
import sys


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
    trim_threshold, mmap_threshold = -1, -3
    return bool(mallopt(mmap_threshold, 1 << 30)) and bool(mallopt(trim_threshold, (1 << 31) - 1))
