"""Packages whose public names are imported on first use, so that light commands stay light."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        from graphnetz._core.optional import clash

        if sentence := clash():
            raise ImportError(sentence) from error
        raise


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
        Modules of the package that are imported when they are asked of it.
    """
    table = {name: module for module, names in homes.items() for name in names}
    names = sorted(table)

    def resolve(name: str) -> Any:
        if name in submodules:
            return _import(f"{package}.{name}")
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(_import(table[name]), name)
        vars(sys.modules[package])[name] = value  # the next look-up is an ordinary one
        return value

    return resolve, lambda: names, names
