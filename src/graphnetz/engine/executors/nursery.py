"""The nursery: a small single-threaded process that forks workers, buries them and survives neither driver nor use.

The driver may run threads, consoles and databases; forking from it in the middle of a run would
copy their locks. The nursery is forked before the run and does nothing but fork, kill and wait.
Orphans of a worker become its children and are ended.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import struct
import time
import warnings

from graphnetz.engine.executors import isolation, memory
from graphnetz.engine.executors.base import Limits, RunOne
from graphnetz.engine.executors.channel import Channel
from graphnetz.engine.executors.worker_process import Load, serve

_ORDER = struct.Struct("<cq")


class Nursery:
    """The driver's handle; ``run_one`` and ``limits`` are given to every worker."""

    def __init__(self, run_one: RunOne, limits: Limits) -> None:
        self._sock, child = socket.socketpair()
        self._news = Channel(self._sock)
        driver = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the nursery calls nothing that could lock
            self.pid = os.fork()
        if self.pid == 0:
            # The driver's end stays open in a variable of a frame that never returns: close it.
            self._sock.close()
            _nurse(child, lambda _: (run_one, limits), driver=driver)
        child.close()

    def waitables(self) -> list[socket.socket]:
        """Return what tells that something happened."""
        return [self._sock]

    def start(self, token: int) -> socket.socket:
        """Ask for a worker; its end of the messages comes back at once, its number with the next events."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._sock, [_ORDER.pack(b"f", token)], [theirs.fileno()])
        return ours

    def kill(self, pid: int) -> None:
        """Ask for the end of a worker and its descendants."""
        with contextlib.suppress(OSError):
            self._sock.sendall(_ORDER.pack(b"k", pid))

    def events(self) -> list[tuple[bytes, int, int]] | None:
        """Return started ``(b"s", token, pid)`` and ended ``(b"x", pid, status)`` workers; None if it died."""
        events = self._news.receive_ready()
        return None if self._news.closed and not events else events

    def close(self, *, patience: float = 1.5) -> None:
        """End the nursery with all its workers."""
        with contextlib.suppress(OSError):
            self._sock.sendall(_ORDER.pack(b"q", 0))
        deadline = time.monotonic() + patience
        while not self._gone():
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                deadline = float("inf")
            time.sleep(0.002)
        self._sock.close()

    def _gone(self) -> bool:
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] != 0
        except ChildProcessError:  # the program ignores SIGCHLD, or waited for it itself
            return True


def _nurse(sock: socket.socket, load: Load, *, driver: int) -> None:
    """Serve until the driver is gone or says so. Never returns."""
    workers: set[int] = set()
    try:
        isolation.one_thread()
        isolation.reset_signals()
        isolation.own_group()
        wake, alarm = socket.socketpair()
        alarm.setblocking(False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda *_: None)  # the wake-up descriptor tells
        signal.set_wakeup_fd(alarm.fileno(), warn_on_full_buffer=False)
        isolation.die_with(driver, by=signal.SIGTERM)  # not SIGKILL: the workers' groups are to be ended first
        isolation.adopt_orphans()
        isolation.silence()
        gc.freeze()  # keep the collector off inherited objects: touching them would copy their pages
        while os.getppid() == driver:
            ready, _, _ = select.select([sock, wake], [], [], 1.0)
            if wake in ready:
                wake.recv(4096)
            for pid, status in _reap(workers):
                Channel(sock).send((b"x", pid, status))
            if sock in ready and not _obey(sock, workers, load):
                break
    except BaseException:  # noqa: S110 (nobody to tell: the driver sees the end of the messages)
        pass
    finally:
        _bury(workers)
        os._exit(0)


def _obey(sock: socket.socket, workers: set[int], load: Load) -> bool:
    body, descriptors, _, _ = socket.recv_fds(sock, _ORDER.size, 1)
    if len(body) != _ORDER.size:
        return False
    order, number = _ORDER.unpack(body)
    if order == b"f":
        nursery = os.getpid()
        pid = os.fork()
        if pid == 0:
            sock.close()
            serve(socket.socket(fileno=descriptors[0]), load, parent=nursery)
        os.close(descriptors[0])
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # both sides do it: whoever comes first, it is done before anyone kills
        workers.add(pid)
        Channel(sock).send((b"s", number, pid))
    elif order == b"k":
        if number in workers:
            isolation.kill_group(number)
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
            isolation.kill_group(pid)
            ended.append((pid, status))
    for orphan in set(memory.children(os.getpid())) - workers:
        with contextlib.suppress(OSError):
            os.kill(orphan, signal.SIGKILL)
    return ended


def _bury(workers: set[int]) -> None:
    for pid in workers:
        isolation.kill_group(pid)
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        _reap(workers)
        if not workers and not memory.children(os.getpid()):
            break
        time.sleep(0.002)
