"""Train one model on one dataset: the documented functions, each a thin call of the one loop.

`run_benchmark` is the way to compare models; these are for a single look.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import torch
from torch import nn

from graphnetz._core.errors import UsageError
from graphnetz.models.dgi import DGIWrapper
from graphnetz.records import GraphList, Protocol
from graphnetz.tasktypes import TASK_TYPES, Split, fit
from graphnetz.tasktypes.base import Dims
from graphnetz.tasktypes.pairs import Pairs

__all__ = [
    "DGIWrapper",
    "train_dgi",
    "train_graph_classification",
    "train_graph_regression",
    "train_link_prediction",
    "train_node_classification",
    "train_relational_link_prediction",
]

History = dict[str, list[float]]


def _resolve_device(device: torch.device | str | None) -> torch.device:
    """None and ``"auto"`` take the GPU when there is one; anything else is what it says."""
    if device is None or device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise UsageError(f"Unknown device {device!r}. Use 'auto', 'cpu', 'cuda' or 'cuda:0'.") from error


def _fit(kind: str, model: nn.Module, split: Split, verbose: bool, device: Any, **settings: Any) -> History:
    where = _resolve_device(device)
    if where.type != "cpu":
        split = split.to(where)
        model = model.to(where)
    protocol = Protocol().replace(**settings)
    return fit(TASK_TYPES[kind], model, split, protocol, on_epoch=_print if verbose else None).history


def _print(epoch: int, row: dict[str, float]) -> None:
    print(f"epoch {epoch + 1}: " + ", ".join(f"{key} {value:.4f}" for key, value in row.items()), flush=True)


def train_node_classification(
    model: nn.Module,
    data: Any,
    epochs: int = 100,
    lr: float = 1e-2,
    weight_decay: float = 5e-4,
    verbose: bool = False,
    device: torch.device | str | None = "auto",
) -> History:
    """Full-batch training on a graph with masks; returns train_loss, val_acc, test_acc per epoch."""
    split = TASK_TYPES["node_cls"].split(data, 0)
    return _fit("node_cls", model, split, verbose, device, epochs=epochs, lr=lr, weight_decay=weight_decay)


def train_graph_classification(
    model: nn.Module,
    train_loader: Any,
    val_loader: Any,
    epochs: int = 30,
    lr: float = 1e-3,
    verbose: bool = False,
    device: torch.device | str | None = "auto",
    test_loader: Any = None,
) -> History:
    """Mini-batch training on loaders of graphs with class labels."""
    return _from_loaders(
        "graph_cls", model, train_loader, val_loader, test_loader, verbose, device, epochs=epochs, lr=lr
    )


def train_graph_regression(
    model: nn.Module,
    train_loader: Any,
    val_loader: Any,
    epochs: int = 30,
    lr: float = 1e-3,
    verbose: bool = False,
    device: torch.device | str | None = "auto",
    test_loader: Any = None,
) -> History:
    """Mini-batch training on loaders of graphs with real targets."""
    return _from_loaders(
        "graph_reg", model, train_loader, val_loader, test_loader, verbose, device, epochs=epochs, lr=lr
    )


def _from_loaders(
    kind: str, model: nn.Module, train: Any, val: Any, test: Any, verbose: bool, device: Any, **settings: Any
) -> History:
    sets = {"train": list(train.dataset), "val": list(val.dataset), "test": list((test or val).dataset)}
    splits, start = {}, 0
    for part, graphs in sets.items():
        splits[part] = list(range(start, start + len(graphs)))
        start += len(graphs)
    split = TASK_TYPES[kind].split(GraphList(functools.reduce(operator.iadd, sets.values(), []), splits=splits), 0)
    history = _fit(kind, model, split, verbose, device, batch_size=train.batch_size, **settings)
    if test is None:  # the validation set stood in for the missing test set: do not report it twice
        history = {key: values for key, values in history.items() if not key.startswith("test_")}
    return history


def train_link_prediction(
    model: Any,
    train_data: Any,
    val_data: Any,
    test_data: Any,
    epochs: int = 100,
    lr: float = 1e-2,
    verbose: bool = False,
    device: torch.device | str | None = "auto",
) -> History:
    """Train on the three parts of ``RandomLinkSplit``; messages pass over training edges only."""
    parts: dict[str, Any] = {
        part: Pairs(data.edge_label_index, data.edge_label.float())
        for part, data in (("train", train_data), ("val", val_data), ("test", test_data))
    }
    split = Split(
        data=train_data,
        **parts,
        dims=Dims(train_data.num_features, 1),
        metric="auc",
        replication="init",
        targets={part: pairs.label.numpy() for part, pairs in parts.items()},
        unit="pair",
        n_train=len(parts["train"]),
        n_test=len(parts["test"]),
    )
    return _fit("link_pred", model, split, verbose, device, epochs=epochs, lr=lr)


def train_relational_link_prediction(
    model: Any,
    train_data: Any,
    val_data: Any,
    test_data: Any,
    epochs: int = 100,
    lr: float = 1e-2,
    verbose: bool = False,
    device: torch.device | str | None = "auto",
) -> History:
    """Train on three graphs of triples (``edge_index``, ``edge_type``) with filtered tail corruption."""
    from torch_geometric.data import Data

    graph = Data(x=train_data.x, edge_index=train_data.edge_index, num_nodes=train_data.num_nodes)
    for name, data in (("train", train_data), ("valid", val_data), ("test", test_data)):
        graph[f"{name}_edge_index"], graph[f"{name}_edge_type"] = data.edge_index, data.edge_type
    split = TASK_TYPES["link_pred"].split(graph, 0)
    return _fit("link_pred", model, split, verbose, device, epochs=epochs, lr=lr)


def train_dgi(
    model: Any,
    data: Any,
    epochs: int = 100,
    lr: float = 1e-3,
    verbose: bool = False,
    device: torch.device | str | None = "auto",
) -> History:
    """Pre-train without labels; the loss is not a held-out metric and enters no report."""
    where = _resolve_device(device)
    model, data = model.to(where), data.to(where)
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    history: History = {"train_loss": []}
    model.train()
    for epoch in range(epochs):
        optimiser.zero_grad()
        loss = model.loss(*model(data))
        loss.backward()
        optimiser.step()
        history["train_loss"].append(float(loss.detach()))
        if verbose:
            _print(epoch, {"train_loss": history["train_loss"][-1]})
    return history
