"""Mode perturbations: maps between attributed graphs that ablate structure or features.

Each is a PyTorch Geometric transform, never changes its input, and draws from a generator that is
a function of (perturbation, seed, graph index) only: how often a graph was accessed plays no part.
"""

from __future__ import annotations

import copy
import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphnetz._core.errors import DataError, UsageError
from graphnetz._core.registry import Registry
from graphnetz._core.rng import generator
from graphnetz.graphs import random_graphs as draws

Mode = Literal["none", "graph", "features", "both"]

_KEPT = ("edge_index", "edge_label", "edge_label_index")
_ADJACENCIES = ("adj", "adj_t")


@dataclass(frozen=True)
class Perturbation(BaseTransform):  # type: ignore[misc, unused-ignore]
    """Base of all perturbations; subclasses implement `apply`.

    Parameters
    ----------
    seed
        Seed of the random perturbations; fixed ones ignore it.

    Notes
    -----
    Used as a transform, a perturbation does not learn the position of a graph in its dataset. It
    takes the attribute ``graph_index`` when the graph has one and a digest of the graph's own
    content otherwise, so that the outcome never depends on the number or order of accesses.

    Examples
    --------
    >>> from graphnetz.rings import PERTURBATIONS
    >>> list(PERTURBATIONS)
    ['o', 'eg', 'cg', 'rg', 'sg', 'crg', 'ef', 'cf', 'rf', 'sf']
    """

    seed: int = 0

    code: ClassVar[str] = ""
    title: ClassVar[str] = ""
    mode: ClassVar[Mode] = "none"
    random: ClassVar[bool] = False

    @abstractmethod
    def apply(self, data: Data, rng: np.random.Generator) -> Data:
        """Return the perturbed graph.

        Parameters
        ----------
        data
            A shallow copy of the graph, whose tensors must not be written to.
        rng
            Source of all random draws.

        Returns
        -------
        Data
            ``data`` with other edges or features.
        """

    def forward(self, data: Data) -> Data:
        """Perturb one graph (called by PyTorch Geometric)."""
        index = data["graph_index"] if "graph_index" in data else content_digest(data)
        return self.at(data, int(index))

    def at(self, data: Data, index: int) -> Data:
        """Perturb ``data`` as the graph at position ``index`` of its dataset.

        Parameters
        ----------
        data
            One graph; it is not changed.
        index
            Position in the dataset; with the seed it determines every random draw.

        Returns
        -------
        Data
            The perturbed copy.

        Examples
        --------
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from graphnetz.rings import EmptyGraph
        >>> EmptyGraph().at(Data(num_nodes=3, edge_index=torch.tensor([[0, 1], [1, 2]])), 0).num_edges
        0
        """
        check_graph(data)
        return self.apply(copy.copy(data), generator("rings", self.code, self.seed, index))


PERTURBATIONS: Registry[type[Perturbation]] = Registry(
    "perturbation",
    entry_points="graphnetz.perturbations",
    accepts=type[Perturbation],
    named="code",
    decorator="graphnetz.rings.perturbation",
)
"""Perturbation classes by their code; third parties add to it with `perturbation`."""


def perturbation(
    code: str, *, title: str = "", mode: Mode = "both", random: bool = False
) -> Callable[[Any], type[Perturbation]]:
    """Register a perturbation: decorate a `Perturbation` subclass or a function ``(data, rng) -> Data``.

    A decorated function becomes the transform class of the same name.

    Parameters
    ----------
    code
        Short name in `PERTURBATIONS`.
    title
        Readable name; the code when left out.
    mode
        What it changes: ``"graph"``, ``"features"``, ``"both"`` or ``"none"``.
    random
        Whether it draws at random; complementarity then averages over several seeds.

    Returns
    -------
    callable
        Decorator that returns the registered class.

    Examples
    --------
    >>> from graphnetz.rings import PERTURBATIONS, perturbation
    >>> @perturbation("doubled", mode="features")
    ... def doubled(data, rng):
    ...     data.x = 2 * data.x
    ...     return data
    >>> _ = PERTURBATIONS.remove("doubled")
    """

    def file(target: Any) -> type[Perturbation]:
        cls: type[Perturbation] = target
        if not isinstance(target, type):
            namespace = {"__doc__": target.__doc__, "__module__": target.__module__, "apply": _as_method(target)}
            cls = type(target.__name__, (Perturbation,), namespace)
            cls.__qualname__ = target.__qualname__
        cls.code, cls.mode, cls.random = code, mode, random
        cls.title = title or code
        PERTURBATIONS.add(code, cls)
        return cls

    return file


