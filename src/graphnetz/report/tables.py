"""Tables as text: CSV that no spreadsheet executes, Markdown that shows names as they are."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

from graphnetz._core.text import number
from graphnetz.records.analysis import Verdict
from graphnetz.records.views import CellView, Grid
from graphnetz.report import escape

_MARKS = {"best": " **(best)**", "tied": " (=)", "": ""}


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV; floats keep every digit, an undefined number is an empty field."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([escape.csv(name) for name in columns])
    writer.writerows([_csv_value(value) for value in row] for row in rows)
    return buffer.getvalue()


def _csv_value(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):
        return escape.csv(value)
    if hasattr(value, "item"):  # NumPy scalars print as their type in some versions
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ("" if math.isnan(value) else str(value))
    if isinstance(value, int):
        return value
    return escape.csv(value)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the caller has escaped the cells."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join(" --- " for _ in columns) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def summary_markdown(grid: Grid, *, title: str, verdicts: Sequence[Verdict]) -> str:
    """Return the verdicts and the summary table as one Markdown document."""
    head = ["Task", "Metric", *(escape.markdown(model) for model in grid.models)]
    rows = []
    for row in grid.rows:
        cells = [_markdown_cell(cell) for cell in row.cells]
        rows.append([escape.markdown(row.task), f"{escape.markdown(row.metric)} {row.arrow}", *cells])
    note = f"{grid.words}. (best): best mean over shared seeds. (=): {grid.tie_rule}."
    words = "".join(f"- {escape.markdown(f'{verdict.about}: {verdict}', width=4000)}\n" for verdict in verdicts)
    return f"# {escape.markdown(title)}\n\n{words}\n{markdown_table(head, rows)}\n{note}\n"


def _markdown_cell(cell: CellView) -> str:
    if not cell.present:
        return f"n/a ({escape.markdown(cell.note)})" if cell.note else "n/a"
    half = f" ± {number(cell.half)}" if math.isfinite(cell.half) else ""
    seeds = f" ({cell.short_of})" if cell.short_of else ""
    return number(cell.mean) + half + seeds + _MARKS[cell.mark]
