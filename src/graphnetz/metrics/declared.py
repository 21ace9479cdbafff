"""Metrics: declared once with their direction, computed over a whole split in plain NumPy.

History keys carry the split in front: ``test_acc``, ``val_auc``; `lookup` finds the declaration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from graphnetz._core.errors import UnknownNameError
from graphnetz._core.registry import Registry

Array = npt.NDArray[Any]
"""What metrics take: true values and outputs, of any type of number."""
SPLITS = {"train": "Train", "val": "Val", "test": "Test", "ood": "Out-of-distribution"}
"""Prefixes of history keys and how they are said."""


@dataclass(frozen=True)
class Metric:
    """A declared metric.

    Parameters
    ----------
    key
        Short name; history keys carry the split in front, such as ``test_acc``.
    label
        Readable name.
    greater_is_better
        Direction.
    bounds
        Smallest and largest possible value.
    compute
        ``compute(target, score)`` returns NaN where the metric is undefined. ``score`` holds one row
        of class scores per example (classification), one value per pair (binary ranking) or one value
        per target (regression).
    of_ranks
        ``of_ranks(rank)``: the metric of positives that are each ranked among candidates of their own; None for metrics
        that no such ranks define.

    Examples
    --------
    >>> from graphnetz.metrics import METRICS
    >>> METRICS["mae"].label, METRICS["mae"].greater_is_better
    ('MAE', False)
    """

    key: str
    label: str
    greater_is_better: bool
    bounds: tuple[float, float]
    compute: Callable[[Array, Array], float]
    of_ranks: Callable[[Array], float] | None = None


METRICS: Registry[Metric] = Registry(
    "metric", entry_points="graphnetz.metrics", accepts=Metric, named="key", decorator="metric"
)
"""Metrics by key; `metric` adds one, plug-ins by entry point."""


def metric(
    key: str,
    label: str,
    *,
    greater_is_better: bool,
    bounds: tuple[float, float],
    of_ranks: Callable[[Array], float] | None = None,
) -> Callable[[Callable[[Array, Array], float]], Callable[[Array, Array], float]]:
    """Declare the decorated function ``(target, score) -> float`` as a metric.

    Parameters
    ----------
    key, label
        Short and readable name.
    greater_is_better
        Direction.
    bounds
        Smallest and largest possible value.
    of_ranks
        As in `Metric`.

    Returns
    -------
    callable
        Decorator that files the function in `METRICS` and returns it unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import METRICS, metric
    >>> @metric("worst", "worst error", greater_is_better=False, bounds=(0.0, np.inf))
    ... def worst(target, score):
    ...     return float(np.abs(target - score).max())
    >>> removed = METRICS.remove("worst")  # leave the registry as it was
    """

    def declare(compute: Callable[[Array, Array], float]) -> Callable[[Array, Array], float]:
        METRICS.add(key, Metric(key, label, greater_is_better, bounds, compute, of_ranks))
        return compute

    return declare


def lookup(history_key: str) -> Metric:
    """Return the metric behind a history key.

    Parameters
    ----------
    history_key
        Such as ``test_mae`` or ``train_loss``; a key without split works too.

    Returns
    -------
    Metric
        The declaration; an unknown key is answered with the nearest known ones.

    Examples
    --------
    >>> from graphnetz.metrics import lookup
    >>> lookup("test_mae").key
    'mae'
    """
    split, _, key = history_key.partition("_")
    return METRICS[key if split in SPLITS and key else history_key]


def label_of(history_key: str) -> str:
    """Return a readable name of a history key.

    Parameters
    ----------
    history_key
        Such as ``test_auc``.

    Returns
    -------
    str
        Unknown keys come back as they are.

    Examples
    --------
    >>> from graphnetz.metrics import label_of
    >>> label_of("test_auc"), label_of("my_own_key")
    ('Test ROC-AUC', 'my_own_key')
    """
    split, _, _ = history_key.partition("_")
    try:
        name = lookup(history_key).label
    except UnknownNameError:
        return history_key
    return f"{SPLITS[split]} {name}" if split in SPLITS else name


def bounds_of(history_key: str) -> tuple[float, float]:
    """Return the least and the greatest value that a history key can take.

    Parameters
    ----------
    history_key
        Such as ``test_auc``.

    Returns
    -------
    tuple of float
        Infinite where there is no bound, and for unknown keys.

    Examples
    --------
    >>> from graphnetz.metrics import bounds_of
    >>> bounds_of("test_auc"), bounds_of("my_own_key")
    ((0.0, 1.0), (-inf, inf))
    """
    try:
        return lookup(history_key).bounds
    except UnknownNameError:
        return -math.inf, math.inf
