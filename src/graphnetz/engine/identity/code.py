"""A hash of what a model is: its code, the code it calls, and every value it was made with."""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from graphnetz._core.registry import Registry
from graphnetz.engine.identity.places import is_loose
from graphnetz.engine.identity.scan import BUILTINS, Chain, Import, Scan, scan

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
_OF_THE_IMPORT = {"__builtins__", "__spec__", "__loader__", "__cached__"}  # globals that say who imported, not what runs
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
_WORDS = (
    type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str, bytes, range, slice, np.generic,
    np.dtype,
)  # fmt: skip


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
        return _Walk(roots - _BY_NAME - (sys.stdlib_module_names - {"__main__"})).digest(obj)
    except _CannotHashError as error:
        return Unhashable(str(error))
    except RecursionError:
        return Unhashable("it is nested too deeply")


def users_files(obj: Any) -> frozenset[str]:
    """Return the files of the user's own that hold the code of a class, function or value, and of what it calls.

    Empty for what is built in: nothing that it does is the user's.
    """
    walk = _Walk(set())
    with contextlib.suppress(_CannotHashError, RecursionError):  # its cells are not resumed anyway
        walk.digest(obj)
    return frozenset(walk.files)


class _Walk:
    def __init__(self, roots: set[str]) -> None:
        self.files: set[str] = set()
        self._roots = roots
        self._active: dict[int, str] = {}
        self._known: dict[tuple[int, bool], tuple[Any, str]] = {}  # keeps the object: its id must not be reused
        self._homes: set[str] = set()
        self._lenient = False

    def digest(self, obj: Any) -> str:
        plain = _plain(obj)
        if plain is not None:
            return _hash("plain", *plain[:-1], _portable(plain[-1], self._homes))
        if id(obj) in self._active:
            return _hash("cycle", self._active[id(obj)])
        known = (id(obj), self._lenient)
        if known in self._known:
            return self._known[known][1]
        self._active[id(obj)] = _name(obj) if isinstance(obj, (type, types.FunctionType)) else type(obj).__qualname__
        try:
            value = _hash(*self._parts(obj))
        except _CannotFollowError:
            raise
        except _CannotHashError:
            if not self._lenient:
                raise
            value = _hash("kind", _name(type(obj)))
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
                yield from method(self, obj)
                return
        yield from self._instance(obj)

    def _sequence(self, obj: Any) -> Iterator[str]:
        yield _name(type(obj))
        yield from (self.digest(item) for item in obj)

    def _set(self, obj: Any) -> Iterator[str]:
        yield _name(type(obj))
        yield from sorted(self.digest(item) for item in obj)

    def _mapping(self, obj: Any) -> Iterator[str]:
        yield _name(type(obj))
        yield from sorted(_hash(self.digest(key), self.digest(value)) for key, value in obj.items())

    def _array(self, obj: Any) -> Iterator[str]:
        if obj.dtype.hasobject:
            yield from self._sequence(obj.ravel().tolist())
        yield from ("array", obj.dtype.str, str(obj.shape), hashlib.sha256(obj.tobytes()).hexdigest())

    def _builtin(self, obj: Any) -> Iterator[str]:
        owner = getattr(obj, "__self__", None)
        bound = owner is not None and not isinstance(owner, types.ModuleType)
        yield from ("builtin", _name(obj), self.digest(owner) if bound else "")

    def _class(self, obj: type) -> Iterator[str]:
        yield from ("class", _name(obj) if not self._own(obj) else obj.__qualname__)
        if not self._own(obj):
            return
        self._homes |= _home(vars(sys.modules.get(obj.__module__, types)))
        yield from (self.digest(base) for base in obj.__bases__)
        for name, value in sorted(vars(obj).items()):
            if name in _SKIPPED or isinstance(value, _SLOTS):
                continue
            yield from (name, self.digest(value))

    def _module(self, obj: types.ModuleType) -> Iterator[str]:
        """A module that is passed on: in full where it is the user's own."""
        yield from ("module", obj.__name__)
        if not _users(obj):
            return
        self._homes |= _home(vars(obj))
        for name, value in sorted(vars(obj).items()):
            if not name.startswith("__"):
                yield from (name, self._leniently(name, value, users=True))

    def _function(self, obj: types.FunctionType) -> Iterator[str]:
        if not self._own(obj):
            yield from ("function", _name(obj))
            return
        users, seen = _users(obj), scan(obj.__code__)
        if users:
            self.files.add(obj.__code__.co_filename)
            self._homes |= _home(obj.__globals__)
            _refuse_opaque(obj, seen)
        yield from ("code", _code_digest(obj.__code__))
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
        named = any(word in name.lower() for word in _CACHES)
        if _plain(value) is None and (_of_a_package(name, value) if users else named and isinstance(value, _CONTAINERS)):
            return _name(type(value))
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
            raise _CannotHashError(f"{_name(type(obj))} has no stable description ({error})") from error
        if isinstance(reduced, str):
            yield reduced
            return
        maker, arguments, *rest = reduced
        yield from (_name(maker), self.digest(tuple(arguments)))
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


