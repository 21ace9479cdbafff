"""Look up, don't branch: one registry per kind of thing that can be added."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module, metadata
from types import MappingProxyType, ModuleType
from typing import Any, Generic, TypeVar, get_args

from graphnetz._core.errors import UnknownNameError, UsageError, unknown_name

T = TypeVar("T")


class PluginWarning(UserWarning):
    """An installed plug-in cannot be used, or not under the name it gave."""


class Registry(Mapping[str, T], Generic[T]):
    """Names mapped to entries, in order of registration.

    A name that is there already is looked up without loading anything. Otherwise the modules of
    ``homes`` are imported, then the plug-ins of that name, then all of them; a listing loads all.
    A plug-in that fails is named in `broken` and in a warning, and costs nobody else anything.

    Parameters
    ----------
    kind
        Singular noun used in error messages, such as ``"paired test"``.
    entry_points
        Group of package entry points that third parties add to.
    accepts
        What an entry must be: a class (an instance of it), ``type[Base]`` (a subclass of ``Base``) or
        a predicate. None accepts everything.
    decorator
        Name of the decorator that makes entries, for the message about a wrong one.
    named
        Attribute in which entries carry their own name.
    homes
        Modules whose import adds entries of ours, named here because they stand above this one.

    Examples
    --------
    >>> tests = Registry("paired test", accepts=callable)
    >>> @tests.register("t")
    ... def paired_t(a, b): ...
    >>> tests["tt"]
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.UnknownNameError: Unknown paired test 'tt'. Did you mean 't'? Known: t.
    >>> tests.add("three", 3)
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.UsageError: The paired test 'three' is an int, not callable.
    """

    def __init__(
        self,
        kind: str,
        *,
        entry_points: str | None = None,
        accepts: Any = None,
        decorator: str = "",
        named: str | None = None,
        homes: Sequence[str] = (),
    ) -> None:
        self.kind, self.group = kind, entry_points
        self._accepts, self._decorator, self._named = accepts, decorator, named
        self._homes = tuple(homes)
        self._entries: dict[str, T] = {}
        self._pending: list[metadata.EntryPoint] | None = None if entry_points else []
        self._sources: dict[str, str] = {}
        self._broken: dict[str, str] = {}
        _ALL.append(weakref.ref(self))

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that files its target under ``name``."""

        def file(entry: T) -> T:
            self.add(name, entry)
            return entry

        return file

    def add(self, name: str, entry: T) -> None:
        """File ``entry`` under ``name``; a name is given once."""
        if name in self._entries:
            by = f" by {self._sources[name]}" if name in self._sources else ""
            raise UsageError(
                f"{self.kind} {name!r} is already registered{by}. Choose another name, or unregister it first."
            )
        if not _fits(entry, self._accepts):
            how = f"; decorate it with {self._decorator}" if self._decorator else ""
            raise UsageError(
                f"The {self.kind} {name!r} is {_article(type(entry).__name__)}, not {_words(self._accepts)}{how}."
            )
        self._entries[name] = entry

    def remove(self, name: str) -> T | None:
        """Take ``name`` out again and return its entry, or None when it was not there."""
        return self._entries.pop(name, None)

    def registered(self, name: str) -> bool:
        """Whether ``name`` is filed already. Loads no plug-in: the question to ask while registering."""
        return name in self._entries

    def source(self, name: str) -> str:
        """Return the plug-in that brought ``name``, such as ``"my-models 1.2"``; empty for our own."""
        return self._sources.get(name, "")

    @property
    def broken(self) -> Mapping[str, str]:
        """Names that plug-ins offered in vain, each with one sentence that says why and what to do."""
        self._fill()
        return MappingProxyType(self._broken)

    def __getitem__(self, name: str) -> T:
        if name in self:
            return self._entries[name]
        if str(name) in self._broken:
            raise UnknownNameError(self._broken[str(name)])
        raise unknown_name(self.kind, name, self._entries)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name not in self._entries:
            self._fill(name)
        if name not in self._entries and name not in self._broken:
            self._fill()  # a plug-in may register under another name than that of its entry point
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._fill()
        return iter(self._entries)

    def __len__(self) -> int:
        self._fill()
        return len(self._entries)

    def _fill(self, name: str | None = None) -> None:
        """Import our own homes, then the plug-ins called ``name``, or all that are left."""
        for home in self._homes:
            import_module(home)
        self._homes = ()
        if self._pending is None:
            self._pending = list(metadata.entry_points(group=str(self.group)))
        for point in [point for point in self._pending if name in (None, point.name)]:
            # A plug-in that looks things up here while it is imported may have loaded it meanwhile, or be it.
            if point in self._pending and not _importing(point.value.partition(":")[0]):
                self._pending.remove(point)
                self._load(point)

    def _load(self, point: metadata.EntryPoint) -> None:
        """Load one plug-in; whatever it does wrong becomes a sentence."""
        dist = getattr(point, "dist", None)
        source = f"{dist.metadata['Name']} {dist.version}" if dist else point.value
        offer = f"The plug-in {source} offers the {self.kind} {point.name!r} (entry point group {point.group}), but"
        before = [(registry, set(registry._entries)) for registry in all_registries()]
        try:
            names = self._adopt(point)
        except (Exception, SystemExit) as error:
            _take_back(before)
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300].rstrip(".")
            key = point.name if not {point.name} & {*self._entries, *self._broken} else f"{point.name} ({source})"
            self._broken[key] = (
                f"{offer} loading it raised {reason}. Everything else works without it: mend or uninstall {source}."
            )
            warnings.warn(self._broken[key], PluginWarning, stacklevel=5)
            return
        self._sources |= dict.fromkeys(names, source)
        if names and point.name not in names:
            own = " and ".join(map(repr, names))
            warnings.warn(f"{offer} it is called {own} and is found under that name.", PluginWarning, stacklevel=5)

    def _adopt(self, point: metadata.EntryPoint) -> list[str]:
        """Return the names under which what ``point`` leads to is filed; file it when its import did not."""
        target = point.load()
        if isinstance(target, ModuleType):
            names = [name for name, entry in self._entries.items() if _made_in(entry, target.__name__)]
            if not names:
                raise UsageError(f"the module {target.__name__} registers no {self.kind}")
        else:
            names = [name for name, entry in self._entries.items() if _made_of(entry, target)]
            if not names:
                own = getattr(target, self._named, None) if self._named else None
                names = [own if isinstance(own, str) and own else point.name]
                self.add(names[0], target)
        return [point.name] if point.name in names else names


