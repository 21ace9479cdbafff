"""Predictions of a kept model for a graph: classes by name, values, and the likeliest links."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import graphnetz.kernels as kernels
from graphnetz._core.errors import DataError, UsageError
from graphnetz.datasets.several import graphs_as_data
from graphnetz.graphs.arrays import GraphArrays, feature_matrix
from graphnetz.graphs.files import read_graph
from graphnetz.graphs.several import has_graph_column
from graphnetz.tasktypes.graphs import degree_features
from graphnetz.tasktypes.packing import pack
from graphnetz.use.folder import Trained, open_model

if TYPE_CHECKING:
    import pandas as pd

ALL_PAIRS = 20_000
"""Nodes up to which every pair is scored; in larger graphs those that share a neighbour."""
_PAIRS_AT_ONCE = 2_000_000


def predict(
    folder: str | Path,
    graph: Any,
    *,
    features: Any = None,
    top: int = 100,
    model: str | None = None,
) -> pd.DataFrame:
    """Apply the model of a folder to a graph.

    Parameters
    ----------
    folder
        What ``graphnetz train`` wrote.
    graph
        Anything that `graphnetz.graphs.read_graph` reads; for models of whole graphs a table of edges with a column
        ``graph``, or a list of PyG ``Data``.
    features
        One row of numbers per node, as in training: a table with a column of node ids, or an array.
    top
        Link prediction: how many of the likeliest new links.
    model
        The model's code, ``path.py:Class``, where it is not a registered one.

    Returns
    -------
    pandas.DataFrame
        One row per node, edge, graph or new link, under the ids and class names that the files have.

    Examples
    --------
    >>> import tempfile
    >>> import networkx as nx
    >>> from graphnetz import task_from_networkx
    >>> from graphnetz.use import predict, train_model
    >>> task, place = task_from_networkx("karate", nx.karate_club_graph(), label="club"), tempfile.mkdtemp()
    >>> _ = train_model(task, place, model="GCN", seeds=1, epochs=5)
    >>> predict(place, nx.karate_club_graph()).columns.tolist()
    ['node', 'class', 'p_Mr. Hi', 'p_Officer']
    """
    trained, net = open_model(folder, model=model)
    if trained.task_type in ("graph_cls", "graph_reg"):
        return _defined(trained, _whole_graphs(trained, net, graph, features))
    arrays = read_graph(
        graph, features=features, feature_columns=tuple(trained.features) if features is not None else ()
    )
    _refuse_other(trained, arrays)
    data = _data(trained, arrays)
    names = np.arange(arrays.num_nodes) if arrays.names is None else arrays.names
    with torch.no_grad(), kernels.accelerate(net, data):
        found: pd.DataFrame = _ROWS[trained.task_type](trained, net, data, arrays, names, top)
    return _defined(trained, found)


def _defined(trained: Trained, found: pd.DataFrame) -> pd.DataFrame:
    """Refuse answers that are no numbers: the likeliest of them would be the first class."""
    undefined = int((~np.isfinite(found.select_dtypes("number").to_numpy(dtype=float))).any(axis=1).sum())
    if undefined:
        raise DataError(
            f"{trained.label} gives no number for {undefined} of {len(found)} rows. The features are out of the range "
            "of those it was trained on, or its weights are damaged."
        )
    return found


def _refuse_other(trained: Trained, arrays: GraphArrays) -> None:
    if not trained.inductive and not trained.ids and arrays.num_nodes != trained.nodes:
        raise UsageError(
            f"{trained.label} cannot be used on another graph ({arrays.num_nodes} nodes, trained on {trained.nodes}): "
            f"{trained.why} Train a model on the new graph, or on node features."
        )


def _data(trained: Trained, arrays: GraphArrays) -> Any:
    """The graph as the model saw it in training: both directions, the same columns of features."""
    from torch_geometric.data import Data

    pairs = np.concatenate([arrays.edges, arrays.edges[:, ::-1]])
    unique, first = np.unique(pairs, axis=0, return_index=True)
    data = Data(edge_index=torch.from_numpy(np.ascontiguousarray(unique.T)), num_nodes=arrays.num_nodes)
    data.x = _features(trained, arrays, data.edge_index)
    if "weight" in arrays.edge_columns:
        weight = feature_matrix(arrays.edge_columns["weight"][:, None], len(arrays.edges), what="The edge weights")
        data.edge_weight = torch.from_numpy(weight[first % len(arrays.edges), 0])
    return pack([data]).select(torch.zeros(1, dtype=torch.long))


def _features(trained: Trained, arrays: GraphArrays, edges: torch.Tensor) -> torch.Tensor:
    nodes, width = arrays.num_nodes, trained.to_dims().in_channels
    if trained.rule == "identity":
        return torch.eye(nodes)
    if trained.rule == "number":
        return _numbers(trained, arrays)
    if trained.rule == "degree":
        if arrays.features is not None:
            raise DataError(f"{trained.label} was trained without node features: leave out the features.")
        return degree_features(edges, nodes, scale=trained.scale)
    if arrays.features is None:
        listed = f" ({', '.join(trained.features[:8])})" if trained.features else ""
        raise DataError(f"{trained.label} was trained on {width} node features{listed}: give them with --features.")
    x = torch.from_numpy(feature_matrix(arrays.features, nodes))
    if x.size(1) != width:
        raise DataError(f"The graph has {x.size(1)} node features; {trained.label} was trained on {width}.")
    return x.long() if trained.to_dims().vocabulary else _in_units(trained, x)


def _in_units(trained: Trained, x: torch.Tensor) -> torch.Tensor:
    """Features in the units of training."""
    if not trained.centre and not trained.spread:
        return x * trained.factor
    if {len(trained.centre), len(trained.spread)} != {x.size(-1)}:
        raise DataError(f"The facts of {trained.label} give other columns of features than its weights. Train again.")
    return (x - torch.tensor(trained.centre)) / torch.tensor(trained.spread) * trained.factor


def _numbers(trained: Trained, arrays: GraphArrays) -> torch.Tensor:
    """The number by which a model that learned a vector for every node knows each of them."""
    if not trained.ids:
        return torch.arange(arrays.num_nodes)[:, None]
    place = {name: number for number, name in enumerate(trained.ids)}
    names = [str(name) for name in (range(arrays.num_nodes) if arrays.names is None else arrays.names.tolist())]
    strange = next((name for name in names if name not in place), None)
    if strange is not None:
        raise UsageError(
            f"{trained.label} has no vector for the node {strange!r}: it learned one for each of the {trained.nodes} "
            "nodes that it was trained on. Train on the new graph, or on node features."
        )
    return torch.tensor([place[name] for name in names])[:, None]


def _class_columns(trained: Trained, out: torch.Tensor) -> dict[str, Any]:
    """Class and probabilities of every row, under the names of the classes."""
    many = trained.kind == "multi"
    chances = (out.sigmoid() if many else out.softmax(dim=1)).numpy()
    count = chances.shape[1]
    names = trained.classes if len(trained.classes) == count else [str(i) for i in range(count)]
    columns: dict[str, Any] = {}
    if not many:
        columns["class"] = np.array(names, dtype=object)[chances.argmax(axis=1)]
    return columns | {f"p_{name}": chances[:, i].astype(float).round(6) for i, name in enumerate(names)}


def _node_rows(trained: Trained, net: Any, data: Any, _arrays: GraphArrays, names: Any, _top: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"node": names} | _class_columns(trained, net(data)))


def _edge_rows(trained: Trained, net: Any, data: Any, arrays: GraphArrays, names: Any, _top: int) -> pd.DataFrame:
    import pandas as pd

    codes = data.edge_index[0] * arrays.num_nodes + data.edge_index[1]
    wanted = torch.from_numpy(arrays.edges[:, 0] * arrays.num_nodes + arrays.edges[:, 1])
    order = codes.argsort()
    place = order[torch.searchsorted(codes[order], wanted)]
    ends = {"source": names[arrays.edges[:, 0]], "target": names[arrays.edges[:, 1]]}
    return pd.DataFrame(ends | _class_columns(trained, net(data)[place]))


def _link_rows(trained: Trained, net: Any, data: Any, arrays: GraphArrays, names: Any, top: int) -> pd.DataFrame:
    import pandas as pd

    if trained.to_dims().num_relations is not None:
        raise UsageError("The model scores triples of a knowledge graph, of which there is no list to rank.")
    if top < 1:
        raise UsageError(f"top={top} asks for no link. Give at least 1.")
    z = net.encode(data)
    nodes = arrays.num_nodes
    known = np.unique(data.edge_index[0].numpy() * nodes + data.edge_index[1].numpy())
    best = np.zeros((0, 3))
    for pairs in _pairs(data, nodes):
        fresh = pairs[~np.isin(pairs[:, 0] * nodes + pairs[:, 1], known)]
        if len(fresh):
            score = net.decode(z, torch.from_numpy(np.ascontiguousarray(fresh.T))).numpy()
            held = np.concatenate([best, np.column_stack([fresh, score])])
            best = held[np.lexsort((held[:, 1], held[:, 0], -held[:, 2]))[:top]]
    a, b = best[:, 0].astype(int), best[:, 1].astype(int)
    chance = 1 / (1 + np.exp(-best[:, 2]))
    return pd.DataFrame({"source": names[a], "target": names[b], "probability": chance.round(6)})


def _pairs(data: Any, nodes: int) -> Any:
    """Pairs to score, in blocks: all of them, or in a large graph those that share a neighbour."""
    if nodes <= ALL_PAIRS:
        step = max(_PAIRS_AT_ONCE // max(nodes, 1), 1)
        for start in range(0, nodes, step):
            rows = np.arange(start, min(start + step, nodes))
            a, b = np.meshgrid(rows, np.arange(nodes), indexing="ij")
            keep = a < b
            yield np.column_stack([a[keep], b[keep]])
        return
    from scipy import sparse

    ends = data.edge_index.numpy()
    matrix = sparse.csr_matrix((np.ones(ends.shape[1]), ends), shape=(nodes, nodes))
    for start in range(0, nodes, 2000):
        block = (matrix[start : start + 2000] @ matrix).tocoo()
        keep = block.row + start < block.col
        yield np.column_stack([block.row[keep] + start, block.col[keep]]).astype(np.int64)


def _whole_graphs(trained: Trained, net: Any, graph: Any, features: Any) -> pd.DataFrame:
    import pandas as pd

    if isinstance(graph, str | Path) and not has_graph_column(graph):
        raise UsageError(
            f"{trained.label} predicts values of whole graphs: give a table of edges with a column 'graph' that says "
            "to which graph each edge belongs."
        )
    if isinstance(graph, str | Path):
        names, graphs = graphs_as_data(graph, features=features, feature_columns=tuple(trained.features))
    else:
        graphs = [graph] if hasattr(graph, "edge_index") else list(graph)
        names = [str(position) for position in range(len(graphs))]
    for item in graphs:
        if trained.rule == "degree" and item.x is None:
            item.x = degree_features(item.edge_index, int(item.num_nodes or 0), scale=trained.scale)
        if item.x is None or item.x.size(-1) != trained.to_dims().in_channels:
            got = "none" if item.x is None else item.x.size(-1)
            raise DataError(
                f"{trained.label} was trained on {trained.to_dims().in_channels} node features; a graph has {got}."
            )
    if trained.rule == "given" and not trained.to_dims().vocabulary:
        graphs = [item.clone() for item in graphs]
        for item in graphs:
            item.x = _in_units(trained, item.x)
    packed = pack(graphs)
    with torch.no_grad(), kernels.accelerate(net, packed):
        out = torch.cat([net(packed.select(piece)) for piece in packed.chunks(torch.arange(len(graphs)))])
    if trained.task_type == "graph_cls":
        return pd.DataFrame({"graph": names} | _class_columns(trained, out))
    values = out.reshape(len(graphs), -1).numpy().astype(float)
    columns = ["value"] if values.shape[1] == 1 else [f"value_{i}" for i in range(values.shape[1])]
    return pd.DataFrame({"graph": names} | {name: values[:, i] for i, name in enumerate(columns)})


_ROWS: dict[str, Callable[..., Any]] = {"node_cls": _node_rows, "edge_cls": _edge_rows, "link_pred": _link_rows}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep back what torch.export prints of a model that it cannot follow: the reason comes in one sentence."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(before)


def export_program(folder: str | Path, *, model: str | None = None) -> Path:
    """Write the model as a ``torch.export`` program of ``(x, edge_index)``, or say why it cannot be.

    Parameters
    ----------
    folder
        A model folder.
    model
        As in `predict`.

    Returns
    -------
    Path
        ``model.pt2``.
    """
    from torch_geometric.data import Data

    trained, net = open_model(folder, model=model)
    if trained.task_type not in ("node_cls", "link_pred") or trained.to_dims().vocabulary:
        raise UsageError(f"torch.export is for models of one graph with real features; {trained.task_type} is none.")

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.net(Data(x=x, edge_index=edge_index, num_nodes=x.size(0)))
            return out

    x, edges = torch.randn(7, trained.to_dims().in_channels), torch.randint(7, (2, 12))
    nodes, arcs = torch.export.Dim("nodes", min=2), torch.export.Dim("arcs", min=2)
    path = Path(folder) / "model.pt2"
    try:
        with kernels.enabled(False), _quiet():
            made = torch.export.export(Plain(), (x, edges), dynamic_shapes={"x": {0: nodes}, "edge_index": {1: arcs}})
            torch.export.save(made, path)
    except Exception as error:  # torch.export raises what the model's code leads it to
        words = " ".join(str(error).split())[:200]
        raise UsageError(f"torch.export cannot follow {trained.label} ({type(error).__name__}: {words}).") from error
    return path
