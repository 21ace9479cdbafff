"""X[task, model, seed] as one array with its directions and its gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    splits
        One entry per task: how many fixed splits its seeds take in turn, 0 when every seed has its own.
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
    splits: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        shape = (len(self.tasks), len(self.models), len(self.seeds))
        if self.values.shape != shape:
            raise UsageError(f"values has shape {self.values.shape}, tasks x models x seeds need {shape}.")
        if not self.splits:
            object.__setattr__(self, "splits", (0,) * len(self.tasks))
        for name in ("greater_is_better", "metrics", "replication", "test_ratio", "blocks", "splits"):
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
        """Scores of two models on the seeds that both have; seeds that share a fixed split are averaged first."""
        x, y = self.cell(task, a), self.cell(task, b)
        both = np.isfinite(x) & np.isfinite(y)
        x, y = (self.by_split(task, np.where(both, row, np.nan)) for row in (x, y))
        both = np.isfinite(x)
        return x[both], y[both]

    def by_split(self, task: str, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """One value per fixed split out of one per seed; see `split_means`."""
        return split_means(values, self.seeds, self.splits[self.tasks.index(task)])

    def present(self, task: str) -> tuple[str, ...]:
        """Models with at least one value on ``task``."""
        row = np.atleast_1d(np.isfinite(self.values[self.tasks.index(task)]).any(axis=1))
        return tuple(model for model, there in zip(self.models, row, strict=True) if there)

    def means(self) -> npt.NDArray[np.float64]:
        """Seed means ``[task, model]``, NaN where no seed finished."""
        finite = np.isfinite(self.values)
        count = finite.sum(axis=2)
        total = np.where(finite, self.values, 0.0).sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(count > 0, total / count, np.nan)


def split_means(values: npt.NDArray[np.float64], seeds: Sequence[int], splits: int) -> npt.NDArray[np.float64]:
    """Return the mean over the seeds of every split, where ``seed % splits`` says which split a seed took.

    Runs on one fold differ by their initial weights only and are no further folds: a test that counts them as such
    is anti-conservative. Values come back as they are when no two seeds share a split, or when ``splits`` is 0.
    """
    number = np.asarray(seeds) % splits if splits else np.arange(len(seeds))
    if np.unique(number).size == number.size:
        return values
    means = np.full(splits, np.nan)
    for split in np.unique(number):
        there = values[(number == split) & np.isfinite(values)]
        means[split] = there.mean() if there.size else np.nan
    return means
