"""Sections as files of a run folder: whoever evaluated something writes one, the page shows it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from graphnetz._core.errors import DataError
from graphnetz._core.paths import slug, write_file
from graphnetz._core.readers import read_json
from graphnetz.records import Section
from graphnetz.report.jsonio import jsonable

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
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


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
