"""Datasets: cards, loaders, generators, suites, and the ways to bring your own data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from graphnetz.datasets.sources.netz import Netz as Netz

__all__ = [  # noqa: RUF022
    "BENCHMARK_TASKS",
    "CARDS",
    "CATEGORIES",
    "LOADER_REGISTRY",
    "Netz",
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


def __getattr__(name: str) -> Any:
    if name == "Netz":  # needs torch, which listing datasets must not import
        from graphnetz.datasets.sources.netz import Netz

        return Netz
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