def _as_method(function: Callable[[Data, np.random.Generator], Data]) -> Callable[..., Data]:
    def apply(self: Perturbation, data: Data, rng: np.random.Generator) -> Data:  # noqa: ARG001
        return function(data, rng)

    return apply


def perturb(data: Data, code: str, seed: int = 0, index: int = 0, **options: Any) -> Data:
    """Return a perturbed copy of one graph.

    Parameters
    ----------
    data
        The graph; it is not changed.
    code
        A key of `PERTURBATIONS`: ``o eg cg rg sg crg ef cf rf sf`` or a registered one.
    seed, index
        Together they determine every random draw; ``index`` is the graph's position in its dataset.
    **options
        Options of the perturbation: ``p`` of ``rg``, ``width`` of ``cf`` and ``rf``.

    Returns
    -------
    Data
        The perturbed copy.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import perturb
    >>> perturb(Data(num_nodes=3, edge_index=torch.tensor([[0, 1], [1, 2]])), "cg").num_edges
    6
    """
    return _build(code, seed=seed, **options).at(data, index)


def perturb_dataset(graphs: Iterable[Data], code: str, *, seed: int = 0, **options: Any) -> list[Data]:
    """Perturb every graph of a dataset, each with its own position as index.

    Parameters
    ----------
    graphs
        The graphs; they are not changed.
    code, seed
        As in `perturb`.
    **options
        Options of the perturbation.

    Returns
    -------
    list of Data
        Perturbed copies in the same order.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import perturb_dataset
    >>> graphs = [Data(num_nodes=n, edge_index=torch.tensor([[0], [1]])) for n in (2, 3)]
    >>> [graph.num_edges for graph in perturb_dataset(graphs, "cg")]
    [2, 6]
    """
    transform = _build(code, seed=seed, **options)
    return [transform.at(data, index) for index, data in enumerate(graphs)]


def _build(code: str, **options: Any) -> Perturbation:
    cls = PERTURBATIONS[code]
    fields = set(getattr(cls, "__dataclass_fields__", {}))
    unknown = sorted(set(options) - fields)
    if unknown:
        allowed = ", ".join(sorted(fields))
        raise UsageError(f"The perturbation {code!r} has no option {unknown[0]!r}. Its options: {allowed}.")
    return cls(**options)


def check_graph(data: Any) -> None:
    """Refuse anything that is not one homogeneous graph with an edge list."""
    if not isinstance(data, Data):
        raise DataError(f"A perturbation needs one torch_geometric Data, got {type(data).__name__}.")
    if data.edge_index is None:
        raise DataError("The graph has no edge_index. Give an edge list (an empty one for a graph without edges).")


