"""Meta-features from samples, with their standard errors: orbits of some edges instead of all.

Every sampled edge is counted exactly (`graphnetz.graphs.some_counts`); what is estimated is how the edges are
distributed. Triangles and two-edge paths are exact on all edges, because they cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import unknown_name
from graphnetz._core.rng import generator
from graphnetz.graphs.compressed import Graph
from graphnetz.graphs.counts import ORBITS
from graphnetz.selection import metafeatures as mf
from graphnetz.selection.collection import Collection
from graphnetz.selection.statistics63 import STATISTICS, statistics63

FloatArray = npt.NDArray[np.float64]
Found = tuple[FloatArray, FloatArray]
"""Values and their standard errors."""

EDGES = 20_000
"""Edges on which orbits are counted."""

HOW = ("exact", "sampled")
"""How orbits may be counted."""

_GROUPS = 20
_EXACT = 2
_CLIQUE_MAX = 1
_ENTROPIES = tuple(STATISTICS.index(name) for name in ("entropy", "entropy_normalised"))
_ENDS = [STATISTICS.index(name) for name in ("min", "max")]


def check_how(how: str) -> None:
    """Refuse a way to count orbits that there is not."""
    if how not in HOW:
        raise unknown_name("way to count orbits", how, HOW)


def described(graph: Graph | Collection, set: str, how: str = "exact") -> tuple[FloatArray, tuple[str, ...]]:
    """Return the meta-features of a graph and what a reader must know of them.

    Parameters
    ----------
    graph
        A graph, or a collection of graphs.
    set
        As in `graphnetz.selection.meta_features`.
    how
        One of `HOW`.

    Returns
    -------
    values, notes
        Notes where orbits come from a sample: how far their means may be off.

    Examples
    --------
    >>> from graphnetz.selection.example import example_graph
    >>> described(example_graph(), "compact")[1]
    ()
    """
    check_how(how)
    members = mf._members(set)
    on_orbits = any(_on_orbits(member) for member in members)
    if how == "exact" or isinstance(graph, Collection) or graph.num_edges <= EDGES or not on_orbits:
        return mf.meta_features(graph, set), ()
    names, values, errors = _sampled(graph, set, EDGES)
    means = [i for i, name in enumerate(names) if name.startswith("orbit_") and name.endswith("_mean")]
    off = [errors[i] / values[i] for i in means if errors[i] > 0]
    note = f"Orbits were counted on {EDGES:,} of {graph.num_edges:,} edges"
    if off:
        note += f": their means have standard errors of up to {max(off):.1%}, half of them below {np.median(off):.1%}"
    return values, (f"{note} (--orbits exact counts all).",)


def sampled_features(graph: Graph, set: str = "graphlets", *, edges: int = EDGES) -> dict[str, tuple[float, float]]:
    """Return meta-features whose orbits are counted on some edges, with standard errors.

    Parameters
    ----------
    graph
        A graph.
    set
        As in `graphnetz.selection.meta_features`.
    edges
        Edges that are looked at, drawn without replacement; a graph with no more is counted whole.

    Returns
    -------
    dict
        Value and standard error by name. The error is 0 where a value is exact, and NaN where a sample does not show
        it: for the least and the greatest, and where all parts of the sample agree.

    Examples
    --------
    >>> from graphnetz.selection.example import example_graph
    >>> found = sampled_features(example_graph(), "compact", edges=200)
    >>> found["triangles"][1], found["orbit_claw_mean"][1] > 0
    (0.0, True)
    """
    names, values, errors = _sampled(graph, set, edges)
    return dict(zip(names, zip(values.tolist(), errors.tolist(), strict=True), strict=True))


def _sampled(graph: Graph, set: str, edges: int) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Names, values and errors; a name may come twice, from two extractors."""
    sample = _Sample(graph, edges)
    values, errors = zip(*(sample.of(member) for member in mf._members(set)), strict=True)
    return mf.feature_names(set), np.concatenate(values), np.concatenate(errors)


