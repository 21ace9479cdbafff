"""What the design can see: power, seeds needed, practical equivalence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.analysis.comparisons import by_mean
from graphnetz.metrics import lookup
from graphnetz.records import ScoreTable
from graphnetz.records.analysis import Comparison
from graphnetz.stats import adjust, power_analysis, tost

TARGET = 0.8
MAX_SEEDS = 10_000


@dataclass(frozen=True)
class Design:
    """How much the seeds of one comparison can see.

    ``seeds`` is None when no number of seeds suffices; ``seeds_low`` and ``seeds_high`` are its range, given how well
    the spread is known. Without spread nothing is stated.
    """

    task: str
    a: str
    b: str
    n: int
    sd: float
    alpha: float
    effect: float
    mde: float
    seeds: int | None
    seeds_low: int | None = None
    seeds_high: int | None = None


def reference_effect(table: ScoreTable, t: int) -> float:
    """A difference worth talking about, fixed by the scale of the metric and never by what was observed.

    0.01 where the metric is a share, else one hundredth of the task's typical value, one digit.
    """
    try:
        low, high = lookup(table.metrics[t]).bounds
    except UnknownNameError:
        low, high = -math.inf, math.inf
    if math.isfinite(low) and math.isfinite(high):
        return 0.01 * (high - low)
    finite = table.values[t][np.isfinite(table.values[t])]
    typical = abs(float(np.median(finite))) if finite.size else 0.0
    return float(f"{0.01 * typical:.0e}") if typical > 0 else 0.01


def design_of(table: ScoreTable, pair: Comparison, *, effect: float) -> Design:
    """Smallest detectable difference and seeds needed for one comparison.

    The level is Holm's strictest step, alpha over the size of the family, so that the promise holds
    whatever the other comparisons do.
    """
    x, y = table.paired(pair.task, pair.a, pair.b)
    alpha = pair.alpha / max(1, pair.family_size)
    found = power_analysis(x - y, effect, alpha=alpha, target=TARGET, max_n=MAX_SEEDS)
    ends = (found.seeds, found.seeds_low, found.seeds_high)
    return Design(pair.task, pair.a, pair.b, x.size, found.sd, alpha, effect, found.mde, *ends)


def best_two(table: ScoreTable, grouped: Mapping[str, Sequence[Comparison]]) -> tuple[Design, ...]:
    """Return what the seeds can see between the two best means of every task."""
    out = []
    for task, pairs in grouped.items():
        t = table.tasks.index(task)
        first, second = sorted(by_mean(table, t)[:2])
        pair = next(p for p in pairs if (p.a, p.b) == (first, second))
        out.append(design_of(table, pair, effect=reference_effect(table, t)))
    return tuple(out)


def power_frame(
    table: ScoreTable, pairs: Sequence[Comparison], effect: float | Mapping[str, float], *, alpha: float, target: float
) -> pd.DataFrame:
    """Power of every comparison for an effect that the reader names, with the range of its sd."""
    rows = []
    for pair in pairs:
        x, y = table.paired(pair.task, pair.a, pair.b)
        size = _per_task(effect, pair.task, "effect")
        found = power_analysis(x - y, size, alpha=alpha, target=target, max_n=MAX_SEEDS)
        seeds = (_or_nan(found.seeds), _or_nan(found.seeds_low), _or_nan(found.seeds_high))
        rows.append(
            (pair.task, pair.a, pair.b, found.n, size, alpha, found.sd, found.sd_low, found.sd_high, found.power,
             found.power_low, found.power_high, found.mde, *seeds, found.reason)
        )  # fmt: skip
    return pd.DataFrame(rows, columns=list(_POWER))


_POWER = (
    "task", "model_a", "model_b", "n_seeds", "effect", "alpha", "sd_diff", "sd_low", "sd_high", "power", "power_low",
    "power_high", "smallest_effect", "seeds", "seeds_low", "seeds_high", "reason",
)  # fmt: skip


def equivalence_frame(
    table: ScoreTable, pairs: Sequence[Comparison], margin: float | Mapping[str, float], *, alpha: float
) -> pd.DataFrame:
    """Two one-sided tests per comparison; Holm within each task, in a family of their own."""
    columns = ["task", "model_a", "model_b", "margin", "low", "high", "p_raw", "n_seeds", "reason"]
    rows = []
    for pair in pairs:
        x, y = table.paired(pair.task, pair.a, pair.b)
        size = _per_task(margin, pair.task, "margin")
        found = tost(x, y, margin=size, alpha=alpha)
        rows.append((pair.task, pair.a, pair.b, size, found.low, found.high, found.p, found.n, found.reason))
    frame = pd.DataFrame(rows, columns=columns)
    adjusted = [adjust(group.to_numpy(dtype=float)) for _, group in frame.groupby("task", sort=False)["p_raw"]]
    frame.insert(7, "p_holm", np.concatenate(adjusted) if adjusted else np.empty(0))
    frame.insert(8, "equivalent", frame["p_holm"].to_numpy(dtype=float) <= alpha)
    return frame


def _per_task(value: float | Mapping[str, float], task: str, name: str) -> float:
    if not isinstance(value, Mapping):
        return float(value)
    if task not in value:
        raise UsageError(f"{name} names no value for task {task!r}. Give one per task: {{{task!r}: 0.01, ...}}.")
    return float(value[task])


def _or_nan(value: int | None) -> float:
    return math.nan if value is None else float(value)
