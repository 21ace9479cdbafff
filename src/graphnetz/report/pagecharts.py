"""The charts of the page, from what the report computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from graphnetz.analysis import ranking
from graphnetz.report import charts, figures
from graphnetz.report.page import FigureView
from graphnetz.report.views import CurvePanel

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

MAX_ROWS = 150
MAX_PANELS = 24
"""What a chart holds before nobody scrolls through it; tables hold everything."""


def page_figures(report: BenchmarkReport) -> tuple[FigureView, ...]:
    """Return ranks, means with intervals and learning curves, each where there is something to show."""
    grid, n = report.grid(), len(report.scores.tasks)
    every = f"{100 * grid.level:g} % intervals ({grid.interval})"
    panels = report_panels(report, MAX_PANELS)
    views = [
        FigureView(
            "critical_difference",
            "Ranks across tasks",
            "Mean rank of every model that is present on all tasks; lower is better. Models joined by a bar cannot be "
            "told apart.",
            chart=charts.critical_chart(ranking.rank_view(report.ranking())),
        ),
        FigureView(
            "forest",
            "Means and intervals",
            f"Means with {every}, one row per task, one panel per metric." + _cut(MAX_ROWS, n),
            chart=charts.forest_chart(grid.head(MAX_ROWS)) if n else None,
        ),
        FigureView(
            "learning_curves",
            "Learning curves",
            "Mean over seeds and 95 % t interval, epoch by epoch." + _cut(MAX_PANELS, n),
            chart=charts.curves_chart(panels, report.scores.models),
        ),
    ]
    return tuple(view for view in views if view.chart is not None)


def cost_figure(report: BenchmarkReport) -> Markup | None:
    """Score against mean seconds of a cell; None when no cell kept its time."""
    costs = report.costs()
    keys = zip(costs["task"].tolist(), costs["model"].tolist(), strict=True)
    seconds = dict(zip(keys, costs["seconds_mean"].tolist(), strict=True))
    return charts.cost_chart(report.grid().head(MAX_PANELS), seconds)


def report_panels(report: BenchmarkReport, most: int) -> list[CurvePanel]:
    """Learning curves of the first ``most`` tasks."""
    info = report.task_info
    return figures.curve_panels(
        dict(list(report.histories.items())[:most]),
        {task: item.metric for task, item in info.items()},
        {task: item.label for task, item in info.items()},
        level=0.95,
        results=report.results,
    )


def _cut(shown: int, total: int) -> str:
    return f" The first {shown} of {total} tasks; the tables hold all." if shown < total else ""
