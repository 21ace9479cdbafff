"""Colours of nodes by refinement (Weisfeiler and Leman, 1968), and how often each colour stands in each graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
_OWN, _OUT, _IN = (np.uint64(value) for value in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
MOST_COLOURS = 512
"""Distinct rows of features beyond which they are measurements and no kinds of nodes."""


def start_colours(features: Any, nodes: int) -> tuple[IntArray, bool]:
    """Return a colour per node by its row of features, and whether features gave it.

    Rows that hardly ever repeat tell nodes apart one by one; then all nodes begin alike.

    Parameters
    ----------
    features
        One row per node, or None.
    nodes
        Number of nodes.

    Returns
    -------
    colours, used
        Numbers from 0, and whether the rows were used.

    Examples
    --------
    >>> start_colours(np.array([[1, 0], [0, 1], [1, 0]]), 3)[0].tolist()
    [1, 0, 1]
    """
    if features is None:
        return np.zeros(nodes, dtype=np.int64), False
    rows = np.ascontiguousarray(features).reshape(nodes, -1)
    _, found = np.unique(
        rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel(), return_inverse=True
    )
    if found.size and int(found.max()) >= MOST_COLOURS:
        return np.zeros(nodes, dtype=np.int64), False
    return found.astype(np.int64), True


def refine(colours: IntArray, arcs: IntArray) -> IntArray:
    """Return new colours: two nodes share one when they shared one and their neighbours' colours are the same.

    Outgoing and incoming arcs count apart; with both directions of every edge this is the usual refinement.

    Parameters
    ----------
    colours
        One per node.
    arcs
        ``[2, arcs]``.

    Returns
    -------
    numpy.ndarray
        Numbers from 0.

    Examples
    --------
    >>> path = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> refine(np.zeros(3, dtype=np.int64), path).tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    held = _mixed(colours.astype(np.uint64) + np.uint64(1))
    seen, told = np.zeros_like(held), np.zeros_like(held)
    np.add.at(seen, arcs[0], held[arcs[1]])  # sums do not depend on the order of neighbours
    np.add.at(told, arcs[1], held[arcs[0]])
    with np.errstate(over="ignore"):
        joined = _mixed(held * _OWN + _mixed(seen * _OUT) + _mixed(told * _IN) * _OUT)
    return np.unique(joined, return_inverse=True)[1].astype(np.int64)


def colour_counts(colours: IntArray, arcs: IntArray, owner: IntArray, graphs: int, iterations: int) -> Any:
    """Return how often each colour of each iteration stands in each graph, as a sparse matrix.

    Parameters
    ----------
    colours
        What nodes begin with.
    arcs
        ``[2, arcs]``, nodes of all graphs numbered through.
    owner
        The graph of each node.
    graphs
        Number of graphs.
    iterations
        Number of refinements; the colours at the beginning count as well.

    Returns
    -------
    scipy.sparse.csr_matrix
        One row per graph.

    Examples
    --------
    >>> path = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> colour_counts(np.zeros(3, dtype=np.int64), path, np.zeros(3, dtype=np.int64), 1, 1).sum()
    np.float64(6.0)
    """
    import scipy.sparse as sp

    tables: list[Any] = []
    now = colours
    for turn in range(iterations + 1):
        now = refine(now, arcs) if turn else now
        shape = (graphs, int(now.max()) + 1 if now.size else 1)
        tables.append(sp.csr_matrix((np.ones(len(now)), (owner, now)), shape=shape))
    return sp.hstack(tables, format="csr")


def unit_rows(counts: Any) -> Any:
    """Return square roots of counts with rows of length one: large graphs and common colours weigh less.

    Parameters
    ----------
    counts
        What `colour_counts` returned.

    Returns
    -------
    scipy.sparse.csr_matrix
        One row per graph.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> unit_rows(sp.csr_matrix([[9.0, 16.0]])).toarray().round(6).tolist()
    [[0.6, 0.8]]
    """
    import scipy.sparse as sp

    total = np.asarray(counts.sum(axis=1)).ravel()
    return (sp.diags(1 / np.sqrt(np.maximum(total, 1e-12))) @ counts.sqrt()).tocsr()


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter 64-bit numbers (the finaliser of SplitMix64; Steele et al., 2014)."""
    with np.errstate(over="ignore"):
        out = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return out ^ (out >> np.uint64(31))
