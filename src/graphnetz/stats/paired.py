"""Tests of one model against another on shared seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.registry import Registry
from graphnetz.stats._common import Differences, Floats, check_share, mid_ranks, paired_differences, variance_factor
from graphnetz.stats.intervals import student_quantile

EXACT_WILCOXON = 50
"""Largest number of non-zero differences whose null distribution is enumerated (2^50 fits a double)."""


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """What a test alone contributes; `paired_test` adds effect sizes and an interval.

    A function in `PAIRED_TESTS` takes differences and n_test / n_train and returns one of these.

    Attributes
    ----------
    statistic, p
        The test's statistic and its two-sided p.
    n_used
        Pairs used, after a rank test dropped zero differences.
    smallest_p
        Smallest p that the test could have given with that many pairs.
    reason
        Why ``p`` is NaN; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import TestOutcome
    >>> TestOutcome(statistic=2.1, p=0.06, n_used=10, smallest_p=0.0).p
    0.06
    """

    __test__ = False  # the name would make pytest collect it

    statistic: float
    p: float
    n_used: int
    smallest_p: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Comparison of models a and b over shared seeds.

    Attributes
    ----------
    method
        Name of the test.
    n, n_used
        Pairs that came, and pairs left after a rank test dropped zero differences.
    mean_diff, low, high
        Mean of a - b with its Student t interval (the corrected one for ``"corrected_t"``).
    dz, hedges_g
        Mean over standard deviation of the differences, and the same without small-sample bias.
    statistic
        t, the signed-rank sum W of the GraphNetz paper (eq. 5), or the number of positive signs.
    p, smallest_p
        Two-sided p, and the smallest p the test could have given with ``n_used`` pairs.
    reason
        Why ``p`` is NaN; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import paired_test
    >>> paired_test([0.8, 0.8, 0.8], [0.7, 0.7, 0.7]).reason
    'all 3 differences are equal, so their standard deviation is 0 and t is undefined'
    """

    method: str
    n: int
    n_used: int
    mean_diff: float
    low: float
    high: float
    dz: float
    hedges_g: float
    statistic: float
    p: float
    smallest_p: float
    reason: str = ""


PairedMethod = Callable[[Differences, float], TestOutcome]
"""``method(differences, test_ratio) -> TestOutcome``; called with at least one pair."""

PAIRED_TESTS: Registry[PairedMethod] = Registry(
    "pairwise method", entry_points="graphnetz.paired_tests", accepts=callable
)
"""Paired tests by name: ``(differences, test_ratio) -> TestOutcome``. Plug-ins add more."""


def paired_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    method: str = "t",
    level: float = 0.95,
    test_ratio: float = math.nan,
) -> PairedTest:
    """Test whether the scores ``a`` and ``b`` differ, paired by seed.

    Parameters
    ----------
    a, b
        Scores of two models, one entry per seed, same order; pairs with a NaN are dropped.
    method
        ``"t"``, ``"wilcoxon"``, ``"sign"``, ``"moderated"`` (in a report: variances of the pairs of a task drawn
        together) or ``"corrected_t"`` (runs that share training data).
    level
        Coverage of the interval of the mean difference.
    test_ratio
        n_test / n_train of one split, used by ``"corrected_t"`` only.

    Returns
    -------
    PairedTest
        p, effect sizes and the interval of the mean difference; p is NaN, with a reason, where the
        test is undefined. Identical scores have p = 1, effect sizes 0 and the interval from 0 to 0. One
        difference, not zero, on every seed leaves t undefined: the family decides (`sign_flip_p`).

    Examples
    --------
    >>> from graphnetz.stats import paired_test
    >>> test = paired_test([0.81, 0.83, 0.82], [0.80, 0.80, 0.81])
    >>> round(test.mean_diff, 4), round(test.p, 3)
    (0.0167, 0.13)
    """
    run = PAIRED_TESTS[method]
    check_share(level, "level")
    differences = paired_differences(a, b)
    n = differences.n
    nan = math.nan
    if n == 0:
        return PairedTest(method, 0, 0, nan, nan, nan, nan, nan, nan, nan, nan, "the two models share no seed")
    ratio = test_ratio if method == "corrected_t" else 0.0
    mean, low, high = mean_interval(differences.values, level, ratio)
    dz, g = effect_sizes(differences)
    found = run(differences, test_ratio)
    return PairedTest(
        method, n, found.n_used, mean, low, high, dz, g, found.statistic, found.p, found.smallest_p, found.reason
    )


def mean_interval(d: Floats, level: float, test_ratio: float = 0.0) -> tuple[float, float, float]:
    """Mean of ``d`` with its t interval; bounds are NaN for one value or an unknown ratio."""
    mean = float(d.mean())
    if d.size < 2 or math.isnan(test_ratio):
        return mean, math.nan, math.nan
    half = student_quantile(d.size - 1, (1 + level) / 2) * standard_error(d, test_ratio)
    return mean, mean - half, mean + half


def standard_error(d: Floats, test_ratio: float = 0.0) -> float:
    """Standard error of the mean of ``d``, corrected for shared training data when a ratio is given."""
    return float(d.std(ddof=1)) * math.sqrt(variance_factor(d.size, test_ratio))


def effect_sizes(differences: Differences) -> tuple[float, float]:
    """Cohen's d_z and Hedges' g (exact gamma-function correction); 0 for identical scores, NaN where undefined."""
    n = differences.n
    if n > 1 and differences.identical:
        return 0.0, 0.0
    if n < 2 or differences.constant:
        return math.nan, math.nan
    dz = float(differences.values.mean() / differences.values.std(ddof=1))
    return dz, dz * hedges_factor(n - 1)


