"""Landmarks: what simple closed-form methods reach on a graph within a second or two.

Structure alone does not say whether classes follow edges or features. These meta-features measure it: propagation,
ridge regressions and a small forest are fitted on the training part of the bank's splits and scored on the validation
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
from graphnetz.selection.splits import bounds, stored_split

FloatArray = npt.NDArray[np.float64]

_SHAPE = ("log_nodes", "log_edges", "log_degree", "degree_cv", "clustering", "isolated", "has_features", "log_features")
LANDMARKS = {
    "link_pred": (
        *("degree_product", "resource_allocation", "jaccard", "spectral", "two_steps", "feature_cosine"),
        *("smoothed_features", "smoothed_noise", "spectral_product", "forest", "common_neighbours", *_SHAPE),
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
"""Names of the landmarks by task type; the last eight describe size and shape."""

MOST_EDGES = 50_000
"""Edges up to which a graph is looked at as a whole; a larger one by a connected part, which takes a second instead of
a minute at a million edges."""
_WIDTH = 32
_FEATURES = 64
_PAIRS = 4000


def landmarks(
    graph: Graph | Collection, task_type: str, *, splits: int = 3, most_edges: int = MOST_EDGES
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
        How many splits of the bank are averaged.
    most_edges
        A graph with more is looked at by a connected part with about so many; its size stays that of the graph.

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
    one = _link_landmarks if task_type == "link_pred" else _node_landmarks
    if task_type == "link_pred" and graph.num_edges > most_edges:
        return _of_large(graph, most_edges)
    seen = part(graph, most_edges) if graph.num_edges > most_edges else graph
    if task_type == "node_cls" and seen.labels is not None and len(np.unique(seen.labels[seen.labels >= 0])) < 2:
        seen = graph  # classes lie apart
    rows = [one(seen, stored_split(seen, task_type, None, seed), seed) for seed in range(splits)]
    found = np.asarray(np.mean(rows, axis=0))
    for name, count, of in (("nodes", graph.num_nodes, seen.num_nodes), ("edges", graph.num_edges, seen.num_edges)):
        found[LANDMARKS[task_type].index(f"log_{name}")] += np.log(count / of)
    return found


def _of_large(graph: Graph, most_edges: int) -> FloatArray:
    """Landmarks of links from one split: what follows edges afar is measured on a part, where it takes a second."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as beside:  # both spend their time in compiled code, which other threads do not wait for
        far = beside.submit(_far, graph, most_edges)
        found = _near(graph)
        return np.where(np.isnan(found), far.result(), found)


def _far(graph: Graph, most_edges: int) -> FloatArray:
    seen = part(graph, most_edges)
    return _link_landmarks(seen, stored_split(seen, "link_pred", None, 0), 0, near=False)


def _near(graph: Graph) -> FloatArray:
    rng = generator("landmarks-large", graph.num_nodes, graph.num_edges)
    train, val, _ = np.split(rng.permutation(graph.num_edges), bounds(graph.num_edges))
    codes = graph.edges[:, 0] * graph.num_nodes + graph.edges[:, 1]  # in rising order, as edges are
    drawn = np.sort(rng.integers(0, graph.num_nodes, (2 * _PAIRS, 2)), axis=1)
    asked = drawn[:, 0] * graph.num_nodes + drawn[:, 1]
    known = codes[np.minimum(np.searchsorted(codes, asked), len(codes) - 1)] == asked
    split = {
        "train": graph.edges[train], "val": graph.edges[val],
        "val_negative": drawn[~known & (drawn[:, 0] != drawn[:, 1])][:_PAIRS],
    }  # fmt: skip
    rows = kept_rows(graph.indptr, graph.indices, counts.edge_numbers(graph.indptr, graph.indices), train)
    return _link_landmarks(graph, split, 0, adjacency=_matrix(*rows), afar=False)


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
    kind: Any = np.int32 if len(indices) < 2**31 else np.int64
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
    if graph.num_edges > MOST_EDGES:
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


def _products(x: FloatArray, pairs: npt.NDArray[np.int64]) -> FloatArray:
    return np.asarray((x[pairs[:, 0]] * x[pairs[:, 1]]).sum(axis=1))


