"""Graphs read piece by piece: what 'graphnetz convert' takes, without holding it in memory.

Nodes are the numbers in the source: 0 to the largest one, or to the number of rows of features or labels. Names of
nodes need a table of all of them in memory; such graphs go through `read_graph`.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError, GraphnetzError
from graphnetz._core.optional import require
from graphnetz._core.readers import regular
from graphnetz.graphs.arrays import class_codes
from graphnetz.graphs.edgelist import edge_layout, end_columns, text_rows
from graphnetz.graphs.node_tables import npy

Array = npt.NDArray[Any]
ROWS = 1 << 20
"""Edges or rows read at a time."""

SOURCES = "an edge list (CSV, also .gz), an npz or Parquet file, or a folder of OGB"


@dataclass(frozen=True)
class Stream:
    """A graph as pieces, each of which can be read again from the start.

    Parameters
    ----------
    files
        What it is read from; their sizes and times say whether a conversion may go on.
    edges
        Yields arrays ``[k, 2]`` of source and destination.
    num_nodes
        Number of nodes where the source says it.
    features
        Yields rows of features; None without any.
    labels
        Returns one value per node, NaN where there is none; None without any.
    split
        Returns the nodes of train, val and test; None without a split.
    directed
        Whether the source says that directions count.
    """

    files: tuple[Path, ...]
    edges: Callable[[], Iterator[Array]]
    num_nodes: int | None = None
    features: Callable[[], Iterator[Array]] | None = None
    labels: Callable[[], Array] | None = None
    split: Callable[[], Mapping[str, Array]] | None = None
    directed: bool = field(default=False)


def stream_of(source: Path) -> Stream:
    r"""Return the stream of a file or folder.

    Parameters
    ----------
    source
        An edge list, ``.npz``, ``.parquet``, or a folder in the layout of OGB.

    Returns
    -------
    Stream
        Nothing was read but names and sizes.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edges.csv"
    >>> _ = file.write_text("source,target\n0,1\n1,2\n")
    >>> [piece.tolist() for piece in stream_of(file).edges()]
    [[[0, 1], [1, 2]]]
    """
    if source.is_dir():
        return _ogb(source)
    regular(source, give=f"Give {SOURCES}.")
    if source.suffix == ".npz":
        return _npz(source)
    if source.suffix == ".parquet":
        return Stream((source,), lambda: _parquet(source))
    return Stream((source,), lambda: _text(source))


def class_numbers(values: Array) -> tuple[Array, int]:
    """Return labels as class numbers, -1 where there is none, and the number of classes.

    Parameters
    ----------
    values
        One per node.

    Returns
    -------
    codes, classes
        Classes are numbered in sorted order.

    Examples
    --------
    >>> class_numbers(np.array([5.0, np.nan, 2.0]))
    (array([ 1, -1,  0], dtype=int32), 2)
    """
    if values.dtype.kind not in "iuf":
        codes = class_codes(values).astype(np.int32)
        return codes, int(codes.max(initial=-1)) + 1
    known = np.isfinite(values) & (values >= 0)
    out = np.full(values.shape, -1, dtype=np.int32)
    names, out[known] = np.unique(values[known], return_inverse=True)
    return out, len(names)


def feature_rows(path: Path) -> Callable[[], Iterator[Array]]:
    """Return a reader of features from a file: ``.npy`` by rows, or a CSV of numbers without a node column.

    Parameters
    ----------
    path
        One row per node, in the order of their numbers.

    Returns
    -------
    callable
        Yields pieces of rows.
    """
    regular(path, give="Give an .npy array or a CSV with one row of numbers per node.")
    if path.suffix == ".npy":
        whole = npy(path)
        return lambda: (whole[start : start + ROWS // 8] for start in range(0, len(whole), ROWS // 8))
    return lambda: _numbers(path)


# text


def _text(path: Path) -> Iterator[Array]:
    try:
        delimiter, _, ends, skip = edge_layout(path)
        skip = skip or next(text_rows(path, delimiter))[0] - 1  # a header, or comments of any kind above the first edge
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"{path.name!r} cannot be read as a table of numbers ({str(error)[:120]}).") from error
    for piece in _frames(path, sep=delimiter or r"\s+", usecols=list(ends), skiprows=skip, comment="#"):
        yield _whole(piece[list(ends)].to_numpy(), path.name)


def _numbers(path: Path) -> Iterator[Array]:
    for piece in _frames(path, chunk=ROWS // 8):
        if any(kind.kind not in "iuf" for kind in piece.dtypes):
            raise DataError(f"{path.name!r} holds text between its numbers. Give numbers alone, without a header.")
        yield piece.to_numpy(dtype=np.float32)


def _frames(path: Path, *, chunk: int = ROWS, **options: Any) -> Iterator[Any]:
    import pandas as pd

    try:
        yield from pd.read_csv(path, header=None, chunksize=chunk, **options)
    except (ValueError, OSError, EOFError, zlib.error) as error:  # pandas' own errors are ValueErrors
        raise DataError(f"{path.name!r} cannot be read as a table of numbers ({str(error).strip()[:120]}).") from error


def _whole(pairs: Array, name: str) -> Array:
    """Return node numbers, or say what stands in their place."""
    if pairs.dtype.kind not in "iu":
        raise DataError(
            f"{name!r} names nodes by something else than whole numbers. Number them from 0, or read the graph into "
            "memory (graphnetz run --graph takes names)."
        )
    if pairs.size and pairs.min() < 0:
        raise DataError(f"{name!r} has the negative node id {pairs.min()}. Node ids are 0 or greater.")
    if pairs.size and pairs.max() >= 2**31 - 1:
        raise DataError(
            f"{name!r} has the node id {pairs.max()}; at most {2**31 - 2} can be stored. Renumber the nodes."
        )
    return pairs


def _parquet(path: Path) -> Iterator[Array]:
    require("pyarrow", extra="parquet", purpose="Reading Parquet")
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as file:
            titles = list(file.schema_arrow.names)
            ends = end_columns(titles, path.name, width=len(titles))
            for batch in file.iter_batches(batch_size=ROWS, columns=[titles[end] for end in ends]):
                yield _whole(np.stack([column.to_numpy(zero_copy_only=False) for column in batch], 1), path.name)
    except ArrowException as error:
        raise DataError(f"The file {str(path)!r} cannot be read as Parquet ({error}).") from error


# npz


def _npz(path: Path) -> Stream:
    names = _members(path)
    if not {"edge_index", "edges"} & names:
        raise DataError(f"{path.name!r} holds {sorted(names)}; it needs 'edge_index' [2, E] or 'edges' [E, 2].")
    key = "edge_index" if "edge_index" in names else "edges"
    shapes = {name: _header(path, name)[0] for name in ("x", "y") if name in names}
    if empty := next((name for name, shape in shapes.items() if not shape), None):
        raise DataError(f"{empty!r} of {path.name!r} is a single number. Give one row per node.")
    rows = next((shape[0] for shape in shapes.values()), None)
    return Stream(
        (path,), lambda: _pairs(path, key), rows,
        (lambda: _rows(path, "x")) if "x" in names else None,
        (lambda: np.concatenate(list(_rows(path, "y"))).reshape(-1)) if "y" in names else None,
        (lambda: _masks(path)) if {"train_mask", "val_mask", "test_mask"} <= names else None,
    )  # fmt: skip


def _members(path: Path) -> set[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"The file {str(path)!r} cannot be read as npz ({error}).") from error


def _header(path: Path, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    with _member(path, name) as stream:
        return _described(stream, path)


def _described(stream: Any, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    if dtype.hasobject:
        raise DataError(f"{path.name!r} holds Python objects, which are not read. Save arrays of numbers.")
    return shape, fortran, dtype


@contextmanager
def _member(path: Path, name: str) -> Iterator[Any]:
    """Open an array of an npz file; what turns out to be damaged is refused."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
            yield stream
    except GraphnetzError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        words = str(error).strip()[:120]
        raise DataError(f"{name!r} of {str(path)!r} cannot be read ({words}). Fetch or write it again.") from error


