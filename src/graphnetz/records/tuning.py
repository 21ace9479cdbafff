"""What a search inside the cells changed: records that the page, LaTeX and sentences read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuned:
    """One model on one task, before and after tuning.

    Parameters
    ----------
    task, model
        Which.
    cells, trials
        Cells, and candidates tried in each.
    default, tuned
        Mean test metric with default settings and with the chosen ones, over the same cells; the default is NaN where
        it was not kept.
    chosen
        For every setting how often each value was chosen: ``(setting, ((value, cells), ...))``.
    expected
        Expected best validation of 1, 2, ... trials, mean over cells (Dodge et al., 2019).

    Examples
    --------
    >>> Tuned("cora", "GCN", 2, 3, 0.80, 0.82, (("lr", (("0.01", 2),)),), (0.78, 0.80, 0.81)).gain
    0.02
    """

    task: str
    model: str
    cells: int
    trials: int
    default: float
    tuned: float
    chosen: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    expected: tuple[float, ...]

    @property
    def gain(self) -> float:
        """Difference of the two means, tuned minus default."""
        return round(self.tuned - self.default, 12)


@dataclass(frozen=True)
class Survival:
    """Whether a difference between two models is shown with default settings, after tuning, or both.

    ``verdict`` is ``both``, ``tuned only``, ``default only`` or ``reversed``; ``better`` is the one that is better
    after tuning, where that is shown, and otherwise with default settings.
    """

    task: str
    better: str
    worse: str
    verdict: str


@dataclass(frozen=True)
class Tuning:
    """Everything about the search of a run; made by `graphnetz.analysis.tuning.tuning`.

    Parameters
    ----------
    rows
        One per task and model that was tuned.
    survival
        One per pair that is shown to differ in one of the two.
    """

    rows: tuple[Tuned, ...]
    survival: tuple[Survival, ...] = ()

    def of(self, task: str) -> tuple[Survival, ...]:
        """Return what became of the differences on one task."""
        return tuple(item for item in self.survival if item.task == task)