def estimated63(values: npt.NDArray[Any], population: int, rng: np.random.Generator, *, rough: bool = False) -> Found:
    """Return the 63 statistics of ``population`` values from a sample of them, with standard errors.

    Parameters
    ----------
    values
        Drawn without replacement.
    population
        How many there are in all: counts are for all of them, and so is the entropy.
    rng
        Puts the sample into groups, whose spread gives the errors.
    rough
        Whether the values are estimates themselves, so that even all of them are not exact.

    Returns
    -------
    values, errors
        The error is 0 where all are known, NaN where a sample does not show it (as in `sampled_features`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found, error = estimated63(rng.normal(5, 1, 2000), 10**6, rng)
    >>> bool(abs(found[0] - 5) < 4 * error[0]), bool(0.01 < error[0] < 0.05)
    (True, True)
    """
    found = _scaled(values, population)
    if values.size == population and not rough:
        return found, np.zeros(found.size)
    errors = _spread([values], lambda groups: _scaled(groups[0], population), rng)
    errors[_ENDS] = np.nan
    return found, errors if rough else errors * _left(values.size, population)


def _scaled(values: npt.NDArray[Any], population: int) -> FloatArray:
    """Statistics of a sample, with counts and entropy as of the whole."""
    times = population / values.size
    found: FloatArray = statistics63(values) * np.array([times if "count" in name else 1.0 for name in STATISTICS])
    if times != 1.0 and found[_ENTROPIES[0]] > 0:  # of n like shares it is log n
        found[_ENTROPIES[0]] += np.log(times)
        found[_ENTROPIES[1]] = found[_ENTROPIES[0]] / np.log2(population)
    return np.asarray(found)


def _spread(
    columns: Sequence[npt.NDArray[Any]], measure: Callable[[list[npt.NDArray[Any]]], FloatArray],
    rng: np.random.Generator,
) -> FloatArray:  # fmt: skip
    """Standard errors of a measure of samples, from random groups of them."""
    size = columns[0].size
    groups = np.array_split(rng.permutation(size), min(_GROUPS, size))
    each = np.stack([measure([column[rows] for column in columns]) for rows in groups])
    found = each.std(axis=0, ddof=1) / np.sqrt(len(groups))
    # Where all groups agree, the sample does not show how far it may be off.
    return np.asarray(np.where(found > 0, found, np.nan))


def _left(size: int, population: int) -> float:
    """What is left of a standard error where so many were drawn without replacement."""
    return float(np.sqrt(1.0 - size / population))


def _on_orbits(member: str) -> bool:
    return member == "compact" or member.startswith("orbit_")


class _Sample:
    """Some edges of a graph and their orbits."""

    def __init__(self, graph: Graph, edges: int) -> None:
        self.graph = graph
        self.rng = generator("orbit-sample", graph.num_nodes, graph.num_edges)
        self.whole = graph.num_edges <= edges
        self._edges = edges
        self._columns: list[npt.NDArray[np.int64]] | None = None

    @property
    def columns(self) -> list[npt.NDArray[np.int64]]:
        """The twelve orbits: two-edge paths and triangles on all edges, the others on the sample."""
        if self._columns is None:
            graph = self.graph
            places = np.sort(self.rng.choice(graph.num_edges, self._edges, replace=False))
            ends = graph.simple_degree[graph.edges]
            paths = ends.sum(axis=1) - 2 - 2 * graph.edge_triangles
            self._columns = [paths, graph.edge_triangles, *graph.some_orbits(places).T[_EXACT:]]
        return self._columns

    def of(self, member: str) -> Found:
        """Values and errors of one extractor."""
        if self.whole or not _on_orbits(member):
            values = mf.EXTRACTORS[member](self.graph)
            return values, np.where(np.isnan(values), np.nan, 0.0)
        if member == "compact":
            return self._compact()
        column = self.columns[ORBITS.index(member.removeprefix("orbit_"))]
        return estimated63(column, self.graph.num_edges, self.rng)

    def _compact(self) -> Found:
        columns, edges = self.columns, self.graph.num_edges
        whole = mf.compact_whole(self.graph)
        exact = [np.zeros(1, dtype=np.int64)] * _EXACT  # no sampled number looks at them
        errors = _spread(columns[_EXACT:], lambda groups: mf.compact_orbits([*exact, *groups], edges), self.rng)
        errors[_CLIQUE_MAX] = np.nan
        errors[_EXACT - len(ORBITS) :] = np.nan  # the greatest of the sample
        found = mf.compact_orbits(columns, edges)
        errors *= _left(self._edges, edges)
        return mf.whole_and_orbits(whole, found), mf.whole_and_orbits(np.zeros(len(whole)), errors)
