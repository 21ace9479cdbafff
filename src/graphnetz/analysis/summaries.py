"""Models of whom only mean, standard deviation and number of runs are known: what Welch's test can say of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import special

from graphnetz._core.errors import DataError, UsageError
from graphnetz._core.text import number
from graphnetz.records import Table
from graphnetz.records.analysis import Verdict
from graphnetz.stats import adjust, holm_intervals, welch_interval


@dataclass(frozen=True)
class Summary:
    """One row of a published table: ``sd`` over ``n`` runs, NaN and 0 where it does not say."""

    task: str
    model: str
    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class Welch:
    """Two models of one task; ``diff`` is a minus b in units of the metric.

    ``low`` and ``high`` hold for all pairs of the task together and agree with ``verdict``, which is better, worse, not
    shown or untested.
    """

    task: str
    model_a: str
    model_b: str
    diff: float
    low: float
    high: float
    p: float
    p_holm: float
    verdict: str


@dataclass(frozen=True)
class SummaryAnalysis:
    """What can be said of a table of means, and what cannot."""

    metric: str
    greater_is_better: bool
    rows: tuple[Summary, ...]
    pairs: tuple[Welch, ...]
    alpha: float
    unsaid: tuple[str, ...]

    def verdicts(self) -> tuple[Verdict, ...]:
        """One sentence per task: whom the best mean is shown to be ahead of."""
        out = []
        for task in dict.fromkeys(row.task for row in self.rows):
            mine = [row for row in self.rows if row.task == task]
            best = max(mine, key=lambda row: row.mean if self.greater_is_better else -row.mean)
            beaten = [_other(p, best.model) for p in self.pairs if p.task == task and _ahead(p, best.model)]
            rest = [row.model for row in mine if row.model not in (best.model, *beaten)]
            if len(mine) == 1:
                words = f"Only {best.model} has a mean ({number(best.mean)}): nothing to compare it with."
                out.append(Verdict("untestable", task, words))
                continue
            words = f"{best.model} has the best mean ({number(best.mean)})"
            words += f" and is better than {', '.join(beaten)}" if beaten else ""
            words += f"{'; not shown' if beaten else ', not shown to be'} ahead of {', '.join(rest)}" if rest else ""
            basis = (
                f"Welch's test of {best.n or 'an unknown number of'} runs, Holm within the task, level {self.alpha:g}"
            )
            out.append(Verdict("info", task, f"{words}.", basis, ("better-summary",)))
        return tuple(out)

    def to_table(self) -> Table:
        """Every pair of models of a task as one row."""
        columns = ("task", "model_a", "model_b", "mean_diff", "diff_low", "diff_high", "p_raw", "p_holm", "verdict")
        rows = tuple((p.task, p.model_a, p.model_b, p.diff, p.low, p.high, p.p, p.p_holm, p.verdict)
                     for p in self.pairs)  # fmt: skip
        return Table(columns, rows, " ".join(self.unsaid))

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "schema": "graphnetz.summaries", "metric": self.metric, "greater_is_better": self.greater_is_better,
            "rows": [vars(row) for row in self.rows], "pairs": [vars(pair) for pair in self.pairs],
            "alpha": self.alpha, "verdicts": [str(line) for line in self.verdicts()], "unsaid": list(self.unsaid),
        }  # fmt: skip


def analyse_summaries(
    rows: Sequence[Summary], *, metric: str, greater_is_better: bool, alpha: float = 0.05, replication: str = "unknown"
) -> SummaryAnalysis:
    """Compare models by mean, standard deviation and number of runs: Welch (1947), Holm within each task.

    Parameters
    ----------
    rows
        One per task and model.
    metric, greater_is_better
        What the means are of, and its direction.
    alpha
        Level after Holm.
    replication
        What a run varies, where it was told.

    Returns
    -------
    SummaryAnalysis
        Pairs, sentences, and what such a table cannot say.

    Examples
    --------
    >>> rows = [Summary("cora", "GCN", 0.815, 0.005, 10), Summary("cora", "MLP", 0.551, 0.012, 10)]
    >>> print(analyse_summaries(rows, metric="test_acc", greater_is_better=True).verdicts()[0])
    GCN has the best mean (0.815) and is better than MLP. (Welch's test of 10 runs, Holm within the task, level 0.05.)
    """
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie between 0 and 1, got {alpha}.")
    seen: dict[tuple[str, str], Summary] = {}
    for row in rows:
        if (row.task, row.model) in seen:
            raise DataError(f"Task {row.task!r} has two rows for the model {row.model!r}. Give one per model.")
        if row.sd < 0 or row.n < 0:
            raise DataError(
                f"Task {row.task!r}, model {row.model!r}: sd {row.sd:g} and n {row.n} must not be negative."
            )
        seen[row.task, row.model] = row
    by_task: dict[str, list[Summary]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row)
    pairs = [pair for mine in by_task.values() for pair in _task(mine, greater_is_better, alpha)]
    return SummaryAnalysis(metric, greater_is_better, tuple(rows), tuple(pairs), alpha, _unsaid(rows, replication))


def _task(rows: Sequence[Summary], up: bool, alpha: float) -> list[Welch]:
    pairs = list(combinations(rows, 2))
    if not pairs:
        return []
    diff = np.array([a.mean - b.mean for a, b in pairs])
    error, df, p = np.array([_welch(a, b, alpha) for a, b in pairs]).T
    holm, low, high = np.full((3, len(pairs)), math.nan)
    tested = np.isfinite(p)
    if tested.any():
        holm[tested] = adjust(p[tested])
        low[tested], high[tested], *_ = holm_intervals(
            diff[tested], error[tested], df[tested], alpha=alpha, p=p[tested]
        )
    return [
        Welch(
            a.task, a.model, b.model, diff=float(diff[i]), low=float(low[i]), high=float(high[i]), p=float(p[i]),
            p_holm=float(holm[i]), verdict=_verdict(diff[i], holm[i], up, alpha),
        )
        for i, (a, b) in enumerate(pairs)
    ]  # fmt: skip


def _verdict(diff: float, p: float, up: bool, alpha: float) -> str:
    if math.isnan(p):
        return "untested"
    return "not shown" if p > alpha else "better" if (diff > 0) == up else "worse"


def _welch(a: Summary, b: Summary, alpha: float) -> tuple[float, float, float]:
    """Standard error of a minus b, degrees of freedom and p; NaN where a spread or a number of runs is missing."""
    error = math.hypot(*(row.sd / math.sqrt(row.n) if row.n else math.nan for row in (a, b)))
    if min(a.n, b.n) < 2 or not error > 0:
        return math.nan, math.nan, math.nan
    # Who prints a spread rarely says by what it was divided: n - 1 is assumed, and said.
    found = welch_interval(a.mean, a.sd, a.n, b.mean, b.sd, b.n, ddof_a=1, ddof_b=1, level=1 - alpha)
    return error, found.df, float(2 * special.stdtr(found.df, -abs(a.mean - b.mean) / error))


def _ahead(pair: Welch, model: str) -> bool:
    return pair.verdict == ("better" if pair.model_a == model else "worse") and model in (pair.model_a, pair.model_b)


def _other(pair: Welch, model: str) -> str:
    return pair.model_b if pair.model_a == model else pair.model_a


def _unsaid(rows: Sequence[Summary], replication: str) -> tuple[str, ...]:
    """What a table of means cannot say."""
    out = [
        "The runs behind a mean are not known: whether models shared seeds or splits cannot be seen, so they are "
        "compared as independent (Welch's test), without pairs, diagnostics, failures or examples.",
        "Spreads are taken as standard deviations divided by n - 1.",
    ]
    if replication == "unknown":
        out.append("What a run varies was not stated (--replication): claims reach these runs only.")
    if any(row.n < 2 for row in rows):
        out.append("Where the number of runs is missing or below 2 nothing is tested: say it with --columns n==10.")
    return tuple(out)
