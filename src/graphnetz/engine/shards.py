"""Parts of a run for machines that share nothing: the same cells in the same part, whoever asks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphnetz._core.errors import UsageError
from graphnetz.records.config import parse_shard

if TYPE_CHECKING:
    from graphnetz.engine.plan import Plan


def part_of(plan: Plan, shard: str | None, *, whole_tasks: bool = False) -> Plan:
    """Return the cells of one part of a plan; all parts together are the plan, and no two share a cell.

    Parameters
    ----------
    plan
        The whole plan.
    shard
        Such as ``"3/20"``; None takes everything.
    whole_tasks
        Keep the cells of a task together: seeds that stop by a rule need all models of it.

    Returns
    -------
    Plan
        Every twentieth cell (or task), beginning with the third.
    """
    if shard is None:
        return plan
    place, parts = parse_shard(shard)
    tasks = list(plan.info)
    mine = [
        cell for i, cell in enumerate(plan.cells) if (tasks.index(cell.task) if whole_tasks else i) % parts == place - 1
    ]
    if not mine:
        of = "tasks, and seeds that stop by a rule keep a task together" if whole_tasks else "cells"
        count = len(tasks) if whole_tasks else len(plan.cells)
        raise UsageError(f"Part {shard} is empty: there are {count} {of}. Ask for at most {count} parts.")
    held = {cell.task for cell in mine}
    models, seeds = {cell.model for cell in mine}, {cell.seed for cell in mine}
    return replace(
        plan,
        cells=tuple(mine),
        tasks=tuple(task for task in plan.tasks if task.name in held),
        info={name: info for name, info in plan.info.items() if name in held},
        models=tuple(model for model in plan.models if model in models),
        seeds=tuple(seed for seed in plan.seeds if seed in seeds),
        absent={pair: why for pair, why in plan.absent.items() if pair[0] in held and pair[1] in models},
    )
