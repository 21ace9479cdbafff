"""The vocabulary: small frozen records that every layer shares. No torch, pandas or matplotlib."""

from typing import TYPE_CHECKING, Any

from graphnetz.records.cells import Cell, CellResult, Predictions, Status
from graphnetz.records.graphs import GraphList
from graphnetz.records.protocol import Plateau, Protocol
from graphnetz.records.scores import ScoreTable
from graphnetz.records.section import Figure, Section, Table
from graphnetz.records.suite import Published, Suite
from graphnetz.records.task import DatasetCard, Replication, Task

if TYPE_CHECKING:
    from graphnetz.records.config import RunConfig as RunConfig

__all__ = [
    "Cell",
    "CellResult",
    "DatasetCard",
    "Figure",
    "GraphList",
    "Plateau",
    "Predictions",
    "Protocol",
    "Published",
    "Replication",
    "RunConfig",
    "ScoreTable",
    "Section",
    "Status",
    "Suite",
    "Table",
    "Task",
]


def __getattr__(name: str) -> Any:
    if name == "RunConfig":  # needs pydantic, which those who only read scores need not wait for
        from graphnetz.records.config import RunConfig

        return RunConfig
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
