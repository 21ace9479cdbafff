"""Look up, don't branch: one registry per kind of thing that can be added."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module, metadata
from typing import Generic, TypeVar

from graphnetz._core.errors import UsageError, unknown_name

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Names mapped to entries, in order of registration.

    Parameters
    ----------
    kind
        Singular noun used in error messages, such as ``"paired test"``.
    entry_points
        Group of package entry points that third parties add to; they are loaded the first time
        the registry is listed or a look-up fails, never at import.
    homes
        Modules whose import adds entries of ours, named here because they stand above this one.

    Examples
    --------
    >>> tests = Registry("paired test")
    >>> @tests.register("t")
    ... def paired_t(a, b): ...
    >>> tests["tt"]
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.UnknownNameError: Unknown paired test 'tt'. Did you mean 't'? Known: t.
    """

    def __init__(self, kind: str, *, entry_points: str | None = None, homes: Sequence[str] = ()) -> None:
        self.kind = kind
        self._homes = tuple(homes)
        self._group = entry_points
        self._entries: dict[str, T] = {}
        self._loaded = entry_points is None

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that files its target under ``name``."""

        def file(entry: T) -> T:
            self.add(name, entry)
            return entry

        return file

    def add(self, name: str, entry: T) -> None:
        """File ``entry`` under ``name``; a name is given once."""
        if name in self._entries:
            raise UsageError(
                f"{self.kind} {name!r} is already registered. Choose another name, or unregister it first."
            )
        self._entries[name] = entry

    def remove(self, name: str) -> T | None:
        """Take ``name`` out again and return its entry, or None when it was not there."""
        return self._entries.pop(name, None)

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            self._load_entry_points()
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            raise unknown_name(self.kind, name, self._entries) from None

    def __contains__(self, name: object) -> bool:
        if name not in self._entries:
            self._load_entry_points()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._load_entry_points()
        return iter(self._entries)

    def __len__(self) -> int:
        self._load_entry_points()
        return len(self._entries)

    def registered(self, name: str) -> bool:
        """Whether ``name`` is filed already. Loads no plug-in: the question to ask while registering."""
        return name in self._entries

    def _load_entry_points(self) -> None:
        homes, self._homes = self._homes, ()  # before importing: a home looks things up in this registry
        for home in homes:
            import_module(home)
        if self._loaded:
            return
        self._loaded = True  # before loading: a plug-in may look things up in this registry
        for point in metadata.entry_points(group=str(self._group)):
            if point.name not in self._entries:
                entry = point.load()
                self._entries.setdefault(point.name, entry)
