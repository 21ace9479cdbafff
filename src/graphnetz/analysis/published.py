"""Our cells beside those that somebody published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphnetz.records.suite import Published, Suite

WIDENED = 0.02
"""What is added to a published interval before a mean of ours is called inside."""


@dataclass(frozen=True)
class Beside:
    """One of our cells beside the published one; ``verdict`` says what the Welch interval of the difference allows.

    ``low`` and ``high`` bound our mean minus the published one at 95 % (Welch, 1947); NaN with fewer than two runs,
    as ``verdict`` says. ``same_data`` is False for reduced sizes and for datasets of our own generators: a difference
    is then no sign of an error. ``inside`` says whether our mean lies in the published interval widened by 0.02, and
    is None where the paper printed a standard deviation instead of an interval.
    """

    task: str
    model: str
    metric: str
    parameters: int
    ours: float
    smallest: float
    largest: float
    runs: int
    published: float
    published_sd: float
    half_width: float
    published_runs: int
    difference: float
    low: float
    high: float
    verdict: str
    same_data: bool
    inside: bool | None


def beside(report: Any, suite: Suite) -> list[Beside]:
    """Put every finished cell beside the published figure of its task and model, where there is one.

    Parameters
    ----------
    report
        A `BenchmarkReport`, or anything else with ``scores`` (a `ScoreTable`) and ``results``.
    suite
        A suite with published figures. A task of a reduced size stands beside the row of the full one.

    Returns
    -------
    list of Beside
        In the order of the report; empty when nothing of it was published.

    Examples
    --------
    >>> from graphnetz import BenchmarkReport
    >>> from graphnetz.datasets import SUITES
    >>> rows = [("cora", "GCN", seed, score, "test_acc", True) for seed, score in enumerate((0.81, 0.812, 0.811))]
    >>> columns = ["task", "model", "seed", "score", "metric", "greater_is_better"]
    >>> import pandas as pd
    >>> report = BenchmarkReport.from_scores(pd.DataFrame(rows, columns=columns))
    >>> [(row.published, row.verdict) for row in beside(report, SUITES["cross-category"])]
    [(0.811, 'compatible')]
    """
    if suite.published is None:
        return []
    figures = {(row.task, row.model): row for row in suite.published()}
    out = []
    for task in report.scores.tasks:
        full = suite.full_name(task)
        for model in report.scores.present(task):
            figure = figures.get((full, model))
            if figure is not None:
                out.append(_beside(report, task, model, figure, same=figure.same_data and full == task))
    return out


def _beside(report: Any, task: str, model: str, figure: Published, *, same: bool) -> Beside:
    from graphnetz.stats import welch_interval

    values = report.scores.cell(task, model)
    values = values[np.isfinite(values)]
    mean, runs = float(values.mean()), len(values)
    spread = float(values.std(ddof=1)) if runs > 1 else math.nan
    sd, ddof = _published_sd(figure)
    wide = max(0.05 * abs(figure.mean), 0.01)  # beyond this half-width an interval around zero says nothing
    found = welch_interval(mean, spread, runs, figure.mean, sd, figure.n, ddof_b=ddof, wide=wide)
    metric = report.scores.metrics[report.scores.tasks.index(task)].removeprefix("test_")
    interval = not math.isnan(figure.half_width)
    parameters = (r.parameters or 0 for r in report.results if r.ok and (r.task, r.model) == (task, model))
    return Beside(
        task, model, metric, max(parameters, default=0),
        mean, float(values.min()), float(values.max()), runs,
        figure.mean, sd, figure.half_width, figure.n, found.diff, found.low, found.high,
        _verdict(found.verdict, metric, figure.metric, runs), same,
        abs(mean - figure.mean) <= figure.half_width + WIDENED if interval else None,
    )  # fmt: skip


def _verdict(welch: str, ours: str, theirs: str, runs: int) -> str:
    if theirs and ours != theirs:
        return f"another metric ({theirs} was published)"
    return welch if runs > 1 else "one seed has no interval"


def _published_sd(figure: Published) -> tuple[float, int]:
    """Standard deviation of a published figure, and what it was divided by: n - ddof."""
    from graphnetz.stats.intervals import student_quantile

    if math.isnan(figure.half_width):
        return figure.sd, 0
    return figure.half_width * math.sqrt(figure.n) / student_quantile(figure.n - 1, 0.975), 1


def rows_inside(rows: Sequence[Beside], suite: Suite) -> tuple[list[str], list[str]]:
    """Return the tasks with every model inside, and the tasks that were run with every published model."""
    wanted: dict[str, set[str]] = {}
    for figure in suite.published() if suite.published else ():
        wanted.setdefault(figure.task, set()).add(figure.model)
    found = {task: [row for row in rows if row.task == task] for task in wanted}
    run = [task for task, models in wanted.items() if {row.model for row in found[task]} == models]
    return [task for task in run if all(row.inside for row in found[task])], run
