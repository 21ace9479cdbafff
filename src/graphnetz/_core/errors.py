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


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Build the error for a failed look-up, with the closest known name when there is one."""
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=5)
    # Among equally close names the one that begins alike: people mistype the end of a name, not its start.
    close.sort(key=lambda other: _likeness(str(name), other), reverse=True)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listing = ", ".join(names) if names else "none"
    return UnknownNameError(f"Unknown {kind} {name!r}.{hint} Known: {listing}.")
