"""What a worker process does: take a cell, run it, send the result, until its driver is gone."""

from __future__ import annotations

import dataclasses
import math
import os
import socket
import sys
import time
from collections.abc import Callable

from graphnetz._core import malloc
from graphnetz.engine.executors import isolation, memory
from graphnetz.engine.executors.base import Limits, RunOne
from graphnetz.engine.executors.channel import BrokenChannelError, Channel
from graphnetz.engine.executors.outcome import accept, completed, ended, failure
from graphnetz.engine.identity.environment import environment_key
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
    try:
        result = accept(cell, run_one(cell))
    except stops:
        raise
    except BaseException as error:
        result = failure(cell, error)
    seconds = time.perf_counter() - begin
    peak = max(memory.high_water() - baseline, 0.0) if fresh else math.nan
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
    serve(sock, _fetch, parent=driver)


def _fetch(channel: Channel) -> tuple[RunOne, Limits]:
    channel.send(("asks", None))
    work: tuple[RunOne, Limits] = channel.receive()
    return work


def serve(sock: socket.socket, load: Load, *, parent: int) -> None:
    """Be a worker until told otherwise. Never returns: the inherited interpreter must not unwind."""
    code = 0
    try:
        isolation.one_thread()
        isolation.reset_signals()
        isolation.own_group()
        isolation.die_with(parent)
        isolation.silence()
        malloc.reuse_memory()  # in this process only: the driver may be a user's own program
        _loop(Channel(sock), load)
    except BrokenChannelError:
        pass
    except BaseException:
        code = 70
    finally:
        os._exit(code)


def _loop(channel: Channel, load: Load) -> None:
    try:
        run_one, limits = load(channel)
    except Exception as error:
        channel.send(("broken", f"{type(error).__name__}: {error}"))
        return
    here()
    baseline = memory.resident()
    if limits.memory_mb is not None:
        memory.limit_address_space(limits.memory_mb)
    channel.send(("ready", (os.getpid(), baseline)))
    while True:
        cell: Cell = channel.receive()
        result = measured(cell, run_one, baseline=baseline)
        try:
            channel.send(("done", result))
        except BrokenChannelError:
            raise
        except Exception as error:  # a result that holds something that cannot be sent
            words = f"The result cannot be sent: {type(error).__name__}: {error}"
            spent = {"seconds": result.seconds, "peak_memory": result.peak_memory, "environment": here()}
            channel.send(("done", ended(cell, "failed", words, **spent)))
