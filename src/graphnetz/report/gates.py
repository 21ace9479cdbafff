"""A gate for builds: two reports held against each other, written as JUnit XML and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from graphnetz._core.text import clean, number, p_value
from graphnetz.analysis.gate import Gate, GateRow, gate
from graphnetz.report import escape
from graphnetz.report.compare_runs import different_data
from graphnetz.report.tables import markdown_table

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

_MARK = {"fine": "fine", "worse": "**worse**", "unsure": "cannot tell"}


def gate_reports(baseline: BenchmarkReport, candidate: BenchmarkReport, **options: Any) -> Gate:
    """Test whether a candidate is worse than a baseline.

    Parameters
    ----------
    baseline, candidate
        Two reports.
    **options
        ``margin``, ``alpha``, ``method`` and ``strict`` of `graphnetz.analysis.gate.gate`.

    Returns
    -------
    Gate
        One row per task and model of the baseline.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> gate_reports(example_report(), example_report()).failed
    False
    """
    failed = {(r.task, r.model, r.seed) for r in candidate.results if not r.ok}
    apart = different_data(baseline, candidate)
    return gate(baseline.analysis, candidate.analysis, apart=apart, failed=failed, **options)


def junit(found: Gate) -> str:
    """Return JUnit XML: one test per task and model; what cannot be told is skipped, with the reason.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> junit(gate_reports(example_report(), example_report())).splitlines()[1]
    '<testsuite name="graphnetz compare" tests="6" failures="0" skipped="0" errors="0">'
    """
    errors = len(found.incomparable) + (not found.rows)
    suite = Element("testsuite", {
        "name": "graphnetz compare", "tests": str(len(found.rows) + errors), "failures": str(len(found.worse)),
        "skipped": str(len(found.unsure)), "errors": str(errors),
    })  # fmt: skip
    for row in found.rows:
        case = SubElement(suite, "testcase", {"classname": clean(row.task), "name": clean(row.model)})
        if row.outcome == "worse":
            SubElement(case, "failure", {"message": clean(row), "type": "worse"})
        elif row.outcome == "unsure":
            SubElement(case, "skipped", {"message": clean(row)})
    for task, why in found.incomparable or ([("gate", found.sentence())] if not found.rows else ()):
        case = SubElement(suite, "testcase", {"classname": clean(task), "name": "comparable"})
        SubElement(case, "error", {"message": clean(why), "type": "not compared"})
    SubElement(suite, "system-out").text = clean(found.sentence())
    indent(suite, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


COLUMNS = ("task", "model", "metric", "seeds", "baseline", "candidate", "drop", "adjusted p", "outcome")


def cells(row: GateRow) -> tuple[str, ...]:
    """Return a row as texts below `COLUMNS`."""
    p = p_value(row.p_holm) if row.p_holm == row.p_holm else ""
    return (row.task, row.model, row.metric, str(row.n), number(row.baseline), number(row.candidate),
            number(row.drop, signed=True), p, row.outcome)  # fmt: skip


def gate_markdown(found: Gate) -> str:
    """Return the outcome for a job summary or a comment: one sentence, the worst first, then the rest."""
    order = sorted(found.rows, key=lambda row: (row.outcome == "fine", row.outcome == "unsure", -row.drop))
    rows = [(*map(escape.markdown, cells(row)[:-1]), _MARK[row.outcome]) for row in order]
    notes = [f"- {escape.markdown(str(row), width=400)}" for row in order if row.reason and row.outcome != "fine"]
    notes += [f"- not compared: {escape.markdown(f'{task}: {why}', width=400)}" for task, why in found.incomparable]
    parts = [f"**{escape.markdown(found.sentence(), width=400)}**", "", markdown_table(COLUMNS, rows), *notes]
    return "\n".join(parts).rstrip() + "\n"
