"""Pages of findings: a first page of sentences, and behind every sentence a page of the rows that it counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphnetz._core.grouping import grouped
from graphnetz._core.paths import slug
from graphnetz._core.plain import jsonable
from graphnetz.records.analysis import CLAIMS
from graphnetz.records.findings import QUESTIONS, Finding
from graphnetz.report.page import render_template
from graphnetz.report.pagedata import title_of
from graphnetz.report.tables import csv_text

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

RECORD = "findings.json"


def evidence_pages(findings: Sequence[Finding]) -> dict[str, str]:
    """Return where the rows of every finding lie, by its name; a number keeps names apart that files cannot hold."""
    return {found.name: f"evidence/{i:02d}-{slug(found.name)[:60]}.html" for i, found in enumerate(findings, 1)}


def findings_pages(report: BenchmarkReport, findings: Sequence[Finding], pages: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a first page of findings.

    Parameters
    ----------
    report
        What was found; its title is that of the page.
    findings
        Sentences with the rows that they count.
    pages
        Where the page of every task lies.

    Returns
    -------
    dict of str
        Name of a file and its content: the first page, a page and a table per finding, and all of it as JSON.
    """
    asked = {question: i for i, question in enumerate(QUESTIONS)}  # those of others come last
    findings = sorted(findings, key=lambda found: asked.get(found.question, len(asked)))
    questions = grouped(findings, lambda found: found.question)
    findings = [found for of in questions.values() for found in of]  # in the order in which they are read
    places = evidence_pages(findings)
    title = title_of(report)
    out = {
        "index.html": render_template("findings.html", title=title, questions=questions, places=places, record=RECORD),
        RECORD: json.dumps(jsonable([found.as_dict() for found in findings]), ensure_ascii=False, indent=1) + "\n",
    }
    for found in findings:
        says = tuple(f"{CLAIMS[kind]['says']} ({CLAIMS[kind]['promise']})" for kind in found.claims)
        links = {task: f"../{page}" for task, page in pages.items()}
        place = places[found.name].removesuffix(".html")
        stem = place.removeprefix("evidence/")
        out[f"{place}.html"] = render_template("evidence.html", found=found, says=says, links=links, stem=stem)
        out[f"{place}.csv"] = csv_text(found.table.columns, found.table.rows)
    return out