def hedges_factor(df: int) -> float:
    """Factor that removes the bias of a standardised mean difference; NaN below 2 degrees of freedom."""
    if df < 2:  # with one degree of freedom the estimate has no expectation to correct
        return math.nan
    return math.exp(special.gammaln(df / 2) - special.gammaln((df - 1) / 2)) / math.sqrt(df / 2)


@PAIRED_TESTS.register("t")
def _student(differences: Differences, test_ratio: float) -> TestOutcome:  # noqa: ARG001
    """Paired t-test of Student."""
    return student_test(differences, 0.0)


@PAIRED_TESTS.register("moderated")
def _moderated(differences: Differences, test_ratio: float) -> TestOutcome:  # noqa: ARG001
    """Moderated t-test (Smyth 2004): in a family variances are drawn together, one pair alone has Student's test."""
    return student_test(differences, 0.0)


@PAIRED_TESTS.register("corrected_t")
def _corrected(differences: Differences, test_ratio: float) -> TestOutcome:
    """Corrected resampled t-test (Nadeau and Bengio 2003)."""
    if math.isnan(test_ratio):
        reason = "the corrected resampled t-test needs n_test / n_train, which is unknown here"
        return TestOutcome(math.nan, math.nan, differences.n, 0.0, reason)
    return student_test(differences, test_ratio)


def student_test(differences: Differences, test_ratio: float) -> TestOutcome:
    """Two-sided t-test of mean difference 0."""
    n = differences.n
    if n < 2:
        return TestOutcome(math.nan, math.nan, n, math.nan, "one shared seed gives no test")
    if differences.identical:
        return TestOutcome(0.0, 1.0, n, 0.0)
    if differences.constant:
        reason = f"all {n} differences are equal, so their standard deviation is 0 and t is undefined"
        return TestOutcome(math.nan, math.nan, n, 0.0, reason)
    t = float(differences.values.mean()) / standard_error(differences.values, test_ratio)
    return TestOutcome(t, two_sided(t, n - 1), n, 0.0)


def two_sided(t: float, df: int) -> float:
    """Two-sided p of a t statistic."""
    return float(2 * special.stdtr(df, -abs(t)))


@PAIRED_TESTS.register("sign")
def _sign(differences: Differences, test_ratio: float) -> TestOutcome:  # noqa: ARG001
    """Exact sign test; zero differences are dropped."""
    kept = differences.nonzero()
    if kept.n == 0:
        return _all_zero()
    positive = int((kept.values > 0).sum())
    tail = special.bdtr(min(positive, kept.n - positive), kept.n, 0.5)
    return TestOutcome(float(positive), min(1.0, 2 * float(tail)), kept.n, min(1.0, 2.0 ** (1 - kept.n)))


@PAIRED_TESTS.register("wilcoxon")
def _wilcoxon(differences: Differences, test_ratio: float) -> TestOutcome:  # noqa: ARG001
    """Wilcoxon signed-rank test: zeros dropped, mid-ranks, exact null up to 50 pairs.

    Above that the normal approximation with tie-corrected variance and continuity correction.
    """
    kept = differences.nonzero()
    if kept.n == 0:
        return _all_zero()
    ranks = mid_ranks(np.abs(kept.values), kept.tolerance)
    positive = float(ranks[kept.values > 0].sum())
    total = float(ranks.sum())
    pick = exact_signed_rank_p if kept.n <= EXACT_WILCOXON else normal_signed_rank_p
    extreme = max(positive, total - positive)
    return TestOutcome(2 * positive - total, pick(ranks, extreme), kept.n, pick(ranks, total))


def exact_signed_rank_p(ranks: Floats, extreme: float) -> float:
    """Two-sided p of the larger rank sum, from the null distribution of these very mid-ranks.

    Twice a mid-rank is a whole number, so the distribution is a polynomial product over integers;
    its counts stay below 2^53 and are exact.
    """
    steps = np.sort(np.rint(2 * ranks).astype(np.int64))
    return signed_rank_p(tuple(steps.tolist()))[round(2 * extreme)]


@lru_cache(maxsize=256)
def signed_rank_p(steps: tuple[int, ...]) -> list[float]:
    """Two-sided p by twice the larger rank sum, of these doubled mid-ranks: pairs of models mostly share theirs."""
    counts = np.zeros(sum(steps) + 1)
    counts[0] = 1.0
    reached = 0
    for step in steps:
        reached += step
        # Each pair is positive or negative: the counts with its rank added join those without.
        counts[step : reached + 1] += counts[: reached + 1 - step].copy()
    tails = np.cumsum(counts[::-1])[::-1]
    found: list[float] = np.minimum(1.0, 2 * tails / 2.0 ** len(steps)).tolist()
    return found


def normal_signed_rank_p(ranks: Floats, extreme: float) -> float:
    """Two-sided p by the normal approximation; mid-ranks carry the tie correction of the variance."""
    mean = ranks.sum() / 2
    deviation = math.sqrt((ranks**2).sum() / 4)
    # Continuity correction: the rank sum moves in steps, the normal curve does not.
    z = max(0.0, extreme - mean - 0.5) / deviation
    return float(min(1.0, 2 * special.ndtr(-z)))


def _all_zero() -> TestOutcome:
    """Identical scores are no evidence of a difference; nothing is left to rank, so no smallest p either."""
    return TestOutcome(0.0, 1.0, 0, math.nan)
