"""What a worker process does: take a cell, run it, send the result, until its driver is gone.

Code that this package does not know (``run_one.foreign(cell)``) runs in a child of a forked worker, one per cell, so
that whatever it does to data, libraries and classes ends with its cell. Where there is no fork, the work itself puts
things back: see `graphnetz.engine.worker.Workbench`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

from graphnetz._core import malloc
from graphnetz.engine.executors import isolation, memory, warm
from graphnetz.engine.executors.base import Limits, RunOne
from graphnetz.engine.executors.channel import BrokenChannelError, Channel
from graphnetz.engine.executors.outcome import accept, completed, ended, failure, signal_of
from graphnetz.engine.identity.environment import environment_key
from graphnetz.graphs.mapped import mapped_bytes
from graphnetz.records import Cell, CellResult

Load = Callable[[Channel], tuple[RunOne, Limits]]

_ENVIRONMENT: dict[bool, str] = {}
NO_PEAK = "Peak memory is unknown: the high-water mark cannot be reset here."


def here() -> str:
    """Return the environment key of this process, computed once before and once after CUDA starts."""
    cuda = isolation.cuda_in_use()
    if cuda not in _ENVIRONMENT:
        _ENVIRONMENT[cuda] = environment_key()
    return _ENVIRONMENT[cuda]


def measured(
    cell: Cell, run_one: RunOne, *, baseline: float, stops: tuple[type[BaseException], ...] = ()
) -> CellResult:
    """Run one cell; anything it raises becomes its result, except ``stops``."""
    fresh = memory.reset_high_water()
    begin = time.perf_counter()
    on_disk = mapped_bytes() > 0
    with malloc.giving_back(on_disk, size=1 << 20), memory.sampled(on_disk) as highest:
        try:
            result = accept(cell, run_one(cell))
        except stops:
            raise
        except BaseException as error:
            result = failure(cell, error)
    seconds = time.perf_counter() - begin
    peak = highest[0] if highest else memory.high_water() - memory.file_pages() if fresh else math.nan
    peak = max(peak - baseline, 0.0) if not math.isnan(peak) else peak
    if math.isnan(peak) and math.isnan(result.peak_memory):
        result = dataclasses.replace(result, notes=(*result.notes, NO_PEAK))
    return completed(result, seconds=seconds, peak_memory=peak, environment=here())


def spawned() -> None:
    """Be a worker in a fresh interpreter: the socket comes from the driver, the work when it is asked for."""
    import torch  # noqa: F401  (before `isolation.one_thread`, which sets its threads)

    descriptor, driver = map(int, sys.argv[1:3])
    shared = sys.stdin.buffer.read()
    sock = getattr(socket, "fromshare")(shared) if shared else socket.socket(fileno=descriptor)  # noqa: B009
    isolation.watch(driver)
    serve(sock, _fetch, parent=driver, forks=False)


def _fetch(channel: Channel) -> tuple[RunOne, Limits]:
    channel.send(("asks", None))
    work: tuple[RunOne, Limits] = channel.receive()
    return work


def serve(sock: socket.socket, load: Load, *, parent: int, forks: bool = True) -> None:
    """Be a worker until told otherwise. Never returns: the inherited interpreter must not unwind."""
    code = 0
    try:
        isolation.one_thread()
        isolation.reset_signals()
        isolation.own_group()
        isolation.die_with(parent)
        isolation.silence()
        malloc.reuse_memory()  # in this process only: the driver may be a user's own program
        _loop(Channel(sock), load, forks=forks)
    except BrokenChannelError:
        pass
    except BaseException:
        code = 70
    finally:
        os._exit(code)


def _loop(channel: Channel, load: Load, *, forks: bool) -> None:
    try:
        run_one, limits = load(channel)
    except Exception as error:
        channel.send(("broken", f"{type(error).__name__}: {error}"))
        return
    here()
    baseline = memory.resident()
    if limits.memory_mb is not None:
        memory.limit_address_space(limits.memory_mb)
        malloc.save_memory()
    channel.send(("ready", (os.getpid(), baseline)))
    while True:
        cell: Cell = channel.receive()
        if forks and runs_apart(run_one, cell):
            _run_apart(channel, cell, run_one, baseline=baseline)
            continue
        # Whoever tampers with data or libraries is not trusted with them again: the driver replaces this worker.
        work = getattr(run_one, "lent", run_one) if forks and is_foreign(run_one, cell) else run_one
        _answer(channel, cell, measured(cell, work, baseline=baseline))


def is_foreign(run_one: RunOne, cell: Cell) -> bool:
    """Whether a cell runs code that the work itself keeps apart from other cells."""
    foreign = getattr(run_one, "foreign", None)
    return foreign is not None and bool(foreign(cell))


def runs_apart(run_one: RunOne, cell: Cell) -> bool:
    """Whether a forked worker runs a cell in a child of its own.

    A graphics processor belongs to the process that started it: cells on one stay in the worker. So do those of code
    that can leave nothing behind (``run_one.quiet(cell)``).
    """
    if cell.protocol.device != "cpu" or not is_foreign(run_one, cell):
        return False
    quiet = getattr(run_one, "quiet", None)
    return quiet is None or not quiet(cell)


def _answer(channel: Channel, cell: Cell, result: CellResult) -> None:
    try:
        channel.send(("done", result))
    except BrokenChannelError:
        raise
    except Exception as error:  # a result that holds something that cannot be sent
        words = f"The result cannot be sent: {type(error).__name__}: {error}"
        spent = {"seconds": result.seconds, "peak_memory": result.peak_memory, "environment": here()}
        channel.send(("done", ended(cell, "failed", words, **spent)))


def _run_apart(channel: Channel, cell: Cell, run_one: RunOne, *, baseline: float) -> None:
    """Run a cell in a child of this worker, which has loaded the data; end as the child ended if it did not answer."""
    prepare = getattr(run_one, "prepare", None)
    if prepare is not None:
        with contextlib.suppress(BaseException):  # the child meets the same error, and reports it
            prepare(cell)
    grown = memory.resident() - baseline
    gc.freeze()  # keep the collector off inherited objects: touching them would copy their pages
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    worker = os.getpid()
    child = os.fork()
    if child == 0:
        _child(channel, cell, getattr(run_one, "apart", run_one), theirs, worker=worker, grown=grown)
    os.close(theirs)
    _, status = os.waitpid(child, 0)
    told = _read(ours)
    os.close(ours)
    if not told:
        _end_like(status)
    warm.learn(told)


def _child(channel: Channel, cell: Cell, run_one: RunOne, told: int, *, worker: int, grown: float) -> None:
    """Run one cell, answer, and say on ``told`` what was learned. Never returns."""
    code = 70
    try:
        isolation.die_with(worker)
        known = warm.known()
        _answer(channel, cell, measured(cell, run_one, baseline=memory.resident() - grown))
        os.write(told, warm.news(known))
        code = 0
    finally:
        os._exit(code)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:  # a process that the cell left behind holds the other end
        return b""


def _end_like(status: int) -> None:
    """End this worker as its child ended: the supervisor files the cell and starts another worker."""
    number = signal_of(status)
    if number is not None:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(5.0)
    os._exit(status >> 8)
