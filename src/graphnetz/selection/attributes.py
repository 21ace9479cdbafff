"""Meta-features of labels and node features, which structure alone does not see.

Homophily measures follow Pei et al. (2020), Zhu et al. (2020), Lim et al. (2021) and Platonov et al.
(2023). A graph without labels or features gives NaN here: nothing is known, which is not zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.rng import generator

if TYPE_CHECKING:
    from graphnetz.graphs.compressed import Graph

FloatArray = npt.NDArray[np.float64]

LABEL_NAMES = (
    *("has_labels", "classes", "labelled_fraction", "class_entropy_normalised"),
    *("class_largest_fraction", "class_smallest_fraction"),
    *(f"homophily_{kind}" for kind in ("edge", "node", "insensitive", "adjusted")),
    "label_informativeness",
    *(f"feature_label_{kind}" for kind in ("information_mean", "information_max", "separation")),
)

FEATURE_NAMES = (
    *("has_features", "feature_count", "feature_per_node", "feature_zero_fraction", "feature_binary"),
    *(f"feature_{kind}" for kind in ("nonzero_mean", "nonzero_cv", "edge_cosine", "random_cosine", "cosine_gap")),
)

_MAX_COLUMNS = 256
_MAX_PAIRS = 20_000


def label_features(graph: Graph) -> FloatArray:
    """Class balance, homophily and feature-label information; NaN after the first without labels."""
    out = np.full(len(LABEL_NAMES), np.nan)
    out[0] = 0.0
    if graph.labels is None or (graph.labels >= 0).sum() == 0:
        return out
    y = graph.labels
    known = y >= 0
    _, codes = np.unique(y[known], return_inverse=True)
    labels = np.full(len(y), -1)
    labels[known] = codes
    count = np.bincount(codes)
    share = count / count.sum()
    entropy = float(-(share * np.log(share)).sum() / np.log(len(count))) if len(count) > 1 else 0.0
    out[:6] = [1.0, len(count), known.mean(), entropy, share.max(), share.min()]
    out[6:11] = homophily(graph, labels, len(count))
    if graph.features is not None:
        out[11:14] = _feature_label(graph.features, labels)
    return out


def homophily(graph: Graph, labels: npt.NDArray[np.int64], classes: int) -> list[float]:
    """Edge, node, class-insensitive and adjusted homophily, and label informativeness."""
    rows = np.repeat(np.arange(graph.num_nodes), graph.simple_degree)
    a, b = labels[rows], labels[graph.indices]
    both = (a >= 0) & (b >= 0)
    rows, a, b = rows[both], a[both], b[both]
    if not len(rows):
        return [np.nan] * 5
    degree = np.bincount(rows, minlength=graph.num_nodes)
    agree = np.bincount(rows, weights=a == b, minlength=graph.num_nodes)
    node = float((agree[degree > 0] / degree[degree > 0]).mean())
    joint = np.bincount(a * classes + b, minlength=classes**2).reshape(classes, classes)
    return homophily_of(joint, node, np.bincount(labels[labels >= 0], minlength=classes))


def homophily_of(joint: Any, node: float, count: Any) -> list[float]:
    """The measures of `homophily` from arcs by the classes of their ends, the mean over nodes, and the class sizes."""
    classes, arcs, rows = len(joint), joint.sum(), joint.sum(axis=1)
    edge = np.trace(joint) / arcs
    prior = count / count.sum()
    above = np.maximum(np.diag(joint) / np.maximum(rows, 1) - prior, 0).sum()
    insensitive = above / (classes - 1) if classes > 1 else np.nan

    mass = rows / arcs  # class shares weighted by degree
    chance = (mass**2).sum()
    adjusted = (edge - chance) / (1 - chance) if chance < 1 else np.nan
    joint = joint.ravel() / arcs
    held = mass[mass > 0]
    spread = -(held * np.log(held)).sum()
    cells = joint[joint > 0]
    informative = 2 + (cells * np.log(cells)).sum() / spread if spread > 0 else np.nan
    return [float(edge), float(node), float(insensitive), float(adjusted), float(informative)]


def node_feature_features(graph: Graph) -> FloatArray:
    """Size, sparsity and smoothness of node features; NaN after the first without features."""
    out = np.full(len(FEATURE_NAMES), np.nan)
    out[0] = 0.0
    if graph.features is None:
        return out
    x = graph.features
    n, f = x.shape
    rng = generator("node features", n, f)
    sparse = hasattr(x, "tocsr")
    x = x.tocsr() if sparse else np.asarray(x, dtype=np.float64)
    nonzero = np.asarray((x != 0).sum(axis=1)).ravel().astype(np.float64)
    stored = x.data if sparse else x
    binary = bool(np.isin(stored, (0, 1)).all())
    out[:5] = [1.0, f, f / n, 1 - nonzero.sum() / (n * f), binary]
    out[5:7] = [nonzero.mean(), nonzero.std() / nonzero.mean() if nonzero.any() else 0.0]
    edges = graph.edges
    if len(edges) > _MAX_PAIRS:
        edges = edges[rng.choice(len(edges), _MAX_PAIRS, replace=False)]
    near = _cosine(x, edges[:, 0], edges[:, 1])
    far = _cosine(x, rng.integers(0, n, len(edges)), rng.integers(0, n, len(edges)))
    out[7:10] = [near, far, near - far]
    return out


def _cosine(x: Any, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> float:
    """Mean cosine similarity of rows; a row of zeros is similar to nothing."""
    if hasattr(x, "tocsr"):
        norm = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
        dots = np.asarray(x[left].multiply(x[right]).sum(axis=1)).ravel()
    else:
        norm = np.sqrt((x * x).sum(axis=1))
        dots = (x[left] * x[right]).sum(axis=1)
    size = norm[left] * norm[right]
    return float(np.where(size > 0, dots / np.where(size > 0, size, 1.0), 0.0).mean())


def _feature_label(features: Any, labels: npt.NDArray[np.int64]) -> list[float]:
    """Mutual information (nats) of halved features with the label, and between-class variance share."""
    known = labels >= 0
    x = features.tocsr()[known] if hasattr(features, "tocsr") else np.asarray(features)[known]
    columns = x.shape[1]
    if columns > _MAX_COLUMNS:
        pick = generator("columns", columns).choice(columns, _MAX_COLUMNS, replace=False)
        x = x[:, np.sort(pick)]
    dense = np.asarray(x.todense() if hasattr(x, "todense") else x, dtype=np.float64)
    y = labels[known]
    classes = int(y.max()) + 1
    high = dense > np.median(dense, axis=0)
    one_hot = np.eye(classes)[y]
    n = len(y)
    joint = np.stack([one_hot.T @ high, one_hot.T @ ~high]) / n  # [half, class, feature]
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    with np.errstate(all="ignore"):
        information = np.where(joint > 0, joint * np.log(joint / expected), 0.0).sum(axis=(0, 1))
    size = np.maximum(one_hot.sum(axis=0), 1)[:, None]
    centre = one_hot.T @ dense / size
    between = (size * (centre - dense.mean(axis=0)) ** 2).sum()
    total = ((dense - dense.mean(axis=0)) ** 2).sum()
    separation = between / total if total > 0 else 0.0
    return [float(information.mean()), float(information.max()), float(separation)]
