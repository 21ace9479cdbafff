"""A list of graphs that knows its canonical split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class GraphList(list[Any]):
    """Graphs with an optional fixed split.

    ``splits`` is one mapping ``{"train": indices, "val": indices, "test": indices}``, or a sequence
    of them, of which seed s uses number ``s % len(splits)``. ``replication`` says what the sequence
    is: ``"resplit"`` (overlapping random splits) or ``"fold"`` (cross-validation).
    """

    def __init__(
        self,
        graphs: Iterable[Any] = (),
        *,
        splits: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        replication: str = "resplit",
    ) -> None:
        super().__init__(graphs)
        self.splits = splits
        self.replication = replication
