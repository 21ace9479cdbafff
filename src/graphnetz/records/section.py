"""All that a page knows: sections of words, tables and figure data, written by any layer above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from graphnetz._core.errors import DataError

MAX_FIGURE_VALUES = 10_000
"""Values that the data of one figure may hold: more takes minutes to draw and shows nothing."""
_PLAIN = (str, bool, int, float, type(None))


@dataclass(frozen=True)
class Table:
    """A small table: column names and rows of plain values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Figure:
    """Data of a figure. ``kind`` names the renderer's drawing function; ``data`` is plain JSON."""

    kind: str
    data: Mapping[str, Any]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """One part of a page. RINGS, selection, audit and cards write these; `render` draws them."""

    name: str
    title: str
    verdict: str = ""
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    level: str = "info"
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Section:
        """Rebuild from `to_json`; raises `DataError` for anything that is not a section."""
        if not isinstance(raw, Mapping):
            raise DataError(f"A section is an object with name and title, got {type(raw).__name__}.")
        _text(raw, "name", needed=True)
        _text(raw, "title", needed=True)
        extra = raw.get("extra", {})
        if not isinstance(extra, Mapping):
            raise DataError(f"extra of a section is an object, got {type(extra).__name__}.")
        paragraphs = _list(raw, "paragraphs")
        if not all(isinstance(item, str) for item in paragraphs):
            raise DataError("paragraphs of a section are texts; one of them is not.")
        return cls(
            name=raw["name"],
            title=raw["title"],
            verdict=_text(raw, "verdict"),
            paragraphs=tuple(paragraphs),
            tables=tuple(_table(item) for item in _list(raw, "tables")),
            figures=tuple(_figure(item) for item in _list(raw, "figures")),
            level=_text(raw, "level") or "info",
            extra=dict(extra),
        )


def _text(raw: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
    value = raw.get(key, "")
    if not isinstance(value, str) or (needed and not value):
        raise DataError(f"{key} of a section is a text{' that is not empty' if needed else ''}, got {value!r:.60}.")
    return value


def _list(raw: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = raw.get(key, ())
    if not isinstance(value, list | tuple):
        raise DataError(f"{key} of a section is a list, got {type(value).__name__}.")
    return value


def _table(raw: Any) -> Table:
    if not isinstance(raw, Mapping):
        raise DataError(f"A table of a section is an object with columns and rows, got {type(raw).__name__}.")
    columns, rows = _list(raw, "columns"), _list(raw, "rows")
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != len(columns):
            raise DataError(f"A row of a section's table does not have {len(columns)} values, one per column.")
        if not all(isinstance(value, _PLAIN) for value in row):
            raise DataError("A table of a section holds something that is neither text, number, truth value nor null.")
    return Table(tuple(map(str, columns)), tuple(tuple(row) for row in rows), _text(raw, "caption"))


def _figure(raw: Any) -> Figure:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("data"), Mapping):
        raise DataError("A figure of a section is an object with kind and data, and data is an object.")
    if _leaves(raw["data"]) > MAX_FIGURE_VALUES:
        raise DataError(f"A figure of a section holds more than {MAX_FIGURE_VALUES:,} values. Show fewer of them.")
    kind = _text(raw, "kind", needed=True)
    return Figure(kind, dict(raw["data"]), _text(raw, "caption"))


def _leaves(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(1 + _leaves(item) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(map(_leaves, value))
    return 1
