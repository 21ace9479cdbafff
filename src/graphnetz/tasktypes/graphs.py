"""From whatever a loader returns to checked graphs with features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData, TemporalData

from graphnetz._core.errors import DataError
from graphnetz._core.rng import generator

IDENTITY_LIMIT = 8192
"""Largest graph that gets one-hot identity features when its loader asks for them."""


def as_graphs(dataset: Any, what: str) -> list[Data]:
    """Return the graphs of a dataset, list or single ``Data``, or say in one sentence why not."""
    if isinstance(dataset, (HeteroData, TemporalData)):
        raise DataError(
            f"{what} needs homogeneous graphs, got {type(dataset).__name__}. "
            "Convert it first, for instance with HeteroData.to_homogeneous()."
        )
    graphs = [dataset] if isinstance(dataset, Data) else _listed(dataset, what)
    if not graphs:
        raise DataError(f"{what} got a dataset without graphs. Check the loader.")
    for index, graph in enumerate(graphs):
        check_graph(graph, f"graph {index}" if len(graphs) > 1 else "the graph", what)
    return graphs


def _listed(dataset: Any, what: str) -> list[Data]:
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise DataError(f"{what} needs a PyTorch Geometric dataset, a list of Data or one Data, got {type(dataset)!r}.")
    return [dataset[i] for i in range(len(dataset))]


def check_graph(graph: Any, name: str, what: str) -> None:
    """Refuse what would fail later with a worse message."""
    if not isinstance(graph, Data):
        raise DataError(f"{what} needs homogeneous torch_geometric Data, but {name} is {type(graph).__name__}.")
    if graph.edge_index is None:
        raise DataError(f"{what}: {name} has no edge_index. Give it one (shape [2, E], or [2, 0] for no edges).")
    nodes = graph.num_nodes
    if not nodes:
        raise DataError(f"{what}: {name} is empty (no nodes). Remove it from the dataset.")
    edges = graph.edge_index
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= nodes):
        raise DataError(
            f"{what}: {name} has an edge index out of range: ids {int(edges.min())}..{int(edges.max())} "
            f"with {nodes} nodes. Renumber the nodes from 0."
        )
    x = graph.x
    if x is not None and x.is_floating_point() and not torch.isfinite(x).all():
        bad = int((~torch.isfinite(x)).any(dim=-1).sum()) if x.dim() > 1 else int((~torch.isfinite(x)).sum())
        raise DataError(f"{what}: {name} has NaN or infinite features in {bad} rows. Clean or impute them first.")


def degree_features(edge_index: Tensor, num_nodes: int, *, scale: int | None = None) -> Tensor:
    """Three columns from the log-degree: the feature of featureless graphs.

    The caller passes the edges that may be seen: training edges only for link prediction.
    """
    degree = torch.bincount(edge_index[0], minlength=num_nodes).to(torch.get_default_dtype())
    log_degree = torch.log1p(degree) / math.log(max(scale or num_nodes, 2))
    return torch.stack([log_degree, log_degree.square(), torch.ones_like(log_degree)], dim=1)


def features_of(graph: Data, edge_index: Tensor, *, scale: int | None = None) -> Tensor:
    """The graph's own features, or the ones its ``feature_rule`` asks for."""
    if graph.x is not None:
        x: Tensor = graph.x
        return x.unsqueeze(1) if x.dim() == 1 else x
    nodes = int(graph.num_nodes or 0)
    if graph.get("feature_rule") == "identity" and nodes <= IDENTITY_LIMIT:
        return torch.eye(nodes, dtype=torch.get_default_dtype())
    return degree_features(edge_index, nodes, scale=scale)


def vocabulary(x: Tensor) -> tuple[int, ...]:
    """Sizes of integer feature columns; empty for real-valued features."""
    if x.is_floating_point() or x.dtype == torch.bool or x.is_complex():
        return ()
    if x.numel() and int(x.min()) < 0:
        raise DataError("Integer node features must be category numbers from 0; found a negative one. Shift them.")
    return tuple(int(column.max()) + 1 if column.numel() else 1 for column in x.T)


def edge_features(graphs: Sequence[Data]) -> list[Tensor] | None:
    """Edge attributes as float rows, category numbers one-hot; None when not every graph has them."""
    raw = [graph.edge_attr for graph in graphs]
    if any(value is None for value in raw):
        return None
    rows = [value.unsqueeze(1) if value.dim() == 1 else value for value in raw]
    if rows[0].is_floating_point():
        return [value.to(torch.get_default_dtype()) for value in rows]
    width = rows[0].size(1)
    sizes = [max((int(value[:, c].max()) for value in rows if value.size(0)), default=0) + 1 for c in range(width)]
    if sum(sizes) > 512:  # counts rather than categories: keep them as numbers
        return [value.to(torch.get_default_dtype()) for value in rows]
    return [
        torch.cat([torch.nn.functional.one_hot(value[:, c].long(), sizes[c]) for c in range(width)], dim=1).to(
            torch.get_default_dtype()
        )
        for value in rows
    ]


def given_split(dataset: Any, seed: int) -> tuple[dict[str, Tensor], str] | None:
    """The canonical split of a dataset that carries one, with what a seed then varies."""
    splits = getattr(dataset, "splits", None)
    if splits is None:
        return None
    if isinstance(splits, Mapping) or len(splits) == 1:  # one split, however it is written
        chosen, replication = splits if isinstance(splits, Mapping) else splits[0], "init"
    else:
        chosen, replication = splits[seed % len(splits)], getattr(dataset, "replication", "resplit")
    missing = {"train", "val", "test"} - set(chosen)
    if missing:
        raise DataError(f"The dataset's splits lack {sorted(missing)}. Each split needs train, val and test indices.")
    wanted = [part for part in ("train", "val", "test", "ood") if part in chosen]
    return {part: torch.as_tensor(np.asarray(chosen[part]), dtype=torch.long) for part in wanted}, replication


def random_split(count: int, seed: int, *, fractions: tuple[float, float] = (0.8, 0.1)) -> dict[str, Tensor]:
    """Random train/val/test indices, a pure function of ``seed``; every part gets at least one."""
    if count < 3:
        raise DataError(f"A split into train, validation and test needs at least 3 graphs, got {count}.")
    order = torch.from_numpy(generator("split", seed).permutation(count))
    train = min(max(int(count * fractions[0]), 1), count - 2)
    val = min(max(int(count * fractions[1]), 1), count - train - 1)
    return {"train": order[:train], "val": order[train : train + val], "test": order[train + val :]}


def check_several(y: Tensor, what: str) -> None:
    """Refuse rows of labels that are not 0 or 1 each; a label that is not known is NaN."""
    if y.dim() != 2:
        raise DataError(f"{what} y has the shape {tuple(y.shape)}. Give one class, or one row of labels, for each.")
    held = y[torch.isfinite(y)] if y.is_floating_point() else y
    odd = held[(held != 0) & (held != 1)]
    if odd.numel():
        raise DataError(
            f"{what} y has {y.size(1)} columns and holds {odd[0].item():g}. Several labels at once are 0 or 1 each; "
            "one class is a single number."
        )
