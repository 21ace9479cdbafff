"""The nursery: a small single-threaded process that forks workers, buries them and survives neither driver nor use.

The driver may run threads, consoles and databases; forking from it in the middle of a run would
copy their locks. The nursery is forked (or started afresh when CUDA is in use) before the run and
does nothing but fork, kill and wait. Orphans of a worker become its children and are ended.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from graphnetz.engine.executors import isolation
from graphnetz.engine.executors.base import Limits, RunOne
from graphnetz.engine.executors.worker_process import serve

_MESSAGE = struct.Struct("<cqq")
_SIZE = struct.Struct("<Q")
_START = (
    "import sys; from graphnetz.engine.executors.nursery import spawned; spawned(int(sys.argv[1]), int(sys.argv[2]))"
)


class Nursery:
    """The driver's handle.

    Parameters
    ----------
    run_one, limits
        Given to every worker.
    payload
        Encoded ``run_one`` for a fresh interpreter; None forks this one.
    """

    def __init__(self, run_one: RunOne, limits: Limits, *, payload: bytes | None = None) -> None:
        self._sock, child = socket.socketpair()
        self._buffer = b""
        driver = os.getpid()
        if payload is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # the nursery calls nothing that could lock
                self.pid = os.fork()
            if self.pid == 0:
                # The driver's end stays open in a variable of a frame that never returns: close it.
                self._sock.close()
                _nurse(child, lambda: run_one, driver=driver, limits=limits)
            self._process = None
        else:
            self._process = _start(child, driver)
            self.pid = self._process.pid
        child.close()
        if payload is not None:
            head = struct.pack("<dd", limits.seconds or 0.0, limits.memory_mb or 0.0)
            self._sock.sendall(head + _SIZE.pack(len(payload)) + payload)

    def fileno(self) -> int:
        """Return the descriptor, for waiting."""
        return self._sock.fileno()

    def fork(self, token: int) -> socket.socket:
        """Ask for a worker; its end of the messages comes back at once, its number with the next events."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._sock, [_MESSAGE.pack(b"f", token, 0)], [theirs.fileno()])
        return ours

    def kill(self, pid: int) -> None:
        """Ask for the end of a worker and its descendants."""
        with contextlib.suppress(OSError):
            self._sock.sendall(_MESSAGE.pack(b"k", pid, 0))

    def events(self) -> list[tuple[bytes, int, int]] | None:
        """Return started ``(b"s", token, pid)`` and ended ``(b"x", pid, status)`` workers; None if it died."""
        alive = True
        while True:
            try:
                part = self._sock.recv(1 << 16, socket.MSG_DONTWAIT)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                part = b""
            if not part:
                alive = False
                break
            self._buffer += part
        whole = len(self._buffer) // _MESSAGE.size * _MESSAGE.size
        events = list(_MESSAGE.iter_unpack(self._buffer[:whole]))
        self._buffer = self._buffer[whole:]
        return events if alive or events else None

    def close(self, *, patience: float = 1.5) -> None:
        """End the nursery with all its workers."""
        with contextlib.suppress(OSError):
            self._sock.sendall(_MESSAGE.pack(b"q", 0, 0))
        deadline = time.monotonic() + patience
        while not self._gone():
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                deadline = float("inf")
            time.sleep(0.002)
        self._sock.close()

    def _gone(self) -> bool:
        if self._process is not None:
            return self._process.poll() is not None
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] != 0
        except ChildProcessError:  # the program ignores SIGCHLD, or waited for it itself
            return True


def spawned(descriptor: int, driver: int) -> None:
    """Be a nursery in a fresh interpreter: the work comes encoded and is decoded by each worker."""
    import torch  # noqa: F401  (once, before the forks)

    sock = socket.socket(fileno=descriptor)
    seconds, megabytes = struct.unpack("<dd", _exactly(sock, 16))
    payload = _exactly(sock, _SIZE.unpack(_exactly(sock, _SIZE.size))[0])

    def load() -> RunOne:
        import cloudpickle

        run_one: RunOne = cloudpickle.loads(payload)
        return run_one

    _nurse(sock, load, driver=driver, limits=Limits(seconds or None, megabytes or None))


def _start(child: socket.socket, driver: int) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(  # noqa: S603 (our own interpreter)
        [sys.executable, "-c", _START, str(child.fileno()), str(driver)],
        pass_fds=[child.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


def _nurse(sock: socket.socket, load: Callable[[], RunOne], *, driver: int, limits: Limits) -> None:
    """Serve until the driver is gone or says so. Never returns."""
    workers: set[int] = set()
    try:
        isolation.one_thread()
        isolation.reset_signals()
        isolation.own_group()
        wake, alarm = socket.socketpair()
        alarm.setblocking(False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, _noted)
        signal.set_wakeup_fd(alarm.fileno(), warn_on_full_buffer=False)
        isolation.die_with(driver, by=signal.SIGTERM)  # not SIGKILL: the workers' groups are to be ended first
        isolation.adopt_orphans()
        isolation.silence()
        isolation.freeze()
        while os.getppid() == driver:
            ready, _, _ = select.select([sock, wake], [], [], 1.0)
            if wake in ready:
                wake.recv(4096)
            for pid, status in _reap(workers):
                sock.sendall(_MESSAGE.pack(b"x", pid, status))
            if sock in ready and not _obey(sock, workers, load, limits):
                break
    except BaseException:  # noqa: S110 (nobody to tell: the driver sees the end of the messages)
        pass
    finally:
        _bury(workers)
        os._exit(0)


def _obey(sock: socket.socket, workers: set[int], load: Callable[[], RunOne], limits: Limits) -> bool:
    body, descriptors, _, _ = socket.recv_fds(sock, _MESSAGE.size, 1)
    if len(body) != _MESSAGE.size:
        return False
    order, number, _ = _MESSAGE.unpack(body)
    if order == b"f":
        nursery = os.getpid()
        pid = os.fork()
        if pid == 0:
            sock.close()
            serve(descriptors[0], load, parent=nursery, limits=limits)
        os.close(descriptors[0])
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # both sides do it: whoever comes first, it is done before anyone kills
        workers.add(pid)
        sock.sendall(_MESSAGE.pack(b"s", number, pid))
    elif order == b"k":
        if number in workers:
            _kill_group(number)
    else:
        return False
    return True


def _reap(workers: set[int]) -> list[tuple[int, int]]:
    """Wait for everything that ended; what a dead worker left behind is ended too."""
    ended = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid == 0:
            break
        if pid in workers:
            workers.discard(pid)
            _kill_group(pid)
            ended.append((pid, status))
    for orphan in set(_children()) - workers:
        with contextlib.suppress(OSError):
            os.kill(orphan, signal.SIGKILL)
    return ended


def _bury(workers: set[int]) -> None:
    for pid in workers:
        _kill_group(pid)
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        _reap(workers)
        if not workers and not _children():
            break
        time.sleep(0.002)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _children() -> list[int]:
    me = os.getpid()
    try:
        with open(f"/proc/{me}/task/{me}/children", "rb") as stream:
            return [int(word) for word in stream.read().split()]
    except OSError:
        return []


def _exactly(sock: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = sock.recv(size - len(parts))
        if not part:
            os._exit(0)
        parts += part
    return bytes(parts)


def _noted(signum: int, frame: Any) -> None:
    """Do nothing: the wake-up descriptor has told already."""
