"""What a score table says about its tasks by itself."""

from __future__ import annotations

from graphnetz.metrics import label_of
from graphnetz.records import ScoreTable
from graphnetz.records.task_info import TaskInfo


def declared(table: ScoreTable) -> dict[str, TaskInfo]:
    """Return the facts about tasks that a score table holds itself."""
    columns = (table.metrics, table.greater_is_better, table.replication, table.test_ratio, table.blocks, table.splits)
    return {
        task: TaskInfo(metric, label_of(metric), better, replication, ratio, block, splits=splits)
        for task, metric, better, replication, ratio, block, splits in zip(table.tasks, *columns, strict=True)
    }
