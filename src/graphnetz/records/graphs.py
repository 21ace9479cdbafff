"""A list of graphs that knows its canonical split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class GraphList(list[Any]):
    """Graphs with an optional fixed split; a list in every other way.

    Parameters
    ----------
    graphs
        The graphs.
    splits
        One mapping ``{"train": indices, "val": indices, "test": indices}``, or a sequence of them, of
        which seed s uses number ``s % len(splits)``.
    replication
        What the sequence is: ``"resplit"`` (overlapping random splits) or ``"fold"``
        (cross-validation).
    info
        Facts about the raw data, as datasets of the catalogue have them.

    Examples
    --------
    >>> from graphnetz.records import GraphList
    >>> graphs = GraphList(["a", "b", "c"], splits={"train": [0], "val": [1], "test": [2]})
    >>> len(graphs), graphs.splits["test"]
    (3, [2])
    """

    def __init__(
        self,
        graphs: Iterable[Any] = (),
        *,
        splits: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        replication: str = "resplit",
        info: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(graphs)
        self.splits = splits
        self.replication = replication
        self._info = dict(info or {})  # private, because it is about the files: no part of what the graphs are keyed by

    @property
    def info(self) -> dict[str, Any]:
        """Facts about the raw data; empty where nobody told any."""
        return self._info
