"""Bring your own data: an object, a file or a generator becomes a `Task` in one call."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError, UnknownNameError, UsageError, unknown_name
from graphnetz.datasets.cards import BENCHMARK_TASKS, CATEGORIES
from graphnetz.datasets.splits import stratified_masks
from graphnetz.graphs.arrays import GraphArrays, class_codes, class_names, feature_matrix
from graphnetz.graphs.files import read_graph
from graphnetz.graphs.folder import GraphFolder, is_folder
from graphnetz.graphs.several import has_graph_column
from graphnetz.records import Task
from graphnetz.records.task import ExampleNames

BUILT_IN_TASK_TYPES = ("node_cls", "graph_cls", "graph_reg", "link_pred", "edge_cls", "multi_reg")


@dataclass(frozen=True, eq=False)
class HeldDataset:
    """A loader that hands out a dataset it already holds; picklable when the dataset is."""

    dataset: Any

    def __call__(self, _root: object = None) -> Any:
        """Return the dataset, whatever the folder."""
        return self.dataset


@dataclass(frozen=True)
class Standardised:
    """A transform: features minus ``centre``, divided by ``spread``, column by column."""

    centre: tuple[float, ...]
    spread: tuple[float, ...]

    def __call__(self, data: Any) -> Any:
        """Return the data with other features; what came stays as it is."""
        import torch

        if self.centre:
            data = data.clone()
            data.x = ((data.x - torch.tensor(self.centre)) / torch.tensor(self.spread)).float()
        return data


def standardised(task: Task) -> Task:
    """Give a task of one's own features with mean 0 and standard deviation 1, column by column.

    A column of heights beside a column of shares hides the second from every network. Columns of zeros and ones stay as
    they are; so do whole numbers, tasks of the catalogue, graphs on disk and tasks that have a transform.

    Parameters
    ----------
    task
        A task that holds its data, such as one of `task_from_edges`.

    Returns
    -------
    Task
        The task with the transform, or itself where there is nothing to do.

    Examples
    --------
    >>> from graphnetz import task_from_edges
    >>> task = task_from_edges("ring", [[0, 1], [1, 2], [2, 0]], features=[[1.5], [170.0], [3.0]])
    >>> [round(float(value), 2) for value in standardised(task).transform(task.loader()).x[:, 0]]
    [-0.72, 1.41, -0.7]
    """
    import torch

    held = task.loader.dataset if isinstance(task.loader, HeldDataset) and task.transform is None else None
    graphs = [held] if hasattr(held, "edge_index") else list(held) if isinstance(held, list | tuple) else []
    kept: list[Any] = [getattr(graph, "x", None) for graph in graphs]
    if not kept or not all(isinstance(x, torch.Tensor) and x.layout == torch.strided for x in kept):
        return task
    if len({(x.dim(), x.size(-1), x.is_floating_point()) for x in kept}) > 1 or kept[0].dim() != 2:
        return task  # the task type says what is wrong with it
    x = torch.cat(kept).numpy()
    if x.dtype.kind != "f":
        return task
    spread = x.std(axis=0, dtype=np.float64)
    plain = ((x == 0) | (x == 1)).all(axis=0) | (spread == 0)
    if plain.all():
        return task
    centre = np.where(plain, 0.0, x.mean(axis=0, dtype=np.float64))
    chosen = Standardised(tuple(centre.tolist()), tuple(np.where(plain, 1.0, spread).tolist()))
    return dataclasses.replace(task, transform=chosen)


def task_from_dataset(
    name: str, task_type: str, dataset: Any, epochs: int = 100, *, target: str | None = None, **options: Any
) -> Task:
    """Wrap a loaded dataset as a task; nothing is registered.

    Parameters
    ----------
    name, task_type, epochs
        As in `Task`.
    dataset
        Any PyTorch Geometric dataset, list of ``Data``, ``Data``, or a ``HeteroData`` with labels on one type of node.
        One graph whose nodes have labels and no masks gets ten stratified 60/20/20 splits, one per seed.
    target
        The node type to classify, where a ``HeteroData`` has labels on several.
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
    if not hasattr(dataset, "edge_index") and hasattr(dataset, "__len__") and len(dataset) == 1:
        dataset = dataset[0] if hasattr(dataset[0], "node_types") else dataset  # a dataset of one HeteroData
    if hasattr(dataset, "node_types") and hasattr(dataset, "edge_types"):
        dataset = _of_types(name, task_type, dataset, target)
    elif target is not None:
        raise UsageError(f"target={target!r} names a type of node, and the data of {name!r} have one type only.")
    dataset, classes = _numbered(dataset)
    if classes:
        options.setdefault("names", ExampleNames(classes=classes))
    if task_type == "node_cls":
        dataset = _with_masks(dataset)
    return Task(name, task_type, HeldDataset(dataset), epochs, **options)


def _of_types(name: str, task_type: str, data: Any, target: str | None) -> Any:
    from graphnetz.datasets.several import homogeneous

    if task_type != "node_cls":
        raise DataError(
            f"The task {name!r}: a HeteroData can be turned into a task that classifies the nodes of one type "
            f"(node_cls), not into {task_type}. Convert it first, for instance with HeteroData.to_homogeneous()."
        )
    return homogeneous(data, target)


def _numbered(dataset: Any) -> tuple[Any, list[str]]:
    """Number the classes of graphs whose ``y`` is words, and return their names; others stay as they are."""
    import torch

    single = hasattr(dataset, "edge_index")
    graphs = [dataset] if single else list(dataset) if isinstance(dataset, list | tuple) else []
    held = [value for graph in graphs for value in _words(getattr(graph, "y", None))]
    if not any(isinstance(value, str) for value in held) or (not single and len(held) != len(graphs)):
        return dataset, []
    codes = torch.from_numpy(class_codes(held))
    copies = [graph.clone() for graph in graphs]
    for graph, code in zip(copies, [codes] if single else codes.reshape(-1, 1), strict=True):
        graph.y = code
    return copies[0] if single else copies, class_names(held)


