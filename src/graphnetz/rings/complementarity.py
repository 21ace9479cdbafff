"""Mode complementarity: how far the metric space of the structure is from that of the features."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from graphnetz._core.errors import UsageError
from graphnetz.rings._batches import Index, Partition, SpaceBatch, as_arrays, chunks
from graphnetz.rings.perturbations import PERTURBATIONS, perturb
from graphnetz.rings.spaces import (
    STRUCTURES,
    Array,
    FeatureMetric,
    StructureMetric,
    check_times,
    feature_metric,
    row_blocks,
    unit_diameter,
)

SEEDS = (0, 2, 4, 8, 16)
"""Seeds over which random perturbations are averaged (Coupette et al. 2025, Table 9)."""
FIXED = ("o", "eg", "cg", "ef", "cf")
"""Perturbations whose spaces are known without perturbing: computed together in one pass."""
RANDOM = ("rg", "sg", "rf", "sf")
Norm = str | tuple[float, float]


class RingsWarning(UserWarning):
    """A result is undefined for some graphs, or cannot reach the level asked for."""


@dataclass(frozen=True)
class Comparator:
    """The L_pq norm of a difference of two unit spaces, scaled so that its maximum is one.

    The sum is divided by n^(1/q) (n - 1)^(1/p) once; L11 gives sum|d| / (n^2 - n) and Frobenius
    ||d||_F / sqrt(n^2 - n).
    """

    p: float
    q: float

    @classmethod
    def parse(cls, norm: Norm) -> Comparator:
        """Read ``"L11"``, ``"frobenius"`` or a pair (p, q)."""
        names = {"l11": (1.0, 1.0), "frobenius": (2.0, 2.0)}
        if isinstance(norm, str):
            if norm.lower() not in names:
                raise UsageError(f"Unknown norm {norm!r}. Known: L11, frobenius, or a pair (p, q) of numbers >= 1.")
            return cls(*names[norm.lower()])
        p, q = (float(value) for value in norm)
        if not (1 <= p < np.inf and 1 <= q < np.inf):
            raise UsageError(f"A norm needs finite p and q of at least 1, got {norm}.")
        return cls(p, q)

    def __call__(self, difference: Array) -> Array:
        """Return one value per difference matrix; the array may be overwritten."""
        n = difference.shape[-1]
        size = np.abs(difference, out=difference)
        if self.p == self.q == 1:
            return np.asarray(size.sum(axis=(1, 2)) / (n * (n - 1)))
        rows = (size**self.p).sum(axis=2) ** (self.q / self.p)
        scale = n ** (1 / self.q) * (n - 1) ** (1 / self.p)
        return np.asarray(rows.sum(axis=1) ** (1 / self.q) / scale)

    def between(self, first: Array, second: Array) -> Array:
        """Compare two spaces."""
        if not self.p == self.q == 1:
            return self(first - second)
        total = np.zeros(len(first))
        for rows in row_blocks(first.shape):
            part = first[:, rows] - second[:, rows]
            total += np.abs(part, out=part).sum(axis=(1, 2))
        n = first.shape[-1]
        return np.asarray(total / (n * (n - 1)))

    def to_trivial(self, space: Array) -> Array:
        """Compare with the space in which all nodes coincide."""
        if self.p == self.q == 1:
            n = space.shape[-1]
            return np.asarray(space.sum(axis=(1, 2)) / (n * (n - 1)))
        return self(space.copy())

    def to_discrete(self, space: Array) -> Array:
        """Compare with the space in which all nodes are at distance one."""
        if self.p == self.q == 1:  # unit spaces lie below the discrete one, so the differences add up
            return 1 - self.to_trivial(space)
        difference = 1 - space
        diagonal = np.arange(space.shape[-1])
        difference[:, diagonal, diagonal] = 0
        return self(difference)


@dataclass(frozen=True)
class Setup:
    """Everything that defines a complementarity, checked once."""

    structure: StructureMetric
    features: FeatureMetric
    norm: Comparator
    times: tuple[float, ...]
    weights: str | None = None

    @classmethod
    def of(cls, structure: str, features: str, norm: Norm, t: Sequence[float], weights: str | None) -> Setup:
        """Look names up and check ``t``; it is kept in rising order without repeats."""
        metric = STRUCTURES[structure]
        if weights is not None and structure != "shortest_path":
            raise UsageError(f"Edge lengths apply to structure='shortest_path' only, got {structure!r}.")
        times = tuple(sorted(set(check_times(metric, t)))) if metric.timed else (1.0,)
        return cls(metric, feature_metric(features), Comparator.parse(norm), times, weights)


def complementarity(
    graphs: Any,
    *,
    perturbation: str = "o",
    structure: str = "diffusion",
    features: str = "euclidean",
    t: float | Sequence[float] = 1,
    norm: Norm = "L11",
    seeds: Sequence[int] = SEEDS,
    weights: str | None = None,
) -> Array:
    """Return the mode complementarity of every graph.

    Parameters
    ----------
    graphs
        One ``Data``, a ``Batch``, a list, a dataset or a generator; it is read once, in chunks.
    perturbation
        Code of the perturbation applied first.
    structure, features
        Metrics of the two spaces: a key of `STRUCTURES`; a key of `FEATURES` or any pairwise
        metric of scikit-learn.
    t
        Diffusion steps or heat time; a sequence adds a second axis.
    norm
        ``"L11"``, ``"frobenius"`` or a pair (p, q).
    seeds
        Random perturbations are averaged over these.
    weights
        Edge attribute to use as lengths with ``structure="shortest_path"``.

    Returns
    -------
    numpy.ndarray
        ``[n]``, or ``[n, len(t)]`` for a sequence. NaN (with a warning) where a graph has no
        features and the perturbation does not make them.

    Notes
    -----
    Each connected component is compared on its own, both spaces divided by their diameters, and
    components are averaged by their share of the nodes; isolated nodes contribute zero. A graph
    without edges is one space over all nodes whose structural distances are zero.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import complementarity
    >>> path = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))
    >>> complementarity(path).round(3).tolist(), complementarity(path, perturbation="eg").round(3).tolist()
    ([0.175], [1.0])
    """
    single = np.ndim(t) == 0
    times = [float(t)] if single else [float(value) for value in t]  # type: ignore[union-attr, arg-type]
    if not times:
        raise UsageError("t is empty. Give one value or a sequence of values.")
    setup = Setup.of(structure, features, norm, times, weights)
    values = _all(graphs, (perturbation,), setup, seeds=seeds)[perturbation]
    if setup.structure.timed:
        values = values[:, np.searchsorted(setup.times, times)]
    else:
        values = np.repeat(values, len(times), axis=1)
    return values[:, 0] if single else values


@dataclass(frozen=True)
class ComplementarityProfile:
    """Complementarity of a dataset under every perturbation at every ``t``.

    Attributes
    ----------
    values
        By code of the perturbation an array ``[graphs, len(t)]``.
    t
        Diffusion steps, rising.
    name
        Name of the dataset.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import profile
    >>> path = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))
    >>> profile([path, path], perturbations=("o", "eg"), t=(1, 2)).values["eg"].shape
    (2, 2)
    """

    values: Mapping[str, Array] = field(repr=False)
    t: tuple[float, ...]
    name: str = ""

    def mean(self, code: str = "o") -> Array:
        """Mean over graphs.

        Parameters
        ----------
        code
            Code of the perturbation.

        Returns
        -------
        ndarray
            One value per ``t``.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.rings import ComplementarityProfile
        >>> ComplementarityProfile({"o": np.array([[0.2], [0.4]])}, (1.0,)).mean().round(2).tolist()
        [0.3]
        """
        return np.asarray(self.values[code].mean(axis=0))

    def std(self, code: str = "o") -> Array:
        """Sample standard deviation over graphs.

        Parameters
        ----------
        code
            Code of the perturbation.

        Returns
        -------
        ndarray
            One value per ``t``.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.rings import ComplementarityProfile
        >>> ComplementarityProfile({"o": np.array([[0.2], [0.4]])}, (1.0,)).std().round(2).tolist()
        [0.14]
        """
        return np.asarray(self.values[code].std(axis=0, ddof=1))

    def at(self, t: float = 1) -> dict[str, Array]:
        """Values per graph at one ``t``.

        Parameters
        ----------
        t
            One of the profile's.

        Returns
        -------
        dict of ndarray
            By perturbation one value per graph.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.rings import ComplementarityProfile
        >>> ComplementarityProfile({"o": np.array([[0.2], [0.4]])}, (1.0,)).at(1)["o"].tolist()
        [0.2, 0.4]
        """
        if t not in self.t:
            raise UsageError(f"The profile has no t = {t:g}. It has {', '.join(f'{v:g}' for v in self.t)}.")
        return {code: values[:, self.t.index(t)] for code, values in self.values.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return the values as a long table.

        Returns
        -------
        DataFrame
            Columns graph, perturbation, t, complementarity.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.rings import ComplementarityProfile
        >>> ComplementarityProfile({"o": np.array([[0.2], [0.4]])}, (1.0,)).to_frame().shape
        (2, 4)
        """
        parts = []
        for code, values in self.values.items():
            graph, step = np.indices(values.shape).reshape(2, -1)
            columns = {"graph": graph, "perturbation": code, "t": np.array(self.t)[step]}
            parts.append(pd.DataFrame({**columns, "complementarity": values.reshape(-1)}))
        return pd.concat(parts, ignore_index=True)


