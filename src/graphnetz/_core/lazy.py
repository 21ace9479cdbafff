"""Packages whose public names are imported on first use, so that light commands stay light."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


def lazy_names(
    package: str, file: str, *, submodules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package (PEP 562).

    The names stand in the stub beside the package's ``__init__.py``, which type checkers read: once.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__`` of the package.
    submodules
        Modules of the package that are imported when they are asked of it.

    Returns
    -------
    tuple
        A function that resolves a name, one that lists the names, and the names.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    table = {
        alias.asname or alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
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


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        from graphnetz._core.optional import clash

        if sentence := clash():
            raise ImportError(sentence) from error
        raise
