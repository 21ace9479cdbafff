"""Decide sooner: comparisons that stop as soon as the evidence allows, at a guaranteed error rate.

The rules, in one place:

- Each comparison is read at planned numbers of seeds. Its t p-value is held against the nominal
  level of that look (`boundaries.nominal_levels`), never against alpha itself.
- Many comparisons share alpha by the group-sequential form of Holm's procedure, the simplest graph
  of Maurer and Bretz (2013): each starts with alpha / m; a rejection hands its share on, and the
  levels of all looks are recomputed for the larger share. Ordinary Holm at each look is wrong.
- A comparison may be given up without a claim when the chance of a decision within the budget is
  small (`futility.predictive_power`). That costs decisions, never error: levels do not count on it.
- "Different" and "equivalent" are two families with alpha each. Equivalence is the larger of two
  one-sided t p-values against one-sided levels.
- Where seeds take fixed splits in turn, the units are splits: seeds on one split are averaged first,
  and after the first round over the splits only completed rounds are read (`boundaries.look_levels`).
- Differences without spread: identical scores are equivalent within any margin, p = 1. A constant
  difference has no t; it counts when its sign-flip p, 2^(1 - n), reaches the level of the look.
- The decision is a pure function of the data and the schedule: replaying it on stored scores gives
  the same answer, whatever was run after a comparison had closed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import RELATIVE_TOLERANCE, Bools, Floats, check_share, variance_factor
from graphnetz.stats.boundaries import check_looks, look_levels, unit_means
from graphnetz.stats.futility import check_futility, predictive_power, sign_flip_p
from graphnetz.stats.intervals import student_quantile
from graphnetz.stats.paired import standard_error

INITIALISATION = 0.5
"""Share of the spread between fixed splits that giving up takes for one of initial weights; no claim rests on it."""

Decision = Literal["different", "equivalent", "open", "undecided"]


@dataclass(frozen=True)
class SequentialComparison:
    """State of one comparison.

    Attributes
    ----------
    decision
        ``"different"``, ``"equivalent"`` (also when a difference was found but lies within the
        margin), ``"open"`` (needs the next look) or ``"undecided"`` (budget spent, or given up).
    look, n
        Look at which it was decided, or the last one read (1-based; 0 before the first), and the
        units it rests on: seeds that both finished, or fixed splits once these are seen again.
    mean_diff, low, high
        Mean difference and its repeated confidence interval: all intervals of the family, at all
        looks, hold the truth together with probability 1 - alpha. Infinite where a look spends
        nothing.
    seeds
        Seeds that each of the two models had run at that look, whether or not they finished.
    p, level, p_equivalence, level_equivalence
        What was compared at that look; NaN where undefined or not asked for.
    different, equivalent
        The two claims, each with its own family.
    reason
        Why nothing was decided; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import decide
    >>> state = decide([[0.01, 0.02, 0.015, 0.012, 0.018]], looks=(5, 10)).comparisons[0]
    >>> state.decision, state.look, state.n
    ('different', 1, 5)
    """

    decision: Decision
    look: int
    n: int
    mean_diff: float
    low: float
    high: float
    p: float
    level: float
    p_equivalence: float
    level_equivalence: float
    different: bool
    equivalent: bool
    reason: str = ""
    seeds: int = 0


@dataclass(frozen=True)
class SequentialResult:
    """State of a benchmark after the seeds so far.

    Attributes
    ----------
    comparisons
        One state per comparison, in the order given.
    looks, alpha, spending
        The plan: numbers of seeds, level per family and spending function.
    next_look
        Seeds to run up to next; None when nothing is open.

    Examples
    --------
    >>> from graphnetz.stats import decide
    >>> result = decide([[0.01, -0.02, 0.0, 0.01, -0.01]], looks=(5, 10))
    >>> result.open, result.next_look
    ((0,), 10)
    """

    comparisons: tuple[SequentialComparison, ...]
    looks: tuple[int, ...]
    alpha: float
    spending: str
    next_look: int | None

    @property
    def open(self) -> tuple[int, ...]:
        """Indices of the comparisons that want more seeds."""
        return tuple(index for index, item in enumerate(self.comparisons) if item.decision == "open")


def decide(
    differences: Sequence[npt.ArrayLike],
    *,
    looks: Sequence[int],
    alpha: float = 0.05,
    margin: float | Sequence[float] | None = None,
    spending: str = "obrien_fleming",
    families: Sequence[Hashable] | None = None,
    test_ratio: float | Sequence[float] = 0.0,
    futility: float = 0.0,
    splits: int = 0,
) -> SequentialResult:
    """Read all planned looks that the data allow and say which comparisons are decided.

    Parameters
    ----------
    differences
        For every comparison the seed-wise differences so far, in seed order; NaN marks a seed that
        one of the two models failed.
    looks
        Numbers of seeds at which results are read; the last one is the budget.
    alpha
        Family-wise level over all looks.
    margin
        Largest difference that does not matter, one for all or one per comparison; None asks only
        for differences.
    spending
        How ``alpha`` is spread over the looks; see `nominal_levels`. ``"anytime"`` takes the levels of
        `anytime_levels`, which hold for any number of looks.
    families
        Label of each comparison's Holm family, such as its task; None makes one family of all.
    test_ratio
        n_test / n_train per comparison for runs that share training data, else 0.
    futility
        Give a comparison up, without a claim, when its chance of being decided within the budget is
        below this; 0 never gives up.
    splits
        Fixed splits (folds, mask columns) that the seeds take in turn; 0 when every seed has its own.

    Returns
    -------
    SequentialResult
        The state of every comparison and the next number of seeds to run.

    Notes
    -----
    Levels are exact for normal differences without failures, conservative for correlated runs, and
    measured for skewed, discrete and tied ones (see the statistics page).

    Examples
    --------
    >>> from graphnetz.stats import decide
    >>> near, far = [0.01, -0.02, 0.0, 0.01, -0.01], [0.11, 0.10, 0.12, 0.10, 0.11]
    >>> [item.decision for item in decide([near, far], looks=(5, 10)).comparisons]
    ['open', 'different']
    """
    check_share(alpha, "alpha")
    plan = check_looks(tuple(looks))
    if splits and any(n > splits and n % splits for n in plan):
        raise UsageError(f"looks={plan} end within a round over {splits} splits; pass multiples of {splits} after it.")
    rows = [np.asarray(d, dtype=np.float64) for d in differences]
    if any(row.ndim != 1 for row in rows):
        raise UsageError("Each comparison needs a one-dimensional array of seed-wise differences.")
    margins = _per_comparison(math.nan if margin is None else margin, len(rows), "margin")
    if (margins <= 0).any():
        raise UsageError(f"margin={margin} is not positive; pass the largest difference that does not matter, or None.")
    ratios = _per_comparison(test_ratio, len(rows), "test_ratio")
    check_futility(futility)
    labels: Sequence[Hashable] = [None] * len(rows) if families is None else families
    if len(labels) != len(rows):
        raise UsageError(f"families has {len(labels)} entries; pass one per comparison ({len(rows)}).")
    result: dict[int, SequentialComparison] = {}
    for label in dict.fromkeys(labels):
        members = [index for index, other in enumerate(labels) if other == label]
        state = FamilyState(1, len(members), plan, alpha, spending, splits=splits)
        states = _decide_family(state, [rows[i] for i in members], margins[members], ratios[members], futility)
        result.update(zip(members, states, strict=True))
    comparisons = tuple(result[index] for index in range(len(rows)))
    reached = [item.look for item in comparisons if item.decision == "open"]
    return SequentialResult(comparisons, plan, alpha, spending, plan[min(reached)] if reached else None)


def _decide_family(
    state: FamilyState, rows: list[Floats], margins: Floats, ratios: Floats, futility: float
) -> list[SequentialComparison]:
    m = len(rows)
    last: list[tuple[int, float, float]] = [(0, math.nan, math.nan)] * m
    for look, n in enumerate(state.plan):
        if not state.open.any() or any(row.size < n for row, wanted in zip(rows, state.open[0], strict=True) if wanted):
            break
        p, p_equivalence = np.full((1, m), np.nan), np.full((1, m), np.nan)
        mean, sd, count = (np.full((1, m), np.nan) for _ in range(3))
        for index in np.flatnonzero(state.open[0]):
            seen = unit_means(rows[index][:n], state.splits)
            p[0, index], p_equivalence[0, index] = _p_values(seen, margins[index], ratios[index])
            mean[0, index], sd[0, index], count[0, index] = _moments(seen)
            last[index] = (look + 1, float(p[0, index]), float(p_equivalence[0, index]))
        state.read(look, p, p_equivalence)
        state.give_up(look, mean, sd, count, margins, ratios, futility)
    return [_describe(state, index, rows[index], last[index], ratios[index]) for index in range(m)]


def _describe(
    state: FamilyState, index: int, row: Floats, last: tuple[int, float, float], ratio: float
) -> SequentialComparison:
    look, p, p_equivalence = last
    different, equivalent = bool(state.different[0, index]), bool(state.equivalent[0, index])
    futile = bool(state.futile[0, index])
    spent = futile or look == len(state.plan)
    decision: Decision = "equivalent" if equivalent else "different" if different else "undecided" if spent else "open"
    if look == 0:
        nan = math.nan
        return SequentialComparison(decision, 0, 0, nan, -math.inf, math.inf, nan, nan, nan, nan, False, False)
    seeds = state.plan[look - 1]
    seen = unit_means(row[:seeds], state.splits)
    mean, low, high = repeated_interval(seen, state.levels[look - 1, -1], test_ratio=ratio)
    asked = not math.isnan(p_equivalence)
    level = float(state.used_equivalence[0, index]) if asked else math.nan
    found = (p, float(state.used[0, index]), p_equivalence, level)
    why = _why(seen, futile=futile) if decision == "undecided" else ""
    n = int(np.isfinite(seen).sum())
    return SequentialComparison(decision, look, n, mean, low, high, *found, different, equivalent, why, seeds)


def _why(seen: Floats, *, futile: bool) -> str:
    finite = seen[np.isfinite(seen)]
    if finite.size < 2:
        return "fewer than two seeds have a value of both"
    if _moments(seen)[1] == 0:
        return "the difference is the same every time, and there are too few to call that a difference"
    return "given up: a decision within the budget was unlikely" if futile else "the budget is spent"


class FamilyState:
    """Holm families of equal size, read look by look, many at a time.

    Arrays are ``[replicate, comparison]``; a real benchmark is one replicate.
    """

    def __init__(
        self, replicates: int, m: int, plan: tuple[int, ...], alpha: float, spending: str, *, splits: int = 0
    ) -> None:
        self.plan, self.splits = plan, splits
        self.levels = level_table(plan, m, alpha, spending, 2, splits)
        self.levels_equivalence = level_table(plan, m, alpha, spending, 1, splits)
        self.different = np.zeros((replicates, m), dtype=np.bool_)
        self.equivalent = np.zeros((replicates, m), dtype=np.bool_)
        self.futile = np.zeros((replicates, m), dtype=np.bool_)
        self.used = np.full((replicates, m), np.nan)
        self.used_equivalence = np.full((replicates, m), np.nan)

    @property
    def open(self) -> Bools:
        """Comparisons that neither family has decided and nobody has given up."""
        undecided: Bools = ~(self.different | self.equivalent | self.futile)
        return undecided

    def read(self, look: int, p: Floats, p_equivalence: Floats) -> None:
        """Hold the p-values of one look against both families; decided comparisons are left alone."""
        open_ = self.open
        found = step_down(np.where(open_, p, np.nan), self.levels[look], self.different.sum(axis=1))
        same = step_down(
            np.where(open_, p_equivalence, np.nan), self.levels_equivalence[look], self.equivalent.sum(axis=1)
        )
        self.different |= found
        self.equivalent |= same
        m = p.shape[1]
        for used, table, done in (
            (self.used, self.levels, self.different),
            (self.used_equivalence, self.levels_equivalence, self.equivalent),
        ):
            # Recorded: the level of the share that a comparison still undecided holds now.
            share = np.maximum(m - done.sum(axis=1), 1)
            now = np.broadcast_to(table[look][share - 1][:, None], p.shape)
            used[:] = np.where(open_, now, used)

    def give_up(
        self, look: int, mean: Floats, sd: Floats, n: Floats, margin: Floats, ratio: Floats, futility: float
    ) -> None:
        """Close comparisons whose chance of a decision at the last look is below ``futility``.

        Their share of alpha stays with them: giving up hands nothing on.
        """
        if not futility or look + 1 >= len(self.plan):
            return
        m = mean.shape[1]
        level, level_equivalence = (
            table[-1][np.maximum(m - done.sum(axis=1), 1) - 1][:, None]
            for table, done in ((self.levels, self.different), (self.levels_equivalence, self.equivalent))
        )
        units = min(self.plan[-1], self.splits or self.plan[-1])
        # Rounds over the same splits reduce only the spread of the initialisation, taken to be a part of the whole.
        seen = max(1, self.plan[look] // units) * units / self.plan[-1]
        chance = predictive_power(
            mean, sd, n, budget=units / (1.0 - INITIALISATION * (1.0 - seen)), level=level,
            level_equivalence=level_equivalence, margin=margin, test_ratio=ratio, df=units - 1,
        )  # fmt: skip
        self.futile |= self.open & (chance < futility)


def level_table(plan: tuple[int, ...], m: int, alpha: float, spending: str, sides: int, splits: int = 0) -> Floats:
    """Nominal levels ``[look, hypotheses left - 1]``: column j holds those of alpha / (j + 1)."""
    return np.array([look_levels(plan, alpha / left, spending, sides, splits) for left in range(1, m + 1)]).T


def step_down(p: Floats, levels: Floats, rejected: npt.NDArray[np.intp]) -> Bools:
    """Holm's step-down at one look, row by row.

    ``levels[j]`` belongs to j + 1 hypotheses left, ``rejected`` counts earlier rejections of a row;
    NaN is never rejected but keeps its share of alpha.
    """
    filled = np.where(np.isnan(p), np.inf, p)
    order = np.argsort(filled, axis=1, kind="stable")
    left = p.shape[1] - rejected[:, None] - np.arange(p.shape[1])
    passed = np.take_along_axis(filled, order, 1) <= levels[np.maximum(left, 1) - 1]
    result = np.zeros(p.shape, dtype=np.bool_)
    np.put_along_axis(result, order, np.logical_and.accumulate(passed, axis=1), 1)
    return result


def repeated_interval(d: npt.ArrayLike, level: float, *, test_ratio: float = 0.0) -> tuple[float, float, float]:
    """Mean of ``d`` and the interval that goes with the nominal ``level`` of its look.

    The intervals of all looks together hold the truth with the probability that the levels were
    computed for, so one may stop at any look and still show its interval (Jennison and Turnbull 1989).

    Parameters
    ----------
    d
        Seed-wise differences; NaN entries are dropped.
    level
        Nominal two-sided level of the look, from `nominal_levels`.
    test_ratio
        n_test / n_train for runs that share training data, else 0.

    Returns
    -------
    tuple of float
        Mean, lower and upper bound; infinite bounds where the look spends nothing.

    Examples
    --------
    >>> from graphnetz.stats import repeated_interval
    >>> [round(value, 4) for value in repeated_interval([0.01, 0.02, 0.015, 0.012, 0.018], 0.01)]
    [0.015, 0.0065, 0.0235]
    """
    values = np.asarray(d, dtype=np.float64)
    values = values[np.isfinite(values)]
    mean = float(values.mean()) if values.size else math.nan
    if values.size < 2 or level <= 0:
        return mean, -math.inf, math.inf
    half = -student_quantile(values.size - 1, level / 2) * standard_error(values, test_ratio)
    return mean, mean - half, mean + half


def _moments(d: Floats) -> tuple[float, float, float]:
    """Mean, standard deviation (0 up to rounding) and number of the finite values."""
    values = d[np.isfinite(d)]
    if values.size < 2:
        return math.nan, math.nan, float(values.size)
    tolerance = RELATIVE_TOLERANCE * max(1.0, float(np.abs(values).max()))
    mean = float(values.mean())
    if np.ptp(values) <= tolerance:
        return mean if abs(mean) > tolerance else 0.0, 0.0, float(values.size)
    return mean, float(values.std(ddof=1)), float(values.size)


def t_p(d: npt.ArrayLike, test_ratio: float = 0.0) -> float:
    """Two-sided p of the (corrected) t-test of differences, by sign flips without spread; NaN with fewer than two."""
    return _p_values(np.asarray(d, dtype=np.float64), math.nan, test_ratio)[0]


def _p_values(d: Floats, margin: float, test_ratio: float) -> tuple[float, float]:
    """Two-sided p of difference, and p of equivalence (NaN without a margin)."""
    mean, sd, count = _moments(d)
    if count < 2:
        return math.nan, math.nan
    n = int(count)
    if sd == 0:
        if mean == 0:
            return 1.0, 0.0
        p = sign_flip_p(n)
        return p, math.nan if math.isnan(margin) else p / 2 if abs(mean) < margin else 1.0
    error = sd * math.sqrt(variance_factor(n, test_ratio))
    p = float(2 * special.stdtr(n - 1, -abs(mean) / error))
    return p, float(special.stdtr(n - 1, (abs(mean) - margin) / error))


def _per_comparison(value: float | Sequence[float], m: int, name: str) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return np.full(m, float(array))
    if array.shape != (m,):
        raise UsageError(f"{name} has {array.size} entries; pass one number or one per comparison ({m}).")
    return array
