"""A leaderboard as a folder of static pages: one row per model, and a page per task behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphnetz._core.paths import slug, write_file
from graphnetz.records import Section, Table
from graphnetz.records.analysis import Place
from graphnetz.records.board import Board, BoardRow
from graphnetz.records.findings import Finding
from graphnetz.report.field import findings_pages
from graphnetz.report.files import files_of, link_files
from graphnetz.report.page import render_page, render_task
from graphnetz.report.pagecharts import task_cards
from graphnetz.report.pagedata import build_page
from graphnetz.report.tables import csv_text

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

NOT = "not verified"
MOST_PLACES = 400
"""Places that the first page lists task by task; above, the pages of the tasks and ``leaderboard.csv`` do."""


def write_site(
    report: BenchmarkReport, out: Path, *, checked: Mapping[tuple[str, str], str], findings: Sequence[Finding] = (),
    notes: Mapping[str, Sequence[tuple[str, Table]]] | None = None,
) -> list[str]:  # fmt: skip
    """Write the site of ``report`` and return the names of its files.

    Parameters
    ----------
    report
        All runs, merged.
    out
        Its folder.
    checked
        ``checked[task, model]``: what is known of where the cells come from; else it was not verified.
    findings
        Sentences for a first page of their own; the board is then the second, ``board.html``.
    notes
        Further tables for the pages of tasks, with their headings.
    """
    analysis = report.analysis
    board = "board.html" if findings else "index.html"
    pages = task_pages(analysis.scores.tasks)
    places: dict[str, list[Place]] = {}
    for place in analysis.places:
        places.setdefault(place.task, []).append(place)
    files = {
        board: render_page(replace(build_page(report, pages=pages), home="index.html" if findings else "")),
        "board.csv": board_csv(analysis.boards),
        "leaderboard.csv": _leaderboard_csv(analysis.places, checked),
        "places.csv": _places_csv(report),
        "results.json": report.to_json(histories=False),
    }
    for card in task_cards(analysis):
        title = card.row.task
        table = _task_table(places.get(title, []), checked)
        more = (("Places on this task", table), *(notes or {}).get(title, ()))
        files[pages[title]] = render_task(title, card, more, home=board)
    if findings:
        files |= findings_pages(report, findings, pages)
    for name, text in files.items():
        write_file(out / name, text)
    _forget_others(out, files)
    link_files(out, board)
    return [name for _, names, _ in files_of(out) for name in names]


def _forget_others(out: Path, files: Mapping[str, str]) -> None:
    """Remove pages of an earlier site in the same folder: they would say something else than this one."""
    for path in (*out.glob("tasks/[0-9]*.html"), *out.glob("evidence/[0-9]*.html"), *out.glob("evidence/[0-9]*.csv")):
        if path.relative_to(out).as_posix() not in files:
            path.unlink()


def task_pages(tasks: tuple[str, ...]) -> dict[str, str]:
    """Return where the page of every task lies; a number keeps names apart that differ in what a file cannot hold."""
    return {task: f"tasks/{i + 1:03d}-{slug(task)[:60]}.html" for i, task in enumerate(tasks)}


def board_csv(boards: tuple[Board, ...]) -> str:
    """Return all boards as one table."""
    names = [field.name for field in fields(BoardRow)]
    rows = [(b.kind, b.name, *(getattr(row, name) for name in names), b.tasks) for b in boards for row in b.rows]
    return csv_text(("kind", "name", *names, "n_tasks"), rows)


def standings_section(report: BenchmarkReport) -> Section:
    """Places task by task where they are few enough to be read."""
    found, tasks = report.analysis.places, report.scores.tasks
    shared = sum(sum(p.task == task and p.first == 1 for p in found) > 1 for task in tasks)
    words = (
        "A place is an interval: a model's first possible place counts the models shown to be better after Holm, its "
        "last possible place those shown to be worse. Overlapping places are not an order.",
        f"On {shared} of {len(tasks)} tasks more than one model may be first.",
    )
    columns = ("Task", "Model", "Mean", "Low", "High", "Seeds", "Place")
    rows = tuple((p.task, p.model, p.mean, p.low, p.high, p.n, f"{p.text} of {p.models}") for p in found)
    tables = (Table(columns, rows, "Places task by task; 95 % intervals."),) if len(rows) <= MOST_PLACES else ()
    return Section("standings", "Standings", "", words, tables)


def _task_table(found: list[Place], checked: Mapping[tuple[str, str], str]) -> Table:
    rows = tuple(
        (p.model, f"{p.text} of {p.models}", p.mean, p.low, p.high, p.n, checked.get((p.task, p.model), NOT))
        for p in found
    )
    note = "Best mean first, 95 % intervals; overlapping places are not an order."
    return Table(("Model", "Place", "Mean", "Low", "High", "Seeds", "Verified"), rows, note)


def _leaderboard_csv(found: tuple[Place, ...], checked: Mapping[tuple[str, str], str]) -> str:
    rows = [
        (p.task, p.model, p.mean, p.low, p.high, p.n, p.first, p.last, p.models, checked.get((p.task, p.model), NOT))
        for p in found
    ]
    columns = (
        "task", "model", "mean", "ci_low", "ci_high", "n_seeds", "first_place", "last_place", "models", "verified",
    )  # fmt: skip
    return csv_text(columns, rows)


def _places_csv(report: BenchmarkReport) -> str:
    across = report.analysis.rank_sets
    columns = (across.models, across.mean_ranks, across.low, across.high, across.missing)
    names = ("model", "mean_rank", "first_place", "last_place", "tasks_omitted")
    return csv_text(names, zip(*columns, strict=True))
