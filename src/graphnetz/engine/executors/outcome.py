"""Failures are results: whatever a cell raises becomes a `CellResult` with its reason."""

from __future__ import annotations

import dataclasses
import math
import re
import signal
import sysconfig
import traceback
from pathlib import Path
from typing import Any

from graphnetz.engine.executors.isolation import signals
from graphnetz.engine.identity.reads import reads_of
from graphnetz.records import Cell, CellResult, Status

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_NO_MEMORY = ("DefaultCPUAllocator", "not enough memory", "can't allocate memory", "out of memory", "std::bad_alloc")
_SIGNALS = {
    "SIGSEGV": "segmentation fault",
    "SIGABRT": "aborted",
    "SIGBUS": "bus error",
    "SIGFPE": "arithmetic error",
    "SIGILL": "illegal instruction",
    "SIGKILL": "killed",
    "SIGTERM": "terminated",
}
#: Signals that come from outside the cell: the cell is not to blame and is tried again.
OUTSIDE = frozenset(signals("SIGKILL SIGTERM SIGHUP SIGINT SIGQUIT"))
_LENGTH = 500
_FRAMES = 12


def ended(cell: Cell, status: Status, error: str, **values: Any) -> CellResult:
    """Return the result of a cell that has no metrics."""
    return CellResult(cell.key, cell.task, cell.model, cell.seed, status=status, error=error, **values)


def failure(cell: Cell, error: BaseException) -> CellResult:
    """Describe an exception: one sentence with the place in the user's code, and a short traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    kept = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames[-_FRAMES:]]
    status: Status = "oom" if _is_memory(error) else "failed"
    told = ({"traceback": kept},) if kept else ()
    return ended(cell, status, _sentence(error, frames), trace=told, reads=reads_of(error))


def accept(cell: Cell, value: Any) -> CellResult:
    """Return what ``run_one`` gave back, or say that it is not a result of this cell."""
    if not isinstance(value, CellResult):
        return ended(cell, "failed", f"TypeError: the cell returned {type(value).__name__}, not a CellResult")
    if value.key != cell.key:
        return ended(cell, "failed", f"ValueError: the cell returned the result of another one ({value.key!r})")
    return value


def completed(result: CellResult, *, seconds: float, peak_memory: float, environment: str) -> CellResult:
    """Fill in what only the executor knows; values already given stay."""
    return dataclasses.replace(
        result,
        seconds=seconds if math.isnan(result.seconds) else result.seconds,
        peak_memory=peak_memory if math.isnan(result.peak_memory) else result.peak_memory,
        environment=result.environment or environment,
    )


def over_memory(megabytes: float, used: float) -> str:
    """Say that a cell used more bytes than its limit allows."""
    return f"The memory limit of {megabytes:g} MB was exceeded ({used / 1e6:.0f} MB above the baseline)."


def death(status: int) -> str:
    """Describe the wait status of a worker that ended on its own."""
    number = signal_of(status)
    if number is None:
        return f"worker died: exit code {status >> 8}"
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = ""
    return f"worker died: signal {number} ({_SIGNALS.get(name, name or 'unknown')})"


def signal_of(status: int) -> int | None:
    """Return the signal that ended a process, or None when it exited."""
    return status & 0x7F or None


def _is_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(mark in _text(error) for mark in _NO_MEMORY)


def said_by(error: BaseException) -> str:
    """Return what an exception says, with the place in the user's code that raised it."""
    return _sentence(error, traceback.extract_tb(error.__traceback__))


def _sentence(error: BaseException, frames: traceback.StackSummary) -> str:
    words = _ADDRESS.sub("0x...", " ".join(_text(error).split()))
    if len(words) > _LENGTH:
        words = f"{words[:_LENGTH]}..."
    name = type(error).__name__
    said = f"{name}: {words}" if words else name
    place = _place(frames)
    return f"{said} (at {place})" if place else said


def _place(frames: traceback.StackSummary) -> str:
    ours = str(Path(__file__).resolve().parents[2])
    installed = {sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    outside = [f for f in frames if not f.filename.startswith(ours)]
    users = [f for f in outside if not any(f.filename.startswith(root) for root in installed)]
    chosen = users or outside
    if not chosen:
        return ""
    return f"{Path(chosen[-1].filename).name}:{chosen[-1].lineno} in {chosen[-1].name}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # a user's exception class may be broken itself
        return f"(its text raised {type(broken).__name__})"
