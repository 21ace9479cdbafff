"""Plans, executors, the store, and `run_benchmark`.

Names are resolved on first use: reading a store must not import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.engine.api": ("evaluate", "get_split", "load_model"),
        "graphnetz.engine.run": ("run_benchmark",),
        "graphnetz.engine.search": ("SearchSpace",),
        "graphnetz.datasets": (
            "BENCHMARK_TASKS",
            "iter_benchmark_tasks",
            "register_task",
            "task_from_dataset",
            "unregister_task",
        ),
        "graphnetz.models": ("ModelSpec", "_multi_task_factory", "register_model"),
        "graphnetz.records": ("Cell", "CellResult", "Protocol", "Task"),
        "graphnetz.report": ("BenchmarkReport",),
        "graphnetz.tasktypes": ("TASK_TYPES",),
    },
)

if TYPE_CHECKING:
    from graphnetz.datasets import BENCHMARK_TASKS as BENCHMARK_TASKS
    from graphnetz.datasets import iter_benchmark_tasks as iter_benchmark_tasks
    from graphnetz.datasets import register_task as register_task
    from graphnetz.datasets import task_from_dataset as task_from_dataset
    from graphnetz.datasets import unregister_task as unregister_task
    from graphnetz.engine.api import evaluate as evaluate
    from graphnetz.engine.api import get_split as get_split
    from graphnetz.engine.api import load_model as load_model
    from graphnetz.engine.run import run_benchmark as run_benchmark
    from graphnetz.engine.search import SearchSpace as SearchSpace
    from graphnetz.models import ModelSpec as ModelSpec
    from graphnetz.models import _multi_task_factory as _multi_task_factory
    from graphnetz.models import register_model as register_model
    from graphnetz.records import Cell as Cell
    from graphnetz.records import CellResult as CellResult
    from graphnetz.records import Protocol as Protocol
    from graphnetz.records import Task as Task
    from graphnetz.report import BenchmarkReport as BenchmarkReport
    from graphnetz.tasktypes import TASK_TYPES as TASK_TYPES