def content_digest(data: Data) -> int:
    """Return 63 bits that depend on the nodes, edges and features of ``data`` only."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(str(data.num_nodes).encode())
    for value in (data.edge_index, data.x):
        if value is not None:
            digest.update(np.ascontiguousarray(value.detach().cpu().numpy()).tobytes())
    return int.from_bytes(digest.digest(), "little") >> 1


@dataclass(frozen=True)
class Structure:
    """What a random graph must keep: size, distinct edges, loops, directedness; and joined node pairs."""

    nodes: int
    edges: int
    loops: int
    directed: bool
    pairs: int = 0

    @classmethod
    def of(cls, data: Data) -> Structure:
        """Read it off a graph; duplicate edges count once."""
        n = int(data.num_nodes or 0)
        edge_index = data.edge_index
        if edge_index is None or edge_index.numel() == 0:
            return cls(n, 0, 0, directed=False)
        source, target = edge_index.detach().cpu().numpy().astype(np.int64)
        codes = np.unique(source * n + target)
        source, target = np.divmod(codes, n)
        loops = int((source == target).sum())
        directed = not np.array_equal(codes, np.sort(target * n + source))
        arcs = len(codes) - loops
        pairs = len(np.unique(np.minimum(source, target) * n + np.maximum(source, target))) - loops
        return cls(n, arcs if directed else arcs // 2, loops, directed, pairs)


def _with_edges(data: Data, pairs: draws.Edges, *, directed: bool) -> Data:
    """Replace the edges of ``data``; an undirected pair is stored in both directions."""
    device = data.edge_index.device if data.edge_index is not None else None
    if data.x is None:
        data.num_nodes = data.num_nodes  # keep the count that PyG otherwise infers from the edges
    for key in list(data.keys()):
        if ("edge" in key and key not in _KEPT) or key in _ADJACENCIES:
            del data[key]
    if not directed:
        pairs = np.concatenate([pairs, pairs[::-1]], axis=1)
    order = np.lexsort((pairs[1], pairs[0]))
    data.edge_index = torch.from_numpy(np.ascontiguousarray(pairs[:, order], dtype=np.int64)).to(device=device)
    return data


def _floating(data: Data) -> torch.dtype:
    return data.x.dtype if data.x is not None and data.x.is_floating_point() else torch.get_default_dtype()


@perturbation("o", title="original", mode="none")
class Original(Perturbation):
    """The graph as it is.

    Parameters
    ----------
    seed
        Seed of random draws; there are none here.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import Original
    >>> Original()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_edges
    2
    """

    def apply(self, data: Data, rng: np.random.Generator) -> Data:  # noqa: ARG002
        """Return the copy."""
        return data


@perturbation("eg", title="empty graph", mode="graph")
class EmptyGraph(Perturbation):
    """No edges; edge attributes are dropped, the number of nodes is kept.

    Parameters
    ----------
    seed
        Seed of random draws; there are none here.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import EmptyGraph
    >>> EmptyGraph()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_edges
    0
    """

    def apply(self, data: Data, rng: np.random.Generator) -> Data:  # noqa: ARG002
        """Remove all edges."""
        return _with_edges(data, np.empty((2, 0), dtype=np.int64), directed=True)


@perturbation("cg", title="complete graph", mode="graph")
class CompleteGraph(Perturbation):
    """All ordered pairs of different nodes; edge attributes are dropped.

    Parameters
    ----------
    seed
        Seed of random draws; there are none here.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import CompleteGraph
    >>> CompleteGraph()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_edges
    6
    """

    def apply(self, data: Data, rng: np.random.Generator) -> Data:  # noqa: ARG002
        """Join every pair."""
        n = int(data.num_nodes or 0)
        codes = np.arange(draws.capacity(n, directed=True))
        return _with_edges(data, draws.pairs_of(codes, n, directed=True), directed=True)


@perturbation("rg", title="random graph", mode="graph", random=True)
@dataclass(frozen=True)
class RandomGraph(Perturbation):
    """Erdős-Rényi graph of the same kind (directed or not).

    Parameters
    ----------
    seed
        Seed of random draws.
    p
        Probability of each pair; None takes the density of the input, so the expected number of edges
        is the same.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import RandomGraph
    >>> RandomGraph()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_nodes
    3
    """

    p: float | None = None

    def apply(self, data: Data, rng: np.random.Generator) -> Data:
        """Draw each pair independently."""
        kept = Structure.of(data)
        if self.p is not None and not 0 <= self.p <= 1:
            raise UsageError(f"p must lie between 0 and 1, got {self.p}.")
        room = draws.capacity(kept.nodes, directed=kept.directed)
        p = self.p if self.p is not None else (kept.edges / room if room else 0.0)
        pairs = draws.erdos_renyi(rng, kept.nodes, p=p, directed=kept.directed)
        return _with_edges(data, pairs, directed=kept.directed)


@perturbation("sg", title="shuffled graph", mode="graph", random=True)
class ShuffledGraph(Perturbation):
    """The edges thrown onto random node pairs: exact edge and loop counts and directedness are kept.

    Parameters
    ----------
    seed
        Seed of random draws.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import ShuffledGraph
    >>> ShuffledGraph()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_edges
    2
    """

    def apply(self, data: Data, rng: np.random.Generator) -> Data:
        """Draw as many distinct pairs as there were."""
        kept = Structure.of(data)
        pairs = draws.uniform(rng, kept.nodes, edges=kept.edges, directed=kept.directed)
        if not kept.directed:
            pairs = np.concatenate([pairs, pairs[::-1]], axis=1)
        loops = draws.distinct(rng, kept.nodes, kept.loops)
        return _with_edges(data, np.concatenate([pairs, np.stack([loops, loops])], axis=1), directed=True)


@perturbation("crg", title="connected random graph", mode="graph", random=True)
class ConnectedRandomGraph(Perturbation):
    """A random recursive tree plus random extra edges, undirected.

    The number of edges is that of the input (read as undirected), raised to n - 1 where needed.

    Parameters
    ----------
    seed
        Seed of random draws.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import ConnectedRandomGraph
    >>> ConnectedRandomGraph()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_edges
    4
    """

    def apply(self, data: Data, rng: np.random.Generator) -> Data:
        """Draw a connected graph."""
        kept = Structure.of(data)
        pairs = draws.connected(rng, kept.nodes, edges=kept.pairs)
        return _with_edges(data, pairs, directed=False)


@perturbation("ef", title="empty features", mode="features")
class EmptyFeatures(Perturbation):
    """One zero per node instead of its features.

    Parameters
    ----------
    seed
        Seed of random draws; there are none here.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import EmptyFeatures
    >>> EmptyFeatures()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_features
    1
    """

    def apply(self, data: Data, rng: np.random.Generator) -> Data:  # noqa: ARG002
        """Replace the features by zeros."""
        data.x = torch.zeros(int(data.num_nodes or 0), 1, dtype=_floating(data))
        return data


@perturbation("cf", title="complete features", mode="features")
@dataclass(frozen=True)
class CompleteFeatures(Perturbation):
    """One-hot node identities instead of features.

    Parameters
    ----------
    seed
        Seed of random draws; there are none here.
    width
        Columns; None takes one per node. Give the size of the largest graph for a dataset.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import CompleteFeatures
    >>> CompleteFeatures()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_features
    3
    """

    width: int | None = None

    def apply(self, data: Data, rng: np.random.Generator) -> Data:  # noqa: ARG002
        """Number the nodes one-hot."""
        n = int(data.num_nodes or 0)
        width = n if self.width is None else self.width
        if n > width:
            raise UsageError(
                f"Complete features of width {width} cannot tell {n} nodes apart. "
                f"Give the largest graph's size (at least {n}) as width."
            )
        data.x = torch.eye(n, width, dtype=_floating(data))
        return data


@perturbation("rf", title="random features", mode="features", random=True)
@dataclass(frozen=True)
class RandomFeatures(Perturbation):
    """Standard normal features.

    Parameters
    ----------
    seed
        Seed of random draws.
    width
        Columns; None takes the width of the input.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import RandomFeatures
    >>> RandomFeatures()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_features
    3
    """

    width: int | None = None

    def apply(self, data: Data, rng: np.random.Generator) -> Data:
        """Draw new features."""
        width = self.width
        if width is None:
            if data.x is None:
                raise DataError("The graph has no features whose width random features could take. Give width=.")
            width = 1 if data.x.dim() == 1 else int(data.x.shape[1])
        values = rng.standard_normal((int(data.num_nodes or 0), width))
        data.x = torch.from_numpy(values).to(_floating(data))
        return data


@perturbation("sf", title="shuffled features", mode="features", random=True)
class ShuffledFeatures(Perturbation):
    """The rows of the features in random order.

    Parameters
    ----------
    seed
        Seed of random draws.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import ShuffledFeatures
    >>> ShuffledFeatures()(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))).num_features
    3
    """

    def apply(self, data: Data, rng: np.random.Generator) -> Data:
        """Permute the rows."""
        if data.x is None:
            raise DataError("The graph has no features to shuffle. Add node features first.")
        data.x = data.x[torch.from_numpy(rng.permutation(data.x.shape[0]))]
        return data
