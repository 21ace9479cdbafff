"""`graphnetz convert`: a graph that need not fit into memory, as a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from graphnetz.cli.app import OK, app, put, say


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="Edges: CSV (also .gz), npz, Parquet, or a folder of OGB.")],
    folder: Annotated[Path, typer.Argument(help="The folder to write; an unfinished conversion goes on.")],
    features: Annotated[Path | None, typer.Option(help="One row per node: .npy or CSV of numbers.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Classes: .npy, or CSV with the columns node and label.")] = None,
    split: Annotated[Path | None, typer.Option(help="CSV with the columns node and part (train, val, test).")] = None,
    nodes: Annotated[int | None, typer.Option(help="Number of nodes, where the last ones have no edge.")] = None,
    directed: Annotated[bool, typer.Option(help="Keep directions; else every edge is stored both ways.")] = False,
    dtype: Annotated[str, typer.Option(help="Type of stored features: float16 or float32.")] = "float32",
    memory: Annotated[float, typer.Option(help="Megabytes for sorting.")] = 2000,
    verify: Annotated[bool, typer.Option(help="Read the finished folder again and compare every block.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Write a graph of any size as a folder of mapped files, in bounded memory."""
    from graphnetz.datasets.splits import stratified_split
    from graphnetz.graphs import convert as write

    graph = write(
        source, folder, features=features, labels=labels, split=split, num_nodes=nodes, directed=directed, dtype=dtype,
        memory=memory, splitter=stratified_split, told=say,
    )  # fmt: skip
    if verify:
        graph.verify()
    parts = {part: len(graph.array(part)) for part in ("train", "val", "test") if graph.has(part)}
    facts = {
        "folder": str(folder), "nodes": graph.num_nodes, "arcs": graph.num_arcs, "features": graph.num_features,
        "classes": graph.num_classes, **parts, "digest": graph.digest,
    }  # fmt: skip
    put(json.dumps(facts, indent=1) if as_json else ", ".join(f"{key} {_shown(value)}" for key, value in facts.items()))
    return OK


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
