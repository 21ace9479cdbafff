"""What a leaderboard with findings shows beside its cells: fitness of datasets, and records that lie in files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import DataError, UnknownNameError, UsageError
from graphnetz._core.paths import slug
from graphnetz.records import Table

if TYPE_CHECKING:
    from graphnetz.records.findings import Finding

Notes = dict[str, list[tuple[str, Table]]]


def fitness_notes(tasks: Sequence[str]) -> tuple[list[Finding], Notes]:
    """What RINGS found about the datasets of these tasks, as far as the catalogue knows them by name."""
    from graphnetz.datasets import find_task
    from graphnetz.datasets.fitness import fitness_finding, fitness_section

    known = []
    for name in tasks:
        try:
            known.append(find_task(name))
        except UnknownNameError:
            continue
    found = fitness_finding(known)
    notes: Notes = {}
    for task in known:
        if (section := fitness_section([task])) is not None:
            table = section.tables[0]
            told = Table(table.columns[1:], tuple(row[1:] for row in table.rows), section.paragraphs[0])
            notes[task.name] = [(section.title, told)]
    return ([] if found is None else [found]), notes


def generated(tasks: Sequence[str]) -> frozenset[str]:
    """Return those of these tasks whose data the catalogue knows to be generated."""
    from graphnetz.datasets import find_task

    out = set()
    for name in tasks:
        try:
            card = find_task(name).card
        except UnknownNameError:
            continue
        if card is not None and card.simulated:
            out.add(name)
    return frozenset(out)


def read_more(path: Path, tasks: Sequence[str]) -> tuple[list[Finding], Notes]:
    """Read further findings, and tables of tasks, from a JSON file: ``{"findings": [...], "tasks": {task: [...]}}``."""
    from graphnetz.records.findings import Finding

    if not path.is_file():
        raise UsageError(f"There is no file {str(path)!r}. Give a JSON file of findings.")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        findings = [
            Finding(**one | {"table": _table(one["table"]), "tally": tuple((str(a), int(b)) for a, b in one["tally"]),
                             "claims": tuple(one["claims"]), "record": path.name})
            for one in raw["findings"]
        ]  # fmt: skip
        wanted = set(tasks)
        notes = {
            str(task): [(str(title), _table(table)) for title, table in tables]
            for task, tables in raw["tasks"].items()
            if task in wanted
        }
        if bad := [one.name for one in findings if not isinstance(one.text, str) or slug(one.name) != one.name]:
            raise ValueError(f"the finding {bad[0]!r}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path.name!r} holds no findings ({type(error).__name__}: {str(error)[:80]}).") from None
    return findings, notes


def _table(raw: dict[str, Any]) -> Table:
    columns, rows = tuple(map(str, raw["columns"])), tuple(tuple(row) for row in raw["rows"])
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("a row of another length than its columns")
    return Table(columns, rows, str(raw.get("caption", "")))
