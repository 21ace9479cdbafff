"""Data of one's own for RINGS: a folder in TU layout, a PyTorch Geometric file, an edge list, or a name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from graphnetz._core.errors import DataError, UsageError
from graphnetz._core.paths import slug
from graphnetz._core.unpickle import read_torch
from graphnetz.datasets import find_task, task_from_dataset, task_from_edges, task_of
from graphnetz.datasets.sources.tu import read_tu
from graphnetz.records import Task

TENSOR_FILES = (".pt", ".pth")


def task_from_source(
    source: str | Path,
    *,
    task_type: str | None = None,
    labels: str | Path | None = None,
    features: str | Path | None = None,
) -> Task:
    r"""Make a task of a folder, a file or a name, whichever ``source`` is.

    Parameters
    ----------
    source
        A folder with the text files of a TU dataset (``NAME_A.txt`` and so on, also in ``raw/``), whose continuous node
        attributes are used as the paper does; a ``.pt`` file of PyTorch Geometric graphs, read by a restricted loader;
        an edge list or any other file that `task_from_edges` reads; or the name of a dataset or task.
    task_type
        What to predict, where the data do not say, or another task that a named dataset serves.
    labels, features
        CSV files that describe the nodes of an edge list.

    Returns
    -------
    Task
        Ready for `evaluate`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from graphnetz.rings import task_from_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ring.csv"
    ...     _ = file.write_text("source,target\n0,1\n1,2\n2,0\n")
    ...     task_from_source(file).task_type
    'link_pred'
    """
    path = Path(source)
    tables = [key for key, value in (("labels", labels), ("features", features)) if value is not None]
    if not path.exists():
        if any(mark in str(source) for mark in ("/", "\\")) or path.suffix:
            raise UsageError(f"There is no {str(source)!r}. Give a file, a folder, or the name of a dataset or task.")
        if tables:
            raise UsageError(f"--{tables[0]} describes the nodes of an edge list; {str(source)!r} is a name.")
        return _named_task(str(source), task_type)
    if path.is_dir() or path.suffix in TENSOR_FILES:
        if tables:
            raise UsageError(f"--{tables[0]} describes the nodes of an edge list, which {path.name!r} is not.")
        return _tu_task(path, task_type) if path.is_dir() else _pyg_task(path, task_type)
    return task_from_edges(slug(path.stem), path, task_type=task_type, labels=labels, features=features)


def _named_task(name: str, task_type: str | None) -> Task:
    """The task of that name, or another one that its dataset serves."""
    task = find_task(name)
    if task_type in (None, task.task_type):
        return task
    if task.card is None:
        raise UsageError(f"{name!r} is a {task.task_type} task and serves no other; leave the task type out.")
    return task_of(task.card, task_type)


def _tu_task(folder: Path, task_type: str | None) -> Task:
    for here in (folder, folder / "raw"):
        for file in sorted(here.glob("*_A.txt")):
            name = file.name.removesuffix("_A.txt")
            return task_from_dataset(slug(name), task_type or "graph_cls", read_tu(here, name, use_node_attr=True))
    raise DataError(
        f"{folder.name!r} holds no dataset in TU layout: there is no file that ends in '_A.txt', neither here nor in "
        "'raw'. Give such a folder, a .pt file or an edge list."
    )


def _pyg_task(path: Path, task_type: str | None) -> Task:
    graphs = read_pyg(path)
    name = slug(path.stem)
    if len(graphs) == 1:
        data = graphs[0]
        labelled = data.get("y") is not None and data.y.shape[:1] == (int(data.num_nodes or 0),)
        return task_from_dataset(name, task_type or ("node_cls" if labelled else "link_pred"), data)
    if any(data.get("y") is None for data in graphs):
        raise DataError(f"{path.name!r} holds {len(graphs)} graphs, and not all of them have a target 'y'.")
    real = graphs[0].y.is_floating_point() and graphs[0].y.numel() == 1
    return task_from_dataset(name, task_type or ("graph_reg" if real else "graph_cls"), graphs)


def read_pyg(path: str | Path) -> list[Data]:
    """Read the graphs of a ``.pt`` file without running anything that stands in it.

    Parameters
    ----------
    path
        What ``torch.save`` made of a ``Data``, a list of them, dictionaries of tensors, or of the pair (data, slices)
        that PyTorch Geometric keeps as ``processed/data.pt``.

    Returns
    -------
    list of Data
        The graphs; a file that names anything but tensors, plain containers and PyG's own storages is refused.

    Examples
    --------
    >>> import tempfile, torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import read_pyg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save([Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]))], f"{folder}/graphs.pt")
    ...     read_pyg(f"{folder}/graphs.pt")[0].num_nodes
    2
    """
    found = read_torch(path, allow=_pyg_types())
    graphs = _graphs_of(found)
    if not graphs or any(data.get("edge_index") is None for data in graphs):
        raise DataError(
            f"{Path(path).name!r} holds no graphs: save a Data with edge_index, a list of them, or (data, slices)."
        )
    return graphs


def _pyg_types() -> list[Any]:
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import BaseStorage, EdgeStorage, GlobalStorage, NodeStorage

    return [Data, DataEdgeAttr, DataTensorAttr, BaseStorage, EdgeStorage, GlobalStorage, NodeStorage]


def _graphs_of(found: Any) -> list[Data]:
    if isinstance(found, Data):
        return [found]
    if isinstance(found, dict):
        return [Data(**{str(key): value for key, value in found.items()})]
    if isinstance(found, tuple) and len(found) in (2, 3) and isinstance(found[1], dict):
        return _cut(_graphs_of(found[0])[0], found[1])
    if isinstance(found, list | tuple):
        return [data for item in found for data in _graphs_of(item)]
    return []


def _cut(data: Data, slices: dict[str, Any]) -> list[Data]:
    """Cut collated graphs apart; edges are counted from each graph's first node already."""
    from torch_geometric.data.separate import separate

    count = len(next(iter(slices.values()))) - 1
    return [separate(Data, data, idx=index, slice_dict=slices, decrement=False) for index in range(count)]


def feature_width(graphs: Sequence[Data]) -> int:
    """Columns of the node features, 0 where there are none."""
    x = graphs[0].get("x") if graphs else None
    return int(x.shape[1]) if isinstance(x, torch.Tensor) and x.dim() == 2 else 0
