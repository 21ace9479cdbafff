"""The report folder: everything but the store and the configuration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from graphnetz._core.collector import no_collector
from graphnetz._core.paths import refuse_links, write_file
from graphnetz.analysis.examples import looked_up
from graphnetz.records import Section
from graphnetz.records.kept import Kept, examples_file, pack_examples
from graphnetz.report import frames, integrity, latex
from graphnetz.report.files import link_files
from graphnetz.report.jsonio import dump, jsonable
from graphnetz.report.page import page_bytes, render_page
from graphnetz.report.pagedata import build_page, title_of
from graphnetz.report.sections import combine, read_sections, readable
from graphnetz.report.tables import csv_text, summary_markdown

if TYPE_CHECKING:
    from graphnetz.analysis import Analysis
    from graphnetz.report.report import BenchmarkReport


def write_report(report: BenchmarkReport, folder: str | Path, *, figures: bool = True, size: str = "page") -> Path:
    """Write every file of the run folder that comes from cells; ``figures=False`` leaves those of papers out."""
    out = Path(folder)
    refuse_links(out)
    # What the report holds is newer than a file of the same name: files are read when a report is made.
    sections = combine(combine(report.sections, read_sections(out, strict=False)), report.sections)
    with no_collector():
        texts = _tables(report, sections) | {
            "report.html": page_bytes(build_page(report, sections=sections, folder=out))
        }
    # Gone until the last file is written: a folder whose writer was killed half-way was not tampered with.
    (out / integrity.FILE_NAME).unlink(missing_ok=True)
    for name, text in texts.items():
        write_file(out / name, text)
    write_examples(report, out)
    # The page draws its own charts: it is there seconds before the figures for papers and slides are.
    if figures:
        write_figures(report.analysis, out / "figures", **({"size": size} if size != "page" else {}))
    names = [name for name in texts if name not in integrity.NOT_IDENTICAL]
    names += figure_digests(out / "figures")
    names += [f"examples/{examples_file(task)}" for task in report.task_info]
    integrity.write_digests(out, json.loads(texts["results.json"])["cells"], [*names, "plan.json"])
    link_files(out)
    return out


def write_examples(report: BenchmarkReport, out: Path) -> None:
    """Write what cells predicted, unless it lies there: without it, the same cells would say less when read again."""
    if report.examples_in is not None and Path(report.examples_in).resolve() == out.resolve():
        return
    mine: dict[str, list[Kept]] = {}
    for cell in report.results:
        if cell.predictions is not None:
            mine.setdefault(cell.task, []).append(Kept(cell.model, cell.seed, cell.predictions))
    for task in report.task_info:
        kept = mine.get(task) or looked_up(task, report.examples_in or report.examples_of)
        if kept:
            write_file(out / "examples" / examples_file(task), pack_examples(task, kept))


def write_figures(analysis: Analysis, folder: Path, **options: str) -> None:
    """Write every figure; matplotlib is loaded here, so that a run and its page do not wait for it."""
    from graphnetz.report import figures

    figures.write_figures(analysis, folder, **options)


def figure_digests(folder: Path) -> list[str]:
    """Names of the figures in ``folder`` that have a digest."""
    if not folder.is_dir():
        return []
    from graphnetz.report import figures

    return [f"figures/{name}" for name in figures.digested(folder)]


def report_texts(report: BenchmarkReport, sections: Sequence[Section], *, folder: Path | None = None) -> dict[str, str]:
    """Return the text files of a run folder by name; ``folder`` is where they will lie."""
    return _tables(report, sections) | {
        "report.html": render_page(build_page(report, sections=sections, folder=folder))
    }


def _tables(report: BenchmarkReport, sections: Sequence[Section]) -> dict[str, str]:
    """All of them but the page."""
    analysis, options = report.analysis, report.analysis.options
    pairs = frames.pairwise_frame(analysis.comparisons, method=options.method, family=options.family)
    more = {"shifts.csv": frame_csv(frames.shifts_frame(analysis.shifts))} if analysis.shifts else {}
    return more | {
        "results.json": dump(report, histories=False, sections=readable(sections)),
        "provenance.json": _provenance(report),
        "summary.csv": frame_csv(frames.summary_frame(analysis.cells).reset_index()),
        "summary.md": summary_markdown(analysis.grid, title=title_of(report), verdicts=analysis.verdicts),
        "pairwise.csv": frame_csv(pairs),
        "pairwise_both.csv": frame_csv(frames.both_frame(analysis.side_by_side)),
        "costs.csv": frame_csv(report.costs()),
        "results.tex": latex.summary_latex(analysis.grid),
        "pairwise.tex": pairwise_tex(analysis),
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