def _flat(path: Path, name: str, count: int, *, start: int = 0, stop: int | None = None) -> Iterator[Array]:
    """Yield the numbers of an array in the order in which they are stored, ``count`` at a time."""
    with _member(path, name) as stream:
        shape, _, dtype = _described(stream, path)
        end = math.prod(shape) if stop is None else stop
        stream.seek(start * dtype.itemsize, 1)
        while start < end:
            piece = np.frombuffer(stream.read(min(count, end - start) * dtype.itemsize), dtype=dtype)
            if not piece.size:
                raise DataError(f"The file {str(path)!r} ends within {name!r}. Fetch or write it again.")
            yield piece
            start += piece.size


def _pairs(path: Path, name: str) -> Iterator[Array]:
    shape, fortran, _ = _header(path, name)
    if len(shape) != 2 or shape[0 if name == "edge_index" else 1] != 2:
        raise DataError(f"{name!r} of {path.name!r} has the shape {shape}. Give edge_index [2, E] or edges [E, 2].")
    if (name == "edge_index") != fortran:  # all sources lie before all destinations
        half = math.prod(shape) // 2
        both = (_flat(path, name, ROWS, stop=half), _flat(path, name, ROWS, start=half))
        for source, target in zip(*both, strict=True):
            yield _whole(np.stack([source, target], axis=1), path.name)
    else:
        for piece in _flat(path, name, 2 * ROWS):
            yield _whole(piece.reshape(-1, 2), path.name)


