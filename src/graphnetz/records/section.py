"""All that a page knows: sections of words, tables and figure data, written by any layer above."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from graphnetz._core.errors import DataError
from graphnetz._core.text import clean

MAX_FIGURE_VALUES = 10_000
"""Values that the data of one figure may hold: more takes minutes to draw and shows nothing."""
_PLAIN = (str, bool, int, float, type(None))


@dataclass(frozen=True)
class Table:
    """A small table of a page.

    Parameters
    ----------
    columns
        Column names.
    rows
        Rows of plain values.
    caption
        Sentence below the table.

    Examples
    --------
    >>> from graphnetz.records import Table
    >>> Table(("model", "accuracy"), (("GCN", 0.81),)).rows[0]
    ('GCN', 0.81)
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""

    def _repr_html_(self) -> str:
        """Return the table for a notebook cell, every name escaped."""
        caption = f"<caption>{_html(self.caption)}</caption>" if self.caption else ""
        head = "".join(f'<th scope="col">{_html(name)}</th>' for name in self.columns)
        rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in self.rows)
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


@dataclass(frozen=True)
class Figure:
    """Data of a figure; the renderer draws it.

    Parameters
    ----------
    kind
        Name of the drawing function.
    data
        Plain JSON values.
    caption
        Sentence below the figure.

    Examples
    --------
    >>> from graphnetz.records import Figure
    >>> Figure("bars", {"labels": ["GCN"], "values": [0.81]}).kind
    'bars'
    """

    kind: str
    data: Mapping[str, Any]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """One part of a page, as plain data.

    Dataset fitness, model selection, audits and cards write these; the report draws them.

    Parameters
    ----------
    name
        Short name, unique on a page.
    title
        Heading.
    verdict
        The finding in one sentence.
    paragraphs, tables, figures
        What stands below it, in this order.
    level
        ``"info"`` or ``"warning"``.
    extra
        Further plain values for programs that read the section.

    Examples
    --------
    >>> from graphnetz.records import Section
    >>> Section("audit", "Leaks", verdict="No check found anything.").level
    'info'
    """

    name: str
    title: str
    verdict: str = ""
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    level: str = "info"
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            What `from_json` reads.

        Examples
        --------
        >>> from graphnetz.records import Section
        >>> Section("audit", "Leaks").to_json()["title"]
        'Leaks'
        """
        return asdict(self)

    def _repr_html_(self) -> str:
        """Return words and tables for a notebook cell; figures are named by their captions."""
        verdict = f"<p><b>{_html(self.verdict)}</b></p>" if self.verdict else ""
        words = "".join(f"<p>{_html(text)}</p>" for text in self.paragraphs)
        tables = "".join(table._repr_html_() for table in self.tables)
        named = [figure.caption or figure.kind for figure in self.figures]
        figures = f"<p>On the page also: {_html('; '.join(named))}</p>" if named else ""
        return f"<section><h3>{_html(self.title)}</h3>{verdict}{words}{tables}{figures}</section>"

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Section:
        """Rebuild a section.

        Parameters
        ----------
        raw
            What `to_json` returned; anything else raises `DataError`.

        Returns
        -------
        Section
            Equal to the original.

        Examples
        --------
        >>> from graphnetz.records import Section
        >>> Section.from_json({"name": "audit", "title": "Leaks"}).name
        'audit'
        """
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


def _html(text: object) -> str:
    return f"<bdi>{html.escape(clean(text), quote=True)}</bdi>"


def _cell(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f'<td style="text-align:right">{shown(value)}</td>'
    return f"<td>{_html(shown(value))}</td>"


def shown(value: Any) -> str:
    """Return a value of a table as its readers see it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "n/a" if math.isnan(value) else f"{value:.4g}"
    return clean(value)


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
