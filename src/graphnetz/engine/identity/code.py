"""A hash of what a model is: its code, the code it calls, and every value it was made with."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphnetz.engine.identity.described import code_digest, digest_of, home, name_of, plain, portable
from graphnetz.engine.identity.places import is_loose
from graphnetz.engine.identity.scan import BUILTINS, Chain, Import, Scan, scan
from graphnetz.records.digests import sha256

_SKIPPED = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__",
    "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "_abc_impl", "__orig_bases__",
    "__parameters__", "__match_args__", "__dataclass_params__", "__dataclass_fields__", "__abstractmethods__",
    "__slotnames__",  # left behind by pickle, which Ray and copies of an object use
}  # fmt: skip
# Told apart by their versions, which the environment of each result records.
_BY_NAME = {"torch", "torch_geometric", "numpy", "scipy", "sklearn", "numba", "pandas", "networkx", "builtins", ""}
_CACHES = ("cache", "registry", "memo")
_CONTAINERS = (dict, list, set)
_OF_THE_IMPORT = {"__builtins__", "__spec__", "__loader__", "__cached__"}  # who imported it, not what runs
_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType)
_BUILTIN = (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType, np.ufunc)
_MADE_OF: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (functools.partial, ("func", "args", "keywords")),
    (types.MethodType, ("__func__", "__self__")),
    ((staticmethod, classmethod, type(functools.lru_cache(len))), ("__wrapped__",)),
    (property, ("fget", "fset", "fdel")),
    (functools.cached_property, ("func",)),
)
"""Kinds of object that are described by some of their attributes."""


@dataclass(frozen=True)
class Unhashable:
    """Why something has no stable hash."""

    reason: str

    def __bool__(self) -> bool:
        return False


class _CannotHashError(Exception):
    pass


class _CannotFollowError(_CannotHashError):
    """The code does what is not written in it: no leniency, whatever it belongs to."""


def code_hash(obj: Any) -> str | Unhashable:
    """Return a hash of a class, function, instance or plain value that changes when its behaviour can.

    The walk covers a class, its bases and the functions they call, as far as they are in the same
    top-level package or in the user's own files: the compiled code, which is what runs whatever became of
    its file, without docstrings, file names and line numbers; defaults, attributes, values closed over,
    partial arguments, class attributes, and constants the code refers to. Modules are followed by the attributes
    that are taken of them, imports inside functions too; one that is passed on counts in full. Other installed
    packages, and those whose version the environment records (torch, NumPy, ...), take part by name. Anything
    without a stable description, and code of the user's own that runs text or imports what it does not name, gives
    `Unhashable`. Another minor version of Python compiles to other code, hence to other hashes.
    """
    roots = {_top(item) for item in _callables(obj)}
    try:
        return Walk(roots - _BY_NAME - (sys.stdlib_module_names - {"__main__"})).digest(obj)
    except _CannotHashError as error:
        return Unhashable(str(error))
    except RecursionError:
        return Unhashable("it is nested too deeply")


def users_files(obj: Any) -> frozenset[str]:
    """Return the files of the user's own that hold the code of a class, function or value, and of what it calls.

    Empty for what is built in: nothing that it does is the user's.
    """
    walk = Walk(set())
    with contextlib.suppress(_CannotHashError, RecursionError):  # its cells are not resumed anyway
        walk.digest(obj)
    return frozenset(walk.files)


class Walk:
    """A way through code and values that makes a hash of what it meets; ``files`` are the user's own on it."""

    def __init__(self, roots: set[str]) -> None:
        self.files: set[str] = set()
        self._roots = roots
        self._active: dict[int, str] = {}
        self._known: dict[tuple[int, bool], tuple[Any, str]] = {}  # keeps the object: its id must not be reused
        self._homes: set[str] = set()
        self._lenient = False

    def digest(self, obj: Any) -> str:
        """Return the hash of one object and of what it leads to."""
        words = plain(obj)
        if words is not None:
            return digest_of("plain", *words[:-1], portable(words[-1], self._homes))
        if id(obj) in self._active:
            return digest_of("cycle", self._active[id(obj)])
        known = (id(obj), self._lenient)
        if known in self._known:
            return self._known[known][1]
        self._active[id(obj)] = name_of(obj) if isinstance(obj, (type, types.FunctionType)) else type(obj).__qualname__
        try:
            value = digest_of(*self._parts(obj))
        except _CannotFollowError:
            raise
        except _CannotHashError:
            if not self._lenient:
                raise
            value = digest_of("kind", name_of(type(obj)))
        finally:
            del self._active[id(obj)]
        self._known[known] = (obj, value)
        return value

    def _parts(self, obj: Any) -> Iterator[str]:
        for kinds, parts in _MADE_OF:
            if isinstance(obj, kinds):
                yield from (type(obj).__name__, *(self.digest(getattr(obj, part)) for part in parts))
                return
        for kinds, method in _RULES:
            if isinstance(obj, kinds):
                yield from getattr(self, method)(obj)
                return
        yield from self._instance(obj)

    def _sequence(self, obj: Any) -> Iterator[str]:
        yield name_of(type(obj))
        yield from (self.digest(item) for item in obj)

    def _set(self, obj: Any) -> Iterator[str]:
        yield name_of(type(obj))
        yield from sorted(self.digest(item) for item in obj)

    def _mapping(self, obj: Any) -> Iterator[str]:
        yield name_of(type(obj))
        yield from sorted(digest_of(self.digest(key), self.digest(value)) for key, value in obj.items())

    def _array(self, obj: Any) -> Iterator[str]:
        if obj.dtype.hasobject:
            yield from self._sequence(obj.ravel().tolist())
        yield from ("array", obj.dtype.str, str(obj.shape), sha256(obj.tobytes()))

    def _builtin(self, obj: Any) -> Iterator[str]:
        owner = getattr(obj, "__self__", None)
        bound = owner is not None and not isinstance(owner, types.ModuleType)
        yield from ("builtin", name_of(obj), self.digest(owner) if bound else "")

    def _class(self, obj: type) -> Iterator[str]:
        yield from ("class", name_of(obj) if not self._own(obj) else obj.__qualname__)
        if not self._own(obj):
            return
        self._homes |= home(vars(sys.modules.get(obj.__module__, types)))
        yield from (self.digest(base) for base in obj.__bases__)
        if self._own(type(obj)):  # a metaclass of the user's own
            yield self.digest(type(obj))
        for name, value in sorted(vars(obj).items()):
            if name in _SKIPPED or isinstance(value, _SLOTS):
                continue
            yield from (name, self.digest(value))

    def _module(self, obj: types.ModuleType) -> Iterator[str]:
        """A module that is passed on: in full where it is the user's own."""
        yield from ("module", obj.__name__)
        if not is_users(obj):
            return
        self._homes |= home(vars(obj))
        for name, value in sorted(vars(obj).items()):
            if not name.startswith("__"):
                yield from (name, self._leniently(name, value, users=True))

    def _function(self, obj: types.FunctionType) -> Iterator[str]:
        if not self._own(obj):
            yield from ("function", name_of(obj))
            return
        users, seen = is_users(obj), scan(obj.__code__)
        if users:
            self.files.add(obj.__code__.co_filename)
            self._homes |= home(obj.__globals__)
            _refuse_opaque(obj, seen)
        yield from ("code", code_digest(obj.__code__))
        yield from (self.digest(obj.__defaults__), self.digest(obj.__kwdefaults__))
        for name, value in sorted(vars(obj).items()):  # what a decorator left on it
            yield from (name, self._leniently(name, value, users=users))
        for name, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True):
            yield name
            try:
                value = cell.cell_contents
            except ValueError:  # not filled yet
                continue
            yield from (self.digest(item) for _, item in self._reached(name, value, seen.chains.get(name, ())))
        for name, value in (*self._referred(obj, seen), *self._imported(obj, seen)):
            yield from (name, self._leniently(name, value, users=users))

    def _referred(self, obj: types.FunctionType, seen: Scan) -> Iterator[tuple[str, Any]]:
        """Global names the code loads, and what it takes from modules of its own package."""
        for name in seen.globals:
            if name in obj.__globals__ and name not in _OF_THE_IMPORT:
                yield from self._reached(name, obj.__globals__[name], seen.chains[name])

    def _imported(self, obj: types.FunctionType, seen: Scan) -> Iterator[tuple[str, Any]]:
        """What the code imports when it runs."""
        for item in seen.imports:
            module = self._loaded(obj, item)
            if module is None:
                continue
            for attribute, variable in item.bound:
                value: Any = module
                if attribute == ".":
                    value = sys.modules[_first(module.__name__)]
                elif attribute:
                    value = _attribute(module, attribute)
                yield from self._reached(f"{item.module}.{attribute}", value, seen.chains.get(variable, ()))

    def _loaded(self, obj: types.FunctionType, item: Import) -> types.ModuleType | None:
        """The module that code imports, imported now as the code would; None for those that take part by name."""
        try:
            name = importlib.util.resolve_name("." * item.level + item.module, obj.__globals__.get("__package__"))
            if not self._owns(_first(name)):
                return None
            return importlib.import_module(name)
        except Exception:  # the code that imports it must live with that, too
            return None

    def _reached(self, name: str, value: Any, chains: Iterable[Chain]) -> Iterator[tuple[str, Any]]:
        """What code takes from a module of its own, attribute by attribute; any other value is taken as it is."""
        if not self._follows(value):
            yield name, value
            return
        for chain in sorted(chains):
            found, path = value, name
            for part in chain:
                if not self._follows(found) or part == "__dict__":
                    break
                found, path = _attribute(found, part), f"{path}.{part}"
            yield path, found

    def _follows(self, value: Any) -> bool:
        return isinstance(value, types.ModuleType) and self._own(value)

    def _leniently(self, name: str, value: Any, *, users: bool) -> str:
        """Of globals that are neither code nor constants (loggers, locks) the parts without a description are a type.

        What others put into the containers of a package is not part of this model; the user's own are.
        """
        if isinstance(value, (type, types.FunctionType, functools.partial, types.ModuleType)):
            return self.digest(value)
        if plain(value) is None and (_of_a_package(name, value) if users else _is_cache(name, value)):
            return name_of(type(value))
        before, self._lenient = self._lenient, True
        try:
            return self.digest(value)
        finally:
            self._lenient = before

    def _instance(self, obj: Any) -> Iterator[str]:
        if hasattr(obj, "py_func"):  # a compiled kernel
            yield from ("kernel", self.digest(obj.py_func), repr(getattr(obj, "targetoptions", "")))
            return
        if type(obj).__module__.partition(".")[0] == "torch" and hasattr(obj, "detach"):
            from graphnetz.engine.identity.data import fingerprint

            yield from ("tensor", fingerprint(obj))
            return
        yield from ("instance", self.digest(type(obj)))
        try:
            reduced = obj.__reduce_ex__(2)
        except Exception as error:
            raise _CannotHashError(f"{name_of(type(obj))} has no stable description ({error})") from error
        if isinstance(reduced, str):
            yield reduced
            return
        maker, arguments, *rest = reduced
        yield from (name_of(maker), self.digest(tuple(arguments)))
        state, items, pairs = (*rest, None, None, None)[:3]
        if isinstance(state, Mapping):
            state = {key: value for key, value in state.items() if not str(key).startswith("__")}
        yield from (
            self.digest(state),
            self.digest(list(items or ())),
            self.digest([list(pair) for pair in pairs or ()]),
        )

    def _own(self, obj: Any) -> bool:
        return self._owns(_top(obj))

    def _owns(self, top: str) -> bool:
        return top in self._roots or _users_top(top)


