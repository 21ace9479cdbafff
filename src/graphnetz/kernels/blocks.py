"""Many graphs side by side: one structure for all of them, of which a batch is a selection of blocks.

Sorting, transposing and weighing happen once for all graphs; a batch only copies the blocks it needs.
"""

from __future__ import annotations

import functools
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd import Function

from graphnetz.kernels import runtime
from graphnetz.kernels.functions import Apply, array, max_aggregate, quick
from graphnetz.kernels.plain import differentiable_gradients
from graphnetz.kernels.structure import IntArray, Kind, Structure, TensorCache, remember_structure

LongArray = npt.NDArray[np.int64]


_ops = functools.partial(runtime.ops, "numba_blocks")
POINTERS = TensorCache()
"""Where each graph begins, by the tensor that names every node's graph and the number of graphs asked for."""


class BlockBatch(NamedTuple):
    """A batch of graphs as index arrays: where its nodes and edges lie among all, and its own numbering."""

    nodes: Tensor
    edges: Tensor
    edge_index: Tensor
    batch: Tensor
    ptr: Tensor


class Blocks:
    """Graphs whose nodes and edges are numbered one graph after the other.

    Parameters
    ----------
    edge_index
        Edges of all graphs, with node numbers that count from each graph's own 0.
    node_ptr, edge_ptr
        Where the nodes and the edges of each graph begin; the last entry is their number.
    """

    def __init__(self, edge_index: Tensor, node_ptr: Tensor, edge_ptr: Tensor) -> None:
        self.node_ptr: LongArray = np.ascontiguousarray(node_ptr.numpy())
        self.edge_ptr: LongArray = np.ascontiguousarray(edge_ptr.numpy())
        self.edge_index: LongArray = np.ascontiguousarray(edge_index.numpy())
        shift = np.repeat(self.node_ptr[:-1], np.diff(self.edge_ptr))
        self.whole = Structure.from_edges(self.edge_index + shift, int(self.node_ptr[-1]))

    def select(self, index: Tensor) -> BlockBatch:
        """Return the batch of the graphs ``index``; its `Structure` is remembered for its edge index."""
        graphs: LongArray = np.ascontiguousarray(index.numpy())
        ptr = _starts(self.node_ptr, graphs)
        nodes, edges = np.empty(ptr[-1], dtype=np.int64), np.empty(_total(self.edge_ptr, graphs), dtype=np.int64)
        owner, own = np.empty(nodes.size, dtype=np.int64), np.empty((2, edges.size), dtype=np.int64)
        _ops().select_blocks(self.edge_index, self.node_ptr, self.edge_ptr, graphs, nodes, owner, edges, own)
        edge_index = torch.from_numpy(own)
        remember_structure(edge_index, int(ptr[-1]), BlockStructure(self.whole, self.node_ptr, graphs, ptr))
        of = torch.from_numpy
        batch, starts = of(owner), of(ptr)
        known = POINTERS.slot(batch)
        known[graphs.size] = starts
        if owner.size and owner[-1] == graphs.size - 1:  # without a number, graphs after the last node do not count
            known[None] = starts
        return BlockBatch(of(nodes), of(edges), edge_index, batch, starts)


