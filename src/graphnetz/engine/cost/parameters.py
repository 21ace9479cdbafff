"""Parameter budgets of a plan: what every model would cost, before anything is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from graphnetz._core.errors import UsageError
from graphnetz.models import ModelSpec
from graphnetz.models.budget import width_for
from graphnetz.records import Cell, Protocol, Task
from graphnetz.tasktypes import Dims

SHOWN = 5
"""Refusals that one message names; the others are counted."""


class BudgetCheck:
    """Collects what a plan's budgets lead to: refusals for one message, remarks for the run."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.remarks: list[str] = []

    def look(self, task: Task, name: str, spec: ModelSpec, dims: Dims, protocol: Protocol) -> None:
        """Find the width of one model on one task; nothing to do without a budget or a width."""
        if protocol.budget is None or spec.kind == "predictor":
            return
        seen = dims if protocol.edge_attributes else dataclasses.replace(dims, edge_dim=None)
        try:
            found = width_for(spec, task.task_type, seen, protocol.budget)
        except UsageError as error:
            self.refused.append(f"{task.name} / {name}: {error}")
            return
        if found.warning:
            self.remarks.append(f"{task.name} / {name}: {found.warning}")

    def refuse(self) -> None:
        """Raise when any model is out of reach of its budget."""
        if not self.refused:
            return
        more = len(self.refused) - SHOWN
        rest = f" And {more} more." if more > 0 else ""
        raise UsageError(" ".join(self.refused[:SHOWN]) + rest)


def budgets_of(cells: tuple[Cell, ...], specs: Mapping[str, ModelSpec]) -> dict[str, dict[str, int | None]]:
    """Budget of every model on every task, where any was asked for; models without a width are left out."""
    found: dict[str, dict[str, int | None]] = {}
    for cell in cells:
        if specs[cell.model].kind != "predictor":
            found.setdefault(cell.task, {})[cell.model] = cell.protocol.budget
    return {task: models for task, models in found.items() if any(value is not None for value in models.values())}
