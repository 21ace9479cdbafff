"""How a model fares on examples of another kind than it was trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Shift:
    """One model on one task: its test score, its score elsewhere, and what it lost.

    Attributes
    ----------
    task, model
        Their names.
    part
        Where it was measured again, such as ``"ood"``: graphs of another size than those of training and test.
    label
        Readable name of the metric, without the part.
    greater_is_better
        Its direction.
    n
        Seeds that have both scores.
    test, other
        Means over those seeds.
    loss, low, high
        Mean over seeds of how much worse it is elsewhere (positive is worse, whatever the direction of the metric), and
        the Student interval of that mean for this model alone; NaN for a single seed.
    reach
        How far the seeds reach: see `graphnetz.records.task_info.TaskInfo`.

    Examples
    --------
    >>> Shift("algo_bridges", "GCN", "ood", "accuracy", True, 5, 0.9, 0.7, 0.2, 0.15, 0.25).loss
    0.2
    """

    task: str
    model: str
    part: str
    label: str
    greater_is_better: bool
    n: int
    test: float
    other: float
    loss: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reach: str = "split"