_ALL: list[weakref.ref[Registry[Any]]] = []


def all_registries() -> list[Registry[Any]]:
    """Return every registry made so far, in order: those of the modules that have been imported.

    Examples
    --------
    >>> from graphnetz.metrics import METRICS
    >>> any(registry is METRICS for registry in all_registries())
    True
    """
    return [registry for made in _ALL if (registry := made()) is not None]


def _parts(entry: Any) -> list[Any]:
    """An entry, its class, and the functions and classes it holds: a decorator may have wrapped what it decorated."""
    held = getattr(entry, "__dict__", {}).values()
    return [entry, type(entry), *(part for part in held if callable(part))]


def _importing(module: str) -> bool:
    """Whether the import of ``module`` has begun and not ended: it holds only half of its names."""
    return bool(getattr(getattr(sys.modules.get(module), "__spec__", None), "_initializing", False))


def _made_of(entry: Any, target: Any) -> bool:
    return entry is target or (callable(target) and any(part is target for part in _parts(entry)))


def _made_in(entry: Any, module: str) -> bool:
    return any(f"{_module(part)}.".startswith(f"{module}.") for part in _parts(entry))


def _module(part: Any) -> str:
    return str(getattr(part, "__module__", ""))


def _take_back(before: list[tuple[Registry[Any], set[str]]]) -> None:
    """Remove what a module registered before its import failed; modules of ours that it imported stay."""
    for registry, names in before:
        for name in set(registry._entries) - names:
            if any(_module(part) and _module(part) not in sys.modules for part in _parts(registry._entries[name])):
                registry.remove(name)


def _fits(entry: Any, accepts: Any) -> bool:
    if accepts is None:
        return True
    if get_args(accepts):
        return isinstance(entry, type) and issubclass(entry, get_args(accepts)[0])
    return isinstance(entry, accepts) if isinstance(accepts, type) else bool(accepts(entry))


def _words(accepts: Any) -> str:
    if get_args(accepts):
        return f"a subclass of {get_args(accepts)[0].__name__}"
    return _article(accepts.__name__) if isinstance(accepts, type) else str(accepts.__name__)


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"
