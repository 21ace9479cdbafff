"""Whose file it is: the user's own, or part of an installed package."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import graphnetz

_INSTALLED = ("site-packages", "dist-packages")


@functools.cache
def _roots(*names: str) -> tuple[str, ...]:
    return tuple(str(Path(sysconfig.get_paths()[name]).resolve()) + os.sep for name in names)


@functools.lru_cache(maxsize=8192)
def is_standard(file: str) -> bool:
    """Whether a file belongs to the standard library; its frozen modules have no file and a name in brackets."""
    if file.startswith("<frozen"):
        return True
    place = Path(file).resolve()
    inside = str(place).startswith(_roots("stdlib", "platstdlib"))
    return inside and not any(part in _INSTALLED for part in place.parts)


@functools.lru_cache(maxsize=8192)
def is_installed(file: str) -> bool:
    """Whether a file belongs to the standard library, an installed package or this one.

    Examples
    --------
    >>> import torch
    >>> is_installed(torch.__file__), is_installed("/home/me/project/model.py")
    (True, False)
    """
    place, ours = Path(file).resolve(), Path(graphnetz.__file__).resolve().parent
    if ours in place.parents or any(part in _INSTALLED for part in place.parts):
        return True
    return str(place).startswith(_roots("stdlib", "platstdlib", "purelib", "platlib"))


def is_loose(top: str) -> bool:
    """Whether a top-level module is the user's own file or folder, not an installed one."""
    place = _place(top)
    return place is not None and not is_installed(place)


def _place(top: str) -> str | None:
    """File of a module, or folder of a package without one; None where it is neither."""
    module = sys.modules.get(top)
    if isinstance(module, ModuleType):
        file, folders = getattr(module, "__file__", None), getattr(module, "__path__", None)
    else:
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError, AttributeError):
            return None
        if spec is None:
            return None
        file, folders = spec.origin if spec.has_location else None, spec.submodule_search_locations
    return file or next(iter(folders or ()), None)
