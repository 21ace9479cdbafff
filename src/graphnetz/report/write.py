"""The report folder: everything but the store and the configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from graphnetz._core.collector import no_collector
from graphnetz._core.paths import refuse_links, write_file
from graphnetz.records import Section
from graphnetz.records.kept import examples_file
from graphnetz.report import frames, integrity, latex, plots
from graphnetz.report.jsonio import dump, jsonable
from graphnetz.report.page import render_page
from graphnetz.report.pagecharts import nearest_components
from graphnetz.report.pagedata import build_page, title_of
from graphnetz.report.sections import combine, read_sections, readable
from graphnetz.report.style import figure_files, lean_fonts
from graphnetz.report.tables import csv_text, summary_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphnetz.analysis import Analysis
    from graphnetz.report.report import BenchmarkReport


def write_report(report: BenchmarkReport, folder: str | Path, *, figures: bool = True) -> Path:
    """Write every file of the run folder that comes from cells; ``figures=False`` leaves those of papers out."""
    out = Path(folder)
    refuse_links(out)
    # What the report holds is newer than a file of the same name: files are read when a report is made.
    sections = combine(combine(report.sections, read_sections(out, strict=False)), report.sections)
    with no_collector():
        texts = report_texts(report, sections, folder=out)
    # Gone until the last file is written: a folder whose writer was killed half-way was not tampered with.
    (out / integrity.FILE_NAME).unlink(missing_ok=True)
    for name, text in texts.items():
        write_file(out / name, text)
    # The page draws its own charts: it is there seconds before the figures for papers and slides are.
    if figures:
        write_figures(report.analysis, out / "figures")
    names = [name for name in texts if name not in integrity.NOT_IDENTICAL]
    names += [f"figures/{name}.{kind}" for name in FIGURES for kind in FORMATS]
    names += [f"examples/{examples_file(task)}" for task in report.task_info]
    integrity.write_digests(out, json.loads(texts["results.json"])["cells"], [*names, "plan.json"])
    return out


def report_texts(report: BenchmarkReport, sections: Sequence[Section], *, folder: Path | None = None) -> dict[str, str]:
    """Return the text files of a run folder by name; ``folder`` is where they will lie."""
    analysis, options = report.analysis, report.analysis.options
    pairs = frames.pairwise_frame(analysis.comparisons, method=options.method, family=options.family)
    return {
        "results.json": dump(report, histories=False, sections=readable(sections)),
        "provenance.json": _provenance(report),
        "summary.csv": frame_csv(frames.summary_frame(analysis.cells).reset_index()),
        "summary.md": summary_markdown(analysis.grid, title=title_of(report), verdicts=analysis.verdicts),
        "pairwise.csv": frame_csv(pairs),
        "pairwise_both.csv": frame_csv(frames.both_frame(analysis.side_by_side)),
        "costs.csv": frame_csv(report.costs()),
        "results.tex": latex.summary_latex(analysis.grid),
        "pairwise.tex": pairwise_tex(analysis),
        "report.html": render_page(build_page(report, sections=sections, folder=folder)),
    }


def frame_csv(frame: pd.DataFrame) -> str:
    """Return a data frame as safe CSV."""
    columns = [[None if value is pd.NA else value for value in frame[name].tolist()] for name in frame.columns]
    return csv_text([str(name) for name in frame.columns], zip(*columns, strict=True))


def _provenance(report: BenchmarkReport) -> str:
    body = dict(jsonable(report.provenance))
    # A run knows more than its cells do: what it says of itself stands.
    body.setdefault("environments", sorted({r.environment for r in report.results if r.environment}))
    body.setdefault("cell_seconds", jsonable(float(report.costs()["seconds_total"].sum())))
    body["config"] = jsonable(report.config)
    return json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def pairwise_tex(analysis: Analysis) -> str:
    """The deciding test with effect sizes, then t and Wilcoxon side by side."""
    return latex.pairwise_latex(analysis.comparisons) + "\n" + latex.both_latex(analysis.side_by_side)


@dataclass(frozen=True)
class Plan:
    """One figure of the folder and how to draw it."""

    name: str
    draw: Callable[[], tuple[Figure, Any]]
    note: str = ""
    """What it leaves out, printed below it."""


MAX_PANELS = 12
MAX_ROWS = 48
MAX_MATRIX_CELLS = 330
MAX_CURVES = 60
MAX_PLACES = 150
"""What a figure holds before it is neither readable nor quick to draw; tables hold everything."""


FORMATS = ("png", "pdf")
FIGURES = (
    "critical_difference", "dashboard", "dots", "components", "forest", "bars", "rank_sets", "profiles",
    "pairwise_matrix", "pairwise_list", "learning_curves",
)  # fmt: skip
"""Names of all figures that a folder may hold."""


def write_figures(analysis: Analysis, folder: Path, *, formats: Sequence[str] = FORMATS) -> None:
    """Write every figure as PDF and PNG."""
    for plan in figure_plans(analysis):
        with lean_fonts(), no_collector():
            figure = plan.draw()[0]
            if plan.note:
                figure.supxlabel(
                    "\n".join(filter(None, (figure.get_supxlabel(), plan.note))), fontsize=8, color="#555555"
                )
            files = figure_files(figure, formats=formats)
        for fmt, data in files.items():
            write_file(folder / f"{plan.name}.{fmt}", data)


def figure_plans(analysis: Analysis) -> list[Plan]:
    """The figures of a report, each with the call that draws it."""
    grid, pairs, models = analysis.grid, analysis.comparisons, analysis.scores.models
    k = max(1, len(models))
    n, compared = len(grid.rows), list(dict.fromkeys(pair.task for pair in pairs))
    some = compared[: max(1, min(MAX_PANELS, MAX_MATRIX_CELLS // k**2))]
    few = [pair for pair in pairs if pair.task in set(some)]
    panels = analysis.curves[: max(1, min(MAX_PANELS, MAX_CURVES // k))]
    ranks = analysis.ranking.view()
    plans = [
        Plan("critical_difference", lambda: plots.draw_critical_difference(ranks)),
        Plan("dashboard", lambda: plots.draw_dashboard(grid.head(2 * MAX_PANELS)), _cut(2 * MAX_PANELS, n)),
        Plan("dots", lambda: plots.draw_dots(analysis.dots[:MAX_PANELS], models), _cut(MAX_PANELS, len(analysis.dots))),
        Plan("components", lambda: plots.draw_components(nearest_components(analysis))),
        Plan("forest", lambda: plots.draw_forest(grid.head(MAX_ROWS)), _cut(MAX_ROWS, n)),
        Plan("bars", lambda: plots.draw_bars(grid.head(2 * MAX_PANELS)), _cut(2 * MAX_PANELS, n)),
    ]
    if 1 < len(analysis.rank_sets.models) <= MAX_PLACES and len(analysis.ranking.tasks) > 1:
        plans.append(Plan("rank_sets", lambda: plots.draw_rank_sets(analysis.rank_sets)))
    if (whole := analysis.aggregates) is not None:
        plans.append(Plan("profiles", lambda: plots.draw_profiles(whole.profiles())))
    if pairs:
        plans += [
            Plan("pairwise_matrix", lambda: plots.draw_pairwise_matrix(few, models), _cut(len(some), len(compared))),
            Plan(
                "pairwise_list",
                lambda: plots.draw_pairwise_list(pairs[:MAX_ROWS]),
                _cut(MAX_ROWS, len(pairs), "comparisons"),
            ),
        ]
    if panels:
        note = _cut(len(panels), len(analysis.curves)).replace("; the tables hold all", "")  # no table has curves
        plans.append(Plan("learning_curves", lambda: plots.draw_learning_curves(panels, models), note))
    return plans


def _cut(shown: int, total: int, what: str = "tasks") -> str:
    return f"The first {shown:,} of {total:,} {what}; the tables hold all." if total > shown else ""
