"""What the report knows about a task besides its scores."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from graphnetz._core.errors import UsageError
from graphnetz.records.task import check_replication

SHARED_DATA = frozenset({"resplit", "fold", "unknown"})
"""Replications whose runs share training data, or may: the plain paired t-test is anti-conservative."""


REPLICATION_WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("replications.toml").read_text(encoding="utf-8")
)
"""What a seed varies: the rung of the ladder it decides (``reach``), and words for verdicts and papers."""


@dataclass(frozen=True)
class TaskInfo:
    """Facts about one task, declared by whoever ran it.

    Parameters
    ----------
    metric
        History key of the headline metric, such as ``test_acc``.
    label
        Its readable name; a report derives it from the key when empty.
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
    >>> TaskInfo("test_acc", replication="fold").shares_data
    True
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
        for name in ("n_test", "splits"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name}={getattr(self, name)} is negative. Give how many there are, or 0.")

    @property
    def reach(self) -> str:
        """How far the seeds of this task reach: ``split``, ``dataset``, ``source`` or ``unknown``."""
        return REPLICATION_WORDS[self.replication]["reach"]

    @property
    def shares_data(self) -> bool:
        """Whether the runs of this task share training data."""
        return self.replication in SHARED_DATA
