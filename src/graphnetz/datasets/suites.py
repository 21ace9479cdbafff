"""Suites: named lists of tasks that are run together."""

from __future__ import annotations

from collections.abc import Callable

from graphnetz._core.registry import Registry
from graphnetz.datasets.cards import task_of
from graphnetz.records import Task

SUITES: Registry[Callable[[], list[Task]]] = Registry("suite", entry_points="graphnetz.suites")
"""Every suite by name: a function without arguments that returns its tasks."""


@SUITES.register("default")
def default() -> list[Task]:
    """Return the offline suite: every category, every task type, nothing to download."""
    return [task_of(name, kind) for name, kind in DEFAULT]


DEFAULT: tuple[tuple[str, str], ...] = ()
