"""What a user's own classes and modules hold, so that a cell can be undone where no process ends with it."""

from __future__ import annotations

import contextlib
import copy
import dis
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from torch import Tensor, no_grad

from graphnetz.engine.identity.code import Walk, is_users
from graphnetz.engine.identity.described import plain
from graphnetz.engine.identity.places import is_installed
from graphnetz.engine.identity.scan import scan

_MISSING = object()
_MOST = 10_000
"""Values in a container, or numbers in an array, up to which a global is kept before each cell."""
_GENERATED = ("_propagate", "_edge_updater")


def made_late(value: Any) -> bool:
    """Whether a method is one that a library exchanges itself when the first object of a class is made.

    Optimisers get a profiled ``step``, message-passing layers a ``propagate`` that was generated for them.
    """
    return bool(getattr(value, "hooked", False)) or getattr(value, "__module__", "").endswith(_GENERATED)


# -- classes --------------------------------------------------------------------------------------


class ClassState:
    """Attributes of a class, and copies of what plain containers among them held."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.before = dict(vars(cls))
        self.held = {name: copy.deepcopy(value) for name, value in self.before.items() if _copies(value)}

    def restore(self) -> None:
        """Give the class its attributes back."""
        for name in vars(self.cls).keys() - self.before.keys():
            if not made_late(vars(self.cls)[name]):
                delattr(self.cls, name)
        for name, value in self.before.items():
            if vars(self.cls).get(name, _MISSING) is not value:
                setattr(self.cls, name, value)
            if name in self.held:
                _refill(value, self.held[name])


def _copies(value: Any) -> bool:
    if isinstance(value, list | dict | set):
        try:
            copy.deepcopy(value)
        except Exception:
            return False
        return True
    return isinstance(value, Tensor | np.ndarray)


def _refill(value: Any, held: Any) -> None:
    if isinstance(value, list):
        value[:] = copy.deepcopy(held)
    elif isinstance(value, dict | set):
        value.clear()
        value.update(copy.deepcopy(held))
    elif isinstance(value, Tensor):
        with no_grad():
            value.copy_(held)
    else:
        value[...] = held


def classes_of(models: Iterable[type]) -> list[type]:
    """Return classes of the models' own code: their ancestors and what stands beside them in their modules."""
    found: dict[type, None] = {}
    for model in models:
        for cls in model.__mro__:
            if not _is_own(cls.__module__):
                continue
            beside = vars(sys.modules[cls.__module__]).values() if cls.__module__ in sys.modules else ()
            found |= dict.fromkeys(
                [cls, *(c for c in beside if isinstance(c, type) and c.__module__ == cls.__module__)]
            )
    return list(found)


def _is_own(module: str) -> bool:
    """Whether a module is a user's own, not one of an installed package or ours."""
    if module.partition(".")[0] in ("builtins", "graphnetz"):
        return False
    path = getattr(sys.modules.get(module), "__file__", None)
    return path is None or not is_installed(path)


# -- globals --------------------------------------------------------------------------------------


class OwnGlobals:
    """The globals that functions of the user's own reach: kept before a cell, put back after it.

    Kept are constants, small containers of constants, and small arrays and tensors. Names that a function gives a value
    for the first time are taken away again. Everything else in those modules is left alone: it may be the caller's.

    Parameters
    ----------
    *code
        Classes, functions and values that run in a cell.
    """

    def __init__(self, *code: Any) -> None:
        walk = _Reached()
        for part in code:
            with contextlib.suppress(Exception, RecursionError):  # code that cannot be followed to its end
                walk.digest(part)
        self._spaces = [(space, frozenset(names)) for space, names in walk.spaces.values()]

    def kept(self) -> list[dict[str, tuple[Any, Any]]]:
        """Return the values, each with a copy of what it holds."""
        found = []
        for space, names in self._spaces:
            values = {name: space.get(name, _MISSING) for name in names}
            found.append({k: (v, copy.deepcopy(v)) for k, v in values.items() if v is _MISSING or small(v)})
        return found

    def put_back(self, before: list[dict[str, tuple[Any, Any]]]) -> None:
        """Give the modules back what `kept` found."""
        for (space, _), values in zip(self._spaces, before, strict=True):
            for name, (value, held) in values.items():
                if value is _MISSING:
                    space.pop(name, None)
                    continue
                if space.get(name, _MISSING) is not value:
                    space[name] = value
                if isinstance(value, list | dict | set | Tensor | np.ndarray):
                    _refill(value, held)


def small(value: Any) -> bool:
    """Return whether a value is a constant, a small container of constants, or a small array.

    Examples
    --------
    >>> small({"a": [1, 2.5]}), small(object()), small([0] * 20_000)
    (True, False, False)
    """
    return _weight(value, _MOST) >= 0


def _weight(value: Any, left: int) -> int:
    """How many more values may follow; negative where it is too many, or not plain."""
    if type(value) in (list, tuple, set, frozenset, dict):
        parts: Iterable[Any] = value if not isinstance(value, dict) else [*value.keys(), *value.values()]
        for part in parts:
            left = _weight(part, left)
            if left < 0:
                break
        return left
    if isinstance(value, Tensor | np.ndarray):
        size = value.numel() if isinstance(value, Tensor) else value.size
        ours = value.is_leaf and value.device.type == "cpu" if isinstance(value, Tensor) else not value.dtype.hasobject
        return left - size if ours else -1
    return left - 1 if plain(value) is not None else -1


class _Reached(Walk):
    """The walk over code that keys are made by, which notes the globals of the user's own functions on its way."""

    def __init__(self) -> None:
        super().__init__(set())
        self.spaces: dict[int, tuple[dict[str, Any], set[str]]] = {}

    def _note(self, space: dict[str, Any], names: Iterable[str]) -> None:
        self.spaces.setdefault(id(space), (space, set()))[1].update(names)

    def _function(self, obj: types.FunctionType) -> Iterator[str]:
        if is_users(obj):
            seen = scan(obj.__code__)
            self._note(obj.__globals__, (name for name in (*seen.globals, *_stored(obj.__code__))
                                         if not isinstance(obj.__globals__.get(name), _CODE)))  # fmt: skip
            for name in seen.globals:
                value = obj.__globals__.get(name)
                if isinstance(value, types.ModuleType) and is_users(value):
                    self._note(vars(value), (chain[0] for chain in seen.chains[name] if chain
                                             and not isinstance(vars(value).get(chain[0]), _CODE)))  # fmt: skip
        yield from super()._function(obj)


_CODE = (type, types.FunctionType, types.ModuleType, types.BuiltinFunctionType)


def _stored(code: types.CodeType) -> Iterator[str]:
    """Globals that code, or a function inside it, gives a value."""
    yield from (step.argval for step in dis.get_instructions(code) if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"))
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _stored(part)