_RULES: tuple[tuple[Any, Callable[[_Walk, Any], Iterator[str]]], ...] = (
    (type, _Walk._class),
    (types.FunctionType, _Walk._function),
    (types.ModuleType, _Walk._module),
    (_BUILTIN, _Walk._builtin),
    (np.ndarray, _Walk._array),
    ((tuple, list), _Walk._sequence),
    ((set, frozenset), _Walk._set),
    ((dict, types.MappingProxyType), _Walk._mapping),
)


def _plain(obj: Any) -> tuple[str, ...] | None:
    """Text of a value that is described by its own words."""
    if isinstance(obj, enum.Enum):
        return (_name(type(obj)), obj.name)
    if isinstance(obj, _WORDS):
        return (type(obj).__name__, repr(obj))
    if isinstance(obj, Registry):
        return ("registry", obj.kind)  # what others registered there is not part of this model
    if isinstance(obj, PurePath):
        return ("path", str(obj))
    if isinstance(obj, re.Pattern):
        return ("pattern", repr(obj.pattern), str(obj.flags))
    kind = f"{type(obj).__module__}.{type(obj).__qualname__}"
    if kind in ("torch.dtype", "torch.device", "torch.layout", "types.GenericAlias", "types.UnionType"):
        return (kind, str(obj))
    if type(obj).__module__ == "typing":
        return (kind, repr(obj))
    return None


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
    elif depth == 0 and not isinstance(obj, Mapping) and _plain(obj) is None:
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


@functools.lru_cache(maxsize=8192)
def _code_digest(code: types.CodeType) -> str:
    return _hash(repr(_compiled(code)))


def _compiled(code: types.CodeType) -> tuple[Any, ...]:
    """Everything of a code object that decides what it does."""
    constants = code.co_consts
    named = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
    if named and constants and isinstance(constants[0], str):
        constants = (None, *constants[1:])  # a docstring; where there is none its place is taken by None
    return (
        code.co_name, code.co_code.hex(), tuple(map(_constant, constants)), code.co_names, code.co_varnames,
        code.co_freevars, code.co_cellvars, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
        code.co_flags, code.co_exceptiontable.hex(),
    )  # fmt: skip


def _constant(item: Any) -> Any:
    if isinstance(item, types.CodeType):
        return _compiled(item)
    if isinstance(item, frozenset):
        return ("frozenset", *sorted(repr(_constant(part)) for part in item))
    if isinstance(item, tuple):
        return ("tuple", *map(_constant, item))
    return (type(item).__name__, repr(item))


def _refuse_opaque(obj: types.FunctionType, seen: Scan) -> None:
    """Raise where code of the user's own does what is not written in it."""
    text = [word for name, word in BUILTINS.items() if name in seen.globals and name not in obj.__globals__]
    if found := (*text, *seen.opaque):
        raise _CannotFollowError(f"{obj.__qualname__} uses {' and '.join(found)}, which cannot be followed")


def _of_a_package(name: str, value: Any) -> bool:
    """Whether an installed package, or ours, keeps the same object under the same name."""
    modules = list(sys.modules.items())
    return any(getattr(item, "__dict__", {}).get(name) is value and not _users_top(_first(key)) for key, item in modules)


def _first(name: str) -> str:
    return name.partition(".")[0]


def _top(obj: Any) -> str:
    module = obj.__name__ if isinstance(obj, types.ModuleType) else getattr(obj, "__module__", None)
    return _first(str(module or ""))


def _users(obj: Any) -> bool:
    return _users_top(_top(obj))


def _users_top(top: str) -> bool:
    """Whether code is the user's own: what runs as a program, or a file that was never installed."""
    if top in ("__main__", "__mp_main__"):
        return True
    return top != "graphnetz" and top not in _BY_NAME and is_loose(top)


def _home(space: Mapping[str, Any]) -> set[str]:
    """Folder of the file that a module was made from."""
    file = space.get("__file__")
    return {os.path.dirname(os.path.abspath(file))} if isinstance(file, str) else set()


def _portable(text: str, homes: set[str]) -> str:
    """A path near the code that knows it, said from there: the same code in another folder is the same code."""
    path = text.strip("'") if homes else ""
    if path[:1] in ("/", "\\") or path[1:2] == ":":
        for home in sorted(homes):
            if path == home or path.startswith(home + os.sep) or (home.startswith(path + os.sep) and path != os.sep):
                return f"beside the code: {os.path.relpath(path, home)}"
    return text


def _name(obj: Any) -> str:
    return f"{getattr(obj, '__module__', '')}.{getattr(obj, '__qualname__', getattr(obj, '__name__', ''))}"


def _hash(*parts: str) -> str:
    state = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little"))
        state.update(raw)
    return state.hexdigest()
