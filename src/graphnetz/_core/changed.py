"""A frozen record with a few fields changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

R = TypeVar("R")


def changed(record: R, **fields: Any) -> R:
    """Return a copy of a plain frozen dataclass with slots, some of its fields set.

    `dataclasses.replace` calls the constructor, which for a record of thirty fields takes twice as long; this
    matters where there are as many records as pairs of models. For records without ``__post_init__`` only.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> changed(Point(1), y=2)
    Point(x=1, y=2)
    """
    kind: Any = type(record)
    values, setters = _fields(kind)
    new: R = object.__new__(kind)
    for put, value in zip(setters.values(), values(record), strict=True):
        put(new, value)
    return filled(new, **fields)


def filled(record: R, **fields: Any) -> R:
    """Set fields of a frozen record that was just made and that nobody else has seen, and return it.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> filled(Point(1), y=2)
    Point(x=1, y=2)
    """
    kind: Any = type(record)
    _, setters = _fields(kind)
    if not fields.keys() <= setters.keys():
        raise TypeError(f"{kind.__name__} has no field {sorted(fields.keys() - setters.keys())}.")
    for name, value in fields.items():
        setters[name](record, value)
    return record


@cache
def _fields(kind: type) -> tuple[Callable[[Any], tuple[Any, ...]], dict[str, Callable[[Any, Any], None]]]:
    """All values of a record at once, and what sets each field of one that was just made."""
    names = kind.__slots__  # type: ignore[attr-defined]
    return attrgetter(*names), {name: getattr(kind, name).__set__ for name in names}
