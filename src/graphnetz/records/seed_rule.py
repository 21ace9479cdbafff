"""When a comparison has had enough seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from graphnetz._core.errors import UsageError, unknown_name

FIRST_LOOK = 5
ANYTIME_FIRST = 3  # fewer cannot decide anything, and a round of one seed keeps machines waiting
MODES = {"auto": "group-sequential t", "anytime": "anytime-valid t"}
"""Values of ``seeds`` that add seeds until comparisons are decided, and the test that decides."""


def look_schedule(max_seeds: int, *, first: int = FIRST_LOOK) -> tuple[int, ...]:
    """Numbers of seeds at which to look: from ``first`` on, each a fifth more, the last one ``max_seeds``.

    Early on one seed is a large share of the evidence, later it is not worth a look.

    Parameters
    ----------
    max_seeds
        The budget: most seeds that will ever be run.
    first
        Seeds at the first look, at least 2.

    Returns
    -------
    tuple of int
        Increasing numbers of seeds.

    Examples
    --------
    >>> from graphnetz.stats import look_schedule
    >>> look_schedule(30)
    (5, 6, 7, 8, 9, 10, 12, 14, 16, 19, 22, 26, 30)
    """
    if first < 2 or max_seeds < first:
        raise UsageError(f"max_seeds={max_seeds} is below the first look at {first} seeds; pass more.")
    looks = [first]
    while (following := looks[-1] + max(1, looks[-1] // 5)) < max_seeds:
        looks.append(following)
    return (*looks, max_seeds) if looks[-1] < max_seeds else tuple(looks)


@dataclass(frozen=True)
class SeedRule:
    """When a comparison has had enough seeds.

    Parameters
    ----------
    margin
        Largest difference that does not matter; models closer than this are practically equivalent. None, in mode
        ``"anytime"`` only, asks for differences alone.
    max_seeds, first_look
        Budget per (task, model), and the seeds before the first look.
    alpha, spending, futility
        As in `graphnetz.stats.decide`; one Holm family per task. Mode ``"anytime"`` spends nothing.
    mode
        ``"auto"``: planned looks, group-sequential t-tests. ``"anytime"``: a look after every seed, by an e-process
        that holds however one stops.

    Examples
    --------
    >>> SeedRule(0.01, max_seeds=8).looks
    (5, 6, 7, 8)
    >>> SeedRule(0.01, max_seeds=30).looks_of(5)
    (5, 10, 20, 30)
    """

    margin: float | None
    max_seeds: int = 30
    alpha: float = 0.05
    spending: str = "pocock"
    futility: float = 0.1
    first_look: int = FIRST_LOOK
    mode: str = "auto"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise unknown_name("way to add seeds", self.mode, MODES)
        optional = self.margin is None and self.mode == "anytime"
        if not optional and (self.margin is None or not self.margin > 0 or not math.isfinite(self.margin)):
            raise UsageError(
                f'seeds="auto" needs precision, the largest difference that does not matter, such as 0.01; '
                f"got {self.margin!r}."
            )
        look_schedule(self.max_seeds, first=self.first_look)

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """Numbers of seeds at which results are read where every seed has a split of its own."""
        if self.mode == "anytime":
            return tuple(range(self.first_look, self.max_seeds + 1))
        return look_schedule(self.max_seeds, first=self.first_look)

    def looks_of(self, splits: int) -> tuple[int, ...]:
        """Numbers of seeds at which a task is read whose seeds take ``splits`` fixed splits in turn.

        Completed rounds, each time about twice as many. Within the first round every seed brings a new split, so one
        may look as ever; that pays with more than ten splits only, because a level lower than alpha costs most
        where a test has few degrees of freedom.
        """
        if not splits or self.max_seeds < splits:
            return self.looks
        rounds, most = [1], self.max_seeds // splits
        while rounds[-1] < most:
            rounds.append(min(2 * rounds[-1], most))
        first = look_schedule(splits) if splits > 2 * FIRST_LOOK else (splits,)
        looks = (*first, *(splits * count for count in rounds[1:]))
        return tuple(n for n in looks if n >= min(self.first_look, looks[-1]))

    @property
    def levels(self) -> str:
        """What `graphnetz.stats.decide` calls ``spending``."""
        return "anytime" if self.mode == "anytime" else self.spending

    @property
    def test(self) -> str:
        """The deciding test in words that end in "test"."""
        return MODES[self.mode]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> SeedRule | None:
        """The rule of a report's configuration, or None for fixed seeds."""
        raw = config.get("auto")
        return cls(**raw) if isinstance(raw, Mapping) else None
