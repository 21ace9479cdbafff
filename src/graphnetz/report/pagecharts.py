"""The charts of the page, from what the report computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from graphnetz.records import Components
from graphnetz.report import charts
from graphnetz.report.page import FigureView

if TYPE_CHECKING:
    from graphnetz.analysis import Analysis

MAX_ROWS = 150
MAX_PANELS = 24
"""What a chart holds before nobody scrolls through it; tables hold everything."""


def page_figures(analysis: Analysis) -> tuple[FigureView, ...]:
    """Return ranks, means with intervals and learning curves, each where there is something to show."""
    grid, n = analysis.grid, len(analysis.scores.tasks)
    every = f"{100 * grid.level:g} % intervals ({grid.interval})"
    views = [
        FigureView(
            "rank_sets",
            "Places across tasks",
            f"{analysis.rank_sets.words}. A mark stands at the mean rank.",
            chart=charts.places_chart(analysis.rank_sets, analysis.scores.models),
        ),
        FigureView(
            "critical_difference",
            "Ranks across tasks",
            "Mean rank of every model that is present on all tasks; lower is better. Models joined by a bar are "
            "within Nemenyi's difference.",
            chart=charts.critical_chart(analysis.ranking.view()),
        ),
        FigureView(
            "forest",
            "Means and intervals",
            f"Means with {every}, one row per task, one panel per metric." + _cut(MAX_ROWS, n),
            chart=charts.forest_chart(grid.head(MAX_ROWS)) if n else None,
        ),
        FigureView(
            "dots",
            "Every run",
            "One dot per run, a tick at the mean; runs that collapsed or failed stand apart." + _cut(MAX_PANELS, n),
            chart=charts.dots_chart(analysis.dots[:MAX_PANELS], analysis.scores.models),
        ),
        FigureView(
            "components",
            "Where the spread comes from",
            "Shares of the variance of the difference between the best and the next model of each task, for new "
            "examples: what more seeds, more splits or a larger test set would reduce.",
            chart=charts.components_chart(nearest_components(analysis)),
        ),
        FigureView(
            "learning_curves",
            "Learning curves",
            "Mean over seeds and 95 % t interval, epoch by epoch." + _cut(MAX_PANELS, n),
            chart=charts.curves_chart(analysis.curves[:MAX_PANELS], analysis.scores.models),
        ),
    ]
    return tuple(view for view in views if view.chart is not None)


def nearest_components(analysis: Analysis) -> list[Components]:
    """Components of the best model against the next one, for every task that has any."""
    best_two = {(plan.task, plan.a, plan.b) for plan in analysis.design}
    return [c for c in analysis.components if not c.reason and (c.task, c.a, c.b) in best_two]


def cost_figure(analysis: Analysis) -> Markup | None:
    """Score against mean seconds of a cell; None when no cell kept its time."""
    return charts.cost_chart(analysis.grid.head(MAX_PANELS), analysis.seconds)


def _cut(shown: int, total: int) -> str:
    return f" The first {shown} of {total} tasks; the tables hold all." if shown < total else ""
