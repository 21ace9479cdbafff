"""`BenchmarkReport` and what writes it; names are resolved on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.records.analysis": ("Comparison",),
        "graphnetz.records.task_info": ("TaskInfo",),
        "graphnetz.report.example": ("example_report",),
        "graphnetz.report.report": ("BenchmarkReport",),
    },
)

if TYPE_CHECKING:
    from graphnetz.records.analysis import Comparison as Comparison
    from graphnetz.records.task_info import TaskInfo as TaskInfo
    from graphnetz.report.example import example_report as example_report
    from graphnetz.report.report import BenchmarkReport as BenchmarkReport