def profile(
    dataset: Any,
    *,
    perturbations: Sequence[str] = (*FIXED, *RANDOM),
    t: Sequence[float] = tuple(range(1, 11)),
    structure: str = "diffusion",
    features: str = "euclidean",
    norm: Norm = "L11",
    seeds: Sequence[int] = SEEDS,
    name: str = "",
) -> ComplementarityProfile:
    """Compute all perturbations at all ``t`` in one pass over the dataset.

    Parameters
    ----------
    dataset
        A list, a dataset or a generator of graphs; it is read once.
    perturbations
        Codes of `PERTURBATIONS`.
    t
        Diffusion steps.
    structure, features, norm, seeds
        As in `complementarity`.
    name
        Name of the dataset, for tables.

    Returns
    -------
    ComplementarityProfile
        One array ``[graphs, len(t)]`` per perturbation.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import profile
    >>> path = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))
    >>> profile([path], perturbations=("o",), t=(1, 2)).mean().round(3).tolist()
    [0.175, 0.221]
    """
    setup = Setup.of(structure, features, norm, t, None)
    values = _all(dataset, tuple(perturbations), setup, seeds=seeds)
    times = setup.times if setup.structure.timed else tuple(sorted(set(map(float, t))))
    if not setup.structure.timed:
        values = {code: np.repeat(item, len(times), axis=1) for code, item in values.items()}
    return ComplementarityProfile(values, times, name)


