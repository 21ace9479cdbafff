"""Tasks of many graphs that stand in one table, and of graphs with several types of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError
from graphnetz.graphs.arrays import class_codes, class_names
from graphnetz.graphs.several import read_graphs

MAX_VALUES = 400_000_000
"""Feature values that a graph with several types of nodes may have as one: 1.6 GB."""


def graphs_as_data(
    edges: str | Path, *, features: Any = None, feature_columns: Sequence[str] = (), labels: Any = None,
    label_column: str | None = None, values: bool = False,
) -> tuple[list[str], list[Any]]:  # fmt: skip
    """Return the names and the graphs of a table, each as PyG ``Data`` with both directions of every edge.

    ``values`` reads labels as numbers; otherwise they are classes, numbered in sorted order.
    """
    import torch
    from torch_geometric.data import Data

    graphs = read_graphs(
        edges, labels=labels, features=features, label_column=label_column, feature_columns=feature_columns
    )
    targets: Any = None
    if labels is not None:
        given = [graph.label for graph in graphs]
        targets = _numbers(given, Path(labels).name) if values else class_codes(typed(given))
    made = []
    for position, graph in enumerate(graphs):
        pairs = np.concatenate([graph.edges, graph.edges[:, ::-1]])
        unique = np.unique(pairs, axis=0) if len(pairs) else pairs
        data = Data(edge_index=torch.from_numpy(np.ascontiguousarray(unique.T)), num_nodes=len(graph.nodes))
        if graph.features is not None:
            data.x = torch.from_numpy(graph.features)
        if targets is not None:
            data.y = torch.tensor([targets[position]], dtype=torch.float32 if values else torch.long)
        made.append(data)
    return [graph.name for graph in graphs], made


def classes_of_graphs(labels: str | Path, edges: str | Path, *, label_column: str | None = None) -> list[str]:
    """Return the names of the classes of graphs, in the order of their numbers."""
    return class_names(typed([graph.label for graph in read_graphs(edges, labels=labels, label_column=label_column)]))


def typed(values: Sequence[Any]) -> list[Any]:
    """Whole numbers where all are: class 10 then follows class 9, as in tables of nodes."""
    texts = [str(value) for value in values]
    return [int(text) for text in texts] if all(text.lstrip("-").isdecimal() for text in texts) else texts


def _numbers(values: Sequence[Any], name: str) -> np.ndarray:
    try:
        found = np.array([float(value) for value in values])
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: graph regression needs numbers as labels ({error}).") from error
    if not np.isfinite(found).all():
        raise DataError(f"{name}: graph regression needs finite numbers as labels.")
    return found


def homogeneous(data: Any, target: str | None = None) -> Any:
    """Turn a graph with several types of nodes into one graph whose nodes of one type are classified.

    Features of each type get columns of their own, beside one column per type that says which one a node is of; edges
    of all types are kept in both directions. Labels and masks are those of the target.

    Parameters
    ----------
    data
        A PyG ``HeteroData``.
    target
        The node type with the labels ``y``; None takes the only one that has them.

    Returns
    -------
    torch_geometric.data.Data
        With ``node_type``, and the masks of the target where it has any.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import HeteroData
    >>> data = HeteroData()
    >>> data["paper"].x, data["paper"].y = torch.eye(3), torch.tensor([0, 1, 0])
    >>> data["author"].num_nodes = 2
    >>> data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 1], [0, 1, 2]])
    >>> one = homogeneous(data)
    >>> one.num_nodes, tuple(one.x.shape), one.num_edges
    (5, (5, 5), 6)
    """
    import torch
    from torch_geometric.data import Data

    labelled = [kind for kind in data.node_types if data[kind].get("y") is not None]
    if target is None and len(labelled) == 1:
        target = labelled[0]
    if target not in labelled:
        known = ", ".join(labelled) or "none"
        asked = f"the node type {target!r} has none" if target else f"this one has {len(labelled)}"
        raise DataError(
            f"A HeteroData needs one node type with labels y to become a task; {asked} (with labels: {known}). "
            + ("Give target= one of them." if labelled else "Give one of its node types a y.")
        )
    sizes = {kind: int(data[kind].num_nodes or 0) for kind in data.node_types}
    widths = {kind: 0 if (x := data[kind].get("x")) is None else x.reshape(sizes[kind], -1).size(1) for kind in sizes}
    nodes, width = sum(sizes.values()), sum(widths.values()) + len(sizes)
    if nodes * width > MAX_VALUES:
        raise DataError(
            f"As one graph it would have {nodes:,} nodes with {width:,} features each, which is too much. Reduce the "
            "features of each type first."
        )
    x = torch.zeros(nodes, width)
    start = dict(zip(sizes, np.concatenate([[0], np.cumsum(list(sizes.values()))[:-1]]).tolist(), strict=True))
    column = len(sizes)
    for position, (kind, count) in enumerate(sizes.items()):
        rows = slice(start[kind], start[kind] + count)
        x[rows, position] = 1
        if widths[kind]:
            x[rows, column : column + widths[kind]] = data[kind].x.reshape(count, -1).float()
            column += widths[kind]
    found = [data[a, b, c].edge_index + torch.tensor([[start[a]], [start[c]]]) for a, b, c in data.edge_types]
    if not found:
        raise DataError("The HeteroData has no edges; there is nothing that its nodes could tell each other.")
    arcs = torch.cat([*found, *(edges.flip(0) for edges in found)], dim=1)
    out = Data(x=x, edge_index=torch.unique(arcs, dim=1), num_nodes=nodes)
    out.node_type = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(list(sizes.values())))
    return _labelled(out, data[target], slice(start[target], start[target] + sizes[target]))


def _labelled(out: Any, store: Any, rows: slice) -> Any:
    import torch

    y = store.y.squeeze(-1) if store.y.dim() == 2 and store.y.size(1) == 1 else store.y
    out.y = torch.zeros((out.num_nodes, *y.shape[1:]), dtype=y.dtype)
    out.y[rows] = y
    for key in ("train_mask", "val_mask", "test_mask"):
        mask = store.get(key)
        if mask is not None:
            out[key] = torch.zeros((out.num_nodes, *mask.shape[1:]), dtype=torch.bool)
            out[key][rows] = mask.bool()
    out.labelled = torch.zeros(out.num_nodes, dtype=torch.bool)
    out.labelled[rows] = y >= 0 if y.dim() == 1 else True
    return out
