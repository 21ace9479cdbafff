"""Errors that say what came, what is allowed and what to do next.

Every error a user can cause derives from `GraphnetzError`; the command line prints its text
without a traceback. Anything else that escapes is a fault of ours and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GraphnetzError(Exception):
    """Base of all errors whose text is meant for the user."""


class UsageError(GraphnetzError, ValueError):
    """An argument, flag or configuration key is wrong."""


class UnknownNameError(UsageError, KeyError):
    """A name was looked up that nobody registered."""

    def __str__(self) -> str:  # KeyError would print the repr of the sentence
        return str(self.args[0]) if self.args else ""


class DataError(GraphnetzError, ValueError):
    """A dataset or file does not hold what its task needs."""


class StoreError(GraphnetzError):
    """A run folder cannot be read or written."""


class IntegrityError(StoreError, DataError):
    """What was read is not what was written: a digest differs."""


class NoDigestsWarning(UserWarning):
    """Something from before there were digests was read: nothing in it can be checked."""


class DownloadError(GraphnetzError, OSError):
    """A file could not be fetched, or what came is not what was promised."""


class MissingExtraError(GraphnetzError, ImportError):
    """An optional dependency is needed and not installed."""


def _likeness(given: str, known: str) -> tuple[float, int]:
    alike = next((i for i, (a, b) in enumerate(zip(given, known, strict=False)) if a != b), min(len(given), len(known)))
    return difflib.SequenceMatcher(None, known, given).ratio(), alike


MOST_LISTED = 24
"""Names up to which an error lists all that are known; of more it names the nearest three."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Build the error for a failed look-up, with the closest known name when there is one."""
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=5)
    # Among equally close names the one that begins alike: people mistype the end of a name, not its start.
    close.sort(key=lambda other: _likeness(str(name), other), reverse=True)
    if len(names) <= MOST_LISTED:
        hint = f" Did you mean {close[0]!r}?" if close else ""
        return UnknownNameError(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(names) or 'none'}.")
    nearest = close[:3] or [other for other in names if other[:1].lower() == str(name)[:1].lower()][:3] or names[:3]
    *rest, last = map(repr, nearest)
    listed = f"{', '.join(rest)} or {last}" if rest else last
    hint = f"Did you mean {listed}?" if close else f"Among {len(names)} known names: {listed}."
    return UnknownNameError(f"Unknown {kind} {name!r}. {hint} 'graphnetz list' shows what there is.")


def want_of_memory(error: BaseException) -> bool:
    """Whether an error is of memory that ran out, which Python's locks, its threads and OpenSSL call otherwise.

    Examples
    --------
    >>> want_of_memory(RuntimeError("can't allocate read lock")), want_of_memory(RuntimeError("something else"))
    (True, False)
    """
    if isinstance(error, RuntimeError):
        return str(error).startswith(("can't allocate", "can't start new thread"))
    return isinstance(error, MemoryError) or "[digital envelope routines]" in str(error)
