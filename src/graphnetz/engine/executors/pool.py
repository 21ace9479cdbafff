"""The supervisor: one process and one pair of sockets per worker, deadlines and memory watched from outside."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphnetz._core.errors import GraphnetzError, UsageError
from graphnetz.engine.executors import isolation, memory
from graphnetz.engine.executors.base import Limits, RunOne
from graphnetz.engine.executors.channel import BrokenChannelError, Channel
from graphnetz.engine.executors.nursery import Nursery
from graphnetz.engine.executors.outcome import OUTSIDE, death, ended, over_memory, signal_of
from graphnetz.engine.executors.spawner import Spawner
from graphnetz.engine.executors.waiting import StoppedProcesses
from graphnetz.engine.executors.worker_process import here, is_foreign, runs_apart
from graphnetz.records import Cell, CellResult

_MEMORY_INTERVAL = 0.02
_EXIT_PATIENCE = 1.0
_BAD_STARTS = 8


class CannotMoveError(GraphnetzError):
    """The work cannot be taken to another process."""


@dataclass
class Worker:
    """One worker as the supervisor sees it."""

    channel: Channel
    pid: int | None = None
    ready: bool = False
    baseline: float = math.nan
    cell: Cell | None = None
    task: str | None = None
    started: float = 0.0
    peak: float = 0.0
    closed_at: float | None = None

    @property
    def idle(self) -> bool:
        """Whether a cell can be handed to it."""
        return self.ready and self.cell is None and not self.channel.closed


@dataclass(frozen=True)
class Lost:
    """A cell whose worker was ended from outside: not its fault, to be tried again."""

    cell: Cell
    reason: str


@dataclass
class Pool:
    """A fixed number of workers that are replaced when they end.

    Hand cells to idle workers with `submit`; `poll` returns a `CellResult` or `Lost` for each.
    """

    run_one: RunOne
    size: int
    limits: Limits
    spawn: bool | None = None
    _workers: dict[int, Worker] = field(default_factory=dict)
    _dying: dict[int, float] = field(default_factory=dict)
    _tokens: int = 0
    _bad_starts: int = 0
    _watched: float = 0.0
    _payload: bytes | None = None
    _stopped: StoppedProcesses = field(default_factory=StoppedProcesses)

    def __post_init__(self) -> None:
        here()  # computed before the fork, inherited by all
        self.nursery = self._found()
        self._fill()

    def _found(self) -> Nursery | Spawner:
        if not (must_spawn() if self.spawn is None else self.spawn):
            return Nursery(self.run_one, self.limits)
        self._payload = self._payload or _encode((self.run_one, self.limits))
        return Spawner()

    @property
    def processes(self) -> list[int]:
        """Process numbers of the nursery, if there is one, and the workers."""
        return [pid for pid in (self.nursery.pid, *(w.pid for w in self._workers.values())) if pid is not None]

    def idle(self) -> list[Worker]:
        """Return the workers that wait for a cell."""
        return [worker for worker in self._workers.values() if worker.idle]

    def busy(self) -> list[Cell]:
        """Return the cells in work."""
        return [worker.cell for worker in self._workers.values() if worker.cell is not None]

    def submit(self, worker: Worker, cell: Cell) -> None:
        """Hand ``cell`` to an idle worker. If it has just died, `poll` says so."""
        worker.cell, worker.task = cell, cell.task
        worker.started, worker.peak = time.monotonic(), 0.0
        with contextlib.suppress(BrokenChannelError):
            worker.channel.send(cell)

    def poll(self, timeout: float) -> list[CellResult | Lost]:
        """Wait for something to happen, at most ``timeout`` seconds, and return what came out."""
        now = time.monotonic()
        pause = min([timeout, *self._next_checks(now)])
        open_channels = [w.channel for w in self._workers.values() if not w.channel.closed]
        _wait([*self.nursery.waitables(), *open_channels], max(pause, 0.0))
        out: list[CellResult | Lost] = []
        for token, worker in list(self._workers.items()):
            out += self._listen(token, worker)
        out += self._nursery_news()
        out += self._enforce()
        self._stopped.look(self._doing())
        self._fill()
        return out

    def _doing(self) -> dict[int, str]:
        """What each process of the pool does, in words."""
        doing = {self.nursery.pid: "it starts the workers"} if self.nursery.pid is not None else {}
        for worker in self._workers.values():
            if worker.pid is not None:
                cell = worker.cell
                doing[worker.pid] = (
                    "an idle worker" if cell is None else f"{cell.task} / {cell.model} / seed {cell.seed}"
                )
        return doing

    def drain(self) -> list[CellResult]:
        """Return results that are already here, without waiting and without starting anything."""
        out = []
        for worker in self._workers.values():
            with contextlib.suppress(BrokenChannelError):
                out += [body for kind, body in worker.channel.receive_ready() if kind == "done"]
        return out

    def close(self) -> None:
        """End every process of the pool."""
        self.nursery.close()
        for worker in self._workers.values():
            worker.channel.close()
        self._workers.clear()

    # -- what happened ----------------------------------------------------------------------------

    def _listen(self, token: int, worker: Worker) -> list[CellResult | Lost]:
        try:
            messages = worker.channel.receive_ready()
        except BrokenChannelError as error:
            return self._end(token, "failed", f"The worker sent {error}.")
        out: list[CellResult | Lost] = []
        for kind, body in messages:
            if kind == "ready":
                worker.pid, worker.baseline = body
                worker.ready, self._bad_starts = True, 0
            elif kind == "asks":
                with contextlib.suppress(BrokenChannelError):
                    worker.channel.send_bytes(self._payload or b"")
            elif kind == "broken":
                raise CannotMoveError(f"The work cannot be taken to a fresh process ({body}).")
            elif worker.cell is not None:
                cell, worker.cell = worker.cell, None
                out.append(body)
                apart = runs_apart if isinstance(self.nursery, Nursery) else is_foreign
                if body.status == "tampered" and not apart(self.run_one, cell):
                    self._end(token, "failed", "")  # nobody has put its data and libraries right
                    return out
        if worker.channel.closed and worker.closed_at is None:
            worker.closed_at = time.monotonic()
        return out

    def _nursery_news(self) -> list[CellResult | Lost]:
        events = self.nursery.events()
        if events is None:
            return self._replace_nursery()
        out: list[CellResult | Lost] = []
        for kind, first, second in events:
            if kind == b"s":
                if first in self._workers:
                    self._workers[first].pid = second
            elif self._dying.pop(first, None) is None:
                token = next((t for t, w in self._workers.items() if w.pid == first), None)
                if token is None:
                    continue
                out += self._listen(token, self._workers[token])  # its last words count
                out += self._bury(token, death(second), outside=signal_of(second) in OUTSIDE)
        return out

    def _bury(self, token: int, reason: str, *, outside: bool) -> list[CellResult | Lost]:
        worker = self._workers.pop(token, None)
        if worker is None:
            return []
        worker.channel.close()
        if not worker.ready:
            self._count_bad_start(reason)
        if worker.cell is None:
            return []
        if outside:
            return [Lost(worker.cell, reason)]
        seconds = time.monotonic() - worker.started
        return [ended(worker.cell, "failed", reason, seconds=seconds, environment=here())]

    def _count_bad_start(self, reason: str) -> None:
        self._bad_starts += 1
        if self._bad_starts >= _BAD_STARTS:
            raise CannotMoveError(f"Workers end before they are ready ({reason}).")

    def _replace_nursery(self) -> list[CellResult | Lost]:
        """The nursery was killed, and with it (by the kernel) its workers; start over."""
        out: list[CellResult | Lost] = []
        for token, worker in list(self._workers.items()):
            if worker.pid is not None:
                isolation.kill_group(worker.pid)
            out += self._listen(token, worker)
            worker.ready = True  # its end says nothing about how workers start
            out += self._bury(token, "worker died: its parent was killed", outside=True)
        self.nursery.close()
        self._dying.clear()
        self.nursery = self._found()
        return out

    # -- limits -----------------------------------------------------------------------------------

    def _next_checks(self, now: float) -> list[float]:
        busy = [w for w in self._workers.values() if w.cell is not None]
        checks = []
        if self.limits.seconds is not None:
            checks += [w.started + self.limits.seconds - now for w in busy]
        if self.limits.memory_mb is not None and busy:
            checks.append(_MEMORY_INTERVAL)
        if self._dying or any(w.closed_at is not None for w in self._workers.values()):
            checks.append(0.05)
        return checks

    def _enforce(self) -> list[CellResult | Lost]:
        now = time.monotonic()
        out: list[CellResult | Lost] = []
        for token, worker in list(self._workers.items()):
            if worker.closed_at is not None and now - worker.closed_at > _EXIT_PATIENCE:
                out += self._end(token, "failed", "The worker closed its connection to the driver.")
            elif worker.cell is not None and now - worker.started >= (self.limits.seconds or math.inf):
                out += self._end(token, "timeout", f"The time limit of {self.limits.seconds:g} s was reached.")
        if self.limits.memory_mb is not None and now - self._watched >= _MEMORY_INTERVAL:
            self._watched = now
            out += self._watch_memory(self.limits.memory_mb)
        for pid, since in list(self._dying.items()):
            if now - since > _EXIT_PATIENCE:  # the nursery does not answer
                self._dying.pop(pid)
                isolation.kill_group(pid)
        return out

    def _watch_memory(self, megabytes: float) -> list[CellResult | Lost]:
        out: list[CellResult | Lost] = []
        for token, worker in list(self._workers.items()):
            if worker.cell is None or worker.pid is None:
                continue
            forks = isinstance(self.nursery, Nursery) and runs_apart(self.run_one, worker.cell)
            used = memory.family(worker.pid, forks=forks) - worker.baseline
            worker.peak = max(worker.peak, used)
            if used > megabytes * 1e6:
                out += self._end(token, "oom", over_memory(megabytes, used))
        return out

    def _end(self, token: int, status: Any, reason: str) -> list[CellResult | Lost]:
        """Kill a worker for what its cell did; the cell has its result now."""
        worker = self._workers.pop(token)
        worker.channel.close()
        if worker.pid is not None:
            self._dying[worker.pid] = time.monotonic()
            self.nursery.kill(worker.pid)
        if worker.cell is None:
            return []
        seconds = time.monotonic() - worker.started
        peak = worker.peak if self.limits.memory_mb is not None else math.nan
        return [ended(worker.cell, status, reason, seconds=seconds, peak_memory=peak, environment=here())]

    def _fill(self) -> None:
        while len(self._workers) < self.size:
            self._tokens += 1
            try:
                sock = self.nursery.start(self._tokens)
            except OSError as error:  # the nursery just died, as `poll` will see, or the system refuses
                self._count_bad_start(str(error))
                return
            self._workers[self._tokens] = Worker(Channel(sock))


def must_spawn() -> bool:
    """Return whether workers start from a fresh interpreter: told so, no fork, macOS, or CUDA in use.

    A child forked on macOS may not call the system's numeric library, nor one forked after CUDA started the GPU.
    """
    told = os.environ.get("GRAPHNETZ_START", "")
    if told not in ("", "fork", "spawn"):
        raise UsageError(
            f"GRAPHNETZ_START is {told!r}; allowed are fork and spawn. Unset it to leave the choice to us."
        )
    if not hasattr(os, "fork"):
        return True
    return told == "spawn" if told else sys.platform == "darwin" or isolation.cuda_in_use()


def _wait(objects: Sequence[socket.socket | Channel], timeout: float) -> None:
    if not objects:  # Windows refuses to wait for nothing
        time.sleep(timeout)
        return
    with selectors.DefaultSelector() as selector:
        for each in objects:
            selector.register(each, selectors.EVENT_READ)
        selector.select(timeout)


def _encode(work: tuple[RunOne, Limits]) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(work))
    except Exception as error:
        raise CannotMoveError(
            f"The work cannot be sent to another process ({type(error).__name__}: {error})."
        ) from error
