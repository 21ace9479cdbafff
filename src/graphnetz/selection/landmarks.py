"""Landmarks: what simple methods reach on a graph within a few seconds.

Structure alone does not say whether classes follow edges or features. These meta-features measure it: propagation,
ridge regressions and a small forest for nodes, rules and cheap forms of the contenders themselves for links
(`graphnetz.selection.contenders`) are fitted on the training part of the bank's splits and scored on the validation
part. The test part is never looked at, so that a landmark can stand beside what is measured there (landmarking:
Pfahringer et al., 2000). Nothing here imports torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.rng import generator
from graphnetz.graphs import counts
from graphnetz.graphs.compressed import Graph, as_graph
from graphnetz.graphs.some_counts import components, kept_rows, nodes_around
from graphnetz.selection.attributes import homophily
from graphnetz.selection.collection import Collection
from graphnetz.selection.collection_landmarks import COLLECTION_LANDMARKS, collection_landmarks
from graphnetz.selection.contenders import CONTENDERS, auc, contenders
from graphnetz.selection.splits import bounds, stored_split

FloatArray = npt.NDArray[np.float64]

_SHAPE = ("log_nodes", "log_edges", "log_degree", "degree_cv", "clustering", "isolated", "has_features", "log_features")
LANDMARKS = {
    "link_pred": (
        *("degree_product", "resource_allocation", "jaccard", "feature_cosine", *CONTENDERS),
        *("common_neighbours", *_SHAPE),
    ),
    "node_cls": (
        *("majority", "propagation", "features", "smoothed_features", "neighbour_features", "spectral", "structure"),
        *(
            "forest",
            "log_classes",
            "log_training",
            "edge_homophily",
            "adjusted_homophily",
            "label_information",
            *_SHAPE,
        ),
    ),
    "graph_cls": COLLECTION_LANDMARKS,
}
"""Names of the landmarks by task type: first what methods reach, last eight numbers of size and shape."""

SCORES = {"link_pred": 4 + len(CONTENDERS), "node_cls": 8, "graph_cls": 8}
"""How many of the landmarks, the first ones, say what a method reaches."""

MOST_EDGES = {"link_pred": 6_000, "node_cls": 50_000}
"""Edges up to which a graph is looked at as a whole; a larger one by a connected part, which takes a second instead of
minutes at a million edges."""

ONE_SPLIT = 5_000
"""Edges above which one split stands for all of them where links are predicted: its validation part is large."""
_WIDTH = 32
_FEATURES = 64
_PAIRS = 4000


def landmarks(
    graph: Graph | Collection, task_type: str, *, splits: int = 3, most_edges: int | None = None
) -> FloatArray:
    """Return the landmarks of a graph, means over splits.

    Parameters
    ----------
    graph
        Simple and undirected; node classification needs labels (-1 where a node has none). Graph classification takes
        a `graphnetz.selection.collection.Collection` instead.
    task_type
        A key of `LANDMARKS`.
    splits
        How many splits of the bank are averaged; of links of a graph with more than `ONE_SPLIT` edges only the first.
    most_edges
        A graph with more is looked at by a connected part with about so many; its size stays that of the graph.
        Default: `MOST_EDGES` of the task type.

    Returns
    -------
    numpy.ndarray
        In the order of ``LANDMARKS[task_type]``.

    Examples
    --------
    >>> from graphnetz.selection.example import example_graph
    >>> from graphnetz.selection.landmarks import LANDMARKS, landmarks
    >>> found = dict(zip(LANDMARKS["node_cls"], landmarks(example_graph(), "node_cls", splits=1), strict=True))
    >>> bool(found["propagation"] > found["majority"])
    True
    """
    if task_type not in LANDMARKS:
        raise unknown_name("task type with landmarks", task_type, LANDMARKS)
    if task_type == "graph_cls":
        return collection_landmarks(graph, splits=splits)
    if isinstance(graph, Collection):
        raise UsageError(f"Many graphs with a class each are for graph_cls, not {task_type}.")
    links = task_type == "link_pred"
    most = MOST_EDGES[task_type] if most_edges is None else most_edges
    seen = part(graph, most) if graph.num_edges > most else graph
    if not links and seen.labels is not None and len(np.unique(seen.labels[seen.labels >= 0])) < 2:
        seen = graph  # classes lie apart
    one = _link_landmarks if links else _node_landmarks
    used = 1 if links and seen.num_edges > ONE_SPLIT else splits
    rows = [one(seen, stored_split(seen, task_type, None, seed), seed) for seed in range(used)]
    found = np.asarray(np.mean(rows, axis=0))
    if links and seen is not graph:
        found[-len(_SHAPE) :] = _whole_shape(graph)
        return found
    for name, count, of in (("nodes", graph.num_nodes, seen.num_nodes), ("edges", graph.num_edges, seen.num_edges)):
        found[LANDMARKS[task_type].index(f"log_{name}")] += np.log(count / of)
    return found


def _whole_shape(graph: Graph) -> list[float]:
    """Size and shape of a large graph from the training edges of a split, as those of a small one are."""
    rng = generator("landmarks-large", graph.num_nodes, graph.num_edges)
    train = rng.permutation(graph.num_edges)[: bounds(graph.num_edges)[0]]
    rows = kept_rows(graph.indptr, graph.indices, counts.edge_numbers(graph.indptr, graph.indices), train)
    return _shape(graph, _matrix(*rows))


def part(graph: Graph, most_edges: int) -> Graph:
    """Return a part with about so many edges: the nodes reached first, breadth first, from a random one."""
    rng = generator("landmarks-part", graph.num_nodes, graph.num_edges)
    number, component = components(graph.indptr, graph.indices)
    held = np.bincount(component[graph.edges[:, 0]], minlength=number)
    if held.max() < most_edges:  # whole components, as many as it takes
        order = rng.permutation(number)
        enough = order[: int(np.searchsorted(held[order].cumsum(), most_edges)) + 1]
        chosen: npt.NDArray[np.int64] = np.flatnonzero(np.isin(component, enough))
    else:
        start = int(rng.choice(np.flatnonzero(component == held.argmax())))
        chosen = nodes_around(graph.indptr, graph.indices, start, most_edges)
    place = np.full(graph.num_nodes, -1)
    place[chosen] = np.arange(len(chosen))
    pairs = place[graph.edges]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    labels = None if graph.labels is None else graph.labels[chosen]
    features = None if graph.features is None else graph.features[chosen]
    return as_graph(pairs, len(chosen), directed=False, labels=labels, features=features)


def _matrix(indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int64]) -> Any:
    """Sorted rows as a matrix of ones; small numbers, as scipy itself would choose."""
    nodes = len(indptr) - 1
    kind = np.int32 if len(indices) < 2**31 else np.int64
    rows: Any = (np.ones(len(indices)), indices.astype(kind), indptr.astype(kind))
    return sp.csr_matrix(rows, shape=(nodes, nodes))


def _adjacency(edges: npt.NDArray[np.int64], nodes: int) -> Any:
    ones = np.ones(2 * len(edges))
    both = np.concatenate([edges, edges[:, ::-1]]).T
    out = sp.csr_matrix((ones, (both[0], both[1])), shape=(nodes, nodes))
    out.data[:] = 1.0
    return out


def _normalised(adjacency: Any) -> Any:
    """Symmetric normalisation with self-loops."""
    held = adjacency + sp.identity(adjacency.shape[0], format="csr")
    scale = sp.diags(1 / np.sqrt(np.asarray(held.sum(axis=1)).ravel()))
    return scale @ held @ scale


def _vectors(matrix: Any, rng: np.random.Generator, *, width: int = _WIDTH, power: float = 0.5) -> FloatArray:
    """Leading left singular vectors times a power of their values (randomised: Halko et al., 2011)."""
    width = min(width, matrix.shape[0] - 1, matrix.shape[1])
    probe = np.linalg.qr(matrix @ rng.standard_normal((matrix.shape[1], width + 8)))[0]
    for _ in range(3):
        probe = np.linalg.qr(matrix @ (matrix.T @ probe))[0]
    small, values, _ = np.linalg.svd((matrix.T @ probe).T, full_matrices=False)
    return np.asarray((probe @ small)[:, :width] * values[:width] ** power)


def _features(graph: Graph, rng: np.random.Generator) -> FloatArray | None:
    """Node features, standardised; of more than `_FEATURES` the leading components."""
    if graph.features is None:
        return None
    x = graph.features if hasattr(graph.features, "tocsr") else np.asarray(graph.features, dtype=np.float64)
    if x.shape[1] > _FEATURES:  # many words: their principal components, as long as they are
        wide = _vectors(sp.csr_matrix(x), rng, width=2 * _FEATURES, power=1.0)
        wide = wide - wide.mean(axis=0)
        return np.asarray(wide / max(float(wide.std()), 1e-12))
    return _standard(np.asarray(x.todense() if hasattr(x, "todense") else x, dtype=np.float64))


def _standard(x: FloatArray) -> FloatArray:
    spread = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _shape(graph: Graph, adjacency: Any) -> list[float]:
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    nodes, edges = graph.num_nodes, degree.sum() / 2
    if graph.num_edges > MOST_EDGES["link_pred"]:
        rows = (part.astype(np.int64, copy=False) for part in (adjacency.indptr, adjacency.indices))
        closed = 2.0 * counts.edge_triangles(*rows).sum()
    else:
        closed = float((adjacency @ adjacency).multiply(adjacency).sum())
    open_ = float((degree * (degree - 1)).sum())
    width = 0 if graph.features is None else graph.features.shape[1]
    return [
        np.log(nodes), np.log(max(edges, 1.0)), np.log(max(degree.mean(), 0.1)),
        degree.std() / max(degree.mean(), 1e-9), closed / open_ if open_ > 0 else 0.0, float((degree == 0).mean()),
        float(width > 0), np.log1p(width),
    ]  # fmt: skip


def _cosine(x: FloatArray, pairs: npt.NDArray[np.int64]) -> FloatArray:
    length = np.linalg.norm(x, axis=1) + 1e-12
    unit = x / length[:, None]
    return np.asarray((unit[pairs[:, 0]] * unit[pairs[:, 1]]).sum(axis=1))


def _link_landmarks(graph: Graph, split: dict[str, Any], seed: int) -> FloatArray:
    rng = generator("landmarks", graph.num_nodes, graph.num_edges, seed)
    train = np.sort(split["train"], axis=1)
    adjacency = _adjacency(train, graph.num_nodes)
    positive, negative = split["val"][:_PAIRS], split["val_negative"][:_PAIRS]
    pairs = np.concatenate([positive, negative])
    truth = np.arange(len(pairs)) < len(positive)
    x = _features(graph, rng)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    left, right = adjacency[pairs[:, 0]], adjacency[pairs[:, 1]]
    shared = left.multiply(right).tocsr()
    common = np.asarray(shared.sum(axis=1)).ravel()
    weight = np.where(degree > 0, 1 / np.maximum(degree, 1), 0.0)
    product = np.log1p(degree[pairs[:, 0]]) + np.log1p(degree[pairs[:, 1]])
    jaccard = common / np.maximum(degree[pairs[:, 0]] + degree[pairs[:, 1]] - common, 1)
    alike = np.zeros(len(pairs)) if x is None else _cosine(x, pairs)
    rules = [auc(value, truth) for value in (product, np.asarray(shared @ weight).ravel(), jaccard, alike)]
    raced = contenders(adjacency, graph.features, train, pairs, truth, rng)
    return np.array([*rules, *raced, float((common[truth] > 0).mean()), *_shape(graph, adjacency)])


def _node_landmarks(graph: Graph, split: dict[str, Any], seed: int) -> FloatArray:
    rng = generator("landmarks", graph.num_nodes, graph.num_edges, seed)
    labels = graph.labels
    assert labels is not None
    train, held = (part[labels[part] >= 0] for part in (split["train"], split["val"]))
    _, codes = np.unique(labels[labels >= 0], return_inverse=True)
    y = np.full(len(labels), -1)
    y[labels >= 0] = codes
    classes = int(codes.max()) + 1
    known = np.full(len(y), -1)
    known[train] = y[train]
    adjacency = _adjacency(graph.edges, graph.num_nodes)
    smooth = _normalised(adjacency)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    mean = sp.diags(1 / np.maximum(degree, 1)) @ adjacency
    spectral = _standard(_vectors(smooth, rng))
    x = _features(graph, rng)
    near = np.log1p(degree)
    around = np.column_stack([near, mean @ near, mean @ (mean @ near), np.asarray(abs(mean @ near - near))])
    structure = _standard(around)
    one_hot = np.zeros((len(y), classes))
    one_hot[train, y[train]] = 1.0

    def reached(scores: FloatArray) -> float:
        return float((scores[held].argmax(axis=1) == y[held]).mean()) if len(held) else np.nan

    def ridge(values: FloatArray) -> float:
        z = np.column_stack([values, np.ones(len(values))])
        gram = z[train].T @ z[train] + np.eye(z.shape[1])
        return reached(z @ np.linalg.solve(gram, z[train].T @ one_hot[train]))

    spread = one_hot.copy()
    for _ in range(10):
        spread = 0.9 * (smooth @ spread) + 0.1 * one_hot
    share = one_hot.sum(axis=0)
    majority = reached(np.broadcast_to(share, one_hot.shape))
    alone = structure if x is None else x
    both = np.column_stack([alone, mean @ alone, structure])
    out = [
        majority, reached(spread + 1e-9 * share), majority if x is None else ridge(x),
        ridge(_standard(smooth @ (smooth @ alone))), ridge(both), ridge(spectral), ridge(structure),
        _forest(np.column_stack([both, mean @ one_hot]), y, train, held, seed),
        np.log(classes), np.log(max(len(train), 1)),
    ]  # fmt: skip
    measured = homophily(graph, known, classes)
    return np.array([*out, measured[0], measured[3], measured[4], *_shape(graph, adjacency)])


def _forest(columns: FloatArray, y: Any, train: Any, held: Any, seed: int) -> float:
    """Accuracy of a small forest on features, neighbour means and the training classes of neighbours."""
    from sklearn.ensemble import ExtraTreesClassifier

    forest = ExtraTreesClassifier(40, min_samples_leaf=2, random_state=seed).fit(columns[train], y[train])
    return float((forest.predict(columns[held]) == y[held]).mean()) if len(held) else np.nan
