"""From missing cells to a full store: claims, heartbeats and results around any executor."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from graphnetz._core.errors import StoreError
from graphnetz._core.threads import Repeated
from graphnetz.engine.executors.base import Executor, Limits, RunOne
from graphnetz.engine.executors.waiting import Patience
from graphnetz.engine.store import Store, new_owner, retire
from graphnetz.records import Cell, CellResult


def drive(
    store: Store,
    cells: Sequence[Cell],
    run_one: RunOne,
    *,
    executor: Executor,
    limits: Limits | None = None,
    lease_seconds: float = 60.0,
    on_start: Callable[[Cell], None] | None = None,
    on_result: Callable[[CellResult], None] | None = None,
    tick: Callable[[], None] | None = None,
    poll_seconds: float = 0.5,
) -> None:
    """Run every planned cell that has no result, until none is missing.

    Cells that another runner holds are waited for, and it is said so; if that runner dies, they are taken over. A
    result that comes after its cell was taken over is dropped: the other runner's counts.

    Parameters
    ----------
    store
        Open for writing; ``cells`` are planned in it.
    on_start, on_result
        Told after the claim and after the commit, for progress.
    tick
        Called a few times a second.
    """
    owner = new_owner()
    by_key = {cell.key: cell for cell in cells}
    ours = {(cell.task, cell.model, cell.seed) for cell in cells}
    due = 0.0
    patience = Patience(lease_seconds)

    def claim(cell: Cell) -> bool:
        granted = store.claim(cell.key, owner, lease_seconds)
        if granted and on_start is not None:
            on_start(cell)
        return granted

    def keep(result: CellResult) -> None:
        if store.finish(owner, result) and on_result is not None:
            on_result(result)

    def pulse() -> None:
        nonlocal due
        if time.monotonic() >= due:  # at most four times per lease
            due = time.monotonic() + lease_seconds / 4
            store.heartbeat(owner, lease_seconds)
        if tick is not None:
            tick()

    try:
        while missing := store.missing(by_key):
            store.recover()
            held = store.held_by_others(owner)
            todo = [by_key[key] for key in missing if key not in held]
            if todo:
                patience.over()
                with _beating(store, owner, lease_seconds) if executor.in_process else contextlib.nullcontext():
                    executor.run(todo, run_one, limits=limits or Limits(), on_start=claim, on_result=keep, tick=pulse)
            else:
                pulse()
                for gone in patience.look([row for row in store.running() if row[:3] in ours]):
                    store.release(gone)
                time.sleep(poll_seconds)
    finally:
        try:
            store.release(owner)
        except StoreError:  # the error on its way is the one to tell
            retire(owner)


def _beating(store: Store, owner: str, lease_seconds: float) -> Repeated:
    """Extend leases from a thread with connections of its own, while cells run in this process."""

    def beat() -> None:
        with Store.open(store.path) as own:
            own.heartbeat(owner, lease_seconds)

    return Repeated(beat, lease_seconds / 4)
