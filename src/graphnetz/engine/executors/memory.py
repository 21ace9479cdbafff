"""Resident memory of a process, its high-water mark, and the address-space backstop."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
from pathlib import Path

from graphnetz.engine.executors.isolation import cuda_in_use

_SLACK = 2**30
_PROC = Path("/proc/self/statm").exists()  # Linux; elsewhere psutil answers, more slowly


def resident(pid: int | None = None) -> float:
    """Return the resident bytes of a process; NaN where unknown or gone."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError, IndexError, ValueError):
        if _PROC:  # asked fifty times a second of every worker: psutil takes twice as long
            with open(f"/proc/{pid or 'self'}/statm", "rb") as stream:
                return int(stream.read().split()[1]) * float(os.sysconf("SC_PAGE_SIZE"))
        return float(psutil.Process(pid).memory_info().rss)
    return math.nan


def file_pages() -> float:
    """Return the resident bytes of this process that are pages of files, libraries above all; 0 where unknown."""
    found = _kilobytes(Path("/proc/self/status"), "RssFile:") if _PROC else 0.0
    return 0.0 if math.isnan(found) else found


def _own_pages(pid: int) -> float:
    """Return the resident bytes of a process that are pages of no file."""
    status = Path(f"/proc/{pid}/status")
    return _kilobytes(status, "RssAnon:") + _kilobytes(status, "RssShmem:")


def family(pid: int, *, forks: bool = False) -> float:
    """Return the resident bytes of a process plus the proportional share of its descendants.

    Of children that are forks of it (``forks``) what they have beyond their parent counts.
    """
    total = resident(pid)
    todo = children(pid)
    if forks and _PROC:
        before, todo = todo, []
        for child in before:
            grown = _own_pages(child) - _own_pages(pid)
            total += 0.0 if math.isnan(grown) else max(grown, 0.0)
            todo.extend(children(child))
    while todo:
        child = todo.pop()
        share = _kilobytes(Path(f"/proc/{child}/smaps_rollup"), "Pss:") if _PROC else resident(child)
        if not math.isnan(share):
            total += share
            todo.extend(children(child))
    return total


def give_back() -> None:
    """Return freed arrays to the system: workers keep them between epochs, not between cells."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
    if trim is not None:
        trim(0)


def reset_high_water() -> bool:
    """Start a new high-water mark for this process; False where the kernel does not allow it."""
    give_back()
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
            stream.write("5")
    except OSError:
        return False
    return True


def high_water() -> float:
    """Return the highest resident bytes since the last reset; NaN where unknown."""
    return _kilobytes(Path("/proc/self/status"), "VmHWM:")


def limit_address_space(megabytes: float) -> None:
    """Let allocations fail before they can hurt the machine.

    Address space is not memory (files are mapped, threads reserve stacks), so the fence stands well
    behind the limit that the supervisor watches. With CUDA, which reserves far more, there is none.
    """
    if not _PROC or cuda_in_use():
        return
    import resource

    import psutil

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = int(psutil.Process().memory_info().vms + 2 * megabytes * 1e6 + _SLACK)
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def available() -> float:
    """Return the bytes that can be used without swapping, container limits respected."""
    import psutil

    free = float(psutil.virtual_memory().available)
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        return free if limit == "max" else min(free, max(float(limit) - float(used), 0.0))
    except (OSError, ValueError):
        return free


def children(pid: int) -> list[int]:
    """Return the process numbers of the direct children."""
    import psutil

    with contextlib.suppress(OSError, ValueError, psutil.Error):
        if _PROC:
            return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [child.pid for child in psutil.Process(pid).children()]
    return []


def _kilobytes(path: Path, field: str) -> float:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024.0
    return math.nan
