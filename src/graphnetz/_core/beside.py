"""Calls shared between this process and a child that is forked for them."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds for which one result of the child is waited for; after that the call is made here."""


def shared(calls: Sequence[Callable[[], T]]) -> Iterator[T]:
    """Make calls on two cores and yield their results in order.

    A forked child begins with the last call, this process with the first, until they meet. A child is never needed:
    where there is one core or no safe fork, and where a child fails or does not answer, the calls are made here.

    Parameters
    ----------
    calls
        Functions whose results can be pickled, and that change nothing: what a child changes is lost.

    Yields
    ------
    Any
        One result per call.

    Examples
    --------
    >>> list(shared([lambda: 1, lambda: 2, lambda: 3]))
    [1, 2, 3]
    """
    child = _Child.started(calls) if len(calls) > 1 and _two_cores() else None
    try:
        for place, call in enumerate(calls):
            found = child.result(place) if child is not None else ()
            yield found[0] if found else call()
    finally:
        if child is not None:
            child.end()


def _two_cores() -> bool:
    """Whether there is a second core, and a system whose libraries a forked child may use."""
    if not sys.platform.startswith("linux"):
        return False
    return len(os.sched_getaffinity(0)) > 1


class _Child:
    """The child, and what has come from it."""

    def __init__(self, pid: int, stream: Any) -> None:
        self._pid, self._stream = pid, stream
        self._begun: set[int] = set()
        self._found: dict[int, tuple[Any, ...]] = {}
        self._gone = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def started(cls, calls: Sequence[Callable[[], Any]]) -> _Child | None:
        """Fork a child that makes the calls from the last one on; None where that is not possible."""
        try:
            ours, theirs = os.pipe()
        except OSError:
            return None
        try:
            with warnings.catch_warnings():
                # Newer versions of Python warn of a fork beside threads: the child touches nothing that they hold.
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()
        except OSError:
            os.close(ours)
            os.close(theirs)
            return None
        if pid == 0:
            _serve(calls, theirs)
        os.close(theirs)
        return cls(pid, os.fdopen(ours, "rb"))

    def result(self, place: int) -> tuple[Any, ...]:
        """Return the result of a call in a tuple, an empty one where the child has not begun it or is silent."""
        with self._news:
            self._news.wait_for(lambda: self._settled(place), PATIENCE)
            return self._found.pop(place, ())

    def _settled(self, place: int) -> bool:
        return place in self._found or place not in self._begun or self._gone

    def _read(self) -> None:
        with suppress(Exception):
            while True:
                place, *found = pickle.load(self._stream)  # noqa: S301  (of our own child)
                with self._news:
                    if found:
                        self._found[place] = (found[0],)
                    self._begun.add(place)
                    self._news.notify_all()
        with self._news:
            self._gone = True
            self._news.notify_all()

    def end(self) -> None:
        """Stop the child, whatever it is doing."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        self._reader.join()
        self._stream.close()


def _serve(calls: Sequence[Callable[[], Any]], out: int) -> None:
    """Be the child: announce each call, make it, send what it returns. Never returns."""
    try:
        # Where a call fails, the parent makes it again and says what is wrong.
        with suppress(BaseException), os.fdopen(out, "wb") as stream:
            gc.disable()
            for place in reversed(range(len(calls))):
                pickle.dump((place,), stream)
                stream.flush()
                pickle.dump((place, calls[place]()), stream)
                stream.flush()
    finally:
        os._exit(0)
