"""From any source to a graph folder: an external sort by destination, in bounded memory, that a kill does not undo.

Edges are spooled as pairs of 32-bit numbers while degrees are counted; pairs are dealt to buckets of destinations that
fit into memory; each bucket is sorted, freed of repetitions and appended. A state file says what is on the disk: an
interrupted conversion goes on with the phase, and within sorting with the bucket, that it was in.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError, UsageError
from graphnetz._core.paths import make_folder, write_file
from graphnetz._core.readers import read_json
from graphnetz._core.text import counted
from graphnetz.graphs.folder import GraphFolder, is_folder, seal
from graphnetz.graphs.folder_checks import PARTS
from graphnetz.graphs.node_tables import node_table, node_values
from graphnetz.graphs.streams import Stream, class_numbers, feature_rows, stream_of

Array = npt.NDArray[Any]
Splitter = Callable[[Array], Mapping[str, Array]]
"""Class numbers (-1: none) -> the nodes of train, val and test."""

_STATE, _WORK = "state.json", "unfinished"
_PAIR = 8
"""Bytes of a spooled pair."""

_SORTED = 40
"""Bytes per pair of a bucket while it is sorted: the pairs, their keys, the sorted ones and what is kept."""


def convert(
    source: str | Path | Stream,
    folder: str | Path,
    *,
    features: str | Path | None = None,
    labels: str | Path | None = None,
    split: str | Path | None = None,
    num_nodes: int | None = None,
    directed: bool = False,
    dtype: str = "float32",
    memory: float = 2000,
    splitter: Splitter | None = None,
    told: Callable[[str], object] | None = None,
) -> GraphFolder:
    r"""Write a graph folder from a source that may be larger than memory.

    Parameters
    ----------
    source
        An edge list (CSV, also .gz), an npz (``edge_index`` or ``edges``, ``x``, ``y``, masks), a Parquet table or a
        folder in the layout of OGB. Nodes are whole numbers from 0.
    folder
        Where to write; an unfinished conversion of the same source into it is continued.
    features
        One row per node: ``.npy``, or a CSV of numbers; None takes those of the source.
    labels
        One class per node: ``.npy``, or a CSV with the columns node and label; None takes those of the source.
    split
        A CSV with the columns node and part (train, val, test); None takes that of the source, else ``splitter``'s.
    num_nodes
        Number of nodes, where the last ones have no edge.
    directed
        Keep directions; otherwise every edge is stored both ways. Repeated arcs are stored once.
    dtype
        Type of the stored features, ``float16`` or ``float32``.
    memory
        Megabytes that buckets may take; what is held per node comes on top (8 bytes, and 12 for labels).
    splitter
        Makes a split of class numbers where there is none.
    told
        Called with a sentence at the start of every phase.

    Returns
    -------
    GraphFolder
        The finished folder, opened.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> _ = (place / "edges.csv").write_text("source,target\n0,1\n1,2\n1,0\n")
    >>> convert(place / "edges.csv", place / "path")
    GraphFolder('...path': 3 nodes, 4 arcs)
    """
    if dtype not in ("float16", "float32"):
        raise UsageError(f"Features are stored as float16 or float32, got {dtype!r}. Choose one of them.")
    if not 1 <= memory < math.inf:
        raise UsageError(f"A conversion needs at least 1 MB for its buckets, got {memory:g}. Raise --memory.")
    if num_nodes is not None and not 1 <= num_nodes < 2**31:
        raise UsageError(f"A graph has 1 to {2**31 - 1} nodes, got {num_nodes}. Correct the number (--nodes).")
    target, stream = Path(folder), source if isinstance(source, Stream) else stream_of(Path(source))
    settings = {
        "files": [_stamp(path) for path in (*stream.files, *(Path(p) for p in (features, labels, split) if p))],
        "directed": directed or stream.directed, "dtype": dtype, "num_nodes": num_nodes,
    }  # fmt: skip
    make_folder(target)
    work = _Work(target, settings, told or (lambda _: None))
    if work.finished:
        work.clean()
        return GraphFolder.open(target)
    with work.held():
        work.spool(stream, num_nodes, directed=directed or stream.directed)
        work.deal(memory * 1e6)
        work.sort()
        rows = feature_rows(Path(features)) if features else stream.features
        work.features(rows, dtype)
        work.labels(node_values(Path(labels), "label") if labels else _given(stream.labels))
        chosen = _parts_of(Path(split)) if split else stream.split
        work.split(chosen, splitter)
        work.finish()
    return GraphFolder.open(target)


def _given(read: Callable[[], Array] | None) -> Callable[[int], Array] | None:
    return None if read is None else lambda _: read()


def _stamp(path: Path) -> list[Any]:
    found = path.stat()
    return [path.name, found.st_size, found.st_mtime_ns]


def _parts_of(path: Path) -> Callable[[], Mapping[str, Array]]:
    def read() -> Mapping[str, Array]:
        ids, parts = node_table(path, "part")
        if not set(np.unique(parts.astype(str))) <= set(PARTS):
            raise DataError(f"{path.name!r} must have the columns node and part, whose values are train, val and test.")
        return {part: ids[parts == part] for part in PARTS}

    return read


class _Work:
    """One conversion: what is on the disk, and the next step."""

    def __init__(self, target: Path, settings: Mapping[str, Any], told: Callable[[str], object]) -> None:
        self.target, self.work, self.told = target, target / _WORK, told
        held = self.work / _STATE
        give = f"Remove {str(self.work)!r} and convert again."
        self.state: dict[str, Any] = read_json(held, give=give) if held.is_file() else {}
        self.finished = is_folder(target)
        if self.finished:
            if GraphFolder.open(target).header["source"] != settings:
                raise UsageError(
                    f"{str(target)!r} holds a graph of another source or with other settings. Name another folder."
                )
            return
        if self.state and self.state["settings"] != settings:
            raise UsageError(
                f"{str(target)!r} holds the beginning of another conversion. Name another folder, or remove it."
            )
        strangers = [path.name for path in target.iterdir() if path.name != _WORK] if not self.state else []
        if strangers:
            raise UsageError(f"{str(target)!r} is not empty ({strangers[0]!r}). Name a new folder.")
        self.state = self.state or {"settings": dict(settings), "done": []}

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep a second conversion out of the same folder."""
        make_folder(self.work)
        with open(self.work / "lock", "a", encoding="ascii") as stream:
            try:
                import fcntl

                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # Windows: nobody is kept out
                pass
            except OSError as error:
                raise UsageError(f"Another conversion is writing {str(self.target)!r}. Wait for it.") from error
            yield

    def _save(self, **facts: Any) -> None:
        self.state |= facts
        write_file(self.work / _STATE, json.dumps(self.state))

    def _done(self, phase: str, **facts: Any) -> None:
        self._save(done=[*self.state["done"], phase], **facts)

    def _is_done(self, phase: str) -> bool:
        return phase in self.state["done"]

    # the arcs

    def spool(self, stream: Stream, num_nodes: int | None, *, directed: bool) -> None:
        """Write all pairs as 32-bit numbers, and count the arcs into each node."""
        if self._is_done("spool"):
            return
        self.told("Reading edges")
        wanted = num_nodes or stream.num_nodes
        degree, highest, pairs = np.zeros(wanted or 1 << 16, dtype=np.int64), -1, 0
        with _written(self.work / "pairs") as out:
            for piece in stream.edges():
                top = int(piece.max(initial=-1))
                if wanted is not None and top >= wanted:
                    raise DataError(f"An edge names node {top}, and the graph has {wanted} nodes: 0 to {wanted - 1}.")
                if top >= degree.size:
                    degree = np.concatenate([degree, np.zeros(max(top + 1, 2 * degree.size) - degree.size, np.int64)])
                _count(piece[:, 1], degree)
                if not directed:
                    _count(piece[:, 0], degree)
                out.write(np.ascontiguousarray(piece, dtype=np.int32).tobytes())
                highest, pairs = max(highest, top), pairs + len(piece)
        if not pairs:
            raise DataError("The source holds no edges; an empty graph cannot be trained on.")
        nodes = wanted if wanted is not None else highest + 1
        with _written(self.work / "degree") as out:
            out.write(degree[:nodes].tobytes())
        self._done("spool", nodes=nodes, pairs=pairs)

    def deal(self, memory: float) -> None:
        """Deal the arcs to buckets of destinations, none of which takes more than ``memory`` when sorted."""
        if self._is_done("deal"):
            return
        degree = np.fromfile(self.work / "degree", dtype=np.int64)
        most = max(int(memory / _SORTED), 1)
        bounds = _bounds(degree, most)
        self.told(f"Dealing arcs to {counted(len(bounds) - 1, 'bucket')}")
        both = not self.state["settings"]["directed"]
        with contextlib.ExitStack() as stack:
            out = [stack.enter_context(_written(self._bucket(k))) for k in range(len(bounds) - 1)]
            for pairs in _pairs(self.work / "pairs", max(int(memory / 64), 1 << 12)):
                for arcs in (pairs, pairs[:, ::-1]) if both else (pairs,):
                    place = np.searchsorted(bounds, arcs[:, 1], side="right") - 1
                    if len(out) > 1:
                        order = np.argsort(place, kind="stable")
                        arcs, ends = arcs[order], np.searchsorted(place[order], np.arange(len(out) + 1))
                    else:
                        ends = np.array([0, len(arcs)])
                    for k, stream in enumerate(out):
                        if ends[k + 1] > ends[k]:
                            stream.write(np.ascontiguousarray(arcs[ends[k] : ends[k + 1]]).tobytes())
        self._done("deal", bounds=[int(bound) for bound in bounds], arcs=0, loops=0, next=0)
        (self.work / "pairs").unlink()

    def _bucket(self, number: int) -> Path:
        return self.work / f"bucket{number}"

    def sort(self) -> None:
        """Sort bucket by bucket, and append rows to the folder's own files."""
        if self._is_done("sort"):
            return
        bounds, indptr, indices = self.state["bounds"], self.target / "indptr", self.target / "indices"
        for number in range(self.state["next"], len(bounds) - 1):
            self.told(f"Sorting bucket {number + 1} of {len(bounds) - 1}")
            low, high = bounds[number], bounds[number + 1]
            # What a kill left behind the last finished bucket is cut off.
            with open(indices, "ab") as out, open(indptr, "ab") as rows:
                out.truncate(4 * self.state["arcs"])
                rows.truncate(8 * (low + 1) if number else 0)
                pairs = np.fromfile(self._bucket(number), dtype=np.int32).reshape(-1, 2)
                key = (pairs[:, 1].astype(np.int64) - low) << 32 | pairs[:, 0]
                del pairs
                key.sort()
                keep = np.ones(key.size, dtype=bool)
                np.not_equal(key[1:], key[:-1], out=keep[1:])
                key = key[keep]
                sources, row = (key & 0xFFFFFFFF).astype(np.int32), (key >> 32).astype(np.int64)
                counts = np.bincount(row, minlength=high - low)
                loops = int(np.count_nonzero(sources == row + low))
                out.write(sources.tobytes())
                rows.write(np.zeros(0 if number else 1, dtype=np.int64).tobytes())
                rows.write((np.cumsum(counts) + self.state["arcs"]).tobytes())
                for file in (out, rows):
                    _sync(file)
            self._save(arcs=self.state["arcs"] + key.size, loops=self.state["loops"] + loops, next=number + 1)
            self._bucket(number).unlink()
        self._done("sort")

    # values of nodes

    def features(self, rows: Callable[[], Iterator[Array]] | None, dtype: str) -> None:
        """Write the features row by row."""
        if self._is_done("features"):
            return
        if rows is None:
            self._done("features", width=0)
            return
        self.told("Writing features")
        count, width = 0, 0
        with _written(self.target / "features") as out:
            for piece in rows():
                with np.errstate(over="ignore"):
                    values = np.asarray(piece, dtype=dtype)
                if values.ndim != 2 or (width and values.shape[1] != width):
                    raise DataError(f"Features must have rows of one width, got the shape {values.shape}.")
                if not np.isfinite(values).all():
                    word = "NaN or infinite values" if not np.isfinite(piece).all() else "values too large for float16"
                    raise DataError(f"Features hold {word}; fill or scale them first, or store them as float32.")
                out.write(np.ascontiguousarray(values).tobytes())
                count, width = count + len(values), values.shape[1]
        self._check_rows("features", count)
        self._done("features", width=width)

    def _check_rows(self, what: str, count: int) -> None:
        nodes = self.state["nodes"]
        if count != nodes:
            raise DataError(
                f"There are {what} of {count:,} nodes and edges among {nodes:,}: give one row per node, or the number "
                "of nodes where the last ones have no edge (--nodes)."
            )

    def labels(self, read: Callable[[int], Array] | None) -> None:
        """Write class numbers, -1 for nodes without one."""
        if self._is_done("labels"):
            return
        classes = 0
        if read is not None:
            self.told("Writing labels")
            codes, classes = class_numbers(np.asarray(read(self.state["nodes"])))
            self._check_rows("labels", len(codes))
            with _written(self.target / "labels") as out:
                out.write(codes.tobytes())
        self._done("labels", classes=classes)

    def split(self, read: Callable[[], Mapping[str, Array]] | None, splitter: Splitter | None) -> None:
        """Write the nodes of each part, in rising order; nodes without a class are left out."""
        if self._is_done("split"):
            return
        parts: dict[str, int] = {}
        if self.state["classes"]:
            codes = np.fromfile(self.target / "labels", dtype=np.int32)
            found = read() if read is not None else splitter(codes) if splitter is not None else {}
            taken = np.zeros(codes.size, dtype=bool)
            for part, ids in found.items():
                nodes = np.unique(np.asarray(ids, dtype=np.int64))
                if nodes.size and (nodes[0] < 0 or nodes[-1] >= codes.size):
                    bad = nodes[0] if nodes[0] < 0 else nodes[-1]
                    raise DataError(f"The {part} part names node {bad}; allowed are 0 to {codes.size - 1}.")
                if taken[nodes].any():
                    twice = nodes[taken[nodes]]
                    raise DataError(
                        f"The {part} part has node {twice[0]} in common with another ({twice.size} in all)."
                    )
                taken[nodes] = True
                nodes = nodes[codes[nodes] >= 0]
                with _written(self.target / part) as out:
                    out.write(nodes.tobytes())
                parts[part] = int(nodes.size)
        self._done("split", parts=parts)

    def finish(self) -> None:
        """Write the header, which makes the folder one."""
        self.told("Computing digests")
        state = self.state
        files: dict[str, tuple[str, tuple[int, ...]]] = {
            "indptr": ("int64", (state["nodes"] + 1,)), "indices": ("int32", (state["arcs"],)),
        }  # fmt: skip
        if state["width"]:
            files["features"] = (state["settings"]["dtype"], (state["nodes"], state["width"]))
        if state["classes"]:
            files["labels"] = ("int32", (state["nodes"],))
        files |= {part: ("int64", (count,)) for part, count in state["parts"].items()}
        facts = {key: state[key] for key in ("nodes", "arcs", "classes")}
        seal(self.target, facts | {"self_loops": state["loops"], "source": state["settings"]}, files)
        self.clean()

    def clean(self) -> None:
        """Remove what only served the way to the folder."""
        if self.work.is_dir():
            shutil.rmtree(self.work)


@contextlib.contextmanager
def _written(path: Path) -> Iterator[Any]:
    """A file written from its start; on the disk when the block ends."""
    with open(path, "wb") as stream:
        yield stream
        _sync(stream)


def _sync(stream: Any) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _count(ends: Array, degree: Array) -> None:
    """Add one to the degree of every end, in the time of the ends and not of the nodes."""
    found, times = np.unique(ends, return_counts=True)
    degree[found] += times


def _pairs(path: Path, count: int) -> Iterator[Array]:
    with open(path, "rb") as stream:
        while raw := stream.read(count * _PAIR):
            yield np.frombuffer(raw, dtype=np.int32).reshape(-1, 2)


def _bounds(degree: Array, most: int) -> Array:
    """First nodes of buckets with at most ``most`` arcs each; a node with more stands alone."""
    ends = np.cumsum(degree)
    bounds = [0]
    while bounds[-1] < degree.size:
        start = bounds[-1]
        before = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, before + most, side="right"))
        bounds.append(min(max(stop, start + 1), degree.size))
    return np.array(bounds, dtype=np.int64)