_RULES: tuple[tuple[Any, str], ...] = (
    (type, "_class"),
    (types.FunctionType, "_function"),
    (types.ModuleType, "_module"),
    (_BUILTIN, "_builtin"),
    (np.ndarray, "_array"),
    ((tuple, list), "_sequence"),
    ((set, frozenset), "_set"),
    ((dict, types.MappingProxyType), "_mapping"),
)
"""Which method describes which kind of object."""


def _callables(obj: Any, depth: int = 0) -> Iterator[Any]:
    """Classes and functions that ``obj`` plainly names; their packages are hashed in full."""
    if isinstance(obj, functools.partial):
        yield from _callables(obj.func, depth)
    elif isinstance(obj, types.MethodType):
        yield obj.__func__
    elif isinstance(obj, (type, types.FunctionType)):
        yield obj
    elif isinstance(obj, (tuple, list)) and depth < 2:
        for item in obj:
            yield from _callables(item, depth + 1)
    elif depth == 0 and not isinstance(obj, Mapping) and plain(obj) is None:
        yield type(obj)


def _attribute(module: types.ModuleType, name: str) -> Any:
    """What code takes from a module: the same whether a lazy name or a submodule was asked for before or not."""
    try:
        return getattr(module, name)
    except AttributeError:
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except Exception:  # there is no such thing, and the code must live with that
            return None


