"""What a check sees and what it may say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Literal

import numpy as np

from graphnetz._core.registry import Registry
from graphnetz.metrics import METRICS
from graphnetz.models.predictors import Majority, design
from graphnetz.records import Task
from graphnetz.tasktypes import TASK_TYPES, Split
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs

Level = Literal["leak", "warning"]
Found = Iterator[tuple[Level, str, float]]
PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Finding:
    """One thing to know about a task before believing a number measured on it.

    Attributes
    ----------
    task, check
        Names of the task and of the check that found it.
    level
        ``"leak"``: answers can be read off; ``"warning"``: numbers mislead without this.
    message
        What was found, as a sentence.
    value
        What was measured, such as the share of test examples concerned.

    Examples
    --------
    >>> from graphnetz.audit import Finding
    >>> Finding("cora", "duplicates", "leak", "3 % of test nodes have a twin in training.", 0.03).level
    'leak'
    """

    task: str
    check: str
    level: Level
    message: str
    value: float

    def __str__(self) -> str:
        return f"[{self.level}] {self.task}: {self.message}"


@dataclass
class Inspected:
    """A task and one of its splits, with what several checks need computed once.

    Every check receives one of these.

    Parameters
    ----------
    task
        The task under inspection.
    split
        One of its splits, from `get_split`.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.audit import Inspected
    >>> task = task_from_networkx("karate", nx.karate_club_graph(), label="club")
    >>> seen = Inspected(task, get_split(task))
    >>> seen.is_class, seen.has_features, seen.rows["test"].shape
    (True, False, (8, 3))
    """

    task: Task
    split: Split

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """Features of the examples of every part, as feature-only baselines see them."""
        return design(self.split)

    @cached_property
    def targets(self) -> dict[str, np.ndarray]:
        """True values per part; one column is one value per example."""
        return {
            part: value[:, 0] if value.ndim == 2 and value.shape[1] == 1 and self.split.kind != "multi" else value
            for part, value in self.split.targets.items()
        }

    @property
    def is_class(self) -> bool:
        """Whether examples have one class each (pairs of link prediction: edge or not)."""
        target = self.targets["train"]
        return target.ndim == 1 and (np.issubdtype(target.dtype, np.integer) or isinstance(self.split.train, Pairs))

    @property
    def is_multi(self) -> bool:
        """Whether examples have several labels each."""
        return self.split.kind == "multi"

    @property
    def is_pairs(self) -> bool:
        """Whether examples are pairs of nodes."""
        return isinstance(self.split.train, Pairs)

    @cached_property
    def has_features(self) -> bool:
        """Whether nodes came with features; degrees and one-hot names are made where there are none."""
        x = (self.split.data.node["x"] if isinstance(self.split.data, PackedGraphs) else self.split.data.x).numpy()
        made_of_degrees = x.shape[1] == 3 and np.all(x[:, 2] == 1) and np.allclose(x[:, 1], x[:, 0] ** 2, atol=1e-5)
        names = x.shape[0] == x.shape[1] and np.array_equal(x, np.eye(len(x), dtype=x.dtype))
        return not (made_of_degrees or names or not np.ptp(x, axis=0).any())

    @property
    def packed(self) -> PackedGraphs | None:
        """The graphs, where there are several."""
        return self.split.data if isinstance(self.split.data, PackedGraphs) else None

    def measure(self, score: np.ndarray, part: str = "test") -> float:
        """The headline metric of outputs for one part.

        Parameters
        ----------
        score
            Outputs in the layout of the task type, such as ``[example, class]``.
        part
            ``"train"``, ``"val"`` or ``"test"``.

        Returns
        -------
        float
            Value of the metric; NaN where it is undefined.

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from graphnetz import get_split, task_from_networkx
        >>> from graphnetz.audit import Inspected
        >>> task = task_from_networkx("karate", nx.karate_club_graph(), label="club")
        >>> seen = Inspected(task, get_split(task))
        >>> seen.measure(np.eye(2)[seen.targets["test"]])  # the right answers
        1.0
        """
        kind = TASK_TYPES[self.task.task_type]
        return kind.measure(self.split, part, score, (self.split.metric,))[f"{part}_{self.split.metric}"]

    @cached_property
    def nothing(self) -> float:
        """The headline metric of an answer that looks at nothing."""
        if self.is_pairs:
            return self.measure(np.zeros(len(self.targets["test"])))
        baseline = Majority()
        baseline.fit(self.split, np.random.default_rng(0))
        return float(np.mean([self.measure(one["test"]) for one in baseline.guesses(self.split)]))

    def skill(self, score: np.ndarray) -> float:
        """Share of what there is to gain over an answer that looks at nothing.

        Parameters
        ----------
        score
            Outputs for the test part, in the layout of the task type.

        Returns
        -------
        float
            1 for a perfect answer, 0 for one no better than the majority; NaN where that is undefined.

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from graphnetz import get_split, task_from_networkx
        >>> from graphnetz.audit import Inspected
        >>> task = task_from_networkx("karate", nx.karate_club_graph(), label="club")
        >>> seen = Inspected(task, get_split(task))
        >>> seen.skill(np.eye(2)[seen.targets["test"]])  # the right answers
        1.0
        """
        metric = METRICS[self.split.metric]
        best = metric.bounds[1] if metric.greater_is_better else metric.bounds[0]
        room = best - self.nothing
        if not np.isfinite(room) or abs(room) < 1e-12:
            return float("nan")
        return float((self.measure(score) - self.nothing) / room)


Check = Callable[[Inspected], Iterator[Finding]]

CHECKS: Registry[Check] = Registry(
    "audit check",
    entry_points="graphnetz.audit",
    accepts=callable,
    homes=("graphnetz.audit.baselines", "graphnetz.audit.labels", "graphnetz.audit.overlap"),
)
"""Every check by name; adding one is one decorated function."""


def check(name: str) -> Callable[[Callable[[Inspected], Found]], Check]:
    """Register a check: a function that yields (level, sentence, measured value).

    Parameters
    ----------
    name
        Name in `CHECKS`, by which `audit` calls it.

    Returns
    -------
    callable
        Decorator that files the function and returns the check made of it.

    Examples
    --------
    >>> from graphnetz.audit import CHECKS, check
    >>> @check("few test examples")
    ... def few(seen):
    ...     if seen.split.n_test < 30:
    ...         yield "warning", f"There are only {seen.split.n_test} test examples.", seen.split.n_test
    >>> removed = CHECKS.remove("few test examples")  # leave the registry as it was
    """

    def decorate(function: Callable[[Inspected], Found]) -> Check:
        @wraps(function)
        def run(seen: Inspected) -> Iterator[Finding]:
            for level, message, value in function(seen):
                yield Finding(seen.task.name, name, level, message, float(value))

        CHECKS.add(name, run)
        return run

    return decorate