def _words(y: Any) -> list[Any]:
    if isinstance(y, str):
        return [y]
    return list(y) if isinstance(y, list | tuple | np.ndarray) else []


def _with_masks(dataset: Any) -> Any:
    """Give one graph with a class per node and no masks ten stratified splits; everything else stays as it is."""
    y = getattr(dataset, "y", None)
    if not hasattr(dataset, "edge_index") or y is None or getattr(dataset, "train_mask", None) is not None:
        return dataset
    if y.dim() != 1 or y.is_floating_point() or y.size(0) != dataset.num_nodes:
        return dataset
    import torch

    held = dataset.clone()
    codes = y.numpy().astype(np.int64)
    if held.get("labelled") is not None:
        codes = np.where(held.labelled.numpy(), codes, -1)
    if len(np.unique(codes[codes >= 0])) < 2:
        return dataset  # the task type says what is wrong with it
    masks = stratified_masks(codes, splits=10)
    held.y = torch.from_numpy(np.maximum(codes, 0))
    for key, mask in zip(("train_mask", "val_mask", "test_mask"), masks, strict=True):
        held[key] = torch.from_numpy(mask)
    return held


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
        columns ``weight`` and ``label``), Parquet, GraphML, GML, Matrix Market or npz file; a folder of 'graphnetz
        convert', which stays on disk and brings its own labels, features and split; an array [edges, 2];
        a frame; a scipy sparse matrix; a networkx graph; a PyG ``Data``. A table with a column ``graph``
        holds many graphs: labels then have the columns ``graph`` and ``label``, features ``graph`` and ``node``.
    labels
        One label per node: a CSV with the columns ``node`` and ``label``, a frame, a mapping or an array. Nodes
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
    if is_folder(edges):
        return _task_of_folder(name, edges, task_type=task_type, epochs=epochs, **options)
    if isinstance(edges, str | os.PathLike) and has_graph_column(edges):  # type: ignore[arg-type]
        return _task_of_graphs(
            name, edges, labels=labels, features=features, label_column=label_column, task_type=task_type,
            feature_columns=feature_columns, epochs=epochs, **options,
        )  # fmt: skip
    graph = read_graph(
        edges, labels=labels, features=features, num_nodes=num_nodes, label_column=label_column,
        feature_columns=feature_columns, edge_rows=True,
    )  # fmt: skip
    kind = task_type or ("link_pred" if graph.labels is None else "node_cls")
    return _task_of_graph(name, kind, graph, epochs=epochs, directed=directed, splits=splits, **options)


def _task_of_folder(name: str, folder: Any, *, task_type: str | None, epochs: int, **options: Any) -> Task:
    """A graph that stays on disk: its nodes are classified, on sampled neighbours unless the caller says otherwise."""
    check_name("task", name)
    if task_type not in (None, "node_cls"):
        raise DataError(f"The task {name!r} is a graph folder, of which node_cls can be asked, not {task_type}.")
    options["protocol"] = {"batch_nodes": 1024, "fanouts": (10, 10)} | dict(options.get("protocol", {}))
    return Task(name, "node_cls", HeldDataset(GraphFolder.open(folder)), epochs, **options)


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
    classes: Any = graph.labels if task_type == "node_cls" else graph.edge_columns.get("label")
    named = task_type in ("node_cls", "edge_cls") and classes is not None
    options.setdefault(
        "names", ExampleNames(
            () if graph.names is None else graph.names.tolist(), class_names(classes) if named else (),
            graph.feature_names,
        )
    )  # fmt: skip
    return task_from_dataset(name, task_type, data, epochs, **options)


def _task_of_graphs(
    name: str, edges: Any, *, labels: Any, features: Any, label_column: str | None, task_type: str | None,
    feature_columns: Sequence[str], epochs: int, **options: Any,
) -> Task:  # fmt: skip
    """Many graphs in one table: their classes or values are predicted."""
    from graphnetz.datasets.several import classes_of_graphs, graphs_as_data

    kind = task_type or "graph_cls"
    check_task_type(name, kind)
    if kind not in ("graph_cls", "graph_reg"):
        raise DataError(
            f"The table of {name!r} holds many graphs: the task type is graph_cls or graph_reg, not {kind}."
        )
    if labels is None:
        raise DataError(
            f"The task {name!r} needs a label per graph; give labels= a table with the columns graph, label."
        )
    _, graphs = graphs_as_data(
        edges, features=features, feature_columns=feature_columns, labels=labels, label_column=label_column,
        values=kind == "graph_reg",
    )  # fmt: skip
    classes = classes_of_graphs(labels, edges, label_column=label_column) if kind == "graph_cls" else []
    options.setdefault("names", ExampleNames(classes=classes, features=tuple(feature_columns)))
    return task_from_dataset(name, kind, graphs, epochs, **options)


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
        codes = class_codes(graph.edge_columns["label"])
        data.edge_label = torch.from_numpy(codes[original].astype(np.int64))
    return data


def _add_node_labels(data: Any, graph: GraphArrays, *, splits: int, name: str) -> None:
    import torch

    if graph.labels is None:
        raise DataError(f"The task {name!r} classifies nodes and has no labels; give one per node, labels= (--labels).")
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
    target = graph.graph[label]
    data.y = target if isinstance(target, str) else torch.as_tensor([target])
    return data
