"""When a comparison has had enough seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from graphnetz._core.errors import UsageError

FIRST_LOOK = 5


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
        Largest difference that does not matter; models closer than this are practically equivalent.
    max_seeds, first_look
        Budget per (task, model), and the seeds before the first look.
    alpha, spending, futility
        As in `graphnetz.stats.decide`; one Holm family per task.

    Examples
    --------
    >>> SeedRule(0.01, max_seeds=8).looks
    (5, 6, 7, 8)
    """

    margin: float
    max_seeds: int = 30
    alpha: float = 0.05
    spending: str = "pocock"
    futility: float = 0.1
    first_look: int = FIRST_LOOK

    def __post_init__(self) -> None:
        if not self.margin > 0 or not math.isfinite(self.margin):
            raise UsageError(
                f'seeds="auto" needs precision, the largest difference that does not matter, such as 0.01; '
                f"got {self.margin!r}."
            )
        look_schedule(self.max_seeds, first=self.first_look)

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """Numbers of seeds at which results are read."""
        return look_schedule(self.max_seeds, first=self.first_look)

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> SeedRule | None:
        """The rule of a report's configuration, or None for fixed seeds."""
        raw = config.get("auto")
        return cls(**raw) if isinstance(raw, Mapping) else None
