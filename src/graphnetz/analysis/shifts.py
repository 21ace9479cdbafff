"""What models lose on examples of another kind than they were trained on: larger graphs, for instance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from graphnetz._core.grouping import grouped
from graphnetz.metrics import SPLITS, lookup
from graphnetz.records import CellResult, Table
from graphnetz.records.shift import Shift
from graphnetz.records.task_info import TaskInfo
from graphnetz.stats import interval

PARTS = ("ood",)
"""Parts of a split beside training, validation and test."""


def shifts_of(cells: Sequence[CellResult], tasks: Mapping[str, TaskInfo], *, level: float = 0.95) -> tuple[Shift, ...]:
    """Return the loss of every model on every further part that its cells were measured on.

    Parameters
    ----------
    cells
        Results of cells; those without such a part are left out.
    tasks
        Declared facts per task; the headline metric decides what is compared.
    level
        Coverage of the intervals.

    Returns
    -------
    tuple of Shift
        In the order of the cells.

    Examples
    --------
    >>> metrics = [{"test_acc": 0.9, "ood_acc": 0.7}, {"test_acc": 0.8, "ood_acc": 0.7}]
    >>> cells = [CellResult("", "bridges", "GCN", seed, metrics=values) for seed, values in enumerate(metrics)]
    >>> [(found.model, round(found.loss, 2), found.n) for found in shifts_of(cells, {"bridges": TaskInfo("test_acc")})]
    [('GCN', 0.15, 2)]
    """
    out = []
    for (task, model), runs in grouped([c for c in cells if c.ok], lambda cell: (cell.task, cell.model)).items():
        if task not in tasks:
            continue
        info, key = tasks[task], tasks[task].metric.removeprefix("test_")
        for part in PARTS:
            pairs = [
                (run.metrics.get(f"test_{key}", math.nan), run.metrics.get(f"{part}_{key}", math.nan)) for run in runs
            ]
            values = np.array([pair for pair in pairs if np.isfinite(pair).all()])
            if not values.size:
                continue
            lost = (values[:, 0] - values[:, 1]) * (1 if info.greater_is_better else -1)
            found, means = interval(lost, level=level), values.mean(axis=0)
            out.append(Shift(
                task, model, part, lookup(f"test_{key}").label, info.greater_is_better, found.n, float(means[0]),
                float(means[1]), found.mean, found.low, found.high, info.reach,
            ))  # fmt: skip
    return tuple(out)


def shift_table(shifts: Sequence[Shift]) -> Table:
    """Return the losses as a table of the page."""
    columns = ("Task", "Metric", "Model", "Test", SPLITS["ood"], "Loss", "low", "high", "Seeds", "Reach")
    rows = tuple(
        (s.task, f"{s.label} {'↑' if s.greater_is_better else '↓'}", s.model, s.test, s.other, s.loss, s.low, s.high,
         s.n, s.reach)
        for s in shifts
    )  # fmt: skip
    return Table(columns, rows, CAPTION)


CAPTION = (
    "Test examples are drawn like those of training, the others are not (larger graphs, where the card says nothing "
    "else); no model is trained or chosen on either. Loss: how much worse a model is on the others, mean over seeds, "
    "positive is worse; low and high bound its 95 % Student interval over seeds, for each row alone, and speak as far "
    "as the seeds reach. The weights are those of the epoch whose test score stands in the summary."
)
