"""Neighbour sampling: a mini-batch of nodes with a bounded number of neighbours per hop.

Every node of a batch is sampled once, with the fan-out of the hop at which it is met first (Hamilton
et al., 2017, as PyG's loaders do it). Nodes are numbered by arrival, so what a layer needs is a prefix
of the rows, and the same arcs serve a model that takes one subgraph and one that takes a structure
per layer.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from graphnetz._core.errors import UsageError
from graphnetz.kernels.receptive import ReceptiveField
from graphnetz.kernels.runtime import ops
from graphnetz.kernels.structure import IntArray, Kind, LoopedStructure, Structure

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


_ops = functools.partial(ops, "sampling_ops")


def load_sampling() -> None:
    """Compile the kernels of large graphs, or read them from the cache; a driver does so before it forks."""
    from graphnetz.kernels.folders import neighbourhoods
    from graphnetz.kernels.functions import block_sums

    structure = Structure.from_edges(np.array([[0, 1, 2, 1, 2, 3], [0, 0, 0, 1, 1, 2]]), 4)
    batch = NeighbourSampler(structure).sample(np.array([0, 1]), (2, 1), seed=0)
    _ = batch.structure(1, 2).with_self_loops.transpose, GcnNorm.of(structure)
    large, x = LoopedStructure(structure), np.ones((4, 1), dtype=np.float32)
    block_sums(large, "gcn", x, x, np.empty_like(x), turned=True)
    neighbourhoods(structure, np.array([0]), both_ways=True)
    ops("folder_ops").mark_sources(structure.indptr, structure.indices, np.array([0]), np.zeros(4, dtype=bool))
    ops("folder_ops").sort_ends(*np.zeros((2, 1), np.int64), np.zeros(2, np.int32), np.zeros(1, np.int32))


@dataclass(frozen=True, eq=False)
class GcnNorm:
    """Symmetric normalisation of the whole graph with one self-loop per node (Kipf and Welling, 2017).

    ``counts`` are arcs into each node without its self-loops, ``inverse`` is ``1 / sqrt(degree)`` with
    the loop, ``loops`` the loops' weights.
    """

    counts: Floats
    inverse: Floats
    loops: Floats

    @classmethod
    def of(cls, structure: Structure, edge_weight: npt.NDArray[Any] | None = None) -> GcnNorm:
        """Read the degrees of ``structure``; ``edge_weight`` is in the order of the edge index."""
        n, loops = structure.num_dst, np.ones(structure.num_dst)
        if edge_weight is None:
            found = np.empty(n, dtype=np.int32)
            ops("folder_ops").proper_degrees(structure.indptr, structure.indices, found)
            counts = found.astype(np.float64)
            return cls(counts, (counts + 1.0) ** -0.5, loops)
        dst = structure.destinations
        proper = structure.indices != dst
        weight = np.asarray(edge_weight, dtype=np.float64)[structure.order]
        loops[dst[~proper]] = weight[~proper]  # a loop of the graph keeps its weight, as in PyG
        counts = np.bincount(dst[proper], minlength=n).astype(np.float64)
        degree = np.bincount(dst[proper], weights=weight[proper], minlength=n) + loops
        inverse = np.zeros(n)
        np.power(degree, -0.5, out=inverse, where=degree > 0)
        return cls(counts, inverse, loops)


@dataclass(eq=False)
class SampledStructure(Structure):
    """Arcs of a batch into its first rows; weights that need degrees take them from the whole graph."""

    nodes: Ids | None = None
    sampler: NeighbourSampler | None = None
    looped: bool = False

    @cached_property
    def transpose(self) -> tuple[IntArray, IntArray, IntArray]:
        """CSR over sources, by counting: a batch is too short-lived to be sorted."""
        indptr = np.zeros(self.num_src + 1, dtype=self.indptr.dtype)
        turned, position = np.empty_like(self.indices), np.empty_like(self.indices)
        _ops().transpose(self.indptr, self.indices, indptr, turned, position)
        return indptr, turned, position

    @cached_property
    def with_self_loops(self) -> Structure:
        """The structure with exactly one self-loop per destination."""
        if self.looped:
            return self
        indptr = np.empty_like(self.indptr)
        indices = np.empty(self.num_arcs + self.num_dst, dtype=self.indices.dtype)
        size = _ops().one_loop_each(self.indptr, self.indices, indptr, indices)
        return SampledStructure(
            indptr, indices[:size], np.arange(size), self.num_src, nodes=self.nodes, sampler=self.sampler, looped=True
        )

    def weights(self, kind: Kind, dtype: torch.dtype) -> Any:
        """Arc weights in CSR order; those of the transpose are left to the backward pass."""
        key = (kind, dtype)
        if key not in self._store:
            self._store[key] = torch.from_numpy(self._weights(kind)).to(dtype)
        return self._store[key], None

    def _weights(self, kind: Kind) -> Floats:
        if kind != "gcn" or self.sampler is None or self.nodes is None:
            return super()._weights(kind)
        return self.sampler.gcn_weights(self.nodes, self.indices, self.destinations, looped=self.looped)


@dataclass(frozen=True, eq=False)
class NeighbourSample:
    """One batch: its nodes, the seeds first, and the arcs chosen into them.

    ``sizes[h]`` is the number of nodes within ``h`` hops; ``arcs`` are places in the whole structure.
    """

    sampler: NeighbourSampler
    nodes: Ids
    sizes: tuple[int, ...]
    indptr: npt.NDArray[np.int32]
    indices: npt.NDArray[np.int32]
    arcs: Ids

    @property
    def num_seeds(self) -> int:
        """Number of nodes the batch was asked for."""
        return self.sizes[0]

    @cached_property
    def destinations(self) -> npt.NDArray[np.int32]:
        """Destination of each arc, as a local number."""
        return np.repeat(np.arange(self.nodes.size, dtype=np.int32), np.diff(self.indptr))

    @property
    def edge_index(self) -> Tensor:
        """The arcs as PyG takes them, in local numbers; a new tensor each time."""
        return torch.from_numpy(np.stack([self.indices, self.destinations]).astype(np.int64))

    @cached_property
    def edge_ids(self) -> Tensor:
        """Places of the arcs in the edge index of the whole graph."""
        return torch.from_numpy(self.sampler.structure.order[self.arcs])

    def structure(self, hop: int, reach: int) -> SampledStructure:
        """Arcs into the nodes within ``hop`` hops from those within ``reach``."""
        last = len(self.sizes) - 1
        rows, sources = self.sizes[min(hop, last)], self.sizes[min(reach, last)]
        indptr = self.indptr[: rows + 1]
        indices = self.indices[: indptr[-1]]
        return SampledStructure(
            indptr, indices, np.arange(indices.size), sources, nodes=self.nodes, sampler=self.sampler
        )

    def field(self, num_layers: int) -> ReceptiveField:
        """What each of ``num_layers`` layers must compute for the seeds."""
        structures = [self.structure(num_layers - 1 - k, num_layers - k) for k in range(num_layers)]
        return ReceptiveField(self.nodes[: structures[0].num_src], tuple(structures))

    def gcn_edges(self, dtype: torch.dtype, *, weighted: bool) -> tuple[Tensor, Tensor]:
        """Edge index and weights that stand for the whole graph's normalised adjacency in this batch.

        ``weighted`` takes the graph's edge weights into account.
        """
        proper = self.indices != self.destinations
        every = np.arange(self.nodes.size, dtype=np.int32)
        src = np.concatenate([self.indices[proper], every])
        dst = np.concatenate([self.destinations[proper], every])
        weight = self.sampler.gcn_weights(self.nodes, src, dst, looped=True, weighted=weighted)
        if weighted and self.sampler.edge_weight is not None:
            weight[: int(proper.sum())] *= self.sampler.edge_weight[self.edge_ids.numpy()[proper]]
        edges = torch.from_numpy(np.stack([src, dst]).astype(np.int64))
        return edges, torch.from_numpy(weight).to(dtype)


class NeighbourSampler:
    """Draws batches from one graph.

    Parameters
    ----------
    structure
        The whole graph.
    edge_weight
        Weights in the order of the edge index, where the graph has them.
    """

    def __init__(self, structure: Structure, edge_weight: npt.NDArray[Any] | None = None) -> None:
        self.structure = structure
        self.edge_weight = edge_weight
        self._place = np.full(structure.num_src, -1, dtype=np.int32)

    @cached_property
    def _norm(self) -> GcnNorm:
        return GcnNorm.of(self.structure)

    @cached_property
    def _weighted_norm(self) -> GcnNorm:
        return GcnNorm.of(self.structure, self.edge_weight)

    @cached_property
    def _degrees(self) -> Floats:
        return np.diff(self.structure.indptr).astype(np.float64)

    def sample(self, seeds: npt.NDArray[Any], fanouts: Sequence[int], *, seed: int) -> NeighbourSample:
        """Return a batch around ``seeds``: at most ``fanouts[h]`` neighbours of each node of hop ``h``.

        Parameters
        ----------
        seeds
            Distinct nodes.
        fanouts
            One bound per hop; -1 takes all neighbours.
        seed
            The draws are a function of it and of the nodes' numbers.
        """
        indptr, indices = self.structure.indptr, self.structure.indices
        frontier = np.ascontiguousarray(seeds, dtype=np.int64)
        if np.unique(frontier).size != frontier.size:
            raise UsageError("The nodes of a batch must be distinct. Remove the repetitions.")
        key = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
        self._place[frontier] = np.arange(frontier.size, dtype=np.int32)
        nodes, sizes, counts, local, chosen = [frontier], [frontier.size], [], [], []
        try:
            for fanout in fanouts:
                degree = (indptr[frontier + 1] - indptr[frontier]).astype(np.int64)
                take = degree if fanout < 0 else np.minimum(degree, fanout)
                row = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(take)])
                arcs = np.empty(int(row[-1]), dtype=np.int64)
                _ops().choose(indptr, frontier, key, row, arcs)
                fresh = np.empty(sizes[-1] + arcs.size, dtype=np.int64)
                sources = np.empty(arcs.size, dtype=np.int32)
                known = _ops().relabel(indices, arcs, self._place, sizes[-1], fresh, sources)
                frontier = fresh[sizes[-1] : known].copy()
                nodes.append(frontier)
                sizes.append(known)
                counts.append(take)
                local.append(sources)
                chosen.append(arcs)
        finally:
            for part in nodes:
                self._place[part] = -1
        rows = np.zeros(sizes[-1] + 1, dtype=np.int32)  # nodes of the last hop have no arcs
        sampled = np.concatenate(counts)
        np.cumsum(sampled, out=rows[1 : sampled.size + 1])
        rows[sampled.size + 1 :] = rows[sampled.size]
        return NeighbourSample(
            self, np.concatenate(nodes), tuple(sizes), rows, np.concatenate(local), np.concatenate(chosen)
        )

    def gcn_weights(self, nodes: Ids, src: IntArray, dst: IntArray, *, looped: bool, weighted: bool = False) -> Floats:
        """Normalised weights of sampled arcs (loops once per node where ``looped``), unbiased for the whole sum.

        An arc stands for ``arcs of the node / arcs sampled`` of its kind; where all are taken the
        weights are the whole graph's own.
        """
        if looped:
            proper = src != dst
            taken = np.bincount(dst[proper], minlength=nodes.size)
            norm = self._weighted_norm if weighted else self._norm
            scale = norm.counts[nodes] / np.maximum(taken, 1)
            inverse = norm.inverse[nodes]
            own = norm.loops[nodes][dst]
            out: Floats = inverse[src] * inverse[dst] * np.where(proper, scale[dst], own)
            return out
        taken = np.bincount(dst, minlength=nodes.size)
        degree = self._degrees[nodes]
        inverse = np.where(degree > 0, np.maximum(degree, 1.0) ** -0.5, 0.0)
        bare: Floats = inverse[src] * inverse[dst] * (degree / np.maximum(taken, 1))[dst]
        return bare
