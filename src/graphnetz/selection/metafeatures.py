"""Meta-features: a graph as one row of numbers (Park et al., 2022 and 2023).

A feature set is a list of extractors. An extractor either describes the graph with a few named
scalars, or returns one value per node or edge, which is summarised by the 63 statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.registry import Registry
from graphnetz.graphs import counts
from graphnetz.graphs.compressed import Graph, as_graph
from graphnetz.graphs.counts import ORBITS
from graphnetz.selection import attributes
from graphnetz.selection.collection import Collection
from graphnetz.selection.collection_features import COLLECTION_NAMES, collection_features
from graphnetz.selection.statistics63 import STATISTICS, statistics63

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Extractor:
    """A function of a `Graph`. Without ``names`` it returns a distribution, else one value per name."""

    name: str
    compute: Callable[[Any], Any]
    names: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the features this extractor contributes."""
        if self.names:
            return self.names
        return tuple(f"{self.name}_{statistic}" for statistic in STATISTICS)

    def __call__(self, graph: Graph | Collection) -> FloatArray:
        """Return the features of ``graph``, in the order of `columns`."""
        raw = self.compute(graph)
        if not self.names:
            return statistics63(raw)
        values = np.atleast_1d(np.asarray(raw, dtype=np.float64))
        if values.shape != (len(self.names),):
            raise UsageError(
                f"The extractor {self.name!r} returned {values.shape} values for {len(self.names)} names. "
                "Return one value per name."
            )
        return values


EXTRACTORS: Registry[Extractor] = Registry(
    "meta-feature extractor",
    entry_points="graphnetz.extractors",
    accepts=Extractor,
    named="name",
    decorator="graphnetz.selection.extractor",
)
"""Functions that describe a graph, by name; `extractor` adds one."""
FEATURE_SETS: Registry[tuple[str, ...]] = Registry("feature set")
"""Named lists of extractors, such as ``"regular"``; `meta_features` takes their names."""


def extractor(name: str, *, names: Iterable[str] = ()) -> Callable[[Callable[[Graph], Any]], Callable[[Graph], Any]]:
    """Register a function as a meta-feature extractor.

    Parameters
    ----------
    name
        Name by which a feature set refers to it: ``meta_features(graph, set="regular+name")``.
    names
        Names of the scalars it returns. Left out, the function returns a distribution over nodes
        or edges and contributes its 63 statistics.

    Returns
    -------
    callable
        Decorator that files the function and returns it unchanged.

    Examples
    --------
    >>> from graphnetz.selection import EXTRACTORS, extractor, feature_names
    >>> @extractor("squared_degree")
    ... def squared_degree(graph):
    ...     return graph.simple_degree ** 2
    >>> len(feature_names("compact+squared_degree"))
    121
    >>> _ = EXTRACTORS.remove("squared_degree")
    """

    def file(function: Callable[[Graph], Any]) -> Callable[[Graph], Any]:
        EXTRACTORS.add(name, Extractor(name, function, tuple(names)))
        return function

    return file


def feature_names(set: str | Iterable[str] = "regular") -> tuple[str, ...]:
    """Names of the features of a set, in the order of `meta_features`.

    Parameters
    ----------
    set
        As in `meta_features`.

    Returns
    -------
    tuple of str
        One name per feature.

    Examples
    --------
    >>> from graphnetz.selection import feature_names
    >>> feature_names("density"), len(feature_names("regular"))
    (('density', 'density_symmetrised'), 318)
    """
    return tuple(column for member in _members(set) for column in EXTRACTORS[member].columns)


