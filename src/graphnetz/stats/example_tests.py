"""Tests of one trained model against another on the same test examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz.stats._common import Differences, paired_differences
from graphnetz.stats.contributions import placements

EXACT_FLIPS, MANY_FLIPS, RESAMPLES = 20, 2_000, 9_999
"""Differences whose signs are flipped in every way, those up to which signs are drawn, and how many draws."""
MIN_CLASS = 20
"""Fewer examples of either class than this leave the variance of an AUC unassessed."""


@dataclass(frozen=True)
class ExampleTest:
    """Two trained models on the same test examples.

    Attributes
    ----------
    method
        ``"mcnemar"``, ``"permutation"``, ``"pseudo"`` or ``"delong"``.
    n, n_used
        Examples, and those on which the two differ.
    mean_diff, statistic, p
        Mean of a - b (difference of AUCs for DeLong's test), the statistic and its two-sided p.
    reason
        Why ``p`` is NaN; empty otherwise.

    Examples
    --------
    >>> example_test([1, 1, 0, 1], [0, 1, 0, 0], "mcnemar").p
    0.5
    """

    method: str
    n: int
    n_used: int
    mean_diff: float
    statistic: float
    p: float
    reason: str = ""


def example_test(x: npt.ArrayLike, y: npt.ArrayLike, kind: str = "permutation", *, seed: int = 0) -> ExampleTest:
    """Test whether two trained models differ on new examples, from what each test example contributes.

    Parameters
    ----------
    x, y
        One value per example for either model, such as 0/1 hits; pairs with a NaN are dropped.
    kind
        ``"mcnemar"`` (0/1 values, exact binomial), ``"permutation"`` (signs of differences flipped, exact up to 20
        differences that are not 0) or ``"pseudo"`` (normal test of pseudo-values, as of AUC).
    seed
        Where drawn sign flips start.

    Returns
    -------
    ExampleTest
        With p 1 where the two agree on every example.

    Examples
    --------
    >>> example_test([0.5, 0.2, 0.9, 0.4], [0.4, 0.1, 0.7, 0.1]).p
    0.125
    """
    try:
        run = EXAMPLE_TESTS[kind]
    except KeyError:
        raise unknown_name("example test", kind, EXAMPLE_TESTS) from None
    d = paired_differences(x, y)
    if d.n == 0:
        return ExampleTest(kind, 0, 0, math.nan, math.nan, math.nan, "the two models share no test example")
    kept = d.nonzero()
    mean = float(d.values.mean())
    if kept.n == 0:
        return ExampleTest(kind, d.n, 0, mean, 0.0, 1.0)
    statistic, p = run(d, kept, seed)
    return ExampleTest(kind, d.n, kept.n, mean, statistic, p)


def _mcnemar(d: Differences, kept: Differences, seed: int) -> tuple[float, float]:  # noqa: ARG001
    if not np.allclose(np.abs(kept.values), 1.0):
        raise UsageError("McNemar's test needs 0/1 values; pass hits, or take kind='permutation'.")
    wins = int((kept.values > 0).sum())
    return float(wins), _binomial(wins, kept.n)


def _binomial(wins: int, n: int) -> float:
    return min(1.0, 2 * float(special.bdtr(min(wins, n - wins), n, 0.5)))


def _permutation(d: Differences, kept: Differences, seed: int) -> tuple[float, float]:  # noqa: ARG001
    size, total = np.abs(kept.values), float(abs(kept.values.sum()))
    if np.ptp(size) <= kept.tolerance.max():  # equal sizes: only the number of signs counts
        return float(kept.values.sum()), _binomial(int((kept.values > 0).sum()), kept.n)
    reach = total * (1 - 1e-12)
    if kept.n <= EXACT_FLIPS:
        sums = np.zeros(1)
        for step in size:
            sums = np.concatenate([sums - step, sums + step])
        p = float((np.abs(sums) >= reach).mean())
    elif kept.n <= MANY_FLIPS:
        rng = np.random.default_rng(seed)
        seen = 0
        for part in np.array_split(np.arange(RESAMPLES), 10):
            signs = rng.integers(0, 2, (len(part), kept.n), dtype=np.int8) * 2 - 1
            seen += int((np.abs(signs @ size) >= reach).sum())
        p = (seen + 1) / (RESAMPLES + 1)
    else:
        p = float(2 * special.ndtr(-total / math.sqrt(float(size @ size))))
    return float(kept.values.sum()), p


def _pseudo(d: Differences, kept: Differences, seed: int) -> tuple[float, float]:  # noqa: ARG001
    spread = float(d.values.std(ddof=1)) if d.n > 1 else math.nan
    z = float(d.values.mean()) / (spread / math.sqrt(d.n)) if spread > 0 else math.nan
    return z, float(2 * special.ndtr(-abs(z)))


EXAMPLE_TESTS: dict[str, Callable[[Differences, Differences, int], tuple[float, float]]] = {
    "mcnemar": _mcnemar, "permutation": _permutation, "pseudo": _pseudo,
}  # fmt: skip
"""Tests on contributions by name: ``(differences, those not 0, seed) -> (statistic, p)``."""


def delong_test(target: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike) -> ExampleTest:
    """Test two AUCs on the same examples (DeLong, DeLong and Clarke-Pearson 1988).

    Parameters
    ----------
    target
        1 for positives, 0 for negatives.
    x, y
        Scores of the two models.

    Returns
    -------
    ExampleTest
        ``mean_diff`` is the difference of the AUCs and ``statistic`` z; not assessed below 20 examples of a class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> target = np.repeat([0, 1], 50)
    >>> delong_test(target, target + rng.normal(size=100), rng.normal(size=100)).p < 0.01
    True
    """
    truth = np.asarray(target) > 0
    least = int(min(truth.sum(), (~truth).sum()))
    size = int(truth.size)
    if least < MIN_CLASS:
        reason = f"{least} examples of the smaller class are too few to assess an AUC ({MIN_CLASS} are needed)"
        return ExampleTest("delong", size, 0, math.nan, math.nan, math.nan, reason)
    first, second = (np.asarray(score, dtype=np.float64) for score in (x, y))
    of_x, of_y = placements(first[truth], first[~truth])
    other_x, other_y = placements(second[truth], second[~truth])
    up, down = of_x - other_x, of_y - other_y
    difference = float(of_x.mean() - other_x.mean())
    variance = float(up.var(ddof=1) / up.size + down.var(ddof=1) / down.size)
    if variance <= 1e-30:
        same = abs(difference) < 1e-12
        reason = "" if same else "the AUCs differ by the same placement everywhere"
        return ExampleTest("delong", size, size, difference, math.nan, 1.0 if same else math.nan, reason)
    z = difference / math.sqrt(variance)
    return ExampleTest("delong", size, size, difference, z, float(2 * special.ndtr(-abs(z))))
