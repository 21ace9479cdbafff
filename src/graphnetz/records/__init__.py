"""The vocabulary: small frozen records that every layer shares. No torch, pandas or matplotlib."""

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names
from graphnetz.records.cells import (
    LAYERS_NOTE,
    Cell,
    CellResult,
    Predictions,
    Status,
    recorded_protocol,
    recorded_protocols,
)
from graphnetz.records.graphs import GraphList
from graphnetz.records.protocol import Plateau, Protocol
from graphnetz.records.scores import ScoreTable
from graphnetz.records.section import Figure, Section, Table
from graphnetz.records.suite import Published, Suite
from graphnetz.records.task import DatasetCard, Replication, Task

if TYPE_CHECKING:
    from graphnetz.records.config import RunConfig as RunConfig

__all__ = [
    "LAYERS_NOTE",
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
    "recorded_protocol",
    "recorded_protocols",
]

# RunConfig needs pydantic, which those who only read scores need not wait for.
__getattr__ = lazy_names(__name__, {"graphnetz.records.config": ("RunConfig",)})[0]