def meta_features(graph: Any, set: str | Iterable[str] = "regular") -> FloatArray:
    """Compute the meta-features of one graph.

    Parameters
    ----------
    graph
        Anything `as_graph` reads; for ``"collection"`` a `graphnetz.selection.collection.Collection`.
    set
        ``"regular"`` (318), ``"graphlets"`` (756), ``"compact"`` (58), ``"reg+graphlets"`` (1074),
        ``"extended"`` (labels and node features too; NaN where the graph has none), ``"collection"`` (of many graphs
        with a class each), the name of an extractor, or several of these joined by ``+`` or given as a sequence.

    Returns
    -------
    ndarray
        One value per name of `feature_names`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import meta_features
    >>> meta_features(np.array([[0, 1, 2], [1, 2, 0]]), "compact")[:2].tolist()
    [3.0, 3.0]
    """
    members = _members(set)
    if isinstance(graph, Collection) and members != ("collection",):
        raise UsageError("Many graphs with a class each are described by the set 'collection' alone.")
    one = graph if isinstance(graph, Collection) else as_graph(graph)
    return np.concatenate([EXTRACTORS[member](one) for member in members])


def _members(set_: str | Iterable[str]) -> tuple[str, ...]:
    parts: list[str] = [set_] if isinstance(set_, str) and set_ in FEATURE_SETS else []
    if not parts:
        parts = set_.split("+") if isinstance(set_, str) else list(set_)
    members: list[str] = []
    for part in parts:
        if part in FEATURE_SETS:
            members.extend(FEATURE_SETS[part])
        elif part in EXTRACTORS:
            members.append(part)
        else:
            raise unknown_name("feature set", part, [*FEATURE_SETS, *EXTRACTORS])
    if not members:
        raise UsageError(f"The feature set {set_!r} is empty. Known: {', '.join(FEATURE_SETS)}.")
    return tuple(dict.fromkeys(members))


def _looped_degree(graph: Graph) -> npt.NDArray[np.int64]:
    return graph.simple_degree + graph.loops


@extractor("density", names=("density", "density_symmetrised"))
def density(graph: Graph) -> list[float]:
    """Share of the adjacency matrix that is filled, as given and after symmetrising."""
    n = graph.num_nodes
    full = len(graph.indices) + int(graph.loops.sum())
    pairs = n * (n - 1)
    return [graph.entries / pairs, full / pairs] if pairs else [0.0, 0.0]


@extractor("assortativity", names=("assortativity",))
def assortativity(graph: Graph) -> list[float]:
    """Degree correlation over edges; 0 where all degrees are equal."""
    d = graph.simple_degree.astype(np.float64)
    weight = d.sum()
    mean = (d * d).sum() / weight
    variance = (d * (d - mean) ** 2).sum() / weight
    if variance <= 1e-12 * max(mean * mean, 1.0):
        return [0.0]
    ends = d[graph.edges] - mean
    return [float((ends[:, 0] * ends[:, 1]).sum() * 2 / weight / variance)]


@extractor("assortativity_capped", names=("assortativity_capped",))
def assortativity_capped(graph: Graph) -> list[float]:
    """The value that published feature files hold: 0 where a degree reaches 1000."""
    return [0.0] if graph.simple_degree.max() >= 1000 else assortativity(graph)


def _wedges(graph: Graph) -> npt.NDArray[np.int64]:
    d = _looped_degree(graph)
    return d * (d - 1) // 2


def _orbit(position: int) -> Callable[[Graph], npt.NDArray[np.int64]]:
    return lambda graph: graph.orbits[:, position]


# distributions over nodes (a self-loop counts once in a degree; wedges are centred at the node) and edges
_DISTRIBUTIONS: dict[str, Callable[[Graph], Any]] = {
    "degree": _looped_degree,
    "core": lambda graph: graph.core_numbers,
    "pagerank": lambda graph: graph.pagerank,
    "pagerank_stopped": lambda graph: counts.pagerank_stopped(graph.indptr, graph.indices, damping=0.7),
    "wedges": _wedges,
    "triangles": lambda graph: graph.node_triangles,
    **{f"orbit_{orbit}": _orbit(position) for position, orbit in enumerate(ORBITS)},
}
for _name, _compute in _DISTRIBUTIONS.items():
    EXTRACTORS.add(_name, Extractor(_name, _compute))

