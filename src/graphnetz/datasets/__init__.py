"""Datasets: cards, loaders, generators, suites, and the ways to bring your own data."""

from graphnetz.datasets import (
    biology,
    combinatorial,
    computing,
    finance,
    infrastructure,
    knowledge,
    physics,
    security,
    social,
    vision,
)
from graphnetz.datasets.cards import (
    BENCHMARK_TASKS,
    CARDS,
    CATEGORIES,
    LOADER_REGISTRY,
    dataset,
    find_task,
    iter_benchmark_tasks,
    list_datasets,
    task_of,
)
from graphnetz.datasets.custom import (
    register_task,
    task_from_dataset,
    task_from_edges,
    task_from_networkx,
    unregister_task,
)
from graphnetz.datasets.suites import SUITES

__all__ = [
    "BENCHMARK_TASKS",
    "CARDS",
    "CATEGORIES",
    "LOADER_REGISTRY",
    "SUITES",
    "biology",
    "combinatorial",
    "computing",
    "dataset",
    "finance",
    "find_task",
    "infrastructure",
    "iter_benchmark_tasks",
    "knowledge",
    "list_datasets",
    "physics",
    "register_task",
    "security",
    "social",
    "task_from_dataset",
    "task_from_edges",
    "task_from_networkx",
    "task_of",
    "unregister_task",
    "vision",
]
