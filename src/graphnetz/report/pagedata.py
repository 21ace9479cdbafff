"""From a report to the record that the page template shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphnetz._core.collector import no_collector
from graphnetz.analysis.components import components_table
from graphnetz.analysis.power import MAX_SEEDS
from graphnetz.analysis.ranking import place_table
from graphnetz.analysis.scores import public_error
from graphnetz.analysis.shifts import shift_table
from graphnetz.records import Section, Table
from graphnetz.records.analysis import INTERVAL_WORDS, TEST_WORDS
from graphnetz.report import charts
from graphnetz.report.page import FigureView, PageData, render_text
from graphnetz.report.pagecharts import across_figures, cost_figure, task_cards
from graphnetz.report.provenance import origin_tables, reproduce

if TYPE_CHECKING:
    from graphnetz.analysis import Analysis
    from graphnetz.report.report import BenchmarkReport


MAX_BOARD_ROWS = 200
"""Rows of a table on a leaderboard; longer ones are in its files."""


@no_collector()
def build_page(
    report: BenchmarkReport,
    *,
    sections: Sequence[Section] | None = None,
    folder: Path | None = None,
    pages: Mapping[str, str] | None = None,
) -> PageData:
    """Collect everything the page shows.

    ``sections`` stand in place of the report's own when given; ``folder`` is where the page will lie. Where tasks have
    ``pages`` of their own it is a leaderboard: rows of models instead of cards, and only what can be read at a glance.
    """
    analysis = report.analysis
    tasks = set(analysis.scores.tasks)
    return PageData(
        title=title_of(report),
        facts=_facts(analysis),
        grid=analysis.grid,
        verdicts=tuple(verdict for verdict in analysis.verdicts if verdict.about not in tasks),
        headline=analysis.headline,
        places=_places(analysis),
        order=column_order(analysis),
        cards=task_cards(analysis) if pages is None else (),
        pages=pages or {},
        boards=analysis.boards if pages is not None else (),
        figures=across_figures(analysis),
        tables=tuple(found for found in _tables(analysis) if pages is None or len(found[1].rows) <= MAX_BOARD_ROWS),
        absent=_absent(analysis),
        failures=_failures(analysis),
        sections=tuple(report.sections if sections is None else sections),
        methods=methods(analysis),
        provenance=tuple(
            found for found in origin_tables(report) if pages is None or len(found[1].rows) <= MAX_BOARD_ROWS
        ),
        reproduce=reproduce(report, folder),
        cost=cost_figure(analysis) if pages is None else None,
    )


def column_order(analysis: Analysis) -> tuple[int, ...]:
    """Columns of the heat table: models by mean rank across tasks, those without a score last."""
    models, ranked = analysis.scores.models, analysis.rank_sets.models
    place = {model: i for i, model in enumerate(ranked)}
    return tuple(sorted(range(len(models)), key=lambda i: (place.get(models[i], len(ranked)), i)))


def _places(analysis: Analysis) -> FigureView | None:
    sets, models = analysis.rank_sets, analysis.scores.models
    chart = charts.places_rows(sets, models)
    if chart is None and len(analysis.grid.rows) == 1:  # one task has no places across tasks: its runs stand there
        (row,), (dots,) = analysis.grid.rows, analysis.dots
        chart = charts.forest_rows(row, models, dots.rows, number_of=1)
        return FigureView("runs", f"{row.metric} on {row.task}", "Every run, mean and interval.", chart=chart)
    if chart is None:
        return None
    why = f" {sets.reason[0].upper()}{sets.reason[1:]}." if sets.reason else ""
    return FigureView(
        "rank_sets", "Places across tasks", f"{sets.words}. Marks stand at the mean rank.{why}", chart=chart
    )


def title_of(report: BenchmarkReport) -> str:
    """Title of the page: given, or made from what was run."""
    config = report.config
    subject = config.get("title") or config.get("suite") or config.get("category") or "benchmark"
    return str(subject) if config.get("title") else f"Benchmark report: {subject}"


def _absent(analysis: Analysis) -> tuple[tuple[str, str, str], ...]:
    """Pairs without any value, with the reason."""
    table = analysis.scores
    there = {(task, model) for task in table.tasks for model in table.present(task)}
    return tuple((*pair, why) for pair, why in sorted(table.reasons.items()) if pair not in there)


def _facts(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    table = analysis.scores
    done, failed = int(np.isfinite(table.values).sum()), len(analysis.facts.failures)
    there = {seed for i, seed in enumerate(table.seeds) if np.isfinite(table.values[:, :, i]).any()}
    there |= {result.seed for result in analysis.facts.failures}
    return (
        *(
            (noun if count == 1 else f"{noun}s", f"{count:,}")
            for noun, count in (("Task", len(table.tasks)), ("Model", len(table.models)), ("Seed", len(there)))
        ),
        ("Cells", f"{done:,} finished" + (f", {failed:,} failed" if failed else "")),
    )


def _tables(analysis: Analysis) -> list[tuple[str, Table]]:
    tables = [("Design", design_table(analysis))] if analysis.comparisons else []
    if analysis.diagnostics:
        tables.append(("Diagnostics", diagnostics_table(analysis)))
    if analysis.shifts:
        tables.append(("Out of distribution", shift_table(analysis.shifts)))
    if any(not found.reason for found in analysis.components):
        tables.append(("Components of variance", components_table(analysis.components)))
    if analysis.facts.budgets:
        sizes = tuple((task, model, count) for (task, model), count in analysis.parameters.items())
        tables.append(("Parameters", Table(("Task", "Model", "Parameters"), sizes)))
    found, moved = analysis.ranking, analysis.stability
    if moved is not None and len(found.tasks) > 1:
        values = (found.mean_ranks, moved.mean_rank_low, moved.mean_rank_high)
        rows = tuple((found.models[i], *(float(column[i]) for column in values)) for i in found.order)
        note = "Interval of each mean rank by resampling the tasks, 2,000 times."
        tables.insert(0, ("Ranks", Table(("Model", "Mean rank", "low", "high"), rows, note)))
        tables.insert(0, ("Places across tasks", place_table(analysis.rank_sets)))
        tables += analysis.population
    return tables


def diagnostics_table(analysis: Analysis) -> Table:
    """What is remarkable about single runs, before anything is tested."""
    rows = tuple((found.task, found.model, found.kind, found.text) for found in analysis.diagnostics)
    return Table(("Task", "Model", "Kind", "Remark"), rows, "What was looked at before the tests.")


def design_table(analysis: Analysis) -> Table:
    """What the seeds can see on every task: the best model against the next one."""
    rows = []
    for plan in analysis.design:
        spread = plan.n > 1 and plan.sd > 0
        seeds = f"more than {MAX_SEEDS}" if plan.seeds is None and spread else plan.seeds
        # As in the verdict, where the search for a number ended.
        high = plan.seeds_high or f"more than {MAX_SEEDS}"
        ends = f"{plan.seeds_low} to {high}" if plan.seeds_low is not None else ""
        rows.append((plan.task, f"{plan.a} − {plan.b}", plan.n, plan.sd, plan.mde, plan.effect, seeds, ends))
    note = (
        "The two best means of each task. Smallest difference that these seeds detect with 80 % probability at Holm's "
        "strictest step, and seeds needed for the stated difference, with the range that the spread allows. The "
        "observed difference plays no part."
    )
    columns = (
        "Task", "Comparison", "Seeds", "SD of differences", "Smallest visible", "Difference", "Seeds for it", "Range",
    )  # fmt: skip
    return Table(columns, tuple(rows), note)


def _failures(analysis: Analysis) -> Table | None:
    failed = analysis.facts.failures
    if not failed:
        return None
    rows = tuple((r.task, r.model, r.seed, r.status, public_error(r)) for r in failed)
    return Table(("Task", "Model", "Seed", "Status", "Error"), rows)


def methods(analysis: Analysis) -> tuple[str, ...]:
    """How the numbers were made, in sentences that depend on the analysis alone."""
    options, tasks = analysis.options, analysis.facts.tasks.values()
    text = render_text(
        "methods.txt",
        analysis=analysis,
        interval=INTERVAL_WORDS.get(options.interval, options.interval),
        test=TEST_WORDS.get(options.method, options.method),
        shared=any(info.shares_data for info in tasks),
        replications={info.replication for info in tasks},
    )
    return tuple(text.splitlines())
