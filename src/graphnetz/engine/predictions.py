"""What is kept of a model's test outputs: what its headline metric needs, for every example or a sample of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from graphnetz._core.rng import generator
from graphnetz.kernels.folders import neighbourhoods
from graphnetz.kernels.structure import LARGE, structure_of
from graphnetz.metrics import positive_score
from graphnetz.records import Predictions
from graphnetz.records.cells import RANKED_EDGE
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.ranked import by_query, queries_of, ranks_of
from graphnetz.tasktypes.streamed import FolderData

KEPT_EXAMPLES = 100_000
"""Test examples of a cell whose outputs are kept; of more a sample is."""

DECIDED = frozenset({"acc", "balanced_acc", "macro_f1", "micro_f1", "f1"})
"""Metrics that need the predicted class only."""

RANKED = frozenset({"auc", "ap", "mrr"})
"""Metrics that need one ranking of the examples where there are two classes."""

Array = npt.NDArray[Any]


def kept_predictions(split: Split, score: Array) -> Predictions:
    """Return what is kept of the test outputs of one cell.

    Parameters
    ----------
    split
        What the model was tested on.
    score
        Its raw outputs, in the order of the test targets.

    Returns
    -------
    Predictions
        Class numbers where the headline metric needs no more, otherwise scores as float32; of a binary ranking one
        score per example; where true edges are ranked among candidates of their own, their ranks. All models of a split
        get the same examples, also where only a sample is kept.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> kept = kept_predictions(split, np.eye(2)[split.targets["test"]])
    >>> kept.score.dtype.name, kept.unit, kept.one_graph
    ('uint8', 'node', True)
    """
    score = np.asarray(score)
    if by_query(split):
        score = np.asarray(ranks_of(split, "test", score))
    shared, rows = examined(split)
    found: Predictions = dataclasses.replace(shared, score=score if rows is None else score[rows])
    return dataclasses.replace(found, score=_lean(found, split))


def examined(split: Split) -> tuple[Predictions, Array | None]:
    """Return the examples that all models of a split share, and the rows of the sample where there are too many."""
    key = "tested_ranks" if by_query(split) else "tested"
    if key not in split.cache:
        split.cache[key] = _tested(split)
    found: tuple[Predictions, Array | None] = split.cache[key]
    return found


def _lean(found: Predictions, split: Split) -> Array:
    if split.metric in DECIDED and not found.multilabel:
        return found.classes.astype(np.min_scalar_type(max(split.dims.out_channels - 1, 1)))
    binary = found.score.ndim == 2 and found.score.shape[1] == 2 and not found.multilabel
    ranked = split.metric in RANKED or split.metric.startswith("hits@")
    return np.asarray(positive_score(found.score) if binary and ranked else found.score, dtype=np.float32)


def _tested(split: Split) -> tuple[Predictions, Array | None]:
    target, unit = split.targets["test"], str(split.unit)
    example = np.asarray(split.examples.get("test", np.arange(len(target))))
    asked = queries_of(split, "test") if by_query(split) else None
    if asked is not None:  # the true edges are the examples, the others what they are ranked among
        example, target, unit = asked.example, asked.candidates, RANKED_EDGE
    count = len(example)
    one_graph = split.unit != "graph" and not isinstance(split.data, PackedGraphs)
    ends = (_ends(split, example) if asked is None else asked.ends) if one_graph else None
    blocks = _graph_of(split, example)
    if isinstance(split.data, FolderData):
        blocks = split.data.communities(example, _centres(int(split.data.num_nodes)))
    elif one_graph:
        blocks = communities(split.data.edge_index, int(split.data.num_nodes))[example if ends is None else ends[:, 0]]
    whole = Predictions(
        example, target, np.empty(0), ends=ends, blocks=blocks, unit=unit, one_graph=one_graph, total=count,
        node_columns=split.dims.out_channels if split.dims.out_graph else 0,
    )  # fmt: skip
    if count <= KEPT_EXAMPLES:
        return whole, None
    rows = np.sort(generator("examples", count).choice(count, KEPT_EXAMPLES, replace=False))
    large = {name: getattr(whole, name) for name in ("example", "target", "ends", "blocks")}
    return dataclasses.replace(whole, **{n: array[rows] for n, array in large.items() if array is not None}), rows


def _ends(split: Split, example: Array) -> Array | None:
    """The two nodes of every pair or edge."""
    if split.unit == "pair":
        return np.asarray(split.test.index.cpu().numpy().T)
    return np.asarray(split.data.edge_index.cpu().numpy()[:, example].T) if split.unit == "edge" else None


def _graph_of(split: Split, example: Array) -> Array | None:
    """The graph of every node or edge, where there are many graphs."""
    starts = {"node": "node_ptr", "edge": "edge_ptr"}.get(split.unit)
    if starts is None or not isinstance(split.data, PackedGraphs):
        return None
    return np.searchsorted(getattr(split.data, starts).cpu().numpy(), example, side="right") - 1


def communities(edge_index: Tensor, num_nodes: int) -> Array:
    """Cut a graph into about as many neighbourhoods as the root of its nodes, and at least 64 where it can.

    With 64 a test set that lies all over the graph meets at least 50 of them.

    Parameters
    ----------
    edge_index
        Edges ``[2, edge]``; directions do not matter.
    num_nodes
        How many nodes there are.

    Returns
    -------
    ndarray
        Neighbourhood of every node: that of the nearest of some nodes chosen at random; a part of the graph without
        a chosen node is one of its own.

    Examples
    --------
    >>> import torch
    >>> len(set(communities(torch.stack([torch.arange(199), torch.arange(1, 200)]), 200).tolist()))
    64
    """
    chosen = _centres(num_nodes)
    if edge_index.size(1) >= LARGE:  # the same distances in a tenth of the memory; ties go to other neighbours
        return neighbourhoods(structure_of(edge_index, num_nodes), chosen, both_ways=True)
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components, dijkstra

    row, column = edge_index.cpu().numpy()
    graph = coo_matrix((np.ones(row.size), (row, column)), shape=(num_nodes, num_nodes)).tocsr()
    near = dijkstra(graph, directed=False, indices=chosen, unweighted=True, min_only=True, return_predecessors=True)[2]
    _, part = connected_components(graph, directed=False)
    return np.unique(np.where(near < 0, num_nodes + part, near), return_inverse=True)[1]


def _centres(num_nodes: int) -> Array:
    """Nodes chosen at random, around which a graph is cut."""
    count = min(num_nodes, max(64, round(num_nodes**0.5)))
    return np.sort(generator("communities", num_nodes).choice(num_nodes, count, replace=False))
