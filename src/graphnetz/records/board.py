"""A leaderboard: one row per model, over all tasks or those of one type or category."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class BoardRow:
    """One model over the tasks of a board.

    Attributes
    ----------
    model
        Its name.
    low, high
        Best and worst place that it may have on other tasks of this kind; tasks that it lacks count as worst.
    rank, rank_own
        Mean rank with the tasks it lacks as worst, and over the tasks it has.
    score, score_own
        Mean normalised score (0: worst, 1: best mean of a task) with lacking tasks as 0, and over the tasks it has.
    wins
        Share of tasks on which its mean is better than that of another model, mean over models that share tasks.
    improvement
        Probability that a run of it beats a run of another model on a task, mean over models that share tasks.
    tasks, runs, failures
        Tasks with a score, runs that were made, and those of them that gave none.
    seconds, memory
        Mean cost of a run in units of the reference cell of the machine that ran it; NaN where that was not measured.
    raw_seconds, raw_memory
        The same in seconds and bytes.

    Examples
    --------
    >>> BoardRow("GCN", 1, 3, 1.5, 1.5, 0.9, 0.9, 0.8, 0.7, 12, 60, 0).place
    '1 to 3'
    """

    model: str
    low: int
    high: int
    rank: float
    rank_own: float
    score: float
    score_own: float
    wins: float
    improvement: float
    tasks: int
    runs: int
    failures: int
    seconds: float = math.nan
    memory: float = math.nan
    raw_seconds: float = math.nan
    raw_memory: float = math.nan

    @property
    def place(self) -> str:
        """``2`` or ``1 to 3``."""
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


@dataclass(frozen=True)
class Board:
    """A leaderboard over some tasks, best mean rank first.

    Attributes
    ----------
    kind, name
        What the tasks have in common: ``"type"`` or ``"category"`` and its name; empty for all tasks.
    rows
        One per model with a mean that can be compared there.
    tasks
        How many tasks.
    reason
        Why no order can be shown; empty otherwise.
    left_out
        Which models have no row and why; empty where none.

    Examples
    --------
    >>> Board("type", "node_cls", (), 3).title
    'node_cls: 3 tasks'
    """

    kind: str
    name: str
    rows: tuple[BoardRow, ...]
    tasks: int
    reason: str = ""
    left_out: str = ""

    @property
    def title(self) -> str:
        """What the board is about."""
        return f"{self.name or 'all'}: {self.tasks} task{'' if self.tasks == 1 else 's'}"