def _all(graphs: Any, codes: Sequence[str], setup: Setup, *, seeds: Sequence[int]) -> dict[str, Array]:
    """Compute ``[graphs, t]`` for every code, chunk by chunk."""
    for code in codes:
        _ = PERTURBATIONS[code]  # an unknown name is reported before any work
    if any(PERTURBATIONS[code].random for code in codes) and not len(seeds):
        raise UsageError("Random perturbations need at least one seed.")
    parts: dict[str, list[Array]] = {code: [] for code in codes}
    fixed = [code for code in codes if code in FIXED]
    for start, chunk in chunks(graphs):
        arrays = [as_arrays(data, start + i, weights=setup.weights) for i, data in enumerate(chunk)]
        if fixed:
            for code, item in _fixed(Partition.of(arrays), fixed, setup).items():
                parts[code].append(item)
        # Random features would hide that a graph has none, so such graphs stay NaN.
        missing = [graph.x is None for graph in arrays]
        for code in codes:
            if code not in FIXED:
                parts[code].append(_perturbed(chunk, missing, code, setup, start=start, seeds=seeds))
    empty = np.empty((0, len(setup.times)))
    values = {code: np.concatenate(part) if part else empty for code, part in parts.items()}
    undefined = int(max((np.isnan(item).any(axis=1).sum() for item in values.values()), default=0))
    if undefined:
        warnings.warn(
            f"Complementarity is undefined (NaN) for {undefined} of {len(next(iter(values.values())))} graphs: they "
            "have no node features, or the feature metric is undefined on them. Add features, such as one-hot degrees.",
            RingsWarning,
            stacklevel=3,
        )
    return values


