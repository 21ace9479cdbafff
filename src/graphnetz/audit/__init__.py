"""Leakage and sanity checks of a task before anything is trained on it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.audit.checks": ("CHECKS", "Finding", "Inspected", "check"),
        "graphnetz.audit.inspect": ("audit", "audit_section", "inspect_task"),
    },
)

if TYPE_CHECKING:
    from graphnetz.audit.checks import CHECKS as CHECKS
    from graphnetz.audit.checks import Finding as Finding
    from graphnetz.audit.checks import Inspected as Inspected
    from graphnetz.audit.checks import check as check
    from graphnetz.audit.inspect import audit as audit
    from graphnetz.audit.inspect import audit_section as audit_section
    from graphnetz.audit.inspect import inspect_task as inspect_task


class _Callable(ModuleType):
    """``graphnetz.audit(task)`` works whether or not this package was imported under the same name before."""

    def __call__(self, task: Any, **options: Any) -> Any:
        from graphnetz.audit.inspect import audit

        return audit(task, **options)


sys.modules[__name__].__class__ = _Callable