class BlockStructure(Structure):
    """The arcs of some blocks of ``whole``, renumbered; everything derived from it is derived from ``whole``."""

    def __init__(
        self,
        whole: Structure,
        node_ptr: LongArray,
        graphs: LongArray,
        ptr: LongArray,
        *,
        unlooped: BlockStructure | None = None,
    ) -> None:
        self.whole, self.node_ptr, self.graphs, self.ptr, self.unlooped = whole, node_ptr, graphs, ptr, unlooped
        self.num_src = int(ptr[-1])
        self.parent = self.parent_arcs = None
        self._store = {}
        self.indptr, self.indices, self._arcs = self._take(whole.indptr, whole.indices)

    def _take(self, indptr: IntArray, indices: IntArray) -> tuple[IntArray, IntArray, LongArray]:
        """CSR of the chosen blocks, and the place of each of their arcs in the whole."""
        arcs = _total(indptr, self.graphs, self.node_ptr)
        taken = np.empty(self.num_src + 1, dtype=indptr.dtype), np.empty(arcs, dtype=indices.dtype)
        places = np.empty(arcs, dtype=np.int64)
        _ops().take_blocks(indptr, indices, self.node_ptr, self.graphs, *taken, places)
        return *taken, places

    @cached_property
    def order(self) -> LongArray:
        """Places of the arcs in the batch's edge index (needed only to replay torch's dropout)."""
        if self.unlooped is not None:
            sources, targets = self.unlooped.coo
            edges = torch.empty(2, sources.numel(), dtype=torch.int64)
            edges[:, self.unlooped.order_tensor] = torch.stack([sources, targets])
            return Structure.from_edges(edges, self.num_src).with_self_loops.order
        # The edges of a graph lie together, and so do its arcs, at the same places.
        first, sizes = self.whole.indptr[self.node_ptr[self.graphs]], np.diff(self.indptr[self.ptr])
        return np.asarray(self.whole.order[self._arcs] + np.repeat(self.indptr[self.ptr[:-1]] - first, sizes))

    @cached_property
    def transpose(self) -> tuple[IntArray, IntArray, IntArray]:
        """CSR over sources, taken from the whole's."""
        indptr, indices, position = self.whole.transpose
        taken, ends, _ = self._take(indptr, indices)
        place = np.empty_like(ends)
        _ops().take_positions(self.whole.indptr, position, self.node_ptr, self.graphs, place)
        return taken, ends, place

    @cached_property
    def with_self_loops(self) -> Structure:
        """Exactly one self-loop per node, taken from the whole's."""
        return BlockStructure(self.whole.with_self_loops, self.node_ptr, self.graphs, self.ptr, unlooped=self)

    def weights(self, kind: Kind, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Arc weights of the whole, in this structure's order and in that of its transpose."""
        key = (kind, dtype)
        if key not in self._store:
            # A block has as many arcs in the transpose, and at the same places.
            chosen = torch.from_numpy(self._arcs)
            forward, backward = self.whole.weights(kind, dtype)
            self._store[key] = forward[chosen], backward[chosen]
        found: tuple[Tensor, Tensor] = self._store[key]
        return found


def _starts(ptr: LongArray, graphs: LongArray) -> LongArray:
    starts = np.zeros(graphs.size + 1, dtype=np.int64)
    np.cumsum(ptr[graphs + 1] - ptr[graphs], out=starts[1:])
    return starts


def _total(ptr: IntArray, graphs: LongArray, through: LongArray | None = None) -> int:
    last, first = (graphs + 1, graphs) if through is None else (through[graphs + 1], through[graphs])
    return int((ptr[last].astype(np.int64) - ptr[first]).sum())


class _SegmentSum(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, ptr: Tensor, mean: bool) -> Tensor:
        ctx.mean = mean
        ctx.save_for_backward(x, ptr)
        out = np.empty((ptr.numel() - 1, x.size(1)), dtype=array(x[:0]).dtype)
        _ops().segment_sum(ptr.numpy(), array(x), mean, out)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, ptr = ctx.saved_tensors
        if torch.is_grad_enabled():
            again = functools.partial(plain_segment_sum, ptr=ptr, mean=ctx.mean)
            return *differentiable_gradients(again, (x,), (True,), grads[0]), None, None
        out = np.empty(x.shape, dtype=array(x[:0]).dtype)
        _ops().segment_spread(ptr.numpy(), array(grads[0]), ctx.mean, out)
        return torch.from_numpy(out), None, None


_segment_sum: Apply = quick(_SegmentSum)


def plain_segment_sum(x: Tensor, ptr: Tensor, mean: bool) -> Tensor:
    """Sum or mean over segments in torch operations."""
    sizes = ptr.diff()
    owner = torch.repeat_interleave(torch.arange(sizes.numel()), sizes)
    total = x.new_zeros(sizes.numel(), x.size(1)).index_add(0, owner, x)
    return total / sizes.clamp(min=1).to(x.dtype).unsqueeze(1) if mean else total


def pool(x: Tensor, ptr: Tensor, how: Literal["mean", "sum", "max"]) -> Tensor:
    """Mean, sum or largest value of the node rows of each graph; a graph without nodes gives zero.

    Parameters
    ----------
    x
        One row per node, the graphs' nodes one after the other.
    ptr
        Where the nodes of each graph begin, and their number.
    how
        ``"mean"``, ``"sum"`` or ``"max"``.
    """
    if how == "max":
        rows = np.arange(x.size(0))
        return max_aggregate(Structure(ptr.numpy(), rows, rows, rows.size), x)
    return _segment_sum(x, ptr, how == "mean")
