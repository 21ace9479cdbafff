"""Sampling, propagation and neighbourhoods straight from the mapped arcs of a graph folder."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.paths import sync_folder
from graphnetz.graphs.folder import GraphFolder
from graphnetz.graphs.mapped import mapped
from graphnetz.kernels.runtime import ops
from graphnetz.kernels.sampling import Floats, GcnNorm, Ids, NeighbourSampler
from graphnetz.kernels.structure import IntArray, Structure

SLICE_BYTES = 10**9
"""Bytes of the two columns slices that a propagation holds, as long as four columns fit."""

CHUNK = 1 << 20
"""Nodes looked at together in passes over all of them."""

_HOP_ROWS, _HOP_ARCS, _PAGE = 1 << 17, 1 << 20, 2 << 20
"""Rows and arcs that a propagation takes at a time, and the bytes that the system gives out: NumPy asks for huge ones.
"""

_ops = functools.partial(ops, "folder_ops")


class _PerNode:
    """Stands for an array over all nodes of which only asked-for elements are ever computed."""

    def __init__(self, value: Callable[[Ids], Floats]) -> None:
        self.value = value

    def __getitem__(self, nodes: Ids) -> Floats:
        return self.value(nodes)


class FolderSampler(NeighbourSampler):
    """Draws batches from a folder; of the whole graph it holds four bytes per node, and four more for GCN weights.

    Parameters
    ----------
    folder
        The graph.
    """

    def __init__(self, folder: GraphFolder) -> None:
        indptr, indices = folder.array("indptr"), folder.array("indices")
        super().__init__(Structure(indptr, indices, np.empty(0, dtype=np.int64), folder.num_nodes))
        self.folder = folder

    @cached_property
    def proper(self) -> IntArray | None:
        """Arcs into each node without self-loops; None where there are none and the pointers tell."""
        if not self.folder.header["self_loops"]:
            return None
        out = np.empty(self.folder.num_nodes, dtype=np.int32)
        _ops().proper_degrees(self.structure.indptr, self.structure.indices, out)
        return out

    def degrees(self, nodes: Any) -> Floats:
        """Arcs into some nodes, self-loops not counted."""
        indptr = self.structure.indptr
        found = indptr[nodes + 1] - indptr[nodes] if self.proper is None else self.proper[nodes]
        return np.asarray(found, dtype=np.float64)

    @cached_property
    def _norm(self) -> GcnNorm:
        """The whole graph's normalisation, computed for the nodes that are asked for."""
        inverse = _PerNode(lambda nodes: (self.degrees(nodes) + 1.0) ** -0.5)
        return GcnNorm(_PerNode(self.degrees), inverse, _PerNode(lambda nodes: np.ones(nodes.size)))  # type: ignore[arg-type]

    @cached_property
    def _degrees(self) -> Any:
        indptr = self.structure.indptr
        return _PerNode(lambda nodes: (indptr[nodes + 1] - indptr[nodes]).astype(np.float64))

    def pieces(self, rows: Ids, arcs: int) -> Iterator[Ids]:
        """Yield ``rows`` in pieces with at most so many arcs into them; a row with more stands alone."""
        indptr = self.structure.indptr
        ends = np.cumsum(indptr[rows + 1] - indptr[rows])
        start = 0
        while start < rows.size:
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + arcs, side="right"))
            stop = min(max(stop, start + 1), start + arcs)
            yield rows[start:stop]
            start = stop

    def mark(self, rows: Ids, mask: npt.NDArray[np.bool_]) -> None:
        """Set ``mask`` at ``rows`` and at the sources of the arcs into them."""
        _ops().mark_sources(self.structure.indptr, self.structure.indices, rows, mask)