def _rows(path: Path, name: str) -> Iterator[Array]:
    shape, fortran, _ = _header(path, name)
    if fortran and len(shape) > 1 and min(shape) > 1:
        raise DataError(f"{name!r} of {path.name!r} is stored by columns. Save it by rows (np.ascontiguousarray).")
    width = math.prod(shape[1:])
    for piece in _flat(path, name, max(ROWS // 8, 1) * width):
        yield piece.reshape(-1, *shape[1:])


def _masks(path: Path) -> dict[str, Array]:
    out = {}
    for part in ("train", "val", "test"):
        shape = _header(path, f"{part}_mask")[0]
        if len(shape) != 1:
            raise DataError(
                f"'{part}_mask' of {path.name!r} has the shape {shape}: a folder holds one split. Save one column."
            )
        out[part] = np.flatnonzero(np.concatenate(list(_rows(path, f"{part}_mask"))))
    return out


# the layout of OGB


def _ogb(folder: Path) -> Stream:
    bases = [place for place in (folder, *sorted(folder.iterdir())) if (place / "raw").is_dir()]
    if not bases:
        raise DataError(f"{str(folder)!r} has no folder 'raw', so it is not in the layout of OGB. Give {SOURCES}.")
    raw, binary = bases[0] / "raw", bases[0] / "raw" / "data.npz"
    splits = sorted(place for place in (bases[0] / "split").glob("*") if place.is_dir())
    split = (lambda: _ogb_split(splits[0])) if splits else None
    if binary.is_file():
        feature = "node_feat" in _members(binary)
        label = raw / "node-label.npz"
        return Stream(
            (binary, label) if label.is_file() else (binary,), lambda: _pairs(binary, "edge_index"),
            int(np.concatenate(list(_rows(binary, "num_nodes_list"))).sum()),
            (lambda: _rows(binary, "node_feat")) if feature else None,
            (lambda: np.concatenate(list(_rows(label, "node_label"))).reshape(-1)) if label.is_file() else None, split,
        )  # fmt: skip
    edges, feats, labels = (raw / f"{name}.csv.gz" for name in ("edge", "node-feat", "node-label"))
    if not edges.is_file():
        raise DataError(f"{str(raw)!r} holds neither data.npz nor edge.csv.gz, so it is not in the layout of OGB.")
    nodes = sum(int(piece.to_numpy().sum()) for piece in _frames(raw / "num-node-list.csv.gz"))
    return Stream(
        tuple(path for path in (edges, feats, labels) if path.is_file()), lambda: _text(edges), nodes,
        (lambda: _numbers(feats)) if feats.is_file() else None,
        (lambda: np.concatenate(list(_numbers(labels)))[:, 0]) if labels.is_file() else None, split,
    )  # fmt: skip


def _ogb_split(folder: Path) -> dict[str, Array]:
    names = {"train": "train", "val": "valid", "test": "test"}
    return {
        part: np.concatenate([piece[0].to_numpy() for piece in _frames(folder / f"{name}.csv.gz")])
        for part, name in names.items()
    }
