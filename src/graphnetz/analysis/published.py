"""Our cells beside those that somebody published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphnetz._core.download import mirror_has
from graphnetz.metrics import METRICS
from graphnetz.records.suite import Published, Suite

if TYPE_CHECKING:
    from graphnetz.stats.published import PublishedComparison

WIDENED = 0.02
"""What is added to a published interval before a mean of ours is called inside."""

MARGIN = "0.02 for metrics between 0 and 1, a twentieth of the published mean for others"


def margin_of(figure: Published) -> float:
    """Return the largest difference from a published mean that does not matter (`MARGIN`).

    Parameters
    ----------
    figure
        The published figure; its metric says which kind of number it is.

    Returns
    -------
    float
        In units of the metric.

    Examples
    --------
    >>> margin_of(Published("3", "cora", "GCN", "acc", 0.811)), margin_of(Published("3", "zinc", "GCN", "mae", 0.5))
    (0.02, 0.025)
    """
    declared = METRICS[figure.metric].bounds if figure.metric in METRICS else (-math.inf, math.inf)
    return WIDENED if tuple(declared) == (0.0, 1.0) else 0.05 * abs(figure.mean)


@dataclass(frozen=True)
class Beside:
    """One of our cells beside the published one; ``verdict`` says what the Welch interval of the difference allows.

    ``low`` and ``high`` bound our mean minus the published one at 95 % (Welch, 1947); NaN with fewer than two runs,
    as ``verdict`` says. ``same_data`` is False for reduced sizes and for datasets of our own generators, ``why`` says
    which: a difference is then no sign of an error. ``agreement`` is ``"equivalent"`` where two one-sided Welch tests
    at 5 % show the means to differ by less than ``margin`` (`margin_of`), ``"differs"`` where the interval leaves
    zero out, else ``"open"``. ``inside`` says whether our mean lies in the published interval widened by 0.02, and
    is None where the paper printed a standard deviation instead of an interval. ``spread`` is the standard deviation of
    our runs. ``train`` and ``published_train`` are the means on the training examples, where they were measured
    (protocol key ``train_metrics``) and printed.
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
    table: str = ""
    margin: float = math.nan
    agreement: str = ""
    why: str = ""
    spread: float = math.nan
    train: float = math.nan
    published_train: float = math.nan


def beside(report: Any, suite: Suite) -> list[Beside]:
    """Put every finished cell beside the published figures of its task and model, one per table and metric.

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
    figures: dict[tuple[str, str], dict[tuple[str, str], Published]] = {}
    for row in suite.published():
        if not math.isnan(row.mean):  # what the paper says of the others: diverged, or out of memory
            figures.setdefault((row.task, row.model), {}).setdefault((row.table, row.metric), row)
    return [
        _beside(report, task, model, figure, why=_other_data(suite, task, figure))
        for task in report.scores.tasks
        for model in report.scores.present(task)
        for figure in figures.get((suite.full_name(task), model), {}).values()
    ]


def _other_data(suite: Suite, task: str, figure: Published) -> str:
    """Why our data is not the published one; empty where it is."""
    if suite.full_name(task) != task:
        full = suite.full_name(task)
        if task.endswith("_generated"):
            return "data of our own in the place of the published files"
        words = (text for name, text in suite.reductions.items() if full.startswith(name))
        return f"reduced: {next(words, 'fewer examples and shorter training')}"
    card = next((item.card for item in suite() if item.name == task), None)
    if card is not None and card.simulated:
        return figure.more.get("departs") or "a generator of ours, not the published file"
    if card is not None and figure.more.get("in_mirrors") and any(mirror_has(name) for name in card.mirror):
        return figure.more["in_mirrors"]
    return figure.more.get("departs") or ("" if figure.same_data else "other data than the published")


def _beside(report: Any, task: str, model: str, figure: Published, *, why: str) -> Beside:
    from graphnetz.stats import welch_interval

    every, metric = _runs(report, task, model, figure.metric)
    # Runs on one fold differ by their initial weights only: folds are what was repeated.
    values = report.scores.by_split(task, every)
    every, values = (row[np.isfinite(row)] for row in (every, values))
    mean, runs = float(values.mean()), len(values)
    spread = float(values.std(ddof=1)) if runs > 1 else math.nan
    sd, ddof = _published_sd(figure)
    wide = max(0.05 * abs(figure.mean), 0.01)  # beyond this half-width an interval around zero says nothing
    found = welch_interval(mean, spread, runs, figure.mean, sd, figure.n, ddof_b=ddof, wide=wide)
    narrow = welch_interval(mean, spread, runs, figure.mean, sd, figure.n, ddof_b=ddof, level=0.9, wide=wide)
    margin = margin_of(figure)
    interval = not math.isnan(figure.half_width)
    parameters = (r.parameters or 0 for r in report.results if r.ok and (r.task, r.model) == (task, model))
    return Beside(
        task, model, metric, max(parameters, default=0),
        mean, float(every.min()), float(every.max()), runs,
        figure.mean, sd, figure.half_width, figure.n, found.diff, found.low, found.high,
        _verdict(found.verdict, metric, figure.metric, runs), not why,
        abs(mean - figure.mean) <= figure.half_width + WIDENED if interval else None,
        figure.table, margin, _agreement(found, narrow, margin), why, spread,
        _on_training(report, task, model, metric), float(figure.more.get("train") or math.nan),
    )  # fmt: skip


def _on_training(report: Any, task: str, model: str, metric: str) -> float:
    """Mean of the metric on the training examples; NaN where no run measured it."""
    key = f"train_{metric}"
    runs = [r for r in report.results if r.ok and (r.task, r.model) == (task, model)]
    found = [r.metrics[key] for r in runs if key in r.metrics]
    return float(np.mean(found)) if found and len(found) == len(runs) else math.nan


def _runs(report: Any, task: str, model: str, published: str) -> tuple[Any, str]:
    """Return one value per seed of the published metric, or of the headline one where the cells have no other."""
    metric = report.scores.metrics[report.scores.tasks.index(task)].removeprefix("test_")
    cells = {r.seed: r for r in report.results if r.ok and (r.task, r.model) == (task, model)}
    if not published or published == metric or not all(f"test_{published}" in r.metrics for r in cells.values()):
        return report.scores.cell(task, model), metric
    seeds = report.scores.seeds
    return np.array([cells[s].metrics[f"test_{published}"] if s in cells else math.nan for s in seeds]), published


def _agreement(wide: PublishedComparison, narrow: PublishedComparison, margin: float) -> str:
    """Two one-sided tests: the 90 % interval lies within the margin."""
    if -margin < narrow.low and narrow.high < margin:
        return "equivalent"
    return "differs" if wide.verdict == "differs" else "open"


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