def propagated(sampler: FolderSampler, hops: int, rows: Ids) -> npt.NDArray[np.float32]:
    """Return the features of ``rows`` after ``hops`` normalised propagations over the whole graph.

    Columns are propagated in slices that fit into memory. The result is kept in the folder, so that further cells
    and a resumed run find it.

    Parameters
    ----------
    sampler
        The graph.
    hops
        Number of propagations.
    rows
        Nodes whose values are wanted, rising.

    Returns
    -------
    ndarray
        One mapped row per wanted node.
    """
    folder, shape = sampler.folder, (rows.size, sampler.folder.num_features)
    if not os.access(folder.path, os.W_OK):
        return _propagate(sampler, hops, rows, scratch(folder, shape))
    kept = _kept(folder, hops, rows)
    part = folder.path / f".{kept.name}.{os.getpid()}"
    if not kept.is_file():
        for stale in folder.path.glob(f".{kept.name}.*"):
            if not _runs(int(stale.suffix[1:])):  # what a killed process left behind
                stale.unlink(missing_ok=True)
        try:
            _propagate(sampler, hops, rows, mapped(part, np.float32, shape, write=True))
            with open(part, "r+b") as stream:
                os.fsync(stream.fileno())
            os.replace(part, kept)
            sync_folder(folder.path)
        finally:
            part.unlink(missing_ok=True)
    return mapped(kept, np.float32, shape)


def propagation_bytes(sampler: FolderSampler, hops: int, rows: Ids) -> float:
    """Return the bytes that `propagated` holds at its worst moment; 0 where the folder has the result already.

    Parameters
    ----------
    sampler, hops, rows
        As there.

    Returns
    -------
    float
        Pages that are written to: a slice of columns of all nodes, of the nodes that the next hop reads, and what is
        held per node and per piece.
    """
    folder, nodes = sampler.folder, sampler.folder.num_nodes
    if os.access(folder.path, os.W_OK) and _kept(folder, hops, rows).is_file():
        return 0.0
    needed = _needed(sampler, hops, rows)
    most = 0.0
    for width in {stop - start for start, stop in column_slices(folder)}:
        row = 4 * width
        # The last hop writes row after row, the others where the rows belong, from a piece of them.
        sizes = [_pages(ids, row) for ids in needed[:-1]] + [float(row * rows.size)]
        before = [float(row * nodes), *sizes[:-1]]
        pieces = [_piece_bytes(sampler, ids, width, copied=ids is not rows) for ids in needed]
        most = max(most, *(sum(parts) for parts in zip(before, sizes, pieces, strict=True)))
    return float(most + 8.0 * nodes + sum(4.0 * ids.size for ids in needed[:-1]))


def _piece_bytes(sampler: FolderSampler, ids: Any, width: int, *, copied: bool) -> float:
    """Bytes held for a piece of a hop: its arcs and their weights, five numbers per row, and its rows where copied."""
    rows = min(_piece_rows(width), ids.size)
    arcs = 0.0
    for first in range(0, ids.size, CHUNK):
        chunk = ids[first : first + CHUNK]
        arcs += float((sampler.structure.indptr[chunk + 1] - sampler.structure.indptr[chunk]).sum())
    return float(8.0 * (min(arcs, _HOP_ARCS) + rows) + (40.0 + 4.0 * width * copied) * rows)


def _pages(ids: Any, row: int) -> float:
    """Bytes of the pages that rows of so many bytes lie in."""
    first, last = ids.astype(np.int64) * row // _PAGE, ((ids.astype(np.int64) + 1) * row - 1) // _PAGE
    reached = np.maximum.accumulate(last)
    begins = np.maximum(first[1:], reached[:-1] + 1)
    return float(_PAGE * (last[0] - first[0] + 1 + np.maximum(last[1:] - begins + 1, 0).sum())) if ids.size else 0.0


