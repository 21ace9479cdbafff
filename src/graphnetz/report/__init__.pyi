from graphnetz.records.analysis import Comparison as Comparison
from graphnetz.records.task_info import TaskInfo as TaskInfo
from graphnetz.report.example import example_report as example_report
from graphnetz.report.report import BenchmarkReport as BenchmarkReport
