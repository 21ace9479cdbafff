"""`BenchmarkReport` and what it is made of."""

from graphnetz.report.analysis import Comparison
from graphnetz.report.info import TaskInfo
from graphnetz.report.report import BenchmarkReport

__all__ = ["BenchmarkReport", "Comparison", "TaskInfo"]
