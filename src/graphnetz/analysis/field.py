"""What findings over many tasks look up in an analysis, and how they write a comparison as a row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from graphnetz._core.grouping import grouped
from graphnetz._core.text import counted
from graphnetz.analysis.headline import FEW_SEEDS
from graphnetz.analysis.verdicts import kind_of
from graphnetz.records.analysis import Comparison, Place

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

REACHED = {"source": "new examples", "dataset": "other splits", "split": "this split", "unknown": "not stated"}


def share(part: int, whole: int) -> str:
    """Return a share for a sentence; whole per cent, and no more certainty than it has.

    Examples
    --------
    >>> share(1, 3), share(999, 1000), share(1, 1000)
    ('33 %', 'over 99 %', 'below 1 %')
    """
    percent = 100 * part / whole
    if 0 < percent < 1 or 99 < percent < 100:
        return "below 1 %" if percent < 1 else "over 99 %"
    return f"{percent:.0f} %"


@dataclass(frozen=True, eq=False)
class Field:
    """An analysis, and what several findings look up in it.

    ``generated`` names tasks whose data were generated; ``without`` leaves their comparisons out.
    """

    analysis: Analysis
    generated: frozenset[str] = frozenset()
    without: bool = False

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Comparisons of enough seeds: of fewer hardly anything can be shown, which says nothing about models."""
        out = self.generated if self.without else frozenset()
        return [pair for pair in self.analysis.comparisons if pair.n >= FEW_SEEDS and pair.task not in out]

    @cached_property
    def untuned(self) -> Field | None:
        """The same cells with default settings; None where nothing was tuned."""
        before = self.analysis.untuned
        return None if before is None else Field(before, self.generated, self.without)

    @cached_property
    def grouped(self) -> dict[str, list[Comparison]]:
        """Comparisons of every task."""
        return grouped(self.comparisons, lambda pair: pair.task)

    @cached_property
    def pairs(self) -> dict[tuple[str, str, str], Comparison]:
        """Comparisons by task and two models, in either order."""
        both = ((pair, (pair.a, pair.b)) for pair in self.comparisons)
        return {(p.task, *two): p for p, (a, b) in both for two in ((a, b), (b, a))}

    @cached_property
    def places(self) -> dict[str, list[Place]]:
        """Places of the models of every task, best mean first; of those that are compared with another one at all."""
        there = {(p.task, model) for p in self.comparisons for model in (p.a, p.b)}
        return grouped((p for p in self.analysis.places if (p.task, p.model) in there), lambda place: place.task)

    @cached_property
    def ordered(self) -> dict[str, list[str]]:
        """Models of every task, best mean first."""
        return {task: [place.model for place in places] for task, places in self.places.items()}

    @cached_property
    def first(self) -> dict[str, list[str]]:
        """Models of every task to which no other is shown to be superior."""
        return {task: [place.model for place in places if place.first == 1] for task, places in self.places.items()}

    @cached_property
    def networks(self) -> tuple[str, ...]:
        """Models that are no baseline."""
        rules = set(self.analysis.facts.baselines)
        return tuple(model for model in self.analysis.scores.models if model not in rules)

    def kind(self, task: str) -> str:
        """Type of a task."""
        return self.analysis.facts.tasks[task].task_type

    def tasks(self, found: Collection[str]) -> str:
        """How many tasks these are, and of how many of them the data were generated."""
        made = len(self.generated.intersection(found))
        return counted(len(found), "task") + (f" ({made} of generated data)" if made else "")

    def versus(self, left: Sequence[str], right: Sequence[str], tasks: Iterable[str]) -> Iterator[Comparison]:
        """Compare the best mean of ``left`` with that of ``right``, the models in that order, task by task.

        Which is best is picked from the scores that are compared; Holm's family of the task holds every pair that may
        be picked.
        """
        for task in tasks:
            ours = [model for model in self.ordered.get(task, ()) if model in left]
            theirs = [model for model in self.ordered.get(task, ()) if model in right]
            if ours and theirs and (pair := self.pairs.get((task, ours[0], theirs[0]))) is not None:
                yield pair


def _sides(pair: Comparison, first: str) -> tuple[float, float, float]:
    """How much better ``first`` is, whatever the direction of the metric, with the interval of all pairs."""
    sign = (1 if pair.a == first else -1) * (1 if pair.greater_is_better else -1)
    low, high = sorted((sign * pair.sim_low, sign * pair.sim_high))
    return sign * pair.mean_diff, low, high


def row_of(pair: Comparison, first: str, answers: tuple[str, str, str]) -> tuple[object, ...]:
    """One comparison as a row; ``answers`` are for: first better, second better, not shown."""
    gain, low, high = _sides(pair, first)
    answer = answers[2] if not pair.different else answers[0] if pair.better == first else answers[1]
    return pair.task, first, pair.other(first), gain, low, high, pair.p_words, answer, REACHED.get(pair.reach, "")


ROW = ("Task", "First", "Second", "First is better by", "Low", "High", "Adjusted p", "Shown", "Reach")
ROW_WORDS = (
    "Differences are in units of the task's metric, positive where the first is better; intervals hold together for "
    "all comparisons of the task."
)
ANSWER = ROW.index("Shown")


def kinds_of(pairs: Iterable[Comparison]) -> tuple[str, ...]:
    """Kinds of claims that comparisons make."""
    return tuple(dict.fromkeys(kind_of(pair) for pair in pairs if pair.different))


def answered(rows: Sequence[tuple[object, ...]], answer: str) -> list[str]:
    """Tasks of the rows of `row_of` with that answer."""
    return [str(row[0]) for row in rows if row[ANSWER] == answer]
