"""Things by what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def grouped(items: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """Return the items of each key, keys and items in order of appearance.

    Examples
    --------
    >>> grouped(["ape", "bear", "ant"], lambda name: name[0])
    {'a': ['ape', 'ant'], 'b': ['bear']}
    """
    found: dict[K, list[V]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
