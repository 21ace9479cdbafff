"""The charts of the page, from what the report computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from graphnetz.records import Components
from graphnetz.report import charts
from graphnetz.report.page import FigureView, PairGroup, TaskCard

if TYPE_CHECKING:
    from graphnetz.analysis import Analysis

MAX_MATRIX = 12
"""Models of a matrix of comparisons, and of a task whose comparisons are all listed."""


def across_figures(analysis: Analysis) -> tuple[FigureView, ...]:
    """Return what is drawn about all tasks besides the places."""
    words = (
        "Mean rank of every model that is present on all tasks; lower is better. Models joined by a bar are within "
        "Nemenyi's difference."
    )
    chart = charts.critical_chart(analysis.ranking.view())
    return (FigureView("critical_difference", "Critical-difference diagram", words, chart=chart),) if chart else ()


def task_cards(analysis: Analysis) -> tuple[TaskCard, ...]:
    """Return one card per task: what is said, every run, where the spread comes from, curves and comparisons."""
    models, grid = analysis.scores.models, analysis.grid
    dots = {panel.task: panel.rows for panel in analysis.dots}
    spread = {found.task: charts.components_bar(found) for found in nearest_components(analysis)}
    curves = {panel.task: charts.curves_panel(panel, models) for panel in analysis.curves}
    said: dict[str, list[object]] = {}
    for verdict in analysis.verdicts:
        said.setdefault(verdict.about, []).append(verdict)
    pairs = pair_groups(analysis)
    return tuple(
        TaskCard(
            index=t,
            row=row,
            line=analysis.headline.lines[row.task],
            verdicts=tuple(said.get(row.task, ())),  # type: ignore[arg-type]
            forest=charts.forest_rows(row, models, dots.get(row.task, ()), number_of=t),
            spread=spread.get(row.task),
            curves=curves.get(row.task),
            pairs=pairs.get(row.task),
        )
        for t, row in enumerate(grid.rows)
    )


def pair_groups(analysis: Analysis) -> dict[str, PairGroup]:
    """Return the comparisons of every task; of many models those with the best one, and how many there are."""
    sides = iter(analysis.side_by_side)
    out = {}
    for task, pairs in analysis.grouped.items():
        there = {name for pair in pairs for name in (pair.a, pair.b)}
        place = analysis.standings[task]
        order = tuple(m for m in analysis.scores.models if m in there) if 2 < len(there) <= MAX_MATRIX else ()
        rows = tuple((pair, *next(sides)) for pair in pairs)
        shown = sum(pair.different for pair in pairs)
        note = f"{shown} of {len(pairs)} show{'s' * (shown == 1)} a difference"
        if len(there) > MAX_MATRIX and place is not None:
            rows = tuple(found for found in rows if found[0].involves(place.best))
            note += f"; the {len(rows)} with the best model are listed, pairwise.csv holds all"
        out[task] = PairGroup(task, note, rows, analysis.scores.models, order)
    return out


def nearest_components(analysis: Analysis) -> list[Components]:
    """Components of the best model against the next one, for every task that has any."""
    best_two = {(plan.task, plan.a, plan.b) for plan in analysis.design}
    return [c for c in analysis.components if not c.reason and (c.task, c.a, c.b) in best_two]


def cost_figure(analysis: Analysis) -> Markup | None:
    """Score against mean seconds of a cell; None when no cell kept its time."""
    return charts.cost_chart(analysis.grid, analysis.seconds)
