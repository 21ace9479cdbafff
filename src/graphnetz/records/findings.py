"""What many tasks say together: sentences, each with the rows that it counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from graphnetz.records.section import Table

QUESTIONS = SHOWN, GRAPH, BASELINE, TUNING, CARRY, PLAN = (
    "Which differences are shown?",
    "Where is the graph not shown to be needed?",
    "Which baseline should nobody skip?",
    "What does tuning change?",
    "How far do results carry?",
    "What did it take, and what would more take?",
)
"""What is asked of a field, in the order in which it is read; findings of one question stand together."""


@dataclass(frozen=True)
class Finding:
    """One sentence, and what it counts.

    Attributes
    ----------
    name
        Short name, unique among the findings of a page.
    question
        What it is an answer to: findings of one question stand together.
    text
        The sentence. Every number in it is a count of ``table`` or stands in it.
    table
        What was counted. Where its first column is ``Task`` a row leads to the page of that task.
    tally
        The counts that the sentence speaks of, with what each counts.
    claims
        Which kinds of claim the rows make: keys of ``claims.toml``.
    record
        Name of a file beside the page that the rows come from, where they do not come from cells.

    Examples
    --------
    >>> rows = Table(("Task", "Best"), (("cora", "GCN"),))
    >>> Finding("alone", "What is shown?", "On 1 of 1 tasks one model is best.", rows).counted
    1
    """

    name: str
    question: str
    text: str
    table: Table
    tally: tuple[tuple[str, int], ...] = ()
    claims: tuple[str, ...] = ()
    record: str = ""

    @property
    def counted(self) -> int:
        """How many rows it rests on."""
        return len(self.table.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)
