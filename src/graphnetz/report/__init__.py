"""`BenchmarkReport` and what it is made of; names are resolved on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.analysis.comparisons": ("Comparison",),
        "graphnetz.records.task_info": ("TaskInfo",),
        "graphnetz.report.report": ("BenchmarkReport",),
    },
)

if TYPE_CHECKING:
    from graphnetz.analysis.comparisons import Comparison as Comparison
    from graphnetz.records.task_info import TaskInfo as TaskInfo
    from graphnetz.report.report import BenchmarkReport as BenchmarkReport
