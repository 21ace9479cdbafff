"""Contracts of paired tests, intervals, corrections and metrics."""

from __future__ import annotations

import math

import numpy as np

from graphnetz.metrics import METRICS, Metric
from graphnetz.stats import CORRECTIONS, INTERVALS, adjust, interval, paired_test
from graphnetz.testing.contract import require

LEVEL, TRIALS = 0.05, 2000


def check_paired_test(name: str) -> None:
    """Hold a paired test to its contract.

    p lies between 0 and 1 and not below the smallest p the test can reach, falls with the effect, does
    not depend on the order of seeds or on which model comes first, an undefined p has a reason, and on
    2,000 samples without an effect at most 5 % (and four standard errors) are called significant.

    Parameters
    ----------
    name
        Key of `graphnetz.stats.PAIRED_TESTS`.

    Raises
    ------
    AssertionError
        With one sentence that says which promise is broken.

    Examples
    --------
    >>> check_paired_test("wilcoxon")
    """
    who, rng = f"The paired test {name!r}", np.random.default_rng(0)
    noise, zeros, kept = rng.normal(0, 1, 12), np.zeros(12), {"method": name, "test_ratio": 0.1}
    found = [paired_test(noise + shift, zeros, **kept) for shift in (0.0, 1.0, 5.0)]  # type: ignore[arg-type]
    for test in found:
        require(0 <= test.p <= 1, f"{who} gives p = {test.p}; p lies between 0 and 1.")
        low = test.smallest_p
        require(test.p >= low - 1e-12, f"{who} gives p = {test.p} below the smallest p it can reach, {low}.")
    p = [test.p for test in found]
    require(p[0] >= p[1] >= p[2] < p[0], f"{who} gives p = {p} for growing effects; p must fall.")
    turned = paired_test(zeros, noise + 1, method=name, test_ratio=0.1).p
    require(math.isclose(turned, p[1]), f"{who} gives p = {p[1]} for a and b but {turned} for b and a.")
    order = rng.permutation(12)
    moved = paired_test(noise[order] + 1, zeros, method=name, test_ratio=0.1).p
    require(math.isclose(moved, p[1]), f"{who} depends on the order of seeds: p = {p[1]} or {moved}.")
    for scores in ([1.0], [1.0, 1.0, 1.0]):
        one = paired_test(scores, [0.0] * len(scores), method=name, test_ratio=0.1)
        require(one.reason or 0 <= one.p <= 1, f"{who} gives p = {one.p} for differences {scores} without a reason.")
    samples = rng.normal(0, 1, (TRIALS, 10))
    called = np.mean([paired_test(row, zeros[:10], method=name, test_ratio=0.1).p <= LEVEL for row in samples])
    most = LEVEL + 4 * math.sqrt(LEVEL * (1 - LEVEL) / TRIALS)
    require(called <= most, f"{who} calls {called:.1%} of samples without an effect significant at {LEVEL:.0%}.")


def check_interval(name: str) -> None:
    """Hold an interval method to its contract.

    Bounds are a pure function of the arguments, lie around the mean, grow with the level, move with shift
    and scale, and of 200 intervals at 95 % from 25 normal values at least 88 % hold the true mean.

    Parameters
    ----------
    name
        Key of `graphnetz.stats.INTERVALS`.

    Examples
    --------
    >>> check_interval("t")
    """
    who, rng = f"The interval method {name!r}", np.random.default_rng(1)
    x = rng.normal(10, 1, 25)
    first = interval(x, method=name)
    require(first == interval(x, method=name), f"{who} gives another interval for the same values.")
    low, mean, high = first.low, first.mean, first.high
    require(low < mean < high, f"{who} gives ({low}, {high}) around the mean {mean}.")
    narrow = interval(x, method=name, level=0.8)
    require(narrow.half < first.half, f"{who} is not wider at 95 % than at 80 %.")
    moved = interval(3 * x + 2, method=name)
    same = np.allclose([moved.low, moved.high], [3 * low + 2, 3 * high + 2])
    require(same, f"{who} does not move with the unit of the scores: ({moved.low}, {moved.high}) for 3 x + 2.")
    compute, samples = INTERVALS[name], rng.normal(0, 1, (200, 25))
    bounds = [compute(row, 0.95, 500, i) for i, row in enumerate(samples)]
    held = np.mean([a <= 0 <= b for a, b in bounds])
    require(held >= 0.88, f"{who} holds the true mean in {held:.0%} of samples where 95 % are promised.")