def _refuse_opaque(obj: types.FunctionType, seen: Scan) -> None:
    """Raise where code of the user's own does what is not written in it."""
    text = [word for name, word in BUILTINS.items() if name in seen.globals and name not in obj.__globals__]
    if found := (*text, *seen.opaque):
        raise _CannotFollowError(f"{obj.__qualname__} uses {' and '.join(found)}, which cannot be followed")


def _is_cache(name: str, value: Any) -> bool:
    return isinstance(value, _CONTAINERS) and any(word in name.lower() for word in _CACHES)


def _of_a_package(name: str, value: Any) -> bool:
    """Whether an installed package, or ours, keeps the same object under the same name."""
    last = name.rpartition(".")[2]
    holders = [key for key, item in list(sys.modules.items()) if getattr(item, "__dict__", {}).get(last) is value]
    return any(not _users_top(_first(key)) for key in holders)


def _first(name: str) -> str:
    return name.partition(".")[0]


def _top(obj: Any) -> str:
    module = obj.__name__ if isinstance(obj, types.ModuleType) else getattr(obj, "__module__", None)
    return _first(str(module or ""))


def is_users(obj: Any) -> bool:
    """Return whether a module, class or function is the user's own."""
    return _users_top(_top(obj))


def _users_top(top: str) -> bool:
    """Whether code is the user's own: what runs as a program, or a file that was never installed."""
    if top in ("__main__", "__mp_main__"):
        return True
    return top != "graphnetz" and top not in _BY_NAME and is_loose(top)