_COMPACT = (
    *("nodes", "edges", "density", "degree_max", "degree_mean", "assortativity", "clustering"),
    *("triangles", "triangles_edge_max", "triangles_edge_mean_positive"),
    *("clique4", "clique4_edge_max", "clique4_edge_mean_positive", "core_max", "core_median", "core_mean"),
    *(f"fraction_{name}" for name in ("path4", "claw", "cycle4", "paw", "diamond", "clique4")),
    *(f"orbit_{name}_{statistic}" for statistic in ("median", "mean", "max") for name in ORBITS),
)


@extractor("compact", names=_COMPACT)
def compact(graph: Graph) -> FloatArray:
    """The 58 features of the compact set, with true clique counts."""
    return whole_and_orbits(compact_whole(graph), compact_orbits(tuple(graph.orbits.T), graph.num_edges))


def whole_and_orbits(whole: FloatArray, orbits: FloatArray) -> FloatArray:
    """The compact set in its order: from `compact_whole` and `compact_orbits`."""
    return np.concatenate([whole[:10], orbits[:3], whole[10:], orbits[3:]])


def compact_whole(graph: Graph) -> FloatArray:
    """What the compact set says of sizes, triangles and cores."""
    d = graph.simple_degree[graph.simple_degree > 0]
    nodes, edges, closed = len(d), graph.num_edges, graph.edge_triangles
    triangle_total = closed.sum() / 3
    wedge_total = float((d * (d - 1) // 2).sum())
    cores = graph.core_numbers[graph.simple_degree > 0]
    return np.array([
        nodes, edges, 2 * edges / (nodes * (nodes - 1)), d.max(), d.mean(), assortativity(graph)[0],
        3 * triangle_total / wedge_total if wedge_total else 0.0, triangle_total, closed.max(), _mean_positive(closed),
        cores.max(), np.median(cores), cores.mean(),
    ], dtype=np.float64)  # fmt: skip


def compact_orbits(columns: Sequence[npt.NDArray[np.int64]], edges: int) -> FloatArray:
    """What the compact set says of orbits, each counted on all edges or on a sample of them."""
    total = [column.sum() * (edges / len(column)) for column in columns]
    kinds = np.array([total[3], total[4] / 3, total[5] / 4, total[6], total[10], total[11] / 6])
    cliques = columns[11]
    share = kinds / kinds.sum() if kinds.sum() else np.zeros(6)
    described = [measure(column) for measure in (np.median, np.mean, np.max) for column in columns]
    return np.array([kinds[5], cliques.max(), _mean_positive(cliques), *share, *described], dtype=np.float64)


def _mean_positive(values: npt.NDArray[np.int64]) -> float:
    positive = values[values > 0]
    return float(positive.mean()) if len(positive) else 0.0


EXTRACTORS.add("labels", Extractor("labels", attributes.label_features, attributes.LABEL_NAMES))
EXTRACTORS.add("features", Extractor("features", attributes.node_feature_features, attributes.FEATURE_NAMES))
EXTRACTORS.add("collection", Extractor("collection", collection_features, COLLECTION_NAMES))

_REGULAR = ("density", "assortativity", "degree", "core", "pagerank", "wedges", "triangles")
_GRAPHLETS = tuple(f"orbit_{name}" for name in ORBITS)
FEATURE_SETS.add("regular", _REGULAR)
FEATURE_SETS.add(
    "regular_published",
    ("density", "assortativity_capped", "degree", "core", "pagerank_stopped", "wedges", "triangles"),
)
FEATURE_SETS.add("graphlets", _GRAPHLETS)
FEATURE_SETS.add("compact", ("compact",))
FEATURE_SETS.add("reg+graphlets", (*_REGULAR, *_GRAPHLETS))
FEATURE_SETS.add("extended", (*_REGULAR, "compact", "labels", "features"))
