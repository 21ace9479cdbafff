"""The vocabulary: small frozen records that every layer shares. No torch, pandas or matplotlib."""

from graphnetz.records.cells import LAYERS_NOTE, Cell, CellResult, Predictions, Status
from graphnetz.records.graphs import GraphList
from graphnetz.records.protocol import Plateau, Protocol
from graphnetz.records.scores import ScoreTable
from graphnetz.records.section import Figure, Section, Table
from graphnetz.records.task import DatasetCard, Replication, Task

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
    "Replication",
    "ScoreTable",
    "Section",
    "Status",
    "Table",
    "Task",
]
