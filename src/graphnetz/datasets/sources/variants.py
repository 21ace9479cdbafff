"""Other questions about data that another reader loads."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from graphnetz.records import GraphList


def inductive(root: str | Path, reader: str, *arguments: str, mirror: str | Path | None = None) -> GraphList:
    """Load one graph by another reader, such as ``"planetoid:planetoid"``, and ask for nodes unseen in training.

    Task types read the mark: models are trained on the graph without the nodes of validation and test, and evaluated on
    the whole graph.
    """
    module, _, name = reader.partition(":")
    found = getattr(import_module(f"graphnetz.datasets.sources.{module}"), name)(root, *arguments, mirror=mirror)
    data = found[0].clone()
    data.inductive = True
    return GraphList([data])
