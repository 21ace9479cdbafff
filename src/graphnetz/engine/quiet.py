"""Whether the code of a model has nowhere to leave anything behind: then it needs no process of its own.

A model can change what other cells see only through something that outlives it: a global, a class, a library, a
default argument, a value closed over. Compiled code says which of these it reaches. Code that reaches none but
constants, small globals and class attributes that are put back after the cell (`graphnetz.engine.own_state`), and the
harmless part of torch, PyTorch Geometric and NumPy is called quiet; whatever cannot be told apart is not.
"""

from __future__ import annotations

import builtins
import dis
import enum
import types
from collections.abc import Iterator
from typing import Any

from graphnetz._core.registry import Registry
from graphnetz.engine.identity.described import plain
from graphnetz.engine.identity.places import is_installed
from graphnetz.engine.identity.scan import Scan, scan
from graphnetz.engine.own_state import small

_LIBRARIES = {
    "torch", "torch_geometric", "numpy", "math", "typing", "collections", "copy", "functools", "itertools", "operator",
    "random",
}  # fmt: skip
_KNOWN_BASES = {*_LIBRARIES, "graphnetz", "builtins", "abc"}
_BUILTINS = {
    "abs", "all", "any", "bool", "dict", "enumerate", "filter", "float", "frozenset", "int", "isinstance", "issubclass",
    "iter", "len", "list", "map", "max", "min", "next", "object", "pow", "print", "range", "repr", "reversed", "round",
    "set", "slice", "sorted", "str", "sum", "super", "tuple", "zip", "hasattr", "property", "staticmethod",
    "classmethod",
}  # fmt: skip
_LASTING = {"backends", "compile", "compiler", "cpu", "cuda", "distributed", "hub", "jit", "library", "multiprocessing",
            "ops", "overrides", "serialization", "load", "save", "fx", "classes", "func", "errstate"}  # fmt: skip
"""Parts of torch and NumPy with settings, registers and files of their own; and all names that begin like these:"""
_SETTING = ("set", "use_", "register", "_", "enable", "disable", "patch")
_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_OF_A_CLASS = {"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__parameters__",
               "__firstlineno__", "__static_attributes__", "__orig_bases__"}  # fmt: skip


def is_quiet(*parts: Any) -> bool:
    """Return whether nothing that these classes, functions and values do can outlast an object that is made of them.

    Parameters
    ----------
    *parts
        The class of a model, what builds it, and the arguments that it is built with.

    Returns
    -------
    bool
        False wherever it cannot be told.

    Examples
    --------
    >>> class Halves:
    ...     def forward(self, data):
    ...         return data.x / 2
    >>> class Counts(Halves):
    ...     def forward(self, data):
    ...         Counts.calls = 1
    >>> Halves.__module__ = Counts.__module__ = "mine"  # code of this package is known and not looked at
    >>> is_quiet(Halves), is_quiet(Counts)
    (True, False)
    """
    return _Look().all(parts)


class _Look:
    """One look at code, from object to object; each is looked at once."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def all(self, values: Any) -> bool:
        return all(self.quiet(value) for value in values)

    def quiet(self, value: Any) -> bool:
        if id(value) in self.seen:
            return True
        if isinstance(value, type):
            self.seen.add(id(value))
            return self._class(value)
        if isinstance(value, types.FunctionType):
            self.seen.add(id(value))
            return self._function(value)
        if isinstance(value, tuple | frozenset):
            return self.all(value)
        if isinstance(value, staticmethod | classmethod):
            return self.quiet(value.__func__)
        if isinstance(value, property):
            return self.all(part for part in (value.fget, value.fset, value.fdel) if part is not None)
        if isinstance(value, enum.Enum):
            return self.quiet(type(value))
        return plain(value) is not None and not isinstance(value, Registry)

    def _class(self, cls: type) -> bool:
        if _top(cls) in _KNOWN_BASES:
            return True
        own = [value for name, value in vars(cls).items() if name not in _OF_A_CLASS]
        kept = [value for value in own if not isinstance(value, _SLOTS)]
        return type(cls) is type and self.all(cls.__bases__) and all(small(v) or self.quiet(v) for v in kept)

    def _function(self, function: types.FunctionType) -> bool:
        if is_installed(function.__code__.co_filename):
            return function.__closure__ is None and _harmless_name(function.__name__)
        held = [function.__defaults__ or (), *(function.__kwdefaults__ or {}).values()]
        try:
            held += [cell.cell_contents for cell in function.__closure__ or ()]
        except ValueError:  # not filled yet
            return False
        seen = scan(function.__code__)
        stays = not vars(function) and not seen.imports and not seen.opaque and _stays_inside(function.__code__)
        return stays and self.all(held) and all(self._global(function, name, seen) for name in seen.globals)

    def _global(self, function: types.FunctionType, name: str, seen: Scan) -> bool:
        if name not in function.__globals__:
            found = getattr(builtins, name, None)
            return name in _BUILTINS or (isinstance(found, type) and issubclass(found, BaseException))
        value = function.__globals__[name]
        if isinstance(value, types.ModuleType):
            return _top(value) in _LIBRARIES and all(map(_harmless, _ends(value, seen.chains[name])))
        if _top(value) in _LIBRARIES and callable(value):
            return _harmless_name(str(getattr(value, "__name__", "_")))
        return small(value) or self.quiet(value)


def _ends(module: types.ModuleType, chains: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What code takes from a module, with the way to it."""
    for chain in chains:
        found: Any = module
        way = []
        for part in chain:
            way.append(part)
            found = getattr(found, part, None)
            if not isinstance(found, types.ModuleType):
                break
        yield tuple(way), found


def _harmless(end: tuple[tuple[str, ...], Any]) -> bool:
    """Whether a function, class or constant of a library keeps nothing; a module that is handed on may keep all."""
    way, found = end
    return not isinstance(found, types.ModuleType | None) and all(map(_harmless_name, way))


def _harmless_name(name: str) -> bool:
    return name not in _LASTING and not name.startswith(_SETTING)


def _stays_inside(code: types.CodeType) -> bool:
    """Whether code assigns to nothing but variables and attributes of what it was given; globals are put back."""
    before: dis.Instruction | None = None
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for step in dis.get_instructions(code):
        name = step.opname
        if name in ("CACHE", "EXTENDED_ARG", "NOP"):
            continue
        if name in ("DELETE_ATTR", "IMPORT_STAR", "LOAD_BUILD_CLASS"):
            return False
        if name in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
            return False
        if name == "STORE_ATTR" and not (before is not None and before.opname.startswith("LOAD_FAST")
                                         and _last(before.argval) in given):  # fmt: skip
            return False
        if name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR") and _reaches_out(str(step.argval)):
            return False
        before = step
    return all(_stays_inside(part) for part in code.co_consts if isinstance(part, types.CodeType))


def _reaches_out(name: str) -> bool:
    """Whether an attribute leads from an object to its class, its code or the globals of that."""
    return name.startswith("__") and name not in ("__init__", "__name__", "__len__", "__call__")


def _last(value: Any) -> str:
    return str(value[-1] if isinstance(value, tuple) else value)


def _top(value: Any) -> str:
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return str(module or "").partition(".")[0]
