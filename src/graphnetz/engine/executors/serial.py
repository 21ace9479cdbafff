"""One cell after another in this process: for debugging, with prints and breakpoints where they belong."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

from graphnetz.engine.executors import memory
from graphnetz.engine.executors.base import EXECUTORS, Executor, Limits, RunOne, Told, terminable
from graphnetz.engine.executors.outcome import ended, over_memory
from graphnetz.engine.executors.worker_process import here, measured
from graphnetz.records import Cell, CellResult


class _TimeUp(BaseException):
    """The alarm rang; not an Exception, so that a model's ``except Exception`` does not swallow it."""


@EXECUTORS.register("serial")
class SerialExecutor(Executor):
    """Cells in the driver itself.

    The time limit interrupts Python code only (by SIGALRM, in the main thread); where there is no such
    alarm it is compared with the time taken, as a memory limit is with the peak. Use ``local`` where limits must hold.
    """

    in_process = True

    def run(self, cells: Sequence[Cell], run_one: RunOne, *, limits: Limits, **told: Unpack[Told]) -> None:
        """Run the cells; see `Executor.run`."""
        with terminable():
            for cell in cells:
                if told["on_start"](cell):
                    told["on_result"](self._one(cell, run_one, limits))
                    if tick := told.get("tick"):
                        tick()

    def _one(self, cell: Cell, run_one: RunOne, limits: Limits) -> CellResult:
        begin = time.perf_counter()
        baseline = memory.resident()
        try:
            with _alarm(limits.seconds):
                result = measured(cell, run_one, baseline=baseline, stops=(KeyboardInterrupt, _TimeUp))
            if limits.seconds is not None and result.seconds > limits.seconds:
                raise _TimeUp
        except _TimeUp:
            words = f"The time limit of {limits.seconds:g} s was reached."
            return ended(cell, "timeout", words, seconds=time.perf_counter() - begin, environment=here())
        used = result.peak_memory
        if limits.memory_mb is not None and not math.isnan(used) and used > limits.memory_mb * 1e6:
            words = over_memory(limits.memory_mb, used)
            return ended(cell, "oom", words, seconds=result.seconds, peak_memory=used, environment=result.environment)
        return result


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    if seconds is None or not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: Any) -> None:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)
