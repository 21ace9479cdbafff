"""Published results as data, and how a run of ours compares with them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from graphnetz._core.errors import unknown_name

WIDENED = 0.02
"""What is added to a published interval before a mean of ours is called inside."""

PUBLISHED: Mapping[str, Any] = json.loads(
    resources.files("graphnetz.datasets").joinpath("published.json").read_text(encoding="utf-8")
)
"""Suite -> citation, number of runs, and task -> model -> (mean, half-width of the 95 % interval)."""


@dataclass(frozen=True)
class BesidePublished:
    """One cell of a published table with ours.

    ``low`` and ``high`` bound our mean minus the published one (Welch, 1947); NaN with fewer than two
    seeds, as ``verdict`` says, which otherwise is that of `graphnetz.stats.welch_interval`. ``inside``
    says whether our mean lies in the published interval widened by 0.02.
    """

    task: str
    model: str
    published: float
    half_width: float
    ours: float
    seeds: int
    difference: float
    low: float
    high: float
    inside: bool
    verdict: str


def citation(suite: str) -> str:
    """Return where the published numbers of a suite stand."""
    return str(_table(suite)["citation"])


def compare(suite: str, ours: Mapping[tuple[str, str], tuple[float, float, int]]) -> list[BesidePublished]:
    """Put our cells beside the published ones, in the order of the published table.

    Parameters
    ----------
    suite
        A key of `PUBLISHED`.
    ours
        (task, model) -> mean, standard deviation (n - 1), number of seeds. Published cells without
        one of ours stay in the list with the verdict ``"not run"``.
    """
    table = _table(suite)
    return [
        _beside(task, model, (mean, half), ours.get((task, model)), runs=int(table["runs"]))
        for task, models in table["rows"].items()
        for model, (mean, half) in models.items()
    ]


def rows_inside(rows: Sequence[BesidePublished]) -> tuple[list[str], list[str]]:
    """Return the tasks with every model inside, and the tasks that were run with every published model."""
    tasks = dict.fromkeys(row.task for row in rows)
    run = [task for task in tasks if all(row.seeds for row in rows if row.task == task)]
    return [task for task in run if all(row.inside for row in rows if row.task == task)], run


def _beside(
    task: str, model: str, theirs: tuple[float, float], ours: tuple[float, float, int] | None, *, runs: int
) -> BesidePublished:
    from graphnetz.stats import welch_interval  # scipy, which a mere listing must not import
    from graphnetz.stats.intervals import student_quantile

    mean, half = theirs
    if ours is None:
        return BesidePublished(task, model, mean, half, math.nan, 0, math.nan, math.nan, math.nan, False, "not run")
    value, spread, seeds = ours
    published_sd = half * math.sqrt(runs) / student_quantile(runs - 1, 0.975)
    found = welch_interval(value, spread, seeds, mean, published_sd, runs, ddof_b=1)
    inside = abs(value - mean) <= half + WIDENED
    verdict = found.verdict if seeds > 1 else "one seed has no interval"
    return BesidePublished(task, model, mean, half, value, seeds, found.diff, found.low, found.high, inside, verdict)


def _table(suite: str) -> Any:
    if suite not in PUBLISHED:
        raise unknown_name("published suite", suite, PUBLISHED)
    return PUBLISHED[suite]
