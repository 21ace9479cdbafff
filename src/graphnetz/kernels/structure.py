"""The arcs of a graph as CSR by destination, with the transpose, sorted once per edge index."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from graphnetz._core.errors import DataError, UsageError
from graphnetz.kernels.runtime import ops

IntArray = npt.NDArray[np.integer[Any]]
LARGE = 1 << 20
"""Arcs from which a structure holds as little per arc as it can; the numbers that come out are the same bits."""
Kind = Literal["sum", "mean", "gcn"]


class TensorCache:
    """Values that belong to a tensor: gone with it, and forgotten when it is changed in place."""

    def __init__(self) -> None:
        self._slots: dict[int, tuple[weakref.ref[Tensor], tuple[int, ...], dict[Any, Any]]] = {}

    def slot(self, tensor: Tensor) -> dict[Any, Any]:
        """Return the dictionary that lives as long as ``tensor`` keeps its content."""
        if tensor.is_inference():  # changes of inference tensors leave no trace to check
            return {}
        key, state = id(tensor), (tensor._version, tensor.data_ptr(), *tensor.shape)
        found = self._slots.get(key)
        if found is not None and found[0]() is tensor and found[1] == state:
            return found[2]
        slots = self._slots

        def forget(reference: weakref.ref[Tensor]) -> None:
            current = slots.get(key)
            if current is not None and current[0] is reference:
                del slots[key]

        values: dict[Any, Any] = {}
        slots[key] = (weakref.ref(tensor, forget), state, values)
        return values

    def peek(self, tensor: Tensor) -> dict[Any, Any]:
        """Return what is kept for ``tensor`` without making a place for it."""
        found = self._slots.get(id(tensor))
        return self.slot(tensor) if found is not None and found[0]() is tensor else {}

    def __len__(self) -> int:
        return len(self._slots)

    def __reduce__(self) -> tuple[type[TensorCache], tuple[()]]:
        # What it holds belongs to tensors of this process: a copy is empty, and so is what a cell's key sees of it.
        return TensorCache, ()


def _sorted(key: IntArray, other: IntArray, size: int, dtype: Any, order: IntArray) -> tuple[IntArray, IntArray]:
    """Pointers to the arcs of each ``key`` and their other ends, stably sorted; their places go into ``order``."""
    indptr, ends = np.zeros(size + 1, dtype=dtype), np.empty(key.size, dtype=dtype)
    ops("numba_blocks").sort_arcs(key, other, indptr, ends, order)
    return indptr, ends


@dataclass(eq=False)
class Structure:
    """CSR over destinations; ``indices`` are sources, ``places`` those of the arcs in the edge index.

    Within a row the arcs keep their order in the edge index. A bipartite structure has more (or
    other) sources than destinations; layers that look at the destination itself take it to be the
    source of the same number, so destinations come first among the sources.
    """

    indptr: IntArray
    indices: IntArray
    places: npt.NDArray[np.int64] | Callable[[], npt.NDArray[np.int64]]
    num_src: int
    parent: tuple[Structure, npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
    parent_arcs: npt.NDArray[np.int64] | None = None
    _store: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_edges(cls, edge_index: Tensor | npt.NDArray[Any], num_nodes: int | tuple[int, int]) -> Structure:
        """Sort ``edge_index`` (row 0 sources, row 1 destinations) by destination.

        Parameters
        ----------
        edge_index
            Integers of shape ``[2, arcs]``; repeated arcs and self-loops are kept.
        num_nodes
            Number of nodes, or (sources, destinations) of a bipartite graph.
        """
        edges = edge_index.detach().cpu().numpy() if isinstance(edge_index, Tensor) else np.asarray(edge_index)
        num_src, num_dst = (num_nodes, num_nodes) if isinstance(num_nodes, int) else num_nodes
        if edges.ndim != 2 or edges.shape[0] != 2 or (edges.size and edges.dtype.kind not in "iu"):
            raise DataError(
                f"The edge index has shape {edges.shape} and type {edges.dtype}; "
                "allowed are integers of shape (2, arcs). Transpose or convert it."
            )
        for row, limit in ((edges[0], num_src), (edges[1], num_dst)):
            if row.size and (row.min() < 0 or row.max() >= limit):
                raise DataError(
                    f"The edge index names node {row.min() if row.min() < 0 else row.max()}; "
                    f"allowed are 0 to {limit - 1}. Relabel the nodes or pass the right num_nodes."
                )
        arcs = edges.shape[1]
        dtype = np.int32 if max(num_src, num_dst, arcs) < 2**31 - 1 else np.int64
        ends = np.ascontiguousarray(edges, dtype=np.int64)
        if arcs < LARGE or not isinstance(edge_index, Tensor):  # what is no tensor would be held for it
            order = np.empty(arcs, dtype=np.int64)
            indptr, indices = _sorted(ends[1], ends[0], num_dst, dtype, order)
            return cls(indptr, indices, order, num_src)

        def again() -> npt.NDArray[np.int64]:
            order = np.empty(arcs, dtype=np.int64)
            _sorted(ends[1], ends[0], num_dst, dtype, order)
            return order

        indptr, indices = np.zeros(num_dst + 1, dtype=dtype), np.empty(arcs, dtype=dtype)
        ops("folder_ops").sort_ends(ends[1], ends[0], indptr, indices)
        return cls(indptr, indices, again, num_src)

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """The arcs' places in the edge index; of a large graph only sorted for what asks for it."""
        return self.places() if callable(self.places) else self.places

    @property
    def is_large(self) -> bool:
        """Whether sums are taken block by block, with weights that are never held for all arcs."""
        return type(self) is Structure and self.num_arcs >= LARGE and self.parent is None

    @property
    def num_dst(self) -> int:
        """Number of destinations."""
        return self.indptr.size - 1

    @property
    def num_arcs(self) -> int:
        """Number of arcs, repeated ones and self-loops included."""
        return self.indices.size

    @cached_property
    def destinations(self) -> IntArray:
        """Destination of each arc, in CSR order."""
        return np.repeat(np.arange(self.num_dst, dtype=self.indices.dtype), np.diff(self.indptr))

    @cached_property
    def transpose(self) -> tuple[IntArray, IntArray, IntArray]:
        """CSR over sources: (indptr, destinations, place of each arc in this structure)."""
        position = np.empty_like(self.indices)
        dtype = self.indptr.dtype
        indptr, ends = _sorted(self.indices, self.destinations, self.num_src, dtype, position)
        return indptr, ends, position

    def opposite(self) -> tuple[IntArray, IntArray]:
        """CSR over sources, without the places of the arcs; not kept, but `turned` where that is there."""
        if "turned" in vars(self):
            return self.turned
        indptr, ends = np.zeros(self.num_src + 1, dtype=self.indptr.dtype), np.empty_like(self.indices)
        ops("folder_ops").turn(self.indptr, self.indices, indptr, ends)
        return indptr, ends

    @cached_property
    def turned(self) -> tuple[IntArray, IntArray]:
        """`opposite`, kept for the next backward pass."""
        return self.opposite()

    @cached_property
    def identity(self) -> IntArray:
        """Places 0, 1, ... of the arcs, for kernels that read weights through a permutation."""
        return np.arange(self.num_arcs, dtype=self.indices.dtype)

    @cached_property
    def coo(self) -> tuple[Tensor, Tensor]:
        """Sources and destinations of the arcs in CSR order, as torch indices."""
        return torch.from_numpy(self.indices.astype(np.int64)), torch.from_numpy(self.destinations.astype(np.int64))

    @cached_property
    def sorted_edges(self) -> Tensor:
        """The arcs in CSR order as an edge index."""
        return torch.stack(self.coo)

    @cached_property
    def messages(self) -> Structure:
        """The arcs as sources of their own: aggregates one row per column of the edge index."""
        return Structure(self.indptr, self.order.astype(self.indices.dtype), self.order, self.num_arcs)

    @cached_property
    def edge_index(self) -> Tensor:
        """The arcs in their original order, as PyG takes them."""
        edges = torch.empty(2, self.num_arcs, dtype=torch.int64)
        edges[:, self.order_tensor] = torch.stack(self.coo)
        return edges

    @cached_property
    def propagated(self) -> TensorCache:
        """Aggregates of constant features over this structure."""
        return TensorCache()

    @cached_property
    def order_tensor(self) -> Tensor:
        """``order`` as a torch index."""
        return torch.from_numpy(self.order)

    def weights(self, kind: Kind, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Constant arc weights in CSR order and in the order of the transpose, computed once.

        ``sum`` weighs every arc 1, ``mean`` by the inverse in-degree of its destination, ``gcn`` by
        ``1 / sqrt(d_i d_j)`` with in-degrees (Kipf and Welling, 2017); add self-loops first.
        """
        key = (kind, dtype)
        if key not in self._store:
            weight = torch.from_numpy(self._weights(kind)).to(dtype)
            self._store[key] = weight, weight[torch.from_numpy(self.transpose[2].astype(np.int64))]
        found: tuple[Tensor, Tensor] = self._store[key]
        return found

    def _weights(self, kind: Kind) -> npt.NDArray[np.float64]:
        left, right = self.factors(kind)
        return left[self.destinations] * right[self.indices]

    def factors(self, kind: Kind) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """One number per destination and one per source, whose product is the weight of an arc."""
        if kind not in ("sum", "mean", "gcn"):
            raise UsageError(f"Unknown kind of weights {kind!r}; allowed are sum, mean, gcn. Choose one of them.")
        if self.parent is not None:  # degrees are those of the whole graph
            whole, dst, src = self.parent
            left, right = whole.factors(kind)
            return left[dst], right[src]
        degree = self._degree
        if kind == "sum":
            return np.ones(self.num_dst), np.ones(self.num_src)
        with np.errstate(divide="ignore"):
            if kind == "mean":
                return np.where(degree > 0, 1.0 / degree, 0.0), np.ones(self.num_src)
            if self.num_src != self.num_dst:
                raise UsageError(
                    f"GCN weights need as many sources as destinations, got {self.num_src} and {self.num_dst}. "
                    "Restrict the structure of the whole graph instead."
                )
            inverse = np.where(degree > 0, degree**-0.5, 0.0)
        return inverse, inverse

    @property
    def _degree(self) -> npt.NDArray[np.float64]:
        return np.diff(self.indptr).astype(np.float64)

    @cached_property
    def with_self_loops(self) -> Structure:
        """The structure with exactly one self-loop per destination; loops come last, as in PyG."""
        if self.parent is not None:
            whole, dst, src = self.parent
            return whole.with_self_loops.restrict(dst, src)
        return LoopedStructure(self) if self.is_large and self.num_src == self.num_dst else self._looped()

    def _looped(self) -> Structure:
        source, target = np.empty_like(self.order), np.empty_like(self.order)
        source[self.order], target[self.order] = self.indices, self.destinations
        keep = source != target
        loops = np.arange(min(self.num_src, self.num_dst))
        edges = np.stack([np.concatenate([source[keep], loops]), np.concatenate([target[keep], loops])])
        return Structure.from_edges(edges, (self.num_src, self.num_dst))

    def restrict(self, dst: npt.NDArray[np.int64], src: npt.NDArray[np.int64] | None = None) -> Structure:
        """Keep all arcs into ``dst``, with destinations and sources renumbered by their place.

        ``src`` must hold every source of those arcs; without it, it is ``dst`` followed by the other
        sources in rising order. Weights stay those of the whole structure.
        """
        starts, counts = self.indptr[:-1][dst].astype(np.int64), np.diff(self.indptr)[dst].astype(np.int64)
        indptr = np.zeros(dst.size + 1, dtype=self.indptr.dtype)
        np.cumsum(counts, out=indptr[1:])
        arcs = np.arange(int(indptr[-1])) + np.repeat(starts - indptr[:-1], counts)
        sources = self.indices[arcs]
        if src is None:
            src = np.concatenate([dst, np.setdiff1d(sources, dst)]).astype(np.int64)
        place = np.full(self.num_src, -1, dtype=self.indices.dtype)
        place[src] = np.arange(src.size)
        local = place[sources]
        if local.size and local.min() < 0:
            raise UsageError("Some sources of the kept arcs are missing from src; pass all of them or leave src out.")
        return Structure(indptr, local, np.arange(arcs.size), src.size, (self, dst, src), arcs)

    @property
    def sources_in_parent(self) -> npt.NDArray[np.int64]:
        """Numbers of the sources in the structure this one was restricted from."""
        return np.arange(self.num_src) if self.parent is None else self.parent[2]


class LoopedStructure(Structure):
    """A large structure with one self-loop per node, of which nothing is made until a kernel asks for its arcs."""

    def __init__(self, bare: Structure) -> None:
        self.bare, self.num_src, self.places = bare, bare.num_src, lambda: bare._looped().order
        self.parent = self.parent_arcs = None
        self._store = {}

    @cached_property
    def proper(self) -> npt.NDArray[np.int32]:
        """Arcs into each node without its own loops."""
        out = np.empty(self.num_src, dtype=np.int32)
        ops("folder_ops").proper_degrees(self.bare.indptr, self.bare.indices, out)
        return out

    @property
    def _degree(self) -> npt.NDArray[np.float64]:
        return self.proper.astype(np.float64) + 1.0

    @property
    def num_dst(self) -> int:
        """Number of destinations."""
        return self.num_src

    @property
    def is_large(self) -> bool:
        """It is, or it would have been made at once."""
        return True

    @cached_property
    def _arcs(self) -> tuple[IntArray, IntArray]:
        indptr = np.empty_like(self.bare.indptr)
        indices = np.empty(int(self.proper.sum(dtype=np.int64)) + self.num_src, dtype=self.bare.indices.dtype)
        ops("sampling_ops").one_loop_each(self.bare.indptr, self.bare.indices, indptr, indices)
        return indptr, indices

    @property
    def indptr(self) -> IntArray:  # type: ignore[override]
        """Pointers of the arcs, which are made now."""
        return self._arcs[0]

    @property
    def indices(self) -> IntArray:  # type: ignore[override]
        """Sources of the arcs, which are made now."""
        return self._arcs[1]


_STRUCTURES = TensorCache()


def structure_of(edge_index: Tensor, num_nodes: int | tuple[int, int]) -> Structure:
    """Return the `Structure` of ``edge_index``, sorted at the first call and kept while it lives.

    The tensor's identity and version are the key: changing it in place, or passing another one,
    sorts again.
    """
    slot = _STRUCTURES.slot(edge_index)
    if num_nodes not in slot:
        slot[num_nodes] = Structure.from_edges(edge_index, num_nodes)
    found: Structure = slot[num_nodes]
    return found


def remember_structure(edge_index: Tensor, num_nodes: int, structure: Structure) -> None:
    """Let `structure_of` return ``structure`` for this edge index."""
    _STRUCTURES.slot(edge_index)[num_nodes] = structure
