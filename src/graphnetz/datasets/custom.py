"""Bring your own data: an object, a file or a generator becomes a `Task` in one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError, UnknownNameError, UsageError, unknown_name
from graphnetz.datasets.cards import BENCHMARK_TASKS, CATEGORIES
from graphnetz.datasets.splits import stratified_masks
from graphnetz.graphs.arrays import GraphArrays, class_codes, feature_matrix
from graphnetz.graphs.files import read_graph
from graphnetz.records import Task

BUILT_IN_TASK_TYPES = ("node_cls", "graph_cls", "graph_reg", "link_pred", "edge_cls", "multi_reg")


@dataclass(frozen=True, eq=False)
class HeldDataset:
    """A loader that hands out a dataset it already holds; picklable when the dataset is."""

    dataset: Any

    def __call__(self, _root: object = None) -> Any:
        """Return the dataset, whatever the folder."""
        return self.dataset


def task_from_dataset(name: str, task_type: str, dataset: Any, epochs: int = 100, **options: Any) -> Task:
    """Wrap a loaded dataset as a task; nothing is registered.

    Parameters
    ----------
    name, task_type, epochs
        As in `Task`.
    dataset
        Any PyTorch Geometric dataset, list of ``Data`` or ``Data``.
    **options
        Further fields of `Task`, such as ``replication`` or ``protocol``.

    Returns
    -------
    Task
        Ready for ``run_benchmark(tasks=...)``.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import task_from_dataset
    >>> ring = Data(x=torch.eye(6), edge_index=torch.stack([torch.arange(6), (torch.arange(6) + 1) % 6]))
    >>> task_from_dataset("ring", "link_pred", ring, epochs=20).epochs
    20
    """
    check_name("task", name)
    check_task_type(name, task_type)
    known = {item.name for item in dataclasses.fields(Task)} - {"name", "task_type", "loader", "epochs"}
    for key in options:
        if key not in known:
            raise unknown_name("task option", key, known)
    return Task(name, task_type, HeldDataset(dataset), epochs, **options)


def register_task(category: str, task: Task) -> Task:
    """Add ``task`` to ``BENCHMARK_TASKS[category]``, so that it is run and found by name.

    Parameters
    ----------
    category
        A category of the catalogue, or a new one, which is then made.
    task
        The task; its name must be new in the category.

    Returns
    -------
    Task
        The task itself: one without a category gets this one, one that has a category keeps it.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import register_task, task_from_networkx, unregister_task
    >>> task = register_task("social", task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> unregister_task("social", "karate") is task
    True
    """
    check_name("category", category)
    check_name("task", task.name)
    check_task_type(task.name, task.task_type)
    for tasks in BENCHMARK_TASKS.get(category, {}).values():
        if any(other.name == task.name for other in tasks):
            raise UsageError(
                f"The task {task.name!r} is already registered in the category {category!r}. "
                "Choose another name, or call unregister_task first."
            )
    if task.category is None:
        object.__setattr__(task, "category", category)  # the caller's own object is what is registered
    BENCHMARK_TASKS.setdefault(category, {}).setdefault(task.task_type, []).append(task)
    return task


def unregister_task(category: str, name: str) -> Task:
    """Take a task out of ``BENCHMARK_TASKS[category]`` and return it.

    Parameters
    ----------
    category, name
        Where it was registered, and its name.

    Returns
    -------
    Task
        The task that was taken out.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import register_task, task_from_networkx, unregister_task
    >>> task = register_task("mine", task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> unregister_task("mine", "karate") == task
    True
    """
    if category not in BENCHMARK_TASKS:
        raise unknown_name("category", category, BENCHMARK_TASKS)
    by_type = BENCHMARK_TASKS[category]
    for kind, tasks in by_type.items():
        for position, task in enumerate(tasks):
            if task.name == name:
                del tasks[position]
                if not tasks:
                    del by_type[kind]
                if not by_type and category not in CATEGORIES:
                    del BENCHMARK_TASKS[category]
                return task
    raise unknown_name(f"task of the category {category!r}", name, (t.name for ts in by_type.values() for t in ts))


def task_from_edges(
    name: str,
    edges: Any,
    *,
    labels: Any = None,
    features: Any = None,
    task_type: str | None = None,
    epochs: int = 100,
    directed: bool = False,
    num_nodes: int | None = None,
    label_column: str | None = None,
    feature_columns: Sequence[str] = (),
    splits: int = 10,
    **options: Any,
) -> Task:
    """Make a task of one graph given as plain data.

    Parameters
    ----------
    name
        Name of the task.
    edges
        Anything `graphnetz.graphs.read_graph` reads: the path of an edge list (optionally with the
        columns ``weight`` and ``label``), GraphML, GML, Matrix Market or npz file; an array
        [edges, 2]; a frame; a scipy sparse matrix; a networkx graph; a PyG ``Data``.
    labels
        One label per node: a CSV with the columns ``node`` and ``label``, a frame or an array. Nodes
        without a label take part in the graph but in no split.
    features
        One row of numbers per node: a CSV with a ``node`` column, a frame or an array. A
        graph without features gets columns made from the log-degree by the task type.
    task_type
        ``node_cls`` when labels are given, ``edge_cls`` when asked for and the edges carry a
        ``label`` column, else ``link_pred``.
    epochs
        Training epochs.
    directed
        Keep directions; otherwise every edge is stored both ways and repeated edges once.
    num_nodes
        Number of nodes, when the last ones have no edge.
    label_column, feature_columns
        Which columns of ``labels`` and ``features`` to take, where there are several.
    splits
        Number of stratified 60/20/20 splits of the labelled nodes (mask columns, one per seed).
    **options
        Further fields of `Task`, such as ``protocol``.

    Returns
    -------
    Task
        Ready for ``run_benchmark(tasks=...)``; nothing is registered.

    Examples
    --------
    >>> from graphnetz import task_from_edges
    >>> edges = [[i, (i + 1) % 20] for i in range(20)]
    >>> task_from_edges("ring", edges, labels=[0, 1] * 10).task_type
    'node_cls'
    """
    graph = read_graph(
        edges, labels=labels, features=features, num_nodes=num_nodes, label_column=label_column,
        feature_columns=feature_columns, edge_rows=True,
    )  # fmt: skip
    kind = task_type or ("link_pred" if graph.labels is None else "node_cls")
    return _task_of_graph(name, kind, graph, epochs=epochs, directed=directed, splits=splits, **options)


def task_from_networkx(
    name: str,
    graph: Any,
    *,
    label: str | None = None,
    features: Sequence[str] = (),
    task_type: str | None = None,
    epochs: int = 100,
    splits: int = 10,
    **options: Any,
) -> Task:
    """Make a task of a networkx graph, or of a list of graphs.

    Parameters
    ----------
    name
        Name of the task.
    graph
        One graph, or a list of graphs with a target in ``graph.graph[label]``.
    label
        Node attribute to predict (for a list: graph attribute); None predicts links.
    features
        Numeric node attributes that form the feature matrix.
    task_type
        None takes ``node_cls`` with a label, ``link_pred`` without, ``graph_cls`` for a list.
    epochs
        Training epochs.
    splits
        Number of stratified 60/20/20 splits of the labelled nodes.
    **options
        Further fields of `Task`, such as ``protocol``.

    Returns
    -------
    Task
        Ready for ``run_benchmark(tasks=...)``; nothing is registered.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import task_from_networkx
    >>> task_from_networkx("karate", nx.karate_club_graph(), label="club").task_type
    'node_cls'
    """
    if isinstance(graph, list | tuple):
        data = [_graph_level_data(item, label or "label", tuple(features)) for item in graph]
        if not data:
            raise DataError(f"The task {name!r} got an empty list; give at least one graph.")
        return task_from_dataset(name, task_type or "graph_cls", data, epochs, **options)
    arrays = read_graph(graph, label_column=label, feature_columns=features)
    kind = task_type or ("link_pred" if label is None else "node_cls")
    return _task_of_graph(name, kind, arrays, epochs=epochs, directed=graph.is_directed(), splits=splits, **options)


def check_name(kind: str, name: object) -> None:
    """Refuse a name that could leave its folder or confuse a listing."""
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"A {kind} name must be a non-empty string, got {name!r}.")
    if any(part in name for part in ("/", "\\", "..", "\0")) or not name.isprintable():
        raise UsageError(
            f"The {kind} name {name!r} holds a path part or a control character; use letters, digits, - and _."
        )


def check_task_type(name: str, task_type: str) -> None:
    """Refuse a task type that neither this package nor a plug-in knows."""
    if task_type in BUILT_IN_TASK_TYPES:
        return
    from graphnetz.tasktypes import TASK_TYPES  # a plug-in's task type; needs torch, hence late

    known = sorted({*BUILT_IN_TASK_TYPES, *TASK_TYPES})
    if task_type in known:
        return
    close = get_close_matches(str(task_type), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UnknownNameError(
        f"The task {name!r} has the unknown task type {task_type!r}.{hint} Known: {', '.join(known)}."
    )


def _task_of_graph(
    name: str, task_type: str, graph: GraphArrays, *, epochs: int, directed: bool, splits: int, **options: Any
) -> Task:
    check_name("task", name)
    check_task_type(name, task_type)
    if len(graph.edges) == 0:
        raise DataError(f"The graph of the task {name!r} has no edges; an empty graph cannot be trained on.")
    data = _base_data(graph, directed=directed, edge_labels=task_type == "edge_cls")
    if task_type == "node_cls":
        _add_node_labels(data, graph, splits=splits, name=name)
    return task_from_dataset(name, task_type, data, epochs, **options)


def _base_data(graph: GraphArrays, *, directed: bool, edge_labels: bool) -> Any:
    import torch
    from torch_geometric.data import Data

    pairs = graph.edges if directed else np.concatenate([graph.edges, graph.edges[:, ::-1]])
    unique, first = np.unique(pairs, axis=0, return_index=True)
    original = first % len(graph.edges)
    data = Data(edge_index=torch.from_numpy(np.ascontiguousarray(unique.T)), num_nodes=graph.num_nodes)
    if graph.features is not None:
        data.x = torch.from_numpy(feature_matrix(graph.features, graph.num_nodes))
    if "weight" in graph.edge_columns:
        weight = feature_matrix(graph.edge_columns["weight"][:, None], len(graph.edges), what="The edge weights")
        data.edge_weight = torch.from_numpy(weight[original, 0])
    if edge_labels:
        if "label" not in graph.edge_columns:
            raise DataError("Edge classification needs a label per edge; add a column 'label' to the edges.")
        _, codes = np.unique(graph.edge_columns["label"].astype(str), return_inverse=True)
        data.edge_label = torch.from_numpy(codes[original].astype(np.int64))
    return data


def _add_node_labels(data: Any, graph: GraphArrays, *, splits: int, name: str) -> None:
    import torch

    if graph.labels is None:
        raise DataError(f"The task {name!r} classifies nodes and has no labels; give labels= one value per node.")
    codes = class_codes(graph.labels)
    if len(np.unique(codes[codes >= 0])) < 2:
        raise DataError(f"The labels of the task {name!r} hold fewer than two classes; there is nothing to tell apart.")
    masks = stratified_masks(codes, splits=splits)
    data.y = torch.from_numpy(np.maximum(codes, 0))  # unlabelled nodes are in no mask; class numbers start at 0
    for key, mask in zip(("train_mask", "val_mask", "test_mask"), masks, strict=True):
        setattr(data, key, torch.from_numpy(mask))


def _graph_level_data(graph: Any, label: str, features: tuple[str, ...]) -> Any:
    import torch

    if label not in graph.graph:
        raise DataError(f"A graph lacks its target; store it as graph.graph[{label!r}].")
    arrays = read_graph(graph, feature_columns=features)
    data = _base_data(arrays, directed=graph.is_directed(), edge_labels=False)
    data.y = torch.as_tensor([graph.graph[label]])
    return data