def _perturbed(
    chunk: Sequence[Any], missing: Sequence[bool], code: str, setup: Setup, *, start: int, seeds: Sequence[int]
) -> Array:
    """Perturb a chunk with every seed and average the complementarity of the results."""
    cls = PERTURBATIONS[code]
    used = tuple(seeds) if cls.random else (0,)
    present = [i for i, absent in enumerate(missing) if not absent]
    out = np.full((len(chunk), len(setup.times)), np.nan)
    if not present:
        return out
    total = np.zeros((len(present), len(setup.times)))
    for seed in used:
        changed = [perturb(chunk[i], code, seed=seed, index=start + i) for i in present]
        arrays = [as_arrays(data, start + i) for i, data in zip(present, changed, strict=True)]
        total += _fixed(Partition.of(arrays), ["o"], setup)["o"]
    out[present] = total / len(used)
    return out


def _fixed(part: Partition, codes: Sequence[str], setup: Setup) -> dict[str, Array]:
    """Compute the deterministic perturbations of one chunk."""
    out = {code: np.zeros((len(part.graphs), len(setup.times))) for code in codes}
    whole = {code: np.zeros(len(part.graphs)) for code in ("eg", "cg")}
    needs_x = any(code in ("o", "eg", "cg") for code in codes)
    timed = [code for code in ("o", "ef", "cf") if code in out]
    alone = (part.components == 1) & (part.sizes > 1)  # connected: the component is the whole graph
    if timed or alone.any():
        for batch in part.spaces(features=needs_x):
            _component_batch(batch, part, setup, timed=timed, out=out, whole=whole, alone=alone)
    if needs_x:
        for batch in part.wholes(np.flatnonzero(~alone)):
            _whole_batch(batch, _feature_space(batch, setup), setup, whole)
    # Without edges there are no components to compare: one space over all nodes, all at distance 0.
    edgeless = ~part.joined & (part.sizes > 1)
    for code, values in (("o", whole["eg"]), ("cf", np.ones(len(part.graphs)))):
        if code in out:
            out[code][edgeless] = values[edgeless, None]
    for code in ("eg", "cg"):
        if code in out:
            out[code][:] = whole[code][:, None]
    absent = np.array([graph.x is None for graph in part.graphs], dtype=bool)
    for code in ("o", "eg", "cg"):
        if code in out:
            out[code][absent] = np.nan
    return out


def _component_batch(
    batch: SpaceBatch,
    part: Partition,
    setup: Setup,
    *,
    timed: Sequence[str],
    out: dict[str, Array],
    whole: dict[str, Array],
    alone: Index,
) -> None:
    """Add the components of one batch to their graphs."""
    space = _feature_space(batch, setup) if batch.x is not None else None
    chosen = alone[batch.graph]
    if space is not None and chosen.any():
        subset = space if chosen.all() else space[chosen]
        _whole_batch(SpaceBatch(batch.graph[chosen], batch.size, None, None), subset, setup, whole)
    if not timed or batch.adjacency is None:
        return
    compare: dict[str, Callable[[Array], Array]] = {"ef": setup.norm.to_trivial, "cf": setup.norm.to_discrete}
    if space is not None:
        compare["o"] = lambda distances: setup.norm.between(distances, space)
    # Components count by their share of the nodes.
    share = batch.size / part.sizes[batch.graph]
    for step, distances in enumerate(_structure_spaces(batch.adjacency, setup)):
        for code in timed:
            if code in compare:
                np.add.at(out[code][:, step], batch.graph, share * compare[code](distances))


def _structure_spaces(adjacency: Array, setup: Setup) -> Iterator[Array]:
    for distances in setup.structure.function(adjacency, setup.times):
        yield unit_diameter(distances)


def _feature_space(batch: SpaceBatch, setup: Setup) -> Array | None:
    return None if batch.x is None else unit_diameter(setup.features(batch.x))


def _whole_batch(batch: SpaceBatch, space: Array | None, setup: Setup, whole: dict[str, Array]) -> None:
    """Compare feature spaces of whole graphs with the trivial and the discrete space."""
    if space is not None:
        whole["eg"][batch.graph] = setup.norm.to_trivial(space)
        whole["cg"][batch.graph] = setup.norm.to_discrete(space)
