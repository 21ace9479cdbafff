"""Tests of many pairs of models at once: the numbers of `paired_test`, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz.stats._common import (
    RELATIVE_TOLERANCE,
    Bools,
    Differences,
    Floats,
    check_share,
    complete_rows,
    variance_factor,
)
from graphnetz.stats.intervals import student_quantile
from graphnetz.stats.paired import (
    EXACT_WILCOXON,
    PAIRED_TESTS,
    PairedMethod,
    PairedTest,
    TestOutcome,
    _corrected,
    _moderated,
    _student,
    _wilcoxon,
    hedges_factor,
    paired_test,
    signed_rank_p,
    student_test,
)


def paired_test_rows(
    a: npt.ArrayLike, b: npt.ArrayLike, *, method: str = "t", level: float = 0.95, test_ratio: float = math.nan
) -> list[PairedTest]:
    """Test every row of ``a`` against the same row of ``b``.

    Parameters
    ----------
    a, b
        Pairs x seeds; seeds that either row lacks are NaN.
    method, level, test_ratio
        As in `paired_test`.

    Returns
    -------
    list of PairedTest
        What `paired_test` says of each row, to the last bit.

    Examples
    --------
    >>> from graphnetz.stats import paired_test_rows
    >>> found = paired_test_rows([[0.81, 0.83, 0.82], [0.7, 0.7, 0.7]], [[0.80, 0.80, 0.81], [0.7, 0.7, 0.7]])
    >>> [round(test.p, 3) for test in found]
    [0.13, 1.0]
    """
    run = PAIRED_TESTS[method]
    check_share(level, "level")
    together = _TOGETHER.get(run)
    found: dict[int, PairedTest] = {}
    tests: Iterator[PairedTest]
    for at, x, y in complete_rows(a, b):
        if together is None or x.shape[1] < 2:
            options = {"level": level, "test_ratio": test_ratio}
            tests = (paired_test(p, q, method=method, **options) for p, q in zip(x, y, strict=True))
        else:
            tests = _tested(_Rows(x, y), method, level, test_ratio, together)
        found.update(zip(at.tolist(), tests, strict=True))
    return [found[i] for i in range(len(found))]


def error_rows(a: npt.ArrayLike, b: npt.ArrayLike, test_ratio: float = 0.0) -> list[float]:
    """`standard_error` of the differences of every row; NaN below two seeds."""
    found: dict[int, float] = {}
    for at, x, y in complete_rows(a, b):
        size, n = x.shape
        factor = math.sqrt(variance_factor(n, test_ratio)) if n > 1 else math.nan
        errors = (x - y).std(axis=1, ddof=1) * factor if n > 1 else np.full(size, math.nan)
        found.update(zip(at.tolist(), errors.tolist(), strict=True))
    return [found[i] for i in range(len(found))]


class _Rows:
    """Differences of complete rows with what every test needs of them; rounding noise is zero, as in `Differences`."""

    def __init__(self, x: Floats, y: Floats) -> None:
        d, self.slack = x - y, RELATIVE_TOLERANCE * np.maximum(np.abs(x), np.abs(y))
        self.values: Floats = np.where(np.abs(d) > self.slack, d, 0.0)
        self.n = int(d.shape[1])
        self.mean: Floats = self.values.mean(axis=1)
        self.std: Floats = self.values.std(axis=1, ddof=1)
        self.identical: Bools = (self.values == 0).all(axis=1)
        self.constant: Bools = np.asarray(np.ptp(self.values, axis=1) <= self.slack.max(axis=1))


Together = Callable[[_Rows, float], Iterator[TestOutcome]]


def _tested(rows: _Rows, method: str, level: float, test_ratio: float, run: Together) -> Iterator[PairedTest]:
    """Effect sizes and intervals around what the test itself says."""
    ratio = test_ratio if method == "corrected_t" else 0.0
    factor = math.nan if math.isnan(ratio) else math.sqrt(variance_factor(rows.n, ratio))
    half = student_quantile(rows.n - 1, (1 + level) / 2) * (rows.std * factor)
    with np.errstate(invalid="ignore", divide="ignore"):
        dz = np.where(rows.identical, 0.0, np.where(rows.constant, np.nan, rows.mean / rows.std))
    g = np.where(rows.identical, 0.0, dz * hedges_factor(rows.n - 1))
    columns = (rows.mean, rows.mean - half, rows.mean + half, dz, g)
    numbers = zip(run(rows, test_ratio), *(column.tolist() for column in columns), strict=True)
    for said, mean, low, high, size, unbiased in numbers:
        yield PairedTest(
            method, rows.n, said.n_used, mean, low, high, size, unbiased, said.statistic, said.p, said.smallest_p,
            said.reason,
        )  # fmt: skip


def _student_rows(rows: _Rows, test_ratio: float) -> Iterator[TestOutcome]:
    with np.errstate(invalid="ignore", divide="ignore"):
        t = rows.mean / (rows.std * math.sqrt(variance_factor(rows.n, test_ratio)))
    p = 2 * special.stdtr(rows.n - 1, -np.abs(t))
    special_case = rows.identical | rows.constant
    for i, (still, statistic, found) in enumerate(zip(special_case.tolist(), t.tolist(), p.tolist(), strict=True)):
        if still:
            yield student_test(Differences(rows.values[i], rows.slack[i]), test_ratio)
        else:
            yield TestOutcome(statistic, found, rows.n, 0.0)


def _plain_rows(rows: _Rows, test_ratio: float) -> Iterator[TestOutcome]:  # noqa: ARG001
    return _student_rows(rows, 0.0)


def _corrected_rows(rows: _Rows, test_ratio: float) -> Iterator[TestOutcome]:
    if math.isnan(test_ratio):
        return (_corrected(Differences(*row), test_ratio) for row in zip(rows.values, rows.slack, strict=True))
    return _student_rows(rows, test_ratio)


def _wilcoxon_rows(rows: _Rows, test_ratio: float) -> Iterator[TestOutcome]:
    """Without ties and zeros ranks are 1 to n, and all rows share one null distribution; others go one by one."""
    n = rows.n
    size = np.abs(rows.values)
    order = np.argsort(size, axis=1, kind="stable")
    ordered, slack = np.take_along_axis(size, order, axis=1), np.take_along_axis(rows.slack, order, axis=1)
    apart = (np.diff(ordered, axis=1) > np.maximum(slack[:, 1:], slack[:, :-1])).all(axis=1)
    plain: Bools = np.asarray(apart & (size > rows.slack).all(axis=1) & (n <= EXACT_WILCOXON))
    positive = (np.take_along_axis(rows.values, order, axis=1) > 0) @ np.arange(1, n + 1)
    total = n * (n + 1) // 2
    by_sum = signed_rank_p(tuple(range(2, 2 * n + 1, 2))) if plain.any() else []
    for i, (simple, above) in enumerate(zip(plain.tolist(), positive.tolist(), strict=True)):
        if simple:
            yield TestOutcome(float(2 * above - total), by_sum[2 * max(above, total - above)], n, by_sum[2 * total])
        else:
            yield _wilcoxon(Differences(rows.values[i], rows.slack[i]), test_ratio)


_TOGETHER: dict[PairedMethod, Together] = {
    _student: _plain_rows, _moderated: _plain_rows, _corrected: _corrected_rows, _wilcoxon: _wilcoxon_rows,
}  # fmt: skip
"""Tests that take all rows of a task in one go. Another one, or one that took such a name, runs row by row."""