def _auc(scores: FloatArray, truth: npt.NDArray[np.bool_]) -> float:
    from scipy.stats import rankdata

    rank, positive = rankdata(scores), int(truth.sum())
    if not 0 < positive < len(truth):
        return 0.5
    return float((rank[truth].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive)))


def _link_landmarks(
    graph: Graph, split: dict[str, Any], seed: int, *, adjacency: Any = None, near: bool = True, afar: bool = True
) -> FloatArray:
    """Landmarks of one split; NaN for those next to a pair unless ``near``, of the whole matrix unless ``afar``."""
    rng = generator("landmarks", graph.num_nodes, graph.num_edges, seed)
    train = np.sort(split["train"], axis=1)
    if adjacency is None:
        adjacency = _adjacency(train, graph.num_nodes)
    positive, negative = split["val"][:_PAIRS], split["val_negative"][:_PAIRS]
    pairs = np.concatenate([positive, negative])
    truth = np.arange(len(pairs)) < len(positive)
    far = [np.nan] * 6
    if afar:
        smooth = _normalised(adjacency)
        spectral = _vectors(smooth, rng)
        two = _vectors(adjacency @ adjacency + adjacency, rng)
        x = _features(graph, rng)
        noise = rng.standard_normal((graph.num_nodes, _FEATURES))
        scores = (
            _cosine(spectral, pairs), _products(two, pairs), np.zeros(len(pairs)) if x is None else _cosine(x, pairs),
            _cosine(smooth @ (smooth @ (noise if x is None else x)), pairs),
            _products(smooth @ (smooth @ (smooth @ noise)), pairs), _products(spectral[:, :16], pairs),
        )  # fmt: skip
        far = [_auc(value, truth) for value in scores]
        if not near:
            return np.array([np.nan] * 3 + far + [np.nan] * (2 + len(_SHAPE)))
    else:
        x = _features(graph, rng)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    left, right = adjacency[pairs[:, 0]], adjacency[pairs[:, 1]]
    shared = left.multiply(right).tocsr()
    common = np.asarray(shared.sum(axis=1)).ravel()
    weight = np.where(degree > 0, 1 / np.maximum(degree, 1), 0.0)
    product = np.log1p(degree[pairs[:, 0]]) + np.log1p(degree[pairs[:, 1]])
    jaccard = common / np.maximum(degree[pairs[:, 0]] + degree[pairs[:, 1]] - common, 1)
    out = [_auc(value, truth) for value in (product, np.asarray(shared @ weight).ravel(), jaccard)]
    described = _pair_rows(pairs, adjacency, x, known=False)
    some = train[rng.permutation(len(train))[:_PAIRS]]
    strangers = rng.integers(0, graph.num_nodes, (len(some), 2))
    edges, others = _pair_rows(some, adjacency, x, known=True), _pair_rows(strangers, adjacency, x, known=False)
    out += [*far, _auc(_pair_forest(edges, others, described, seed), truth), float((common[truth] > 0).mean())]
    return np.array(out + _shape(graph, adjacency))


def _pair_rows(pairs: npt.NDArray[np.int64], adjacency: Any, x: FloatArray | None, *, known: bool) -> FloatArray:
    """Describe pairs by degrees, shared neighbours and likeness, as if they had no edge even where it is ``known``."""
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    ends = np.sort(np.log1p(degree[pairs] - known), axis=1)
    shared = adjacency[pairs[:, 0]].multiply(adjacency[pairs[:, 1]]).tocsr()
    weights = 1 / np.log(np.maximum(degree, 2.0))
    columns = [ends, ends.sum(axis=1), np.asarray(shared.sum(axis=1)).ravel(), np.asarray(shared @ weights).ravel()]
    if x is not None:
        around = sp.diags(1 / np.maximum(degree, 1)) @ adjacency @ x
        columns += [_cosine(x, pairs), _cosine(around, pairs), _products(x, pairs)]
    return np.column_stack(columns)


def _pair_forest(edges: FloatArray, strangers: FloatArray, asked: FloatArray, seed: int) -> FloatArray:
    """Scores of a small forest that tells edges from random pairs."""
    from sklearn.ensemble import ExtraTreesClassifier

    truth = np.arange(len(edges) + len(strangers)) < len(edges)
    forest = ExtraTreesClassifier(40, min_samples_leaf=5, random_state=seed).fit(np.vstack([edges, strangers]), truth)
    return np.asarray(forest.predict_proba(asked)[:, 1])


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
