"""The default executor: all cores of this machine, one supervised process per worker."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, Unpack

from graphnetz.engine.executors import memory
from graphnetz.engine.executors.base import EXECUTORS, Executor, Limits, RunOne, Told, terminable
from graphnetz.engine.executors.outcome import ended
from graphnetz.engine.executors.pool import CannotMoveError, Lost, Pool
from graphnetz.engine.executors.serial import SerialExecutor
from graphnetz.engine.executors.worker_process import here
from graphnetz.records import Cell, CellResult

_TICK = 0.2
_WORKER_BYTES = 0.75e9  # assumed for one worker when no memory limit is given


@EXECUTORS.register("local")
class LocalExecutor(Executor):
    """Cells on worker processes of this machine.

    Parameters
    ----------
    workers
        None takes as many as there are cores, fewer when memory is short.
    retries
        How often a cell is tried again whose worker was killed from outside.
    spawn
        Start workers from a fresh interpreter (True) or by fork (False). None asks the variable
        ``GRAPHNETZ_START`` (``fork`` or ``spawn``); without it workers are forked, except on
        Windows, on macOS and when CUDA is already in use in this process.
    """

    def __init__(self, *, retries: int = 5, spawn: bool | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.retries = retries
        self.spawn = spawn

    def run(self, cells: Sequence[Cell], run_one: RunOne, *, limits: Limits, **told: Unpack[Told]) -> None:
        """Run the cells; see `Executor.run`."""
        if not cells:
            return
        done: set[str] = set()
        size = min(self.workers or default_workers(limits), len(cells))
        with terminable():
            try:
                self._supervise(_Queue(cells), Pool(run_one, size, limits, spawn=self.spawn), done, **told)
            except CannotMoveError as error:
                warnings.warn(f"{error} Cells run one after another in this process.", stacklevel=2)
                rest = [cell for cell in cells if cell.key not in done]
                SerialExecutor().run(rest, run_one, limits=limits, **told)

    def _supervise(self, queue: _Queue, pool: Pool, done: set[str], **told: Unpack[Told]) -> None:
        kills: Counter[str] = Counter()
        finished: list[CellResult] = []
        on_result, tick, next_tick = told["on_result"], told.get("tick"), 0.0
        try:
            while True:
                for worker in pool.idle():
                    cell = queue.take(worker.task, told["on_start"])
                    if cell is None:
                        break
                    pool.submit(worker, cell)
                _hand_over(finished, on_result)  # after the next cells are on their way: writing takes milliseconds
                if not pool.busy() and not queue:
                    return
                for outcome in pool.poll(_TICK):
                    result = self._judge(outcome, queue, kills)
                    if result is not None:
                        done.add(result.key)
                        finished.append(result)
                if tick is not None and time.monotonic() >= next_tick:
                    next_tick = time.monotonic() + _TICK
                    tick()
        except KeyboardInterrupt:
            _hand_over([*finished, *pool.drain()], on_result)
            raise
        finally:
            pool.close()

    def _judge(self, outcome: CellResult | Lost, queue: _Queue, kills: Counter[str]) -> CellResult | None:
        if isinstance(outcome, CellResult):
            return outcome
        cell = outcome.cell
        kills[cell.key] += 1
        if kills[cell.key] <= self.retries:
            queue.back(cell)
            return None
        words = f"{outcome.reason}, {kills[cell.key]} times in a row; the machine may be short of memory."
        return ended(cell, "failed", words, environment=here())


def default_workers(limits: Limits) -> int:
    """Return the cores this process may use, fewer when their memory would not fit."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as stream:
            quota, period = stream.read().split()
        if quota != "max":
            cores = min(cores, max(int(float(quota) / float(period)), 1))
    each = _WORKER_BYTES if limits.memory_mb is None else limits.memory_mb * 1e6
    return max(min(cores, int(memory.available() // each)), 1)


def _hand_over(results: list[CellResult], on_result: Callable[[CellResult], None]) -> None:
    """Empty the list; a result leaves it only when it is taken care of."""
    while results:
        on_result(results[0])
        del results[0]


class _Queue:
    """Open cells by task: a worker stays with its task as long as it can, so that it loads data once."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._tasks: defaultdict[str, deque[Cell]] = defaultdict(deque)
        self._taken: set[str] = set()
        for cell in cells:
            self._tasks[cell.task].append(cell)

    def __bool__(self) -> bool:
        return any(self._tasks.values())

    def take(self, task: str | None, on_start: Callable[[Cell], bool]) -> Cell | None:
        """Return the next cell that ``on_start`` grants, of ``task`` if possible."""
        while (source := self._choose(task)) is not None:
            cell = self._tasks[source].popleft()
            if on_start(cell):
                self._taken.add(source)
                return cell
        return None

    def back(self, cell: Cell) -> None:
        """Put a cell back in front; it is claimed already, and claiming again is granted."""
        self._tasks[cell.task].appendleft(cell)

    def _choose(self, task: str | None) -> str | None:
        waiting = {name: len(cells) for name, cells in self._tasks.items() if cells}
        untouched = (name for name in waiting if name not in self._taken)
        return task if task in waiting else next(untouched, max(waiting, key=waiting.__getitem__, default=None))
