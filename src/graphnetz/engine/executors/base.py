"""What every executor promises, and the registry they are looked up in."""

from __future__ import annotations

import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from graphnetz._core.errors import UsageError
from graphnetz._core.registry import Registry
from graphnetz.engine.identity.environment import environment
from graphnetz.records import Cell, CellResult, Protocol

RunOne = Callable[[Cell], CellResult]


@dataclass(frozen=True)
class Limits:
    """What one cell may use: wall-clock seconds, and megabytes resident above its worker's baseline."""

    seconds: float | None = None
    memory_mb: float | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "memory_mb"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"The limit {name} must be above 0, got {value}. Leave it out for no limit.")


class Told(TypedDict):
    """Who is asked and told while cells run; see `Executor.run`."""

    on_start: Callable[[Cell], bool]
    on_result: Callable[[CellResult], None]
    tick: NotRequired[Callable[[], None] | None]


class Executor(ABC):
    """Runs cells; may repeat one, never loses one.

    Parameters
    ----------
    workers
        How many cells run at a time; None lets the executor choose.
    """

    #: Whether cells run inside the driver, so that its loop stands still while one trains.
    in_process = False

    #: Settings of a run that its constructor takes beside the workers; one with an address runs elsewhere.
    takes: tuple[str, ...] = ()

    def __init__(self, *, workers: int | None = None, **_: Any) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"workers must be at least 1, got {workers}.")
        self.workers = workers

    @abstractmethod
    def run(
        self,
        cells: Sequence[Cell],
        run_one: RunOne,
        *,
        limits: Limits,
        on_start: Callable[[Cell], bool],
        on_result: Callable[[CellResult], None],
        tick: Callable[[], None] | None = None,
    ) -> None:
        """Run every cell that ``on_start`` grants and hand each result to ``on_result``.

        Parameters
        ----------
        cells
            In plan order, grouped by (task, model).
        run_one
            Trains one cell. It may raise, hang, exit or crash: that becomes a result.
        limits
            Held per cell.
        on_start, on_result
            Called in this process. ``on_start`` claims the cell just before it is handed out;
            False means that someone else has it.
        tick
            Called a few times a second in this process: heartbeats, progress.
        """

    def environments(self, device: str = "cpu") -> dict[str, dict[str, Any]]:
        """Return the environments that workers file their results under, by key.

        Asked of a worker, not computed here: a driver that never touches the accelerator, or that
        steers another machine, has a key of its own.
        """
        found = results_of(self, [question(device)], describe).values()
        return {result.environment: dict(result.trace[0]) for result in found if result.ok}


def results_of(
    executor: Executor,
    cells: Sequence[Cell],
    run_one: RunOne,
    *,
    limits: Limits | None = None,
    on_start: Callable[[Cell], bool] = lambda _: True,
) -> dict[str, CellResult]:
    """Run cells that belong to no store and return their results by key."""
    found: list[CellResult] = []
    executor.run(cells, run_one, limits=limits or Limits(), on_start=on_start, on_result=found.append)
    return {result.key: result for result in found}


def question(device: str) -> Cell:
    """Return the cell that `describe` answers."""
    return Cell("environment", "environment", "environment", 0, Protocol().replace(device=device))


def describe(cell: Cell) -> CellResult:
    """Run as a cell: tell the environment of the process it runs in, with the accelerator in use."""
    if cell.protocol.device.startswith("cuda"):
        import torch

        torch.cuda.init()  # type: ignore[no-untyped-call]
    from graphnetz.engine.cost.reference import reference_cell  # which measures memory as executors do

    facts = environment() | {"reference": reference_cell()}
    return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="none", trace=(facts,))


class Terminated(KeyboardInterrupt):
    """SIGTERM came: treated as an interruption, so that finished cells are kept."""


EXECUTORS: Registry[type[Executor]] = Registry("executor", entry_points="graphnetz.executors", accepts=type[Executor])


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into `Terminated` while a run is on, unless the program handles it itself."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def stop(*_: Any) -> None:
        raise Terminated("terminated")

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
