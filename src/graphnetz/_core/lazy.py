"""Packages whose public names are imported on first use, so that light commands stay light."""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any


@functools.cache
def _leave_quickly() -> None:
    """Look for garbage once at exit: the interpreter would go through all of torch again and again, for a second."""
    atexit.register(gc.freeze)
    atexit.register(gc.collect)  # the last one registered is called first


def quick_import(module: str) -> ModuleType:
    """Import without collecting garbage: imports make many objects and few cycles."""
    _leave_quickly()
    collecting = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(module)
    except ImportError as error:
        from graphnetz._core.optional import clash

        if sentence := clash():
            raise ImportError(sentence) from error
        raise
    finally:
        if collecting:
            gc.enable()


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]], *, submodules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package (PEP 562).

    Parameters
    ----------
    package
        Dotted name of the package.
    homes
        Modules mapped to the names they hold.
    submodules
        Heavy modules of the package that are imported the quick way when they are asked of it.
    """
    table = {name: module for module, names in homes.items() for name in names}
    names = sorted(table)

    def resolve(name: str) -> Any:
        if name in submodules:
            return quick_import(f"{package}.{name}")
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(quick_import(table[name]), name)
        vars(sys.modules[package])[name] = value  # the next look-up is an ordinary one
        return value

    return resolve, lambda: names, names
