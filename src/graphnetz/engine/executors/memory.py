"""Resident memory of a process, its high-water mark, and the address-space backstop.

What counts is anonymous and shared memory. Pages of mapped files, of libraries and of graphs on disk, are the
system's to drop, and are told apart.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from graphnetz._core.threads import Repeated
from graphnetz.engine.executors.isolation import cuda_in_use

_SLACK = 2**30
_PROC = Path("/proc/self/statm").exists()  # Linux; elsewhere psutil answers, more slowly


def resident(pid: int | None = None) -> float:
    """Return the resident bytes of a process that are pages of no file; NaN where unknown or gone."""
    if _PROC:  # asked fifty times a second of every worker: psutil takes twice as long
        status = Path(f"/proc/{pid or 'self'}/status")
        return _kilobytes(status, "RssAnon:") + _kilobytes(status, "RssShmem:")
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        return float(psutil.Process(pid).memory_info().rss)
    return math.nan


def file_pages() -> float:
    """Return the resident bytes of this process that are pages of files, libraries above all; 0 where unknown."""
    found = _kilobytes(Path("/proc/self/status"), "RssFile:") if _PROC else 0.0
    return 0.0 if math.isnan(found) else found


def family(pid: int, *, forks: bool = False) -> float:
    """Return the resident bytes of a process plus the proportional share of its descendants.

    Of children that are forks of it (``forks``) what they have beyond their parent counts. One that is about to become
    another program (between vfork and exec) has no memory of its own yet: it shows that of its parent.
    """
    total = resident(pid)
    todo = [child for child in children(pid) if not _borrows(child, pid)]
    if forks and _PROC:
        before, todo = todo, []
        for child in before:
            grown = resident(child) - resident(pid)
            total += 0.0 if math.isnan(grown) else max(grown, 0.0)
            todo.extend(children(child))
    while todo:
        child = todo.pop()
        share = _kilobytes(Path(f"/proc/{child}/smaps_rollup"), "Pss:") if _PROC else resident(child)
        if not math.isnan(share):
            total += share
            todo.extend(other for other in children(child) if not _borrows(other, child))
    return total


def _borrows(child: int, parent: int) -> bool:
    """Whether a child lives in the memory of its parent, which waits for it: every number of the two is the same."""
    with contextlib.suppress(OSError):
        return _PROC and Path(f"/proc/{child}/statm").read_bytes() == Path(f"/proc/{parent}/statm").read_bytes()
    return False


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


@contextlib.contextmanager
def sampled(wanted: bool) -> Iterator[list[float]]:
    """Sample what `resident` says every 5 ms, where mapped files blur the high-water mark; the highest comes first.

    Parameters
    ----------
    wanted
        False samples nothing: the list stays empty.
    """
    found: list[float] = []
    if not wanted:
        yield found
        return
    found.append(resident())

    def look() -> None:
        found[0] = max(found[0], resident())

    try:
        with Repeated(look, 0.005):
            yield found
    finally:
        look()


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
    """Return the bytes that can be used without swapping, limits of containers and control groups respected."""
    import psutil

    return min([float(psutil.virtual_memory().available), *_left_in_groups()])


def _left_in_groups(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[float]:
    """What the control groups around this process have left; pages of files that they are charged for can go."""
    try:
        lines = own.read_text(encoding="ascii").splitlines()
        place = root / next(line[3:].strip("/") for line in lines if line.startswith("0::"))
    except (OSError, ValueError, StopIteration):
        place = root
    found = []
    for group in (place, *place.parents):
        with contextlib.suppress(OSError, ValueError):  # "max": no limit here, and nothing to read at the top
            limit = float((group / "memory.max").read_text(encoding="ascii"))
            used = float((group / "memory.current").read_text(encoding="ascii"))
            found.append(max(limit - used + _file_bytes(group), 0.0))
        if group == root:
            break
    return found


def _file_bytes(group: Path) -> float:
    with contextlib.suppress(OSError, ValueError):
        facts = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
        return float(facts.get("active_file", 0)) + float(facts.get("inactive_file", 0))
    return 0.0


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
