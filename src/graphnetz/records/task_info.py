"""What the report knows about a task besides its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.metrics import label_of, lookup
from graphnetz.records import CellResult
from graphnetz.records.task import check_replication

SHARED_DATA = frozenset({"resplit", "fold", "unknown"})
"""Replications whose runs share training data, or may: the plain paired t-test is anti-conservative."""


@dataclass(frozen=True)
class TaskInfo:
    """Facts about one task, declared by whoever ran it.

    Parameters
    ----------
    metric
        History key of the headline metric, such as ``test_acc``.
    label
        Its readable name; derived from the key when empty.
    greater_is_better
        Direction of the metric.
    replication
        What a seed varies: ``init``, ``resplit``, ``fold``, ``regenerate`` or ``unknown``.
    test_ratio
        n_test / n_train of one split, NaN when unknown.
    block
        The graph the task stands on; two tasks with the same one are dependent.
    category, task_type, n_test
        For headings, and for the error of a finite test set (0: unknown).
    splits
        How many fixed splits (folds, mask columns) the seeds take in turn; 0 when every seed has its own.

    Examples
    --------
    >>> from graphnetz.report import TaskInfo
    >>> TaskInfo("test_mae", greater_is_better=False, replication="fold", splits=10).label
    'Test MAE'
    """

    metric: str
    label: str = ""
    greater_is_better: bool = True
    replication: str = "init"
    test_ratio: float = math.nan
    block: str = ""
    category: str = ""
    task_type: str = ""
    n_test: int = 0
    splits: int = 0

    def __post_init__(self) -> None:
        check_replication(self.replication)
        if not self.label:
            object.__setattr__(self, "label", label_of(self.metric))

    @property
    def shares_data(self) -> bool:
        """Whether the runs of this task share training data."""
        return self.replication in SHARED_DATA


def declared_info(metric: str) -> TaskInfo:
    """Return the info of a task of which only the history key is known; the direction must be declared."""
    try:
        declared = lookup(metric)
    except UnknownNameError as error:
        raise UsageError(
            f"The direction of {metric!r} is not declared. Pass tasks={{name: TaskInfo({metric!r}, "
            f"greater_is_better=...)}}, or declare the metric with graphnetz.metrics.metric. ({error})"
        ) from error
    return TaskInfo(metric, greater_is_better=declared.greater_is_better)


def headline_key(histories: Mapping[str, Sequence[Mapping[str, Sequence[float]]]]) -> str:
    """Return the metric of a task that came as bare histories: the last ``test_`` key, else ``val_``."""
    keys = list(dict.fromkeys(key for runs in histories.values() for run in runs for key in run))
    for prefix in ("test_", "val_", ""):
        found = [key for key in keys if key.startswith(prefix)]
        if found:
            return found[-1]
    return ""


def infer_tasks(
    histories: Mapping[str, Mapping[str, Sequence[Mapping[str, Sequence[float]]]]], given: Mapping[str, TaskInfo]
) -> dict[str, TaskInfo]:
    """Return the info of every task: the given one, or what its histories show."""
    found = dict(given)
    for task, models in histories.items():
        if task not in found:
            key = headline_key(models)
            found[task] = declared_info(key) if key else TaskInfo("score")
    return found


def fill_from_results(tasks: Mapping[str, TaskInfo], results: Sequence[CellResult]) -> dict[str, TaskInfo]:
    """Add test set size and split ratio where only the finished cells know them."""
    sizes: dict[str, tuple[int, int]] = {}
    for result in results:
        if result.ok and result.n_test and result.task not in sizes:
            sizes[result.task] = (result.n_train, result.n_test)
    filled = {}
    for name, info in tasks.items():
        train, test = sizes.get(name, (0, 0))
        ratio = test / train if math.isnan(info.test_ratio) and train else info.test_ratio
        filled[name] = replace(info, n_test=info.n_test or test, test_ratio=ratio)
    return filled
