"""Tables with one row per node, for graphs that are converted: labels, and the parts of a split."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError
from graphnetz._core.readers import regular

Array = npt.NDArray[Any]
_UNREADABLE = (ValueError, OSError, EOFError, zlib.error)  # pandas' own errors are ValueErrors


def node_values(path: Path, what: str) -> Callable[[int], Array]:
    """Return a reader of one value per node from a table or array: ``(number of nodes) -> values``.

    Parameters
    ----------
    path
        ``.npy`` with one value per node, or a CSV with the columns node and value.
    what
        Name of the values, for messages.

    Returns
    -------
    callable
        Values as objects where they are text, NaN where a node is not listed.
    """
    regular(path, give="Give a CSV with the columns node and label, or an .npy array.")
    if path.suffix == ".npy":
        return lambda _: npy(path).reshape(-1)
    return lambda nodes: _listed(path, what, nodes)


def _listed(path: Path, what: str, nodes: int) -> Array:
    ids, values = node_table(path, what)
    if ids.size and (ids.min() < 0 or ids.max() >= nodes):
        bad = ids.min() if ids.min() < 0 else ids.max()
        raise DataError(f"{path.name!r} names node {bad}; allowed are 0 to {nodes - 1}.")
    out: Array = np.full(nodes, np.nan, dtype=np.float64 if values.dtype.kind in "iufb" else object)
    out[ids] = values
    return out


def node_table(path: Path, what: str) -> tuple[Array, Array]:
    """Read a CSV of two columns, node and something, with or without a header.

    Parameters
    ----------
    path
        The file.
    what
        Name of the second column, for messages.

    Returns
    -------
    ids, values
        Each node once: a node that is given two values is refused.
    """
    import pandas as pd

    try:
        frame = pd.read_csv(path)
        if re.fullmatch(r"\s*-?\d+\s*", str(frame.columns[0])):  # the first row is one of data
            frame = pd.read_csv(path, header=None)
    except _UNREADABLE as error:
        raise DataError(f"{path.name!r} cannot be read as a table ({str(error).strip()[:120]}).") from error
    if frame.shape[1] != 2 or not pd.api.types.is_integer_dtype(frame.iloc[:, 0]):
        raise DataError(f"{path.name!r} must have two columns, node and {what}, and node numbers in the first.")
    frame = frame.drop_duplicates()
    twice = frame.iloc[:, 0].duplicated().to_numpy()
    if twice.any():
        node = frame.iloc[:, 0].to_numpy()[twice][0]
        raise DataError(f"{path.name!r} gives node {node} more than one {what}. Keep one of them.")
    return frame.iloc[:, 0].to_numpy(), frame.iloc[:, 1].to_numpy()


def npy(path: Path) -> Array:
    """Return the array of a file without loading it; what is no array of numbers is refused.

    Parameters
    ----------
    path
        A ``.npy`` file.

    Returns
    -------
    ndarray
        Mapped.
    """
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path.name!r} cannot be read as an array ({str(error).strip()[:120]}).") from error
