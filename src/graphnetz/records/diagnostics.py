"""What is said about runs before they are tested: collapse, failures, skew, outliers, ties, too few test items."""

from __future__ import annotations

import math
from dataclasses import dataclass

from graphnetz._core.text import number, p_value

KINDS = ("collapse", "failures", "skew", "outlier", "ties", "few-items")
"""Kinds of diagnostics, the gravest first."""


@dataclass(frozen=True)
class Rate:
    """How often something happened to one model on one task.

    Attributes
    ----------
    task, model
        Of which cells.
    seeds
        On which it happened.
    n
        Runs that were made.
    bound
        Upper 95 % bound of the rate.

    Examples
    --------
    >>> str(Rate("cora", "GIN", (3, 7), 10, 0.507))
    '2 of 10 runs, up to 51 %'
    """

    task: str
    model: str
    seeds: tuple[int, ...]
    n: int
    bound: float

    def __str__(self) -> str:
        return f"{len(self.seeds)} of {self.n} run{'' if self.n == 1 else 's'}, up to {100 * self.bound:.0f} %"


@dataclass(frozen=True)
class Diagnostic:
    """One remark about the runs of a model on a task.

    Attributes
    ----------
    task, model
        Of which cells; ``model`` is empty where it concerns all of them.
    kind
        One of `KINDS`.
    seeds
        Which runs it is about.
    text
        One sentence without its full stop.
    blocks
        Whether no comparison with this model is claimed with these seeds.
    rate
        How often, with its bound; None where that is no question.

    Examples
    --------
    >>> Diagnostic("cora", "GIN", "collapse", (3, 7), "GIN collapses on seeds 3 and 7").blocks
    False
    """

    task: str
    model: str
    kind: str
    seeds: tuple[int, ...]
    text: str
    blocks: bool = False
    rate: Rate | None = None


@dataclass(frozen=True, slots=True)
class PairDiagnostic:
    """What the differences of two models look like, and what stands beside their mean.

    Attributes
    ----------
    task, a, b, n
        The comparison and its shared seeds.
    mean, median, iqm
        Of a - b; the interquartile mean leaves out the lowest and the highest quarter.
    robust_p
        p of the trimmed t-test of the interquartile mean, NaN below 6 seeds.
    skew
        1 for a long upper tail of a - b, -1 for a long lower tail, 0 for neither.
    ties
        Share of seeds on which both score the same.
    same_sign
        On how many seeds the difference has the sign of its mean.
    outliers
        Positions of outlying differences.
    testable
        False where a claim about the means would be false too often with these seeds.
    reason
        Why it is not testable; empty otherwise.

    Examples
    --------
    >>> PairDiagnostic("cora", "GCN", "MLP", 10, 0.02, 0.01, 0.01, 0.2, 0, 0.0).flagged
    False
    """

    task: str
    a: str
    b: str
    n: int
    mean: float
    median: float
    iqm: float
    robust_p: float = math.nan
    skew: int = 0
    ties: float = 0.0
    outliers: tuple[int, ...] = ()
    same_sign: int = 0
    testable: bool = True
    reason: str = ""

    @property
    def flagged(self) -> bool:
        """Whether median and robust test should be shown beside the mean."""
        return bool(self.skew or self.outliers or not self.testable)

    @property
    def beside(self) -> str:
        """Median, interquartile mean and robust p in words that stand beside the mean."""
        robust = f", trimmed t p = {p_value(self.robust_p)}" if math.isfinite(self.robust_p) else ""
        return f"median {number(self.median, signed=True)}, IQM {number(self.iqm, signed=True)}{robust}"
