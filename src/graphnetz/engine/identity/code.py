"""A hash of what a model is: its code, the code it calls, and every value it was made with."""

from __future__ import annotations

import builtins
import enum
import functools
import hashlib
import inspect
import re
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from graphnetz._core.registry import Registry

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


def code_hash(obj: Any) -> str | Unhashable:
    """Return a hash of a class, function, instance or plain value that changes when its behaviour can.

    The walk covers a class, its bases and the functions they call, as far as they are in the same
    top-level package or in the user's own files: the compiled code, which is what runs whatever became of
    its file, without docstrings, file names and line numbers; defaults, attributes, values closed over,
    partial arguments, class attributes, and constants the code refers to. Other installed packages, and
    those whose version the environment records (torch, NumPy, ...), take part by name. Anything
    without a stable description gives `Unhashable`. Another minor version of Python compiles to other code,
    hence to other hashes.
    """
    roots = {_top(item) for item in _callables(obj)}
    try:
        return _Walk(roots - _BY_NAME - (sys.stdlib_module_names - {"__main__"})).digest(obj)
    except _CannotHashError as error:
        return Unhashable(str(error))
    except RecursionError:
        return Unhashable("it is nested too deeply")


class _Walk:
    def __init__(self, roots: set[str]) -> None:
        self._roots = roots
        self._active: dict[int, str] = {}
        self._known: dict[int, tuple[Any, str]] = {}  # keeps the object: its id must not be reused

    def digest(self, obj: Any) -> str:
        plain = _plain(obj)
        if plain is not None:
            return _hash("plain", *plain)
        if id(obj) in self._active:
            return _hash("cycle", self._active[id(obj)])
        if id(obj) in self._known:
            return self._known[id(obj)][1]
        self._active[id(obj)] = _name(obj) if isinstance(obj, (type, types.FunctionType)) else type(obj).__qualname__
        try:
            value = _hash(*self._parts(obj))
        finally:
            del self._active[id(obj)]
        self._known[id(obj)] = (obj, value)
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
        yield from (self.digest(base) for base in obj.__bases__)
        for name, value in sorted(vars(obj).items()):
            if name in _SKIPPED or isinstance(value, _SLOTS):
                continue
            yield from (name, self.digest(value))

    def _function(self, obj: types.FunctionType) -> Iterator[str]:
        if not self._own(obj):
            yield from ("function", _name(obj))
            return
        yield from ("code", repr(_compiled(obj.__code__)))
        yield from (self.digest(obj.__defaults__), self.digest(obj.__kwdefaults__))
        for name, value in sorted(vars(obj).items()):  # what a decorator left on it
            yield from (name, self._leniently(name, value))
        for name, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True):
            yield name
            try:
                value = cell.cell_contents
            except ValueError:  # not filled yet
                continue
            yield self.digest(value)
        for name, value in self._referred(obj):
            yield from (name, self._leniently(name, value))

    def _referred(self, obj: types.FunctionType) -> Iterator[tuple[str, Any]]:
        """Global names the code mentions, and what it takes from modules of its own package."""
        names = sorted(_names(obj.__code__))
        for name in names:
            if name not in obj.__globals__:
                continue
            value = obj.__globals__[name]
            yield name, value
            if isinstance(value, types.ModuleType) and self._own(value):
                yield from ((f"{name}.{part}", found) for part, found in _taken(value, names))

    def _leniently(self, name: str, value: Any) -> str:
        """Globals that are neither code nor constants (loggers, caches) take part by their type."""
        if isinstance(value, _CONTAINERS) and any(word in name.lower() for word in _CACHES):
            return _name(type(value))
        if isinstance(value, (type, types.FunctionType, functools.partial, types.ModuleType)):
            return self.digest(value)
        try:
            return self.digest(value)
        except _CannotHashError:
            return _name(type(value))

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
        top = _top(obj)
        if top in self._roots or top in ("__main__", "__mp_main__"):
            return True
        return top != "graphnetz" and top not in _BY_NAME and _loose(top)


_RULES: tuple[tuple[Any, Callable[[_Walk, Any], Iterator[str]]], ...] = (
    (type, _Walk._class),
    (types.FunctionType, _Walk._function),
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
    if isinstance(obj, types.ModuleType):
        return ("module", obj.__name__)
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


def _taken(module: types.ModuleType, names: list[str]) -> Iterator[tuple[str, Any]]:
    """What code takes from a module: the same whether a lazy name was asked for before or not.

    Submodules are left out: whether one is an attribute depends on who imported it first.
    """
    lazy = set(getattr(module, "__all__", ()))
    for part in names:
        if part in lazy or part in vars(module):
            found = getattr(module, part)
            if not isinstance(found, types.ModuleType):
                yield part, found


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


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            names |= _names(item)
    return names - set(vars(builtins))


def _top(obj: Any) -> str:
    module = obj.__name__ if isinstance(obj, types.ModuleType) else getattr(obj, "__module__", None)
    return str(module or "").partition(".")[0]


@functools.lru_cache(maxsize=1024)
def _loose(top: str) -> bool:
    """Whether a package is the user's own file, not an installed one."""
    module = sys.modules.get(top)
    if module is None or top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return False
    try:
        file = inspect.getfile(module)
    except TypeError:
        return False
    installed = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    place = Path(file).resolve()
    return not any(Path(root).resolve() in place.parents for root in installed) and "site-packages" not in place.parts


def _name(obj: Any) -> str:
    return f"{getattr(obj, '__module__', '')}.{getattr(obj, '__qualname__', getattr(obj, '__name__', ''))}"


def _hash(*parts: str) -> str:
    state = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little"))
        state.update(raw)
    return state.hexdigest()
