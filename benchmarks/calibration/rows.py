"""What a row of the calibration holds: a claim, a situation, what is promised there and how it is measured."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from calibration.simulate import monte_carlo_error


@dataclass(frozen=True)
class Bound:
    """What is promised: a figure between ``low`` and ``high``, None where one side is open."""

    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        ends = [f"{number(end)}" for end in (self.low, self.high) if end is not None]
        return " to ".join(ends) if len(ends) == 2 else f"at {'most' if self.low is None else 'least'} {ends[0]}"


def number(value: float) -> str:
    """A share or a ratio with up to four digits."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


AT_MOST_5 = Bound(high=0.05)
NEVER, ALWAYS = Bound(high=0.0), Bound(low=1.0)


@dataclass(frozen=True)
class Measured:
    """A figure with its Monte-Carlo error; NaN with a ``note`` where it could not be measured."""

    value: float
    replicates: int
    error: float = math.nan
    note: str = ""

    @property
    def spread(self) -> float:
        """Monte-Carlo error: the given one, else that of a share."""
        return self.error if math.isfinite(self.error) else monte_carlo_error(self.value, max(1, self.replicates))

    def held(self, bound: Bound, errors: float = 3.0) -> bool:
        """Whether the promise holds up to so many Monte-Carlo errors, which for a share are those at the bound."""
        if math.isnan(self.value):
            return False
        return all(
            end is None or sign * (self.value - end) >= -errors * self._slack(end) - 1e-12
            for end, sign in ((bound.low, 1), (bound.high, -1))
        )

    def _slack(self, end: float) -> float:
        if math.isfinite(self.error):
            return self.error
        # A share promised never, or always, is missed by the first exception.
        return monte_carlo_error(end, self.replicates) if 0 < end < 1 else 0.0


Measure = Callable[[int, np.random.Generator], Measured]


@dataclass(frozen=True)
class Row:
    """One claim in one situation; ``replicates`` is how often the long form looks."""

    claim: str
    situation: str
    promised: Bound
    measure: Measure
    replicates: int = 2000

    def run(self, share: float = 1.0) -> Measured:
        """Measure with a share of the replicates; the same row always draws the same numbers."""
        rng = np.random.default_rng([17, zlib.crc32(f"{self.claim}: {self.situation}".encode())])
        return self.measure(max(40, round(self.replicates * share)), rng)


def share(hits: Iterable[bool]) -> Measured:
    """The share of true entries."""
    found = np.array(list(hits), dtype=np.float64)
    return Measured(float(found.mean()) if found.size else math.nan, found.size, note="" if found.size else NOT_SAID)


NOT_SAID = "the product makes no such statement"