def check_correction(name: str) -> None:
    """Hold a correction for many p-values to its contract.

    Adjusted values are at most 1, never below the raw ones, follow the p-values into any order; one p
    alone stays as it is, an undefined p stays undefined and still counts, and the last axis is the family.

    Parameters
    ----------
    name
        Key of `graphnetz.stats.CORRECTIONS`.

    Examples
    --------
    >>> check_correction("holm")
    """
    who, rng = f"The correction {name!r}", np.random.default_rng(2)
    for size in (1, 2, 5, 40):
        p = np.round(rng.random(size) ** 3, 3)  # rounded: ties happen
        order, got = rng.permutation(size), adjust(p, method=name)
        require((got >= p - 1e-15).all(), f"{who} makes a p-value smaller: {p} became {got}.")
        require((got <= 1).all(), f"{who} gives values above 1: {got}.")
        require(np.allclose(adjust(p[order], method=name), got[order]), f"{who} depends on the order of p-values.")
        both = CORRECTIONS[name](np.stack([p, p[order]]))
        require(np.allclose(both, [got, got[order]]), f"{who} mixes families: it must work along the last axis.")
    require(adjust([0.03], method=name)[0] == 0.03, f"{who} changes the p-value of a family of one.")
    gap = adjust([0.01, math.nan, 0.02], method=name)
    full = adjust([0.01, 1.0, 0.02], method=name)
    require(math.isnan(gap[1]), f"{who} gives an undefined p a value.")
    require(np.allclose(gap[[0, 2]], full[[0, 2]]), f"{who} leaves an undefined p out of the size of the family.")


def _forms() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Targets, perfect scores and random scores in each form that task types hand over."""
    rng = np.random.default_rng(3)
    classes, pairs = rng.integers(0, 3, 40), rng.integers(0, 2, 40)
    labels, values = rng.integers(0, 2, (40, 3)).astype(float), rng.normal(size=(40, 1))
    return {
        "classes": (classes, 9.0 * np.eye(3)[classes], rng.normal(size=(40, 3))),
        "two classes": (pairs, 9.0 * np.eye(2)[pairs], rng.normal(size=(40, 2))),
        "pairs": (pairs, 9.0 * pairs - 4.5, rng.normal(size=40)),
        "labels": (labels, 9.0 * labels - 4.5, rng.normal(size=(40, 3))),
        "values": (
            values,
            values + 1e-6,
            rng.normal(size=(40, 1)),
        ),  # a logarithm of no error is undefined
    }


def _value(metric: Metric, target: np.ndarray, score: np.ndarray) -> float:
    """Return the metric, NaN for a form of targets that it refuses."""
    try:
        return float(metric.compute(target, score))
    except Exception:
        return math.nan


def check_metric(name: str) -> None:
    """Hold a metric to its contract.

    On at least one form of targets (classes, pairs, several labels, numbers) it gives a number inside its
    declared bounds, the same one again, leaves its arguments alone, and rates perfect scores above random
    ones in its declared direction. Forms that it refuses or leaves NaN are not its own.

    Parameters
    ----------
    name
        Key of `graphnetz.metrics.METRICS`.

    Examples
    --------
    >>> check_metric("acc")
    """
    metric, who = METRICS[name], f"The metric {name!r}"
    gains: dict[str, float] = {}
    require(metric.key == name, f"{who} carries the key {metric.key!r}.")
    require(metric.label, f"{who} has no label.")
    low, high = metric.bounds
    require(low < high, f"{who} declares the bounds {metric.bounds}; the first must be the lower.")
    for form, (target, perfect, chance) in _forms().items():
        before = target.copy(), chance.copy()
        best, guess = _value(metric, target, perfect), _value(metric, target, chance)
        if math.isnan(best) or math.isnan(guess):
            continue
        require(low <= min(best, guess) <= max(best, guess) <= high, f"{who} leaves {metric.bounds}: {best}, {guess}.")
        require(metric.compute(target, chance) == guess, f"{who} gives another number for the same scores.")
        kept = np.array_equal(before[0], target) and np.array_equal(before[1], chance)
        require(kept, f"{who} changes the arrays it is given.")
        gains[form] = best - guess if metric.greater_is_better else guess - best
    require(gains, f"{who} gives no number on any form of targets: {', '.join(_forms())}.")
    # Targets that are not its own kind may come out either way; on its own kind perfect scores must win.
    right = any(gain > 0 for gain in gains.values()) or not any(gain < 0 for gain in gains.values())
    require(right, f"{who} rates random scores above perfect ones: turn its direction.")
