"""Sections as files of a run folder: whoever evaluated something writes one, the page shows it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphnetz._core.errors import DataError, StoreError
from graphnetz._core.paths import slug, write_file
from graphnetz._core.readers import read_json
from graphnetz.analysis.registration import (
    SECTION,
    Registered,
    intact,
    plan_body,
    registered_in,
    registration_section,
    without_plan,
)
from graphnetz.records import Cell, Section
from graphnetz.records.digests import sha256
from graphnetz.records.seed_rule import SeedRule
from graphnetz.report.jsonio import jsonable

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

FOLDER = "sections"
SCHEMA = "graphnetz.section"
VERSION = 1
MAX_BYTES = 8 << 20
MAX_FILES = 500
_UNREAD = "unread-file"


def write_section(folder: str | Path, section: Section) -> Path:
    """Write ``section`` to ``folder/sections/`` and return the file; one of the same name is replaced.

    The next report that is written to ``folder`` (at the end of a run, or by ``graphnetz report``) shows it.
    """
    body = {"schema": SCHEMA, "schema_version": VERSION} | jsonable(section.to_json())
    Section.from_json(body)  # what nobody could read back is refused here, not by a later reader
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    if len(text.encode()) > MAX_BYTES:
        raise DataError(f"Section {section.name!r} is larger than {MAX_BYTES >> 20} MB. Leave rows out of its tables.")
    path = Path(folder) / FOLDER / f"{_file_name(section.name)}.json"
    return write_file(path, text)


def _file_name(name: str) -> str:
    plain = slug(name)
    # Two names that differ only in what a file name cannot hold get files of their own.
    return plain if plain == name else f"{plain}-{sha256(name.encode())[:8]}"


def read_sections(folder: str | Path, *, strict: bool = True) -> list[Section]:
    """Return the sections of ``folder/sections/*.json``, by file name.

    Parameters
    ----------
    folder
        A run folder; one without sections gives an empty list.
    strict
        Whether a file that cannot be read is a `DataError`. Otherwise a section that says so stands in its place,
        so that one bad file does not cost the report.
    """
    here = Path(folder) / FOLDER
    paths = sorted(path for path in here.glob("*.json") if path.is_file()) if here.is_dir() else []
    if len(paths) > MAX_FILES:
        if strict:
            raise DataError(f"{here.name!r} holds {len(paths)} files; at most {MAX_FILES} are read. Remove some.")
        paths = paths[:MAX_FILES]
    found: dict[str, Section] = {}
    for path in paths:
        try:
            section = _read(path)
        except DataError as error:
            if strict:
                raise
            section = Section(f"{_UNREAD} {path.name}", "A section that was not read", str(error), level="warning")
        found[section.name] = section
    return list(found.values())


def _read(path: Path) -> Section:
    what = f"The section {path.name!r}"
    raw = read_json(path, most=MAX_BYTES, give="Write it with write_section.")
    if not isinstance(raw, dict) or (raw.get("schema"), raw.get("schema_version")) != (SCHEMA, VERSION):
        raise DataError(f"{what} does not have schema {SCHEMA!r} version {VERSION}. Write it with write_section.")
    try:
        return Section.from_json(raw)
    except (DataError, RecursionError) as error:
        raise DataError(f"{what} does not follow its schema: {error} Write it with write_section.") from error


def combine(first: Iterable[Section], then: Sequence[Section]) -> list[Section]:
    """Return all sections, by name: those of ``then`` replace those of ``first`` in their place."""
    return list(({section.name: section for section in first} | {section.name: section for section in then}).values())


def readable(sections: Iterable[Section]) -> list[Section]:
    """Return the sections that are more than a note about a bad file; the note ends when the file is mended."""
    return [section for section in sections if not section.name.startswith(_UNREAD)]


def planned_and_read(
    report: BenchmarkReport, registered: Registered | None = None, *, pending: Iterable[Cell] = ()
) -> list[Section]:
    """Return the sections of a report with its plan held against the cells that are there now.

    Parameters
    ----------
    report
        Any report.
    registered
        The plan, from a store; None takes the one that the report carries.
    pending
        Cells that are still to be trained.
    """
    before = [section for section in report.sections if section.name == SECTION]
    plan = registered or next(filter(None, map(registered_in, before)), None)
    if plan is None:
        hashes = [str(section.extra["hash"]) for section in before if "hash" in section.extra]
        return combine(report.sections, [without_plan(hashes)]) if hashes else list(report.sections)
    if report.examples_in is not None:
        plan = _with_file(plan, Path(report.examples_in) / "plan.json")
    left = list(pending)
    rule = SeedRule.from_config(report.config)
    held = [(r.task, r.model, r.seed) for r in report.results]
    body = plan_body(
        {task: info for task, info in report.task_info.items() if any(task == place[0] for place in held)},
        [*report.results, *left],
        models=list(dict.fromkeys(model for _, model, _ in held)), seeds=sorted({seed for *_, seed in held}),
        rule=rule, search=report.config.get("search"), method=report.pairwise_method, absent=report.absent,
    )  # fmt: skip
    waiting = [(cell.task, cell.model, cell.seed) for cell in left]
    made = registration_section(plan, body, held, pending=waiting, absent=report.absent)
    return combine(report.sections, [made])


def _with_file(plan: Registered, path: Path) -> Registered:
    """Look whether the file of a plan was changed."""
    try:
        if not path.is_file():
            return plan
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= MAX_BYTES else ""
    except UnicodeDecodeError:
        text = ""
    except OSError as error:  # it says nothing about what the file holds
        raise StoreError(f"Cannot read {str(path)!r}: {error.strerror}. Nothing was lost: resume the run.") from error
    return replace(plan, changed=not intact(text, plan.hash))
