"""X[task, model, seed] as one array with its directions and its gaps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.records.task_info import SHARED_DATA


@dataclass(frozen=True)
class ScoreTable:
    """Final metrics of a benchmark; NaN is absent.

    Parameters
    ----------
    tasks, models, seeds
        Names of the three axes.
    values
        Array ``[task, model, seed]``.
    greater_is_better, metrics, replication, test_ratio, blocks
        One entry per task: direction, headline key, what a seed varies, n_test / n_train (NaN when
        unknown), and the graph the task stands on.
    reasons
        ``reasons[task, model]`` says why values are absent.
    splits
        One entry per task: how many fixed splits its seeds take in turn, 0 when every seed has its own.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.records import ScoreTable
    >>> table = ScoreTable(
    ...     tasks=("cora",), models=("GCN", "MLP"), seeds=(0, 1), values=np.array([[[0.8, 0.9], [0.6, np.nan]]]),
    ...     greater_is_better=(True,), metrics=("test_acc",), replication=("init",), test_ratio=(np.nan,),
    ...     blocks=("cora",), splits=(0,),
    ... )
    >>> table.values.shape
    (1, 2, 2)
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
        """Scores of one (task, model) over all seeds.

        Parameters
        ----------
        task, model
            Which row.

        Returns
        -------
        ndarray
            One value per seed, NaN where absent.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.records import ScoreTable
        >>> table = ScoreTable(
        ...     tasks=("cora",), models=("GCN", "MLP"), seeds=(0, 1), values=np.array([[[0.8, 0.9], [0.6, np.nan]]]),
        ...     greater_is_better=(True,), metrics=("test_acc",), replication=("init",), test_ratio=(np.nan,),
        ...     blocks=("cora",), splits=(0,),
        ... )
        >>> table.cell("cora", "GCN").tolist()
        [0.8, 0.9]
        """
        scores: npt.NDArray[np.float64] = self.values[self.tasks.index(task), self.models.index(model)]
        return scores

    def paired(self, task: str, a: str, b: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Scores of two models on the seeds that both have.

        Seeds that share a fixed split are averaged first.

        Parameters
        ----------
        task
            Which task.
        a, b
            Two models.

        Returns
        -------
        tuple of ndarray
            Two arrays of the same length.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.records import ScoreTable
        >>> table = ScoreTable(
        ...     tasks=("cora",), models=("GCN", "MLP"), seeds=(0, 1), values=np.array([[[0.8, 0.9], [0.6, np.nan]]]),
        ...     greater_is_better=(True,), metrics=("test_acc",), replication=("init",), test_ratio=(np.nan,),
        ...     blocks=("cora",), splits=(0,),
        ... )
        >>> [scores.tolist() for scores in table.paired("cora", "GCN", "MLP")]
        [[0.8], [0.6]]
        """
        x, y = self.cell(task, a), self.cell(task, b)
        both = np.isfinite(x) & np.isfinite(y)
        x, y = (self.by_split(task, np.where(both, row, np.nan)) for row in (x, y))
        both = np.isfinite(x)
        return x[both], y[both]

    def paired_rows(
        self, task: str, pairs: Sequence[tuple[str, str]]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Scores of many pairs of models, NaN on the seeds that either of the two lacks.

        Parameters
        ----------
        task
            Which task.
        pairs
            Names of two models each.

        Returns
        -------
        tuple of ndarray
            Two tables, pairs x seeds; seeds that share a fixed split are averaged first.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.records import ScoreTable
        >>> table = ScoreTable(
        ...     tasks=("cora",), models=("GCN", "MLP"), seeds=(0, 1), values=np.array([[[0.8, 0.9], [0.6, np.nan]]]),
        ...     greater_is_better=(True,), metrics=("test_acc",), replication=("init",), test_ratio=(np.nan,),
        ...     blocks=("cora",), splits=(0,),
        ... )
        >>> [scores.tolist() for scores in table.paired_rows("cora", [("GCN", "MLP")])]
        [[[0.8, nan]], [[0.6, nan]]]
        """
        t, number = self.tasks.index(task), {model: m for m, model in enumerate(self.models)}
        x, y = (self.values[t, [number[pair[side]] for pair in pairs]] for side in (0, 1))
        both = np.isfinite(x) & np.isfinite(y)
        x, y = (split_means(np.where(both, rows, np.nan), self.seeds, self.splits[t]) for rows in (x, y))
        return x, y

    def by_split(self, task: str, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """One value per fixed split out of one per seed.

        Runs on one fold differ by their initial weights only, so a test that counts them as further folds is
        anti-conservative.

        Parameters
        ----------
        task
            Whose splits.
        values
            One value per seed.

        Returns
        -------
        ndarray
            The values as they are when every seed has a split of its own.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.records import ScoreTable
        >>> table = ScoreTable(
        ...     tasks=("cora",), models=("GCN", "MLP"), seeds=(0, 1), values=np.array([[[0.8, 0.9], [0.6, np.nan]]]),
        ...     greater_is_better=(True,), metrics=("test_acc",), replication=("init",), test_ratio=(np.nan,),
        ...     blocks=("cora",), splits=(0,),
        ... )
        >>> table.by_split("cora", np.array([0.8, 0.9])).tolist()
        [0.8, 0.9]
        """
        return split_means(values, self.seeds, self.splits[self.tasks.index(task)])

    def ratio(self, t: int) -> float:
        """n_test / n_train of a task whose runs share training data.

        Parameters
        ----------
        t
            Number of the task.

        Returns
        -------
        float
            0 where runs share nothing, or the sizes are unknown.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.records import ScoreTable
        >>> table = ScoreTable(
        ...     tasks=("cora",), models=("GCN",), seeds=(0, 1), values=np.array([[[0.8, 0.9]]]),
        ...     greater_is_better=(True,), metrics=("test_acc",), replication=("fold",), test_ratio=(0.25,),
        ...     blocks=("cora",),
        ... )
        >>> table.ratio(0)
        0.25
        """
        shared = self.replication[t] in SHARED_DATA and math.isfinite(self.test_ratio[t])
        return self.test_ratio[t] if shared else 0.0

    def present(self, task: str) -> tuple[str, ...]:
        """Models with at least one value on a task.

        Parameters
        ----------
        task
            Which task.

        Returns
        -------
        tuple of str
            In the order of ``models``.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.records import ScoreTable
        >>> table = ScoreTable(
        ...     tasks=("cora",), models=("GCN", "MLP"), seeds=(0, 1), values=np.array([[[0.8, 0.9], [0.6, np.nan]]]),
        ...     greater_is_better=(True,), metrics=("test_acc",), replication=("init",), test_ratio=(np.nan,),
        ...     blocks=("cora",), splits=(0,),
        ... )
        >>> table.present("cora")
        ('GCN', 'MLP')
        """
        row = np.atleast_1d(np.isfinite(self.values[self.tasks.index(task)]).any(axis=1))
        return tuple(model for model, there in zip(self.models, row, strict=True) if there)

    def means(self) -> npt.NDArray[np.float64]:
        """Seed means.

        Returns
        -------
        ndarray
            ``[task, model]``, NaN where no seed finished.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.records import ScoreTable
        >>> table = ScoreTable(
        ...     tasks=("cora",), models=("GCN", "MLP"), seeds=(0, 1), values=np.array([[[0.8, 0.9], [0.6, np.nan]]]),
        ...     greater_is_better=(True,), metrics=("test_acc",), replication=("init",), test_ratio=(np.nan,),
        ...     blocks=("cora",), splits=(0,),
        ... )
        >>> table.means().round(2).tolist()
        [[0.85, 0.6]]
        """
        finite = np.isfinite(self.values)
        count = finite.sum(axis=2)
        total = np.where(finite, self.values, 0.0).sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(count > 0, total / count, np.nan)

    def common(self, task: str) -> tuple[tuple[str, ...], npt.NDArray[np.bool_]]:
        """Models that can be compared on a task, and the seeds that all of them finished.

        Means over each model's own seeds let a model win by crashing on the hard ones. A model that hardly finished
        would take everybody's seeds away, so it counts as missing instead: as long as fewer than half of the seeds
        that any model finished (or fewer than 2 of at least 2) are shared, the model with the fewest is left out.

        Parameters
        ----------
        task
            Which task.

        Returns
        -------
        tuple
            Names in the order of ``models``, and one flag per seed.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.records import ScoreTable
        >>> table = ScoreTable(
        ...     tasks=("cora",), models=("GCN", "MLP"), seeds=(0, 1), values=np.array([[[0.8, 0.9], [0.6, np.nan]]]),
        ...     greater_is_better=(True,), metrics=("test_acc",), replication=("init",), test_ratio=(np.nan,),
        ...     blocks=("cora",), splits=(0,),
        ... )
        >>> models, seeds = table.common("cora")
        >>> models, seeds.tolist()
        (('GCN',), [True, True])
        """
        kept, shared = self._comparable(self.tasks.index(task))
        return tuple(self.models[m] for m in kept), shared

    def _comparable(self, t: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """`common` with models by number; what a model costs the others is counted per seed, for all models at once."""
        done = np.isfinite(self.values[t])
        kept = np.flatnonzero(done.any(axis=1))
        planned = int(done.any(axis=0).sum())
        least = max(planned / 2, min(2, planned))
        while kept.size > 1:
            lacks = ~done[kept]
            without = lacks.sum(axis=0)  # models that lack a seed
            if (without == 0).sum() >= least:
                break
            rest = (without == lacks).sum(axis=1)  # seeds that would be shared if this model were left out
            kept = np.delete(kept, np.lexsort((-kept, -rest, done[kept].sum(axis=1)))[0])
        return kept, done[kept].all(axis=0) & bool(kept.size)

    def common_means(self) -> npt.NDArray[np.float64]:
        """Means over the seeds that the models of a task share; see `common`.

        Seeds that share a fixed split are averaged first.

        Returns
        -------
        ndarray
            ``[task, model]``, NaN where a model is not comparable.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.records import ScoreTable
        >>> table = ScoreTable(
        ...     tasks=("cora",), models=("GCN", "MLP"), seeds=(0, 1, 2),
        ...     values=np.array([[[0.8, 0.9, 0.1], [0.7, 0.8, np.nan]]]), greater_is_better=(True,),
        ...     metrics=("test_acc",), replication=("init",), test_ratio=(np.nan,), blocks=("cora",), splits=(0,),
        ... )
        >>> table.common_means().round(2).tolist()
        [[0.85, 0.75]]
        """
        means = np.full(self.values.shape[:2], np.nan)
        for t in range(len(self.tasks)):
            kept, shared = self._comparable(t)
            rows = split_means(np.where(shared, self.values[t, kept], np.nan), self.seeds, self.splits[t])
            if kept.size:
                means[t, kept] = np.nanmean(rows, axis=1)
        return means


def split_means(values: npt.NDArray[np.float64], seeds: Sequence[int], splits: int) -> npt.NDArray[np.float64]:
    """Return the mean over the seeds of every split, where ``seed % splits`` says which split a seed took.

    Runs on one fold differ by their initial weights only and are no further folds: a test that counts them as such
    is anti-conservative. Values come back as they are when no two seeds share a split, or when ``splits`` is 0.
    Seeds are the last axis.
    """
    number = _split_numbers(tuple(seeds), splits)
    if number is None:
        return values
    if values.ndim > 1:
        return np.array([split_means(row, seeds, splits) for row in values]).reshape(*values.shape[:-1], splits)
    means = np.full(splits, np.nan)
    for split in np.unique(number):
        there = values[(number == split) & np.isfinite(values)]
        means[split] = there.mean() if there.size else np.nan
    return means


@lru_cache(maxsize=64)
def _split_numbers(seeds: tuple[int, ...], splits: int) -> npt.NDArray[np.int64] | None:
    """Which split every seed took; None where each took one of its own."""
    number = np.asarray(seeds, dtype=np.int64) % splits if splits else np.arange(len(seeds))
    return None if np.unique(number).size == number.size else number
