"""`BenchmarkReport` and what it is made of; names are resolved on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.report.analysis": ("Comparison",),
        "graphnetz.report.info": ("TaskInfo",),
        "graphnetz.report.report": ("BenchmarkReport",),
    },
)

if TYPE_CHECKING:
    from graphnetz.report.analysis import Comparison as Comparison
    from graphnetz.report.info import TaskInfo as TaskInfo
    from graphnetz.report.report import BenchmarkReport as BenchmarkReport
