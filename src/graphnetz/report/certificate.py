"""A certificate of replication as a page, as Markdown for documentation, and as JSON. It computes nothing."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path

from graphnetz._core.paths import write_file
from graphnetz._core.text import clean, counted, number
from graphnetz.records import Section, Table
from graphnetz.records.replication import Certificate, Judged
from graphnetz.records.section import shown
from graphnetz.report.page import render_sections

NAME = "certificate"


def sections(made: Certificate) -> list[Section]:
    """Return the certificate as sections: claims, cells by table, and what was not run.

    Parameters
    ----------
    made
        The certificate.

    Returns
    -------
    list of Section
        The first one leads with the count of claims.

    Examples
    --------
    >>> sections(Certificate("graphnetz", "da Costa and Modenesi", "small"))[0].title
    'Claims'
    """
    return [_claims(made), *_tables(made), *([_left(made)] if made.left else [])]


def page(made: Certificate) -> str:
    """Return the certificate as one self-contained page; every name is escaped."""
    return render_sections(f"{made.paper} replicated at size {made.size}", sections(made))


def markdown(made: Certificate, *, heading: int = 2) -> str:
    """Return the certificate as Markdown.

    Parameters
    ----------
    made
        The certificate.
    heading
        Level of the headings.

    Returns
    -------
    str
        Tables in pipes; names cannot break out of their cells.

    Examples
    --------
    >>> markdown(Certificate("graphnetz", "da Costa and Modenesi", "small")).splitlines()[0]
    '## Claims'
    """
    lines: list[str] = []
    for section in sections(made):
        lines += [f"{'#' * heading} {_text(section.title)}", ""]
        for paragraph in filter(None, (section.verdict, *section.paragraphs)):
            lines += [_text(paragraph), ""]
        for table in section.tables:
            lines += [_row(table.columns), _row(["---"] * len(table.columns))]
            lines += [_row([shown(value) for value in row]) for row in table.rows]
            lines += ["", *([_text(table.caption), ""] if table.caption else [])]
    return "\n".join(lines).rstrip("\n") + "\n"


def write(made: Certificate, folder: Path) -> list[Path]:
    """Write ``certificate.html``, ``certificate.md`` and ``certificate.json`` and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    body = json.dumps(made.to_json(), indent=1, ensure_ascii=False) + "\n"
    texts = {".html": page(made), ".md": markdown(made), ".json": body}
    for end, text in texts.items():
        write_file(folder / f"{NAME}{end}", text)
    return [folder / f"{NAME}{end}" for end in texts]


def _claims(made: Certificate) -> Section:
    counts = made.counts()
    here, other = counts["claims"], counts["claims on other data"]
    verdict = (
        f"Of {counted(len(made.claims), 'claim')} of {made.citation}: on the paper's data {_listed(here)}; "
        f"on other data {_listed(other)}, which tells the direction only."
    )
    rows = tuple(
        (item.claim.table, item.claim.says, item.outcome, _comparable(item), item.basis, _why_not(item))
        for item in made.claims
    )
    columns = ("Table", "Claim", "Here", "Comparable", "Basis", "Why not comparable")
    words = (
        "Shown: our runs decide for the claim at 5 % (Holm). Contradicted: they decide for the opposite. Not shown: "
        "they decide nothing, which is no sign that the claim is false. Comparable: data and protocol are the paper's.",
        *made.notes,
    )
    return Section("claims", "Claims", verdict, words, (Table(columns, rows),))


def _why_not(item: Judged) -> str:
    return "" if item.outcome == "not run" else item.why_not


def _comparable(item: Judged) -> str:
    return "" if item.outcome == "not run" else "yes" if item.comparable else "no"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _tables(made: Certificate) -> list[Section]:
    out = []
    for table in sorted({cell.table for cell in made.cells}, key=_place):
        cells = [cell for cell in made.cells if cell.table == table]
        kinds = ("equivalent", "differs", "open", "not comparable")
        verdict = f"{counted(len(cells), 'cell')}: {_listed({k: sum(c.agreement == k for c in cells) for k in kinds})}."
        trained = any(math.isfinite(c.train) for c in cells)
        rows = tuple(
            (
                c.task, c.model, c.metric, _pm(c.published, c.published_spread), _pm(c.ours, c.spread), c.runs,
                _difference(c.ours - c.published, c.low, c.high), number(c.margin), c.agreement,
                *((_known(c.published_train), _known(c.train)) if trained else ()), c.data, c.why_not,
            )
            for c in cells
        )  # fmt: skip
        columns = (
            "Task", "Model", "Metric", "Published", "Ours", "Runs", "Difference (95 %)", "Margin", "Agreement",
            *(("Train, published", "Train, ours") if trained else ()), "Data", "Why not comparable",
        )  # fmt: skip
        caption = (
            f"Equivalent: two one-sided Welch tests at 5 % put the difference within the margin ({made.margin}). "
            "Differs: its 95 % interval leaves zero out. Open: neither. Ours: mean ± standard deviation; published: "
            "mean ± what the paper prints, a standard deviation or half of a 95 % interval."
        )
        out.append(Section(f"table-{table}", f"Table {table}", verdict, (), (Table(columns, rows, caption),)))
    return out


def _left(made: Certificate) -> Section:
    models: dict[tuple[str, str, str], list[str]] = {}
    for item in made.left:
        models.setdefault((item.table, item.needs, item.task), []).append(item.model)
    tasks: dict[tuple[str, str, str], list[str]] = {}
    for (place, needs, task), names in models.items():
        tasks.setdefault((place, needs, ", ".join(names)), []).append(task)
    ordered = sorted(tasks.items(), key=lambda row: _place(row[0][0]))
    rows = tuple((place, ", ".join(found), names, needs) for (place, needs, names), found in ordered)
    table = Table(("Table", "Task", "Models", "What it needs"), rows)
    return Section("left", "Not run", f"{counted(len(made.left), 'published cell')} not run.", (), (table,))


def _place(table: str) -> tuple[int, str]:
    """Tables in the order of the paper: 8a before 10."""
    number = "".join(itertools.takewhile(str.isdigit, table))
    return int(number or 0), table


def _known(value: float) -> str:
    return number(value) if math.isfinite(value) else ""


def _pm(mean: float, spread: float) -> str:
    return f"{number(mean)} ± {number(spread)}" if math.isfinite(spread) else number(mean)


def _difference(value: float, low: float, high: float) -> str:
    value = round(value, 12)  # two equal means may differ in their last bit
    between = f" ({number(low, signed=True)} to {number(high, signed=True)})" if math.isfinite(low) else ""
    return f"{number(value, signed=True)}{between}"


def _text(text: object) -> str:
    return clean(text).replace("<", "&lt;")


def _row(values: Sequence[object]) -> str:
    return "| " + " | ".join(_text(value).replace("|", "\\|") for value in values) + " |"