def _kept(folder: GraphFolder, hops: int, rows: Ids) -> Path:
    """Where the result of a propagation is kept."""
    name = hashlib.blake2b(f"{folder.digest} {hops}".encode() + rows.tobytes(), digest_size=12).hexdigest()
    return folder.path / f"propagated-{name}"


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _propagate(sampler: FolderSampler, hops: int, rows: Ids, out: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    needed = _needed(sampler, hops, rows)
    for start, stop in column_slices(sampler.folder):
        out[:, start:stop] = _slice(sampler, needed if hops else [], rows, start, stop)
    return out


def _needed(sampler: FolderSampler, hops: int, rows: Ids) -> list[Any]:
    """The nodes of every hop that later ones read: no others are computed."""
    needed: list[Any] = [rows]
    for _ in range(hops - 1):
        mask = np.zeros(sampler.folder.num_nodes, dtype=bool)
        for first in range(0, needed[0].size, CHUNK):
            sampler.mark(needed[0][first : first + CHUNK], mask)
        parts = [np.flatnonzero(mask[k : k + CHUNK]).astype(np.int32) + k for k in range(0, mask.size, CHUNK)]
        needed.insert(0, np.concatenate(parts, dtype=np.int32))
    return needed


def column_slices(folder: GraphFolder) -> list[tuple[int, int]]:
    """Ranges of columns that a propagation takes at a time."""
    width = folder.num_features
    step = min(max(SLICE_BYTES // (8 * max(folder.num_nodes, 1)), 4), width)
    return [(start, min(start + step, width)) for start in range(0, width, step)]


def _slice(sampler: FolderSampler, needed: list[Any], rows: Ids, start: int, stop: int) -> npt.NDArray[np.float32]:
    nodes, features = sampler.folder.num_nodes, sampler.folder.array("features")
    inverse = np.empty(nodes, dtype=np.float64)
    x = np.empty((nodes, stop - start), dtype=np.float32)
    for first in range(0, nodes, _HOP_ROWS):
        chunk = np.arange(first, min(first + _HOP_ROWS, nodes))
        inverse[first : first + chunk.size] = (sampler.degrees(chunk) + 1.0) ** -0.5
        x[first : first + chunk.size] = features[first : first + chunk.size, start:stop]
    step = _piece_rows(stop - start)
    for hop, wanted in enumerate(needed):
        last = hop + 1 == len(needed)
        y = np.empty((rows.size if last else nodes, stop - start), dtype=np.float32)
        filled = 0
        for first in range(0, wanted.size, step):
            for piece in sampler.pieces(wanted[first : first + step].astype(np.int64), _HOP_ARCS):
                if last:
                    _hop(sampler, inverse, piece, x, y[filled : filled + piece.size])
                    filled += piece.size
                else:
                    found = np.empty((piece.size, stop - start), dtype=np.float32)
                    _hop(sampler, inverse, piece, x, found)
                    y[piece] = found
                    del found  # before the next is there
        x = y
    return x if needed else x[rows]


def _piece_rows(width: int) -> int:
    """Rows at a time: at most 8 MB of them are held beside those of all nodes."""
    return int(min(max((8 << 20) // (4 * width), 1), _HOP_ROWS))


def _hop(sampler: FolderSampler, inverse: Floats, rows: Ids, x: Any, out: Any) -> None:
    """One propagation into some rows, by the kernel that does it in memory: the sums have the same bits."""
    indptr, indices = sampler.structure.indptr, sampler.structure.indices
    most = int((indptr[rows + 1] - indptr[rows]).sum()) + rows.size
    own, ends, weight = np.empty(rows.size + 1, np.int32), np.empty(most, np.int32), np.empty(most, np.float32)
    size = _ops().weighed_block(indptr, indices, inverse, inverse, rows, 1, own, ends, weight)
    ops().aggregate(own, ends[:size], weight[:size], x, np.zeros((1, x.shape[1]), dtype=np.float32), out)


def neighbourhoods(structure: Structure, chosen: Ids, *, both_ways: bool) -> npt.NDArray[np.int32]:
    """Return the number of the nearest of some chosen nodes for every node.

    Parameters
    ----------
    structure
        The graph.
    chosen
        Nodes.
    both_ways
        Follow arcs forwards too, which takes four more bytes per arc; where every arc is there in both directions it
        changes nothing.

    Returns
    -------
    ndarray
        A part of the graph without a chosen node is one of its own.
    """
    nodes, indptr, indices = structure.num_src, structure.indptr, structure.indices
    label, queue = np.full(nodes, -1, dtype=np.int32), np.empty(nodes, dtype=np.int32)
    nothing = np.empty(0, indptr.dtype), np.empty(0, indices.dtype)
    opposite = structure.opposite() if both_ways else nothing
    _ops().nearest(indptr, indices, *opposite, chosen, label, queue)
    return label


def scratch(folder: GraphFolder, shape: tuple[int, int]) -> npt.NDArray[np.float32]:
    """Return an array in a file that is gone when the array is; rows that nobody writes take no place.

    Parameters
    ----------
    folder
        The file lies in it where that is possible, so that it does not take memory as in a temporary folder.
    shape
        Rows and columns.

    Returns
    -------
    ndarray
        To be written and read.
    """
    # A temporary folder is often memory: it is taken only where the graph's own cannot be written to.
    handle, name = tempfile.mkstemp(prefix=".scratch-", dir=folder.path if os.access(folder.path, os.W_OK) else None)
    os.close(handle)
    try:
        return mapped(Path(name), np.float32, shape, write=True)
    finally:
        Path(name).unlink()
