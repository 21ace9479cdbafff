"""All that a page knows: sections of words, tables and figure data, written by any layer above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


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
        """Rebuild from `to_json`."""
        tables = tuple(_table(item) for item in raw.get("tables", ()))
        figures = tuple(Figure(i["kind"], dict(i["data"]), i.get("caption", "")) for i in raw.get("figures", ()))
        return cls(
            name=str(raw["name"]),
            title=str(raw["title"]),
            verdict=str(raw.get("verdict", "")),
            paragraphs=tuple(map(str, raw.get("paragraphs", ()))),
            tables=tables,
            figures=figures,
            level=str(raw.get("level", "info")),
            extra=dict(raw.get("extra", {})),
        )


def _table(raw: Mapping[str, Any]) -> Table:
    rows: Sequence[Sequence[Any]] = raw["rows"]
    return Table(tuple(map(str, raw["columns"])), tuple(tuple(row) for row in rows), str(raw.get("caption", "")))
