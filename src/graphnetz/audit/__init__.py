"""Leakage and sanity checks of a task before anything is trained on it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)


class _Callable(ModuleType):
    """``graphnetz.audit(task)`` works whether or not this package was imported under the same name before."""

    def __call__(self, task: Any, **options: Any) -> Any:
        from graphnetz.audit.inspect import audit

        return audit(task, **options)


sys.modules[__name__].__class__ = _Callable
