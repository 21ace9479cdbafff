"""Cells as Ray tasks: the same supervised worker on every node of a cluster.

Ray repeats a task whose process or node dies, so a cell may run more than once; the store keeps one
result. Inside each Ray process the cell runs in a supervised worker of its own, hence time limits,
memory limits and crashes end as they do locally.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Unpack

from graphnetz._core.errors import UsageError
from graphnetz._core.optional import require
from graphnetz.engine.executors.base import EXECUTORS, Executor, Limits, RunOne, Told, describe, question, terminable
from graphnetz.engine.executors.outcome import ended
from graphnetz.engine.executors.pool import Lost, Pool
from graphnetz.engine.executors.worker_process import here
from graphnetz.engine.identity.environment import environment_key
from graphnetz.records import Cell, CellResult

_TICK = 0.2
_POOLS: dict[str, Pool] = {}


@EXECUTORS.register("ray")
class RayExecutor(Executor):
    """Cells on a Ray cluster.

    Parameters
    ----------
    workers
        Most cells in flight; None takes the processors of the cluster.
    address
        Of a running cluster (``"auto"``, ``"host:port"``, ``"ray://..."``); None starts a local one.
    gpus
        Graphics processors per cell; a fraction lets cells share one.
    retries
        How often a cell is tried again whose process or node was lost.
    """

    takes = ("address", "gpus")

    def __init__(self, *, address: str | None = None, gpus: float = 0.0, retries: int = 5, **options: Any) -> None:
        super().__init__(**options)
        if gpus < 0:
            raise UsageError(f"gpus must not be negative, got {gpus}.")
        self.address, self.gpus, self.retries = address, gpus, retries

    def run(self, cells: Sequence[Cell], run_one: RunOne, *, limits: Limits, **told: Unpack[Told]) -> None:
        """Run the cells; see `Executor.run`."""
        if not cells:
            return
        ray = require("ray", extra="ray", purpose="The executor 'ray'")
        with terminable(), _connected(ray, self.address, self.workers):
            _send_by_value()
            work = [ray.put(run_one)]  # in a list: Ray hands over the reference, each process fetches it once
            token = uuid.uuid4().hex
            remote = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=self.retries)(_run_cell)

            def submit(cell: Cell) -> Any:
                return remote.remote(work, token, cell, limits, self.retries)

            self._gather(ray, deque(cells), submit, **told)

    def environments(self, device: str = "cpu") -> dict[str, dict[str, Any]]:
        """Return the environments of all nodes by key; see `Executor.environments`."""
        ray = require("ray", extra="ray", purpose="The executor 'ray'")
        with _connected(ray, self.address, self.workers):
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            there = [NodeAffinitySchedulingStrategy(n["NodeID"], soft=True) for n in ray.nodes() if n["Alive"]]
            ask = ray.remote(num_cpus=0, num_gpus=self.gpus)(_describe)
            asked = [ask.options(scheduling_strategy=place).remote(question(device)) for place in there]
            return dict(ray.get(asked))

    def _gather(self, ray: Any, queue: deque[Cell], submit: Callable[[Cell], Any], **told: Unpack[Told]) -> None:
        flying: dict[Any, Cell] = {}
        losses: Counter[str] = Counter()
        next_look, slots = 0.0, 1
        try:
            while queue or flying:
                if time.monotonic() >= next_look:  # nodes come and go
                    next_look = time.monotonic() + 1.0
                    slots = self.workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
                while queue and len(flying) < slots:
                    cell = queue.popleft()
                    if told["on_start"](cell):
                        flying[submit(cell)] = cell
                ready, _ = ray.wait(list(flying), num_returns=len(flying), timeout=0) if flying else ([], [])
                if not ready and flying:
                    ready, _ = ray.wait(list(flying), num_returns=1, timeout=_TICK)
                for reference in ready:
                    cell = flying.pop(reference)
                    result = self._fetch(ray, reference, cell, losses)
                    if result is None:
                        queue.appendleft(cell)
                    else:
                        told["on_result"](result)
                if tick := told.get("tick"):
                    tick()
        finally:
            for reference in flying:
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)

    def _fetch(self, ray: Any, reference: Any, cell: Cell, losses: Counter[str]) -> CellResult | None:
        """Return the result, or None when it was lost and is worth another try."""
        try:
            value: CellResult = ray.get(reference)
            return value
        except ray.exceptions.RayTaskError as error:  # our own code failed there: trying again will not help
            words = f"The Ray task failed: {str(error).strip().splitlines()[-1]}"
        except ray.exceptions.RayError as error:
            losses[cell.key] += 1
            if losses[cell.key] <= self.retries:
                return None
            words = f"The cell was lost {losses[cell.key]} times ({type(error).__name__})."
        return ended(cell, "failed", words, environment=here())


def _describe(cell: Cell) -> tuple[str, dict[str, Any]]:
    facts = dict(describe(cell).trace[0])
    return environment_key(facts), facts


def _run_cell(work: list[Any], token: str, cell: Cell, limits: Limits, retries: int) -> CellResult:
    """Run one cell inside a Ray process, in a supervised worker that stays for the next cells."""
    if token not in _POOLS:
        import ray

        for old in list(_POOLS):
            _POOLS.pop(old).close()
        _POOLS[token] = Pool(ray.get(work[0]), 1, limits)
    pool = _POOLS[token]
    reason = ""
    for _ in range(retries + 1):
        outcome = _one(pool, cell)
        if isinstance(outcome, CellResult):
            return outcome
        reason = outcome.reason
    return ended(cell, "failed", f"{reason}, {retries + 1} times in a row.", environment=here())


def _one(pool: Pool, cell: Cell) -> CellResult | Lost:
    while not pool.idle():
        pool.poll(_TICK)
    pool.submit(pool.idle()[0], cell)
    while True:
        for outcome in pool.poll(_TICK):
            return outcome


def _send_by_value() -> None:
    """Have Ray's own copy of cloudpickle send classes of the user's files by value, as ours was told to."""
    import cloudpickle
    from ray import cloudpickle as theirs

    for name in cloudpickle.list_registry_pickle_by_value():
        if name in sys.modules:
            theirs.register_pickle_by_value(sys.modules[name])  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _connected(ray: Any, address: str | None, workers: int | None) -> Iterator[None]:
    """Use the connection the program has, or make one and end it afterwards."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    local = {"num_cpus": workers, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(address=address or "local", log_to_driver=False, logging_level="error", **({} if address else local))
    try:
        yield
    finally:
        ray.shutdown()
