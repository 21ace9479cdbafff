"""Values and compiled code in words: what is hashed of them, the same in any process and any folder."""

from __future__ import annotations

import enum
import functools
import hashlib
import inspect
import os
import re
import types
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from graphnetz._core.registry import Registry

_WORDS = (
    type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str, bytes, range, slice, np.generic,
    np.dtype,
)  # fmt: skip

_ABOVE = 3
"""Folders above a file that a path of its code may stand for, as ``Path(__file__).parents[1]`` does."""


def plain(obj: Any) -> tuple[str, ...] | None:
    """Text of a value that is described by its own words."""
    if isinstance(obj, enum.Enum):
        return (name_of(type(obj)), obj.name)
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


@functools.lru_cache(maxsize=8192)
def code_digest(code: types.CodeType) -> str:
    """Return a hash of what compiled code does, without docstrings, file names and line numbers."""
    return digest_of(repr(_compiled(code)))


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


def home(space: Mapping[str, Any]) -> set[str]:
    """Folder of the file that a module was made from."""
    file = space.get("__file__")
    return {str(Path(file).absolute().parent)} if isinstance(file, str) else set()


def portable(text: str, homes: set[str]) -> str:
    """A path near the code that knows it, said from there: the same code in another folder is the same code."""
    path = text.strip("'") if homes else ""
    if path[:1] == os.sep and len(path) > 1:
        for folder in sorted(homes):
            above = [str(place) for place in Path(folder).parents[:_ABOVE]]
            if path == folder or path in above or path.startswith(folder + os.sep):
                return f"beside the code: {os.path.relpath(path, folder)}"
    return text


def name_of(obj: Any) -> str:
    """Return the module and the qualified name of a class or function."""
    return f"{getattr(obj, '__module__', '')}.{getattr(obj, '__qualname__', getattr(obj, '__name__', ''))}"


def digest_of(*parts: str) -> str:
    """Return a hash of texts in order."""
    state = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little"))
        state.update(raw)
    return state.hexdigest()
