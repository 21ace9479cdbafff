"""Meta-features of a collection of graphs: how its graphs are made, spread and labelled, and what RINGS says of them.

Per-graph quantities are described by mean, deviation and quartiles over the graphs. RINGS (Coupette et al., 2025) is
asked about a sample: how far the geometry of features is from that of structure, and how much each has of its own.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse import csgraph

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator
from graphnetz.selection.collection import Collection

FloatArray = npt.NDArray[np.float64]

PER_GRAPH = (
    *("nodes", "edges", "density", "degree_mean", "degree_max", "degree_cv", "clustering", "triangles_per_node"),
    *("components", "isolated", "leaves", "cycles_per_node"),
)
"""What is measured on every graph."""

_OVER = ("mean", "std", "q25", "median", "q75")
RINGS_NAMES = tuple(
    f"rings_{kind}_{over}"
    for kind in ("complementarity", "structural_diversity", "feature_diversity")
    for over in ("mean", "std")
)
_LABELS = ("graphs", "classes", "class_entropy_normalised", "class_largest_fraction", "class_smallest_fraction")
_TOLD = tuple(f"told_by_{name}" for name in PER_GRAPH)
_FEATURES = (
    *("has_features", "feature_count", "feature_zero_fraction", "feature_binary", "feature_nonzero_mean"),
    *("feature_kinds", "feature_between_graphs", "has_edge_attributes", "directed"),
)
COLLECTION_NAMES = (
    *(f"{name}_{over}" for name in PER_GRAPH for over in _OVER), *_LABELS, *_TOLD, *_FEATURES, *RINGS_NAMES,
)  # fmt: skip
"""Names of the meta-features of a collection, in the order of `collection_features`."""

RINGS_GRAPHS, RINGS_NODES = 80, 300
"""Graphs that RINGS is asked about, and nodes of the largest of them: time grows with the square of the nodes."""


def collection_features(held: Any) -> FloatArray:
    """Describe a collection; NaN where it has no features, or RINGS no graph that is small enough.

    Parameters
    ----------
    held
        A `Collection`.

    Returns
    -------
    numpy.ndarray
        One value per name of `COLLECTION_NAMES`.

    Examples
    --------
    >>> from graphnetz.selection.collection import as_collection
    >>> from graphnetz.testing.examples import rings_and_stars
    >>> found = dict(zip(COLLECTION_NAMES, collection_features(as_collection(rings_and_stars())), strict=True))
    >>> found["graphs"], found["classes"]
    (np.float64(30.0), np.float64(2.0))
    """
    if not isinstance(held, Collection):
        raise UsageError("The set 'collection' describes many graphs with a class each, not one graph.")
    rows = per_graph(held)
    over = [rows.mean(axis=0), rows.std(axis=0), *np.quantile(rows, (0.25, 0.5, 0.75), axis=0)]
    share = np.bincount(held.labels) / held.num_graphs
    entropy = float(-(share[share > 0] * np.log(share[share > 0])).sum() / np.log(len(share)))
    labels = [held.num_graphs, held.classes, entropy, share.max(), share.min()]
    told = [between(column, held.labels) for column in rows.T]
    return np.concatenate([np.stack(over, axis=1).ravel(), labels, told, _feature_facts(held), rings_facts(held)])


def per_graph(held: Collection) -> FloatArray:
    """The quantities of `PER_GRAPH`, one row per graph; edges count once and without directions.

    Examples
    --------
    >>> from graphnetz.selection.collection import as_collection
    >>> from graphnetz.testing.examples import rings_and_stars
    >>> per_graph(as_collection(rings_and_stars())).shape
    (30, 12)
    """
    union, count, sizes = held.union, held.num_graphs, held.sizes.astype(np.float64)

    def summed(values: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.bincount(held.owner, np.asarray(values, dtype=np.float64), count), dtype=np.float64)

    degree = union.simple_degree.astype(np.float64)
    edges, triangles = summed(degree) / 2, summed(union.node_triangles)
    mean = summed(degree) / sizes
    spread = np.sqrt(np.maximum(summed(degree**2) / sizes - mean**2, 0.0))
    largest = np.zeros(count)
    np.maximum.at(largest, held.owner, degree)
    wedges = summed(degree * (degree - 1) / 2)
    joined = sp.csr_matrix((np.ones(len(union.indices)), union.indices, union.indptr), shape=(union.num_nodes,) * 2)
    total, piece = csgraph.connected_components(joined, directed=False)
    first = np.zeros(total, dtype=np.int64)
    first[piece] = held.owner
    components = np.bincount(first, minlength=count).astype(np.float64)
    return np.column_stack([
        sizes, edges, 2 * edges / np.maximum(sizes * (sizes - 1), 1), mean, largest, spread / np.maximum(mean, 1e-9),
        triangles / np.maximum(wedges, 1), triangles / 3 / sizes, components, summed(degree == 0) / sizes,
        summed(degree == 1) / sizes, (edges - sizes + components) / sizes,
    ])  # fmt: skip


def between(values: FloatArray, labels: npt.NDArray[np.int64]) -> float:
    """Share of the variance that lies between classes (the square of the correlation ratio)."""
    total = float(((values - values.mean()) ** 2).sum())
    if total <= 1e-12 * max(float((values**2).sum()), 1e-12):
        return 0.0
    size = np.bincount(labels).astype(np.float64)
    means = np.bincount(labels, weights=values) / np.maximum(size, 1)
    return float((size * (means - values.mean()) ** 2).sum() / total)


def _feature_facts(held: Collection) -> list[float]:
    union, attributed = held.union, float(held.graphs[0].get("edge_attr") is not None)
    directed = float(union.directed)
    x = held.features
    if x is None:
        return [0.0, *([np.nan] * 6), attributed, directed]
    from graphnetz.graphs.colours import MOST_COLOURS, start_colours

    colours, used = start_colours(x, len(x))
    values = np.asarray(x, dtype=np.float64)
    nonzero = (values != 0).sum(axis=1)
    columns = values.T[:256]
    means = np.stack([np.bincount(held.owner, column, held.num_graphs) for column in columns]) / held.sizes
    total = columns.var(axis=1).sum()
    apart = float(means.var(axis=1).sum() / total) if total > 0 else 0.0
    return [
        1.0, values.shape[1], 1 - nonzero.mean() / values.shape[1], float(np.isin(values, (0, 1)).all()),
        nonzero.mean(), np.log(colours.max() + 1 if used else 2 * MOST_COLOURS), apart, attributed, directed,
    ]  # fmt: skip


def rings_facts(held: Collection) -> list[float]:
    """Mean and deviation of RINGS' complementarity and diversities over a sample, in the order of `RINGS_NAMES`.

    A graph without features is described as models see it, by columns of its degrees.
    """
    from torch_geometric.data import Data

    from graphnetz.rings import complementarity, diversity
    from graphnetz.tasktypes.graphs import features_of

    small = np.flatnonzero((held.sizes <= RINGS_NODES) & (held.sizes > 1))
    if not len(small):
        return [np.nan] * len(RINGS_NAMES)
    rng = generator("rings-sample", held.num_graphs, held.num_nodes)
    chosen = np.sort(rng.choice(small, min(len(small), RINGS_GRAPHS), replace=False))
    largest = int(held.sizes.max())
    sample = []
    for place in chosen:
        graph = held.graphs[place]
        x = features_of(graph, graph.edge_index, scale=largest)
        sample.append(Data(x=x.float(), edge_index=graph.edge_index, num_nodes=graph.num_nodes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a graph whose nodes coincide is a fact here and no fault
        apart, own = complementarity(sample), diversity(sample)
    columns = (apart, own.structural, own.features)
    return [value for column in columns for value in (float(np.nanmean(column)), float(np.nanstd(column)))]
