"""Train one model on one dataset: the documented functions, each a thin call of the one loop.

`run_benchmark` is the way to compare models; these are for a single look.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import nn

from graphnetz._core.device import resolve_device
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
_PARTS = ("train", "val", "test")


def _resolve_device(device: torch.device | str | None) -> torch.device:
    """None and ``"auto"`` take the GPU when there is one; anything else is what it says, or refused."""
    return torch.device(resolve_device(device))


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
    """Train a model on one graph whose nodes have classes, the whole graph in every step.

    Parameters
    ----------
    model
        Module that maps ``data`` to one row of class scores per node; it is trained in place.
    data
        A PyG ``Data`` with ``x``, ``edge_index``, ``y`` and train, validation and test masks.
    epochs, lr, weight_decay
        Steps, learning rate and weight decay of Adam.
    verbose
        Print the metrics of every epoch.
    device
        ``"auto"`` (or None) takes a graphics processor when there is one; else ``"cpu"``, ``"cuda:0"``, ...

    Returns
    -------
    dict of list
        ``train_loss``, ``val_acc`` and ``test_acc``, one value per epoch.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import GCN, get_split, task_from_networkx, train_node_classification
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> history = train_node_classification(GCN(3, 8, 2), split.data, epochs=2, device="cpu")
    >>> {key: len(values) for key, values in history.items()}
    {'train_loss': 2, 'val_acc': 2, 'test_acc': 2}
    """
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
    """Train a model on loaders of graphs that have one class each.

    Parameters
    ----------
    model
        Module that maps a batch of graphs to one row of class scores per graph; trained in place.
    train_loader, val_loader
        PyG ``DataLoader`` of training and validation graphs.
    epochs, lr
        Passes over the training graphs and learning rate of Adam.
    verbose
        Print the metrics of every epoch.
    device
        ``"auto"`` (or None) takes a graphics processor when there is one; else ``"cpu"``, ``"cuda:0"``, ...
    test_loader
        Test graphs; None measures on the validation graphs only.

    Returns
    -------
    dict of list
        ``train_loss``, ``val_acc`` and, with test graphs, ``test_acc``: one value per epoch.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from torch_geometric.loader import DataLoader
    >>> from graphnetz import GIN, train_graph_classification
    >>> path = torch.tensor([[0, 1], [1, 2]])
    >>> graphs = [Data(x=torch.ones(3, 1), edge_index=path, y=torch.tensor([i % 2])) for i in range(8)]
    >>> loader = DataLoader(graphs, 4)
    >>> history = train_graph_classification(GIN(1, 4, 2), loader, loader, epochs=2, device="cpu")
    >>> len(history["val_acc"])
    2
    """
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
    """Train a model on loaders of graphs that have one or more real targets each.

    Parameters
    ----------
    model
        Module that maps a batch of graphs to one row of values per graph; trained in place.
    train_loader, val_loader
        PyG ``DataLoader`` of training and validation graphs.
    epochs, lr
        Passes over the training graphs and learning rate of Adam.
    verbose
        Print the metrics of every epoch.
    device
        ``"auto"`` (or None) takes a graphics processor when there is one; else ``"cpu"``, ``"cuda:0"``, ...
    test_loader
        Test graphs; None measures on the validation graphs only.

    Returns
    -------
    dict of list
        ``train_loss``, ``val_mae`` and, with test graphs, ``test_mae``: one value per epoch.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from torch_geometric.loader import DataLoader
    >>> from graphnetz import GIN, train_graph_regression
    >>> path = torch.tensor([[0, 1], [1, 2]])
    >>> graphs = [Data(x=torch.ones(3, 1), edge_index=path, y=torch.tensor([i / 8])) for i in range(8)]
    >>> loader = DataLoader(graphs, 4)
    >>> history = train_graph_regression(GIN(1, 4, 1), loader, loader, epochs=2, device="cpu")
    >>> len(history["val_mae"])
    2
    """
    return _from_loaders(
        "graph_reg", model, train_loader, val_loader, test_loader, verbose, device, epochs=epochs, lr=lr
    )


def _from_loaders(
    kind: str, model: nn.Module, train: Any, val: Any, test: Any, verbose: bool, device: Any, **settings: Any
) -> History:
    sets = [list(loader.dataset) for loader in (train, val, test or val)]
    ends = itertools.accumulate(map(len, sets), initial=0)
    splits = {part: list(range(*span)) for part, span in zip(_PARTS, itertools.pairwise(ends), strict=True)}
    split = TASK_TYPES[kind].split(GraphList(itertools.chain(*sets), splits=splits), 0)
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
    """Train a model to tell edges from pairs without an edge; messages pass over training edges only.

    Parameters
    ----------
    model
        Module with ``encode(data)`` and ``decode(z, edge_label_index)``; trained in place.
    train_data, val_data, test_data
        The three parts that PyG's ``RandomLinkSplit`` returns.
    epochs, lr
        Steps and learning rate of Adam.
    verbose
        Print the metrics of every epoch.
    device
        ``"auto"`` (or None) takes a graphics processor when there is one; else ``"cpu"``, ``"cuda:0"``, ...

    Returns
    -------
    dict of list
        ``train_loss``, ``val_auc``, ``test_auc`` and further ranking metrics, one value per epoch.

    Examples
    --------
    >>> import networkx as nx
    >>> import torch
    >>> from torch_geometric.transforms import RandomLinkSplit
    >>> from torch_geometric.utils import from_networkx
    >>> from graphnetz import train_link_prediction
    >>> from graphnetz.models import spec_from
    >>> from graphnetz.tasktypes import Dims
    >>> graph = from_networkx(nx.cycle_graph(20))
    >>> graph.x = torch.eye(20)
    >>> parts = RandomLinkSplit(is_undirected=True)(graph)
    >>> model = spec_from("GCN").build("link_pred", Dims(20, 1), 8)
    >>> len(train_link_prediction(model, *parts, epochs=2, device="cpu")["test_auc"])
    2
    """
    parts: dict[str, Any] = {
        part: Pairs(data.edge_label_index, data.edge_label.float())
        for part, data in zip(_PARTS, (train_data, val_data, test_data), strict=True)
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
    """Train a model of triples (head, relation, tail) against triples with a replaced tail.

    True triples of any part never serve as negatives (filtered corruption).

    Parameters
    ----------
    model
        Module with ``encode(data)`` and ``decode(z, edge_label_index, edge_type)``; trained in place.
    train_data, val_data, test_data
        Graphs of triples: ``edge_index`` and ``edge_type``; ``train_data`` also has ``x``.
    epochs, lr
        Steps and learning rate of Adam.
    verbose
        Print the metrics of every epoch.
    device
        ``"auto"`` (or None) takes a graphics processor when there is one; else ``"cpu"``, ``"cuda:0"``, ...

    Returns
    -------
    dict of list
        ``train_loss`` and ranking metrics of validation and test triples, one value per epoch.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import train_relational_link_prediction
    >>> from graphnetz.models import spec_from
    >>> from graphnetz.tasktypes import Dims
    >>> ring = torch.stack([torch.arange(12), (torch.arange(12) + 1) % 12])
    >>> kinds = torch.arange(12) % 2
    >>> def part(keep):
    ...     return Data(x=torch.eye(12), edge_index=ring[:, keep], edge_type=kinds[keep], num_nodes=12)
    >>> model = spec_from("GCN").build("link_pred", Dims(12, 1, num_relations=2, num_nodes=12), 8)
    >>> history = train_relational_link_prediction(
    ...     model, part(slice(0, 8)), part(slice(8, 10)), part(slice(10, 12)), epochs=2, device="cpu"
    ... )
    >>> len(history["train_loss"])
    2
    """
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
    """Pre-train an encoder without labels by Deep Graph Infomax.

    The loss is not a held-out metric, so it enters no report.

    Parameters
    ----------
    model
        A `DGI` or a `DGIWrapper` around your encoder; trained in place.
    data
        A PyG ``Data`` with ``x`` and ``edge_index``.
    epochs, lr
        Steps and learning rate of Adam.
    verbose
        Print the loss of every epoch.
    device
        ``"auto"`` (or None) takes a graphics processor when there is one; else ``"cpu"``, ``"cuda:0"``, ...

    Returns
    -------
    dict of list
        ``train_loss``, one value per epoch.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import DGI, train_dgi
    >>> data = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
    >>> len(train_dgi(DGI(4, 8), data, epochs=2, device="cpu")["train_loss"])
    2
    """
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
