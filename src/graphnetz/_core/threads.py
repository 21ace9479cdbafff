"""Functions that a thread of their own repeats; none is waited for without end."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from types import TracebackType

PATIENCE = 30
"""Seconds that a thread may take to begin."""


class Repeated:
    """Call ``act`` every so many seconds from a thread, as long as the ``with`` block lasts.

    `threading.Thread` waits for ever for a thread that began and had no memory to say so; this one gives up with a
    `MemoryError`. What ``act`` raises is not the end of it: the next call may be luckier.

    Parameters
    ----------
    act
        What is called, first after ``seconds``.
    seconds
        Between two calls.

    Examples
    --------
    >>> import time
    >>> seen = []
    >>> with Repeated(lambda: seen.append(1), 0.001):
    ...     while len(seen) < 3:
    ...         time.sleep(0.001)
    >>> len(seen) >= 3
    True
    """

    def __init__(self, act: Callable[[], object], seconds: float) -> None:
        self._act, self._seconds = act, seconds
        try:  # bare locks: those of `threading` allocate while they wait
            self._begun, self._end, self._gone = (_thread.allocate_lock() for _ in range(3))
        except RuntimeError as error:  # "can't allocate lock"
            raise MemoryError(f"A thread cannot be started ({error}).") from error
        for lock in (self._begun, self._end, self._gone):
            lock.acquire()

    def __enter__(self) -> Repeated:
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError as error:  # "can't start new thread"
            raise MemoryError(f"A thread cannot be started ({error}).") from error
        for _ in range(PATIENCE):  # short waits, of which a process that is stopped for an hour loses one
            if self._begun.acquire(timeout=1.0):
                return self
        self._end.release()
        raise MemoryError(f"A thread did not begin within {PATIENCE} s.")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.release()
        self._gone.acquire(timeout=5.0)

    def _run(self) -> None:
        self._begun.release()
        while True:
            try:
                if self._end.acquire(timeout=self._seconds):
                    break
                self._act()
            except Exception:  # noqa: S112  (want of memory too; nothing is left to tell it with)
                continue
        self._gone.release()
