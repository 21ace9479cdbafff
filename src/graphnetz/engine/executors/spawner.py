"""Workers in fresh interpreters, where a fork is missing (Windows), unsafe (macOS, CUDA in use) or not wanted.

Same handle as `nursery.Nursery`. The work crosses as bytes when the worker asks for it, so that the
driver never waits for an interpreter that is still importing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys

from graphnetz.engine.executors import isolation

_START = "from graphnetz.engine.executors.worker_process import spawned; spawned()"
_WINDOWS = sys.platform == "win32"


class Spawner:
    """Starts, ends and waits for workers from the driver itself."""

    def __init__(self) -> None:
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._started: list[tuple[bytes, int, int]] = []

    pid = None

    def waitables(self) -> list[socket.socket]:
        """Return nothing: that a worker ended shows in its own channel."""
        return []

    def start(self, token: int) -> socket.socket:
        """Start a worker; its end of the messages comes back at once, its number with the next events."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = _start(theirs)
        self._workers[process.pid] = process
        self._started.append((b"s", token, process.pid))
        return ours

    def kill(self, pid: int) -> None:
        """End a worker and its descendants."""
        isolation.kill_family(pid)

    def events(self) -> list[tuple[bytes, int, int]]:
        """Return started ``(b"s", token, pid)`` and ended ``(b"x", pid, status)`` workers."""
        events, self._started = self._started, []
        for pid, process in list(self._workers.items()):
            code = process.poll()
            if code is not None:
                del self._workers[pid]
                isolation.kill_group(pid)  # what it left behind
                events.append((b"x", pid, _status(code)))
        return events

    def close(self) -> None:
        """End all workers."""
        for pid in self._workers:
            self.kill(pid)
        for process in self._workers.values():
            process.wait()
        self._workers.clear()


def _start(theirs: socket.socket) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    environment = {**os.environ, **isolation.ONE_THREAD, "PYTHONPATH": path}
    python = sys.executable
    if _WINDOWS:  # python.exe of a virtual environment starts another process: its number would not be the worker's
        environment["__PYVENV_LAUNCHER__"], python = python, getattr(sys, "_base_executable", python)
    process = subprocess.Popen(  # noqa: S603 (our own interpreter)
        [python, "-c", _START, str(theirs.fileno()), str(os.getpid())],
        pass_fds=[] if _WINDOWS else [theirs.fileno()],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=None if _WINDOWS else 0,
        env=environment,
    )
    with contextlib.suppress(OSError), process.stdin or contextlib.nullcontext() as stdin:
        if _WINDOWS and stdin is not None:  # a socket crosses as bytes, made for a process whose number is known
            stdin.write(getattr(theirs, "share")(process.pid))  # noqa: B009 (unknown to type checkers elsewhere)
    return process


def _status(code: int) -> int:
    """Return what ``os.waitpid`` would say."""
    if _WINDOWS and code in (1, signal.SIGTERM):  # how programs end others there
        return int(signal.SIGTERM)
    return -code if code < 0 else code << 8
