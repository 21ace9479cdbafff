"""X[task, model, seed] as one array with its directions and its gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError


@dataclass(frozen=True)
class ScoreTable:
    """Final metrics; NaN is absent, and ``reasons[task, model]`` says why.

    Parameters
    ----------
    values
        Array ``[task, model, seed]``.
    greater_is_better, metrics, replication, test_ratio, blocks
        One entry per task: direction, headline key, what a seed varies, n_test / n_train (NaN when
        unknown), and the graph the task stands on.
    """

    tasks: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    values: npt.NDArray[np.float64]
    greater_is_better: tuple[bool, ...]
    metrics: tuple[str, ...]
    replication: tuple[str, ...]
    test_ratio: tuple[float, ...]
    blocks: tuple[str, ...]
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.tasks), len(self.models), len(self.seeds))
        if self.values.shape != shape:
            raise UsageError(f"values has shape {self.values.shape}, tasks x models x seeds need {shape}.")
        for name in ("greater_is_better", "metrics", "replication", "test_ratio", "blocks"):
            if len(getattr(self, name)) != len(self.tasks):
                raise UsageError(f"{name} needs one entry per task ({len(self.tasks)}).")
        for name in ("tasks", "models", "seeds"):
            names = getattr(self, name)
            if len(set(names)) != len(names):
                raise UsageError(f"Duplicate names in {name}: {names}. Give each one name.")

    def cell(self, task: str, model: str) -> npt.NDArray[np.float64]:
        """Scores of one (task, model) over all seeds, NaN where absent."""
        scores: npt.NDArray[np.float64] = self.values[self.tasks.index(task), self.models.index(model)]
        return scores

    def paired(self, task: str, a: str, b: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Scores of two models on the seeds that both have."""
        x, y = self.cell(task, a), self.cell(task, b)
        both = np.isfinite(x) & np.isfinite(y)
        return x[both], y[both]

    def present(self, task: str) -> tuple[str, ...]:
        """Models with at least one value on ``task``."""
        row = np.atleast_1d(np.isfinite(self.values[self.tasks.index(task)]).any(axis=1))
        return tuple(model for model, there in zip(self.models, row, strict=True) if there)

    def complete_models(self) -> tuple[str, ...]:
        """Models with at least one value on every task: only these can be ranked across tasks."""
        there = np.atleast_1d(np.isfinite(self.values).any(axis=2).all(axis=0))
        return tuple(model for model, yes in zip(self.models, there, strict=True) if yes)

    def means(self) -> npt.NDArray[np.float64]:
        """Seed means ``[task, model]``, NaN where no seed finished."""
        finite = np.isfinite(self.values)
        count = finite.sum(axis=2)
        total = np.where(finite, self.values, 0.0).sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(count > 0, total / count, np.nan)
