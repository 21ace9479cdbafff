"""The report folder: everything but the store and the configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from graphnetz._core.paths import atomic_write
from graphnetz.render import latex, plots
from graphnetz.render.page import FigureView, figure_view, render_page
from graphnetz.render.style import save_figure
from graphnetz.render.tables import csv_text, summary_markdown
from graphnetz.report import figures, ranking
from graphnetz.report.analysis import FAMILY_WORDS
from graphnetz.report.jsonio import jsonable
from graphnetz.report.pagedata import build_page, title_of
from graphnetz.report.verdicts import TEST_WORDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphnetz.report.report import BenchmarkReport


def write_report(report: BenchmarkReport, folder: str | Path) -> Path:
    """Write every file of the run folder that comes from cells."""
    out = Path(folder)
    _write(out / "results.json", report.to_json(histories=False))
    _write(out / "provenance.json", _provenance(report))
    _write(out / "summary.csv", frame_csv(report.summary().reset_index()))
    lines = [f"{verdict.about}: {verdict}" for verdict in report.verdicts()]
    _write(out / "summary.md", summary_markdown(report.grid(), title=title_of(report), verdicts=lines))
    _write(out / "pairwise.csv", frame_csv(report.pairwise()))
    _write(out / "pairwise_both.csv", frame_csv(report.pairwise_both()))
    _write(out / "costs.csv", frame_csv(report.costs()))
    report.to_latex(out / "results.tex")
    _write(out / "pairwise.tex", _pairwise_tex(report))
    drawn = write_figures(report, out / "figures")
    _write(out / "report.html", render_page(build_page(report, drawn)))
    return out


def frame_csv(frame: pd.DataFrame) -> str:
    """Return a data frame as safe CSV."""
    columns = [frame[name].tolist() for name in frame.columns]
    return csv_text([str(name) for name in frame.columns], zip(*columns, strict=True))


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as stream:
        stream.write(text)


def _provenance(report: BenchmarkReport) -> str:
    body = {
        **jsonable(report.provenance),
        "environments": sorted({r.environment for r in report.results if r.environment}),
        "config": jsonable(report.config),
        "cell_seconds": jsonable(float(report.costs()["seconds_total"].sum())),
    }
    return json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _pairwise_tex(report: BenchmarkReport) -> str:
    """The chosen test with effect sizes, then t and Wilcoxon side by side."""
    test = TEST_WORDS.get(report.pairwise_method, report.pairwise_method)
    first = latex.pairwise_latex(figures.pair_views(report.comparisons()), test=test, family=FAMILY_WORDS["task"])
    both = figures.both_views(report.comparisons(method="t"), report.comparisons(method="wilcoxon"))
    return first + "\n" + latex.both_latex(both)


@dataclass(frozen=True)
class _Plan:
    """One figure of the folder: how to draw it and what to say under it."""

    name: str
    title: str
    caption: str
    draw: Callable[[], tuple[Figure, Any]]
    on_page: bool = True


MAX_PANELS = 12
MAX_ROWS = 48
MAX_MATRIX_CELLS = 600
MAX_CURVES = 60
"""What a figure holds before it is neither readable nor quick to draw; tables hold everything."""


def write_figures(report: BenchmarkReport, folder: Path) -> tuple[FigureView, ...]:
    """Write every figure as PDF and PNG and return them for the page."""
    views = []
    for plan in _plans(report):
        fig, _ = plan.draw()
        fig.draw_without_rendering()
        fig.set_layout_engine("none")  # the layout stands: three formats need not compute it again
        save_figure(fig, folder / plan.name, tight=False)
        if plan.on_page:
            views.append(figure_view(plan.name, fig, title=plan.title, caption=plan.caption, tight=False))
    return tuple(views)


def _plans(report: BenchmarkReport) -> list[_Plan]:
    grid, pairs = report.grid(), figures.pair_views(report.comparisons(), decisive=True)
    models, n = report.scores.models, len(report.scores.tasks)
    k = max(1, len(models))
    some = list(dict.fromkeys(pair.task for pair in pairs))[: max(1, min(MAX_PANELS, MAX_MATRIX_CELLS // k**2))]
    few = [pair for pair in pairs if pair.task in set(some)]
    info = report.task_info
    keys = {task: item.metric for task, item in info.items()}
    labels = {task: item.label for task, item in info.items()}
    shown = dict(list(report.histories.items())[: max(1, min(MAX_PANELS, MAX_CURVES // k))])
    panels = figures.curve_panels(shown, keys, labels, level=0.95, results=report.results)
    ranks = ranking.rank_view(report.ranking())
    every = f"{100 * grid.level:g} % intervals ({grid.interval})"
    plans = [
        _Plan(
            "critical_difference",
            "Ranks across tasks",
            "Mean rank of every model that is present on all tasks; lower is better. Models joined by a bar cannot be "
            "told apart.",
            lambda: plots.draw_critical_difference(ranks),
        ),
        _Plan(
            "dashboard",
            "Dashboard",
            f"One panel per task, each on its own scale; {every}. Panels are not comparable by height."
            + _cut(min(n, 2 * MAX_PANELS), n),
            lambda: plots.draw_dashboard(grid.head(2 * MAX_PANELS)),
        ),
        _Plan(
            "forest",
            "Means and intervals",
            f"Means with {every}, one row per task, grouped by metric." + _cut(min(n, MAX_ROWS), n),
            lambda: plots.draw_forest(grid.head(MAX_ROWS)),
        ),
        _Plan(
            "bars",
            "Bars",
            f"Means with {every}, grouped by metric." + _cut(min(n, 2 * MAX_PANELS), n),
            lambda: plots.draw_bars(grid.head(2 * MAX_PANELS)),
            on_page=False,  # the dashboard shows the same
        ),
    ]
    if pairs:
        plans += [
            _Plan(
                "pairwise_matrix",
                "Comparisons, as a matrix",
                "Mean difference (upper right) and Holm-adjusted p of the test that verdicts use (lower left)."
                + _cut(len(some), n),
                lambda: plots.draw_pairwise_matrix(few, models),
            ),
            _Plan(
                "pairwise_list",
                "Comparisons, one by one",
                "Mean difference with its 95 % interval, not adjusted; filled marks are significant after Holm."
                + _cut(min(len(pairs), MAX_ROWS), len(pairs), "comparisons"),
                lambda: plots.draw_pairwise_list(pairs[:MAX_ROWS]),
                on_page=False,  # the page has the table itself
            ),
        ]
    if panels:
        plans.append(
            _Plan(
                "learning_curves",
                "Learning curves",
                "Mean over seeds and 95 % t interval, epoch by epoch." + _cut(len(shown), n),
                lambda: plots.draw_learning_curves(panels, models),
            )
        )
    return plans


def _cut(shown: int, total: int, what: str = "tasks") -> str:
    return f" The first {shown} of {total} {what}; the tables hold all." if shown < total else ""
