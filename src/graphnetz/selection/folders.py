"""A graph folder as selection sees it: exact counts streamed from the map, and samples where exact is too slow.

Of labels those of the training and validation part are read, never those of the test part. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator
from graphnetz.graphs.compressed import Graph, from_pairs
from graphnetz.graphs.folder import GraphFolder
from graphnetz.selection import metafeatures as mf
from graphnetz.selection.attributes import LABEL_NAMES, homophily_of
from graphnetz.selection.sampled import estimated63

FloatArray = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

SAMPLES = 3
"""Samples of a graph that are looked at one by one: how far they differ is part of the answer."""

_SEEDS, _FANOUTS = 2_000, (10, 5)
_ARCS = 1 << 21
_VALUES, _CORNERS, _PAIRS = 1 << 21, 20_000, 64


@dataclass(frozen=True)
class FolderCounts:
    """What is counted of a folder, block by block.

    Parameters
    ----------
    folder
        Its edges are stored both ways.
    """

    folder: GraphFolder

    def __post_init__(self) -> None:
        if self.folder.header["source"].get("directed"):
            raise UsageError(
                f"{str(self.folder.path)!r} keeps directions, and models are chosen for undirected graphs. Convert it "
                "without --directed."
            )

    @cached_property
    def labels(self) -> npt.NDArray[np.int32] | None:
        """Class numbers of training and validation nodes, -1 for all others; None where there are none."""
        if not (self.folder.has("labels") and self.folder.has("train") and self.folder.has("val")):
            return None
        out = np.full(self.folder.num_nodes, -1, dtype=np.int32)
        for part in ("train", "val"):
            nodes = self.folder.array(part)
            out[nodes] = self.folder.array("labels")[nodes]
        return out

    @cached_property
    def degree(self) -> npt.NDArray[np.int32]:
        """Neighbours of every node, itself not counted."""
        out = np.diff(self.folder.array("indptr")).astype(np.int32)
        if self.folder.header["self_loops"]:
            for rows, ends in _blocks(self.folder):
                out[rows[rows == ends]] -= 1
        return out

    @cached_property
    def edges(self) -> tuple[float, list[float]]:
        """Degree assortativity, and the measures of homophily, exact, in one pass over the arcs."""
        d, total = self.degree, float(self.degree.sum(dtype=np.int64))
        mean = float((d.astype(np.float64) ** 2).sum()) / total
        variance = float((d * (d - mean) ** 2).sum()) / total
        classes, y = self.folder.num_classes, self.labels
        joint, product = np.zeros(classes**2), 0.0
        agree = known = np.zeros(0, dtype=np.int32)
        if y is not None:
            agree, known = np.zeros((2, self.folder.num_nodes), dtype=np.int32)
        for rows, ends in _blocks(self.folder):
            proper = rows != ends
            rows, ends = rows[proper], ends[proper]
            product += float(((d[rows] - mean) * (d[ends] - mean)).sum())
            if y is None:
                continue
            both = (y[rows] >= 0) & (y[ends] >= 0)
            rows, a, b = rows[both], y[rows[both]].astype(np.int64), y[ends[both]]
            joint += np.bincount(a * classes + b, minlength=classes**2)
            known += np.bincount(rows, minlength=known.size).astype(np.int32) if rows.size > known.size // 8 else 0
            if rows.size <= known.size // 8:
                np.add.at(known, rows, 1)
            np.add.at(agree, rows[a == b], 1)
        found = [np.nan] * 5
        if y is not None and joint.any():
            node = float((agree[known > 0] / known[known > 0]).mean())
            found = homophily_of(joint.reshape(classes, classes), node, np.bincount(y[y >= 0], minlength=classes))
        return (product / total / variance if variance > 1e-12 * max(mean * mean, 1.0) else 0.0), found

    def triangles(self, nodes: Ids, rng: np.random.Generator) -> FloatArray:
        """Triangles at some nodes; at one with many pairs of neighbours estimated from 64 of them, without bias."""
        indptr, indices = self.folder.array("indptr"), self.folder.array("indices")
        out = np.zeros(nodes.size)
        for place, node in enumerate(nodes.tolist()):
            near = np.asarray(indices[indptr[node] : indptr[node + 1]])
            near = near[near != node]
            pairs = near.size * (near.size - 1) // 2
            if not pairs:
                continue
            if pairs <= _PAIRS:
                left, right = np.triu_indices(near.size, 1)
            else:
                left = rng.integers(0, near.size, _PAIRS)
                right = (left + rng.integers(1, near.size, _PAIRS)) % near.size
            hits = sum(_joined(indptr, indices, int(near[a]), int(near[b])) for a, b in zip(left, right, strict=True))
            out[place] = hits / left.size * pairs
        return out

    def sample(self, seed: int) -> Graph:
        """Return the part of the graph among some thousand labelled nodes and sampled neighbours two hops around.

        Parameters
        ----------
        seed
            Another one gives another sample.

        Returns
        -------
        Graph
            With their features and classes.
        """
        rng, y = generator("folder-sample", self.folder.num_nodes, seed), self.labels
        pool = np.arange(self.folder.num_nodes) if y is None else np.flatnonzero(y >= 0)
        nodes = rng.choice(pool, min(_SEEDS, pool.size), replace=False)
        indptr, indices = self.folder.array("indptr"), self.folder.array("indices")
        reached = front = np.unique(nodes)
        for fanout in _FANOUTS:
            size = indptr[front + 1] - indptr[front]
            front, size = front[size > 0], size[size > 0]
            drawn = (rng.random((front.size, fanout)) * size[:, None]).astype(np.int64) + indptr[front][:, None]
            front = np.unique(indices[drawn.ravel()]).astype(np.int64)
            reached = np.union1d(reached, front)
        pairs = []
        for rows, ends in _blocks(self.folder, reached):
            place = np.minimum(np.searchsorted(reached, ends), reached.size - 1)
            inside = reached[place] == ends
            pairs.append(np.stack([np.searchsorted(reached, rows[inside]), place[inside]]))
        row, col = np.concatenate(pairs, axis=1)
        x = self.folder.array("features")[reached].astype(np.float32) if self.folder.has("features") else None
        return from_pairs(
            row, col, num_nodes=reached.size, labels=None if y is None else y[reached], features=x,
            name=self.folder.path.name,
        )  # fmt: skip


def folder_features(folder: GraphFolder, set: str = "regular") -> dict[str, tuple[float, float]]:
    """Return the meta-features of a folder with their standard errors.

    Parameters
    ----------
    folder
        A graph on disk.
    set
        As in `meta_features`.

    Returns
    -------
    dict
        Value and standard error by name. The error is 0 where a value is exact and NaN where a sample does not show it
        (its least and greatest value, and where all its parts agree); a value is NaN where nothing but walking through
        the whole graph many times would give it (cores, PageRank, orbits).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from graphnetz.graphs import convert
    >>> place = Path(tempfile.mkdtemp())
    >>> np.savez(place / "ring.npz", edges=[[0, 1], [1, 2], [2, 0]])
    >>> folder_features(convert(place / "ring.npz", place / "ring"))["triangles_mean"]
    (1.0, 0.0)
    """
    counts = FolderCounts(folder)
    out: dict[str, tuple[float, float]] = {}
    for member in mf._members(set):
        columns = mf.EXTRACTORS[member].columns
        found = _streamed(counts, member)
        if found is None:
            out |= dict.fromkeys(columns, (float("nan"), float("nan")))
        else:
            out |= {name: (float(value), float(error)) for name, value, error in zip(columns, *found, strict=True)}
    return out


def _streamed(counts: FolderCounts, member: str) -> tuple[FloatArray, FloatArray] | None:
    folder, degree = counts.folder, counts.degree
    n, loops = folder.num_nodes, int(folder.header["self_loops"])
    rng = generator("folder-features", n, member)
    if member == "density":
        return _exact([folder.num_arcs / (n * (n - 1))] * 2)
    if member == "assortativity":
        return _exact([counts.edges[0]])
    if member in ("degree", "wedges"):
        nodes = np.arange(n) if n <= _VALUES else np.sort(rng.choice(n, _VALUES, replace=False))
        d = degree[nodes].astype(np.int64)
        if loops:  # a self-loop counts once in a degree
            d = np.diff(folder.array("indptr"))[nodes]
        return estimated63(d if member == "degree" else d * (d - 1) // 2, n, rng)
    if member == "triangles":
        nodes = np.arange(n) if n <= _CORNERS else np.sort(rng.choice(n, _CORNERS, replace=False))
        rough = bool((degree[nodes].astype(np.int64) * (degree[nodes] - 1) // 2 > _PAIRS).any())
        return estimated63(counts.triangles(nodes, rng), n, rng, rough=rough)
    if member == "labels":
        return _labels(counts)
    return None


def _exact(values: list[float]) -> tuple[FloatArray, FloatArray]:
    return np.array(values), np.where(np.isfinite(values), 0.0, np.nan)


def _labels(counts: FolderCounts) -> tuple[FloatArray, FloatArray]:
    values, y = [np.nan] * len(LABEL_NAMES), counts.labels
    values[0] = 0.0
    if y is not None and (y >= 0).any():
        share = np.bincount(y[y >= 0])
        share = share[share > 0] / (y >= 0).sum()
        even = -(share * np.log(share)).sum() / np.log(share.size) if share.size > 1 else 0.0
        values[:6] = [1.0, share.size, (y >= 0).mean(), even, share.max(), share.min()]
        values[6:11] = counts.edges[1]
    return _exact(values)


def _blocks(folder: GraphFolder, nodes: Ids | None = None) -> Iterator[tuple[Ids, Ids]]:
    """Yield destinations and sources of the arcs into all nodes, or some, block by block."""
    indptr, indices = folder.array("indptr"), folder.array("indices")
    chosen = np.arange(folder.num_nodes) if nodes is None else nodes
    ends = np.cumsum(indptr[chosen + 1] - indptr[chosen])
    start = 0
    while start < chosen.size:
        before = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, before + _ARCS, side="right")), start + 1)
        part = chosen[start:stop]
        first, size = indptr[part], indptr[part + 1] - indptr[part]
        if nodes is None:
            found = indices[first[0] : first[0] + int(size.sum())]
        else:
            found = indices[np.arange(int(size.sum())) + np.repeat(first - np.cumsum(size) + size, size)]
        yield np.repeat(part, size), found.astype(np.int64)
        start = stop


def _joined(indptr: Any, indices: Any, a: int, b: int) -> bool:
    row = indices[indptr[a] : indptr[a + 1]]
    place = int(np.searchsorted(row, b))
    return place < row.size and int(row[place]) == b
