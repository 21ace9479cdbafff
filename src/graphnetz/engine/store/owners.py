"""Who holds a claim: names that tell, on the same machine, whether their process is still alive."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path

_RETIRED: set[str] = set()


def retire(owner: str) -> None:
    """Note that an owner of this process gave up but could not say so in the store (a full disk)."""
    _RETIRED.add(owner)


def new_owner() -> str:
    """Return a fresh owner name: machine, process, start of the process, random part."""
    pid = os.getpid()
    return f"{_machine()}|{pid}|{_started(pid) or '-'}|{uuid.uuid4().hex[:12]}"


def owner_is_dead(owner: str) -> bool:
    """Whether ``owner`` is a process of this machine that no longer exists, or gave up in this one.

    False when it lives, and also when it lives elsewhere: then only its lease tells.
    """
    if owner in _RETIRED:
        return True
    pid = process_of(owner)
    return pid is not None and _started(pid) != owner.split("|")[2]


def process_of(owner: str) -> int | None:
    """Return the process number of an owner on this machine; None where it cannot be told from here."""
    parts = owner.split("|")
    if len(parts) != 4 or parts[0] != _machine() or not parts[1].isdigit() or parts[2] == "-":
        return None
    return int(parts[1])


def process_words(pid: int) -> str:
    """Name a process of this machine, with what to do where it was stopped by a signal or a debugger."""
    return f"process {pid} of this machine" + (f", {stopped_words(pid)}" if is_stopped(pid) else "")


def stopped_words(pid: int) -> str:
    """Say what to do about a process that is stopped."""
    return f"which is stopped (go on with 'kill -CONT {pid}', end it with 'kill -9 {pid}')"


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal (SIGSTOP, Ctrl-Z) or a debugger."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP))
    except psutil.Error:
        return False


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except RuntimeError as error:  # "can't allocate read lock"
        raise MemoryError(str(error)) from error


def _machine() -> str:
    # Containers share the boot id but not process numbers, hence the namespace.
    try:
        boot = _text("/proc/sys/kernel/random/boot_id").strip()
        space = Path("/proc/self/ns/pid").readlink()
        return f"{boot}/{space}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    try:
        stat = _text(f"/proc/{pid}/stat")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else fields[19]
