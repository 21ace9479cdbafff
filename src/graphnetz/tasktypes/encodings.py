"""Positional encodings as transforms of graphs, and what training does to them batch by batch.

A transform writes ``data.pe`` (one row per node) and ``data.pe_view``, a number that says how a model
should look at the rows while it trains: as they are, with random signs, or in random order. Models
read both through `positions`. The encodings are those of Dwivedi et al. (2023), section 5 and Table
13, and the return probabilities of random walks of Dwivedi et al. (2022).

Link prediction leaves ``pe`` out, because an encoding of the whole graph would carry the held-out edges; it stays where
the dataset supplies its split and the graph holds training edges only.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError

AS_IS, RANDOM_SIGNS, RANDOM_ORDER = 0, 1, 2
DENSE_LIMIT = 1500
"""Nodes up to which the whole spectrum is computed; beyond, only the lower end, by Lanczos."""

STACKED = 4_000_000
"""Matrix entries that one call of the dense solver gets: 32 MB."""

Signs = Literal["random", "fixed", "absolute"]


def positions(data: Data, *, training: bool) -> Tensor:
    """Positional rows as a model should see them now.

    While training, each call draws one sign per column for the whole batch, or one node order per
    graph, from torch's global generator; evaluation sees the rows as they are.
    """
    pe: Tensor | None = data.get("pe")
    if pe is None:
        raise UsageError(
            "This model was built for positional encodings, but the graph has no pe. "
            "Give the task a transform such as LaplacianPE(8)."
        )
    view = data.get("pe_view")
    kind = AS_IS if view is None or not training else int(torch.as_tensor(view).reshape(-1)[0])
    if kind == RANDOM_SIGNS:
        signs = torch.randint(0, 2, (1, pe.size(1)), device=pe.device) * 2 - 1
        return pe * signs.to(pe.dtype)
    if kind == RANDOM_ORDER:
        batch = data.batch if data.batch is not None else torch.zeros_like(pe[:, 0], dtype=torch.long)
        # Rows of one graph lie together, so shuffling and a stable sort by graph stay inside each.
        shuffled = torch.randperm(pe.size(0), device=pe.device)
        return pe[shuffled[torch.argsort(batch[shuffled], stable=True)]]
    return pe


class PositionalEncoding(abc.ABC):
    """Base of the transforms: ``transform(graph)`` for one graph, ``transform.many(graphs)`` for a list."""

    view = AS_IS

    def __init__(self, k: int) -> None:
        if k < 1:
            raise UsageError(f"A positional encoding needs at least one column, got k={k}.")
        self.k = k

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in vars(self).items())})"

    def __call__(self, data: Data) -> Data:
        """Return a copy of the graph that carries its encoding."""
        return self.many([data])[0]

    def many(self, graphs: Iterable[Data]) -> list[Data]:
        """Encode a list of graphs; equal sizes share one call of the solver."""
        chosen = list(graphs)
        out = []
        for graph, rows in zip(chosen, self.rows(chosen), strict=True):
            view = copy.copy(graph)  # shallow: the caller's graph stays as it is
            view.pe = torch.from_numpy(np.ascontiguousarray(rows)).to(torch.get_default_dtype())
            view.pe_view = torch.tensor([self.view])
            out.append(view)
        return out

    @abc.abstractmethod
    def rows(self, graphs: Sequence[Data]) -> list[np.ndarray]:
        """One array [nodes, k] per graph."""


class LaplacianPE(PositionalEncoding):
    """Eigenvectors 2 to k + 1 of the symmetric normalised Laplacian, by rising eigenvalue.

    Of unit length, padded with zeros on graphs with at most ``k`` nodes. Direction and repetition of
    edges are ignored, degrees of isolated nodes count as one. Eigenvectors are defined up to sign:
    ``signs="random"`` draws new ones for every training batch, ``"fixed"`` keeps those the solver
    gave, ``"absolute"`` takes absolute values.
    """

    def __init__(self, k: int, *, signs: Signs = "random") -> None:
        super().__init__(k)
        if signs not in ("random", "fixed", "absolute"):
            raise UsageError(f"Unknown signs {signs!r}. Known: random, fixed, absolute.")
        self.signs = signs

    @property
    def view(self) -> int:  # type: ignore[override]
        """How training looks at the rows."""
        return RANDOM_SIGNS if self.signs == "random" else AS_IS

    def rows(self, graphs: Sequence[Data]) -> list[np.ndarray]:
        """One array [nodes, k] per graph."""
        out: list[np.ndarray | None] = [None] * len(graphs)
        sizes = np.array([int(graph.num_nodes or 0) for graph in graphs])
        for size in np.unique(sizes):
            members = np.flatnonzero(sizes == size).tolist()
            for number, vectors in zip(members, self._equal_size([graphs[i] for i in members], int(size)), strict=True):
                found = vectors[:, 1 : self.k + 1]
                padded = np.pad(found, ((0, 0), (0, self.k - found.shape[1])))
                out[number] = np.abs(padded) if self.signs == "absolute" else padded
        return [rows for rows in out if rows is not None]

    def _equal_size(self, graphs: Sequence[Data], size: int) -> Iterable[np.ndarray]:
        if size > max(DENSE_LIMIT, self.k + 2):
            return [_lowest(laplacian(graph), self.k + 1) for graph in graphs]
        step = max(1, STACKED // size**2)
        pieces = (graphs[start : start + step] for start in range(0, len(graphs), step))
        return [v.numpy() for piece in pieces for v in torch.linalg.eigh(stacked_laplacians(piece, size)).eigenvectors]


class RandomWalkPE(PositionalEncoding):
    """Probability that a random walk is back at its start after 1 to k steps."""

    def rows(self, graphs: Sequence[Data]) -> list[np.ndarray]:
        """One array [nodes, k] per graph."""
        return [self._returns(adjacency(graph)) for graph in graphs]

    def _returns(self, matrix: sp.csr_matrix) -> np.ndarray:
        degrees = np.asarray(matrix.sum(axis=1)).ravel()
        step = sp.diags_array(1.0 / np.maximum(degrees, 1.0)) @ matrix
        step = step.toarray() if matrix.shape[0] <= DENSE_LIMIT else step.tocsr()
        power, columns = step, []
        for number in range(self.k):
            power = power @ step if number else power
            columns.append(np.asarray(power.diagonal()).ravel())
        return np.stack(columns, axis=1)


class NodeIndexPE(PositionalEncoding):
    """One-hot number of the node: in the order of the data, or in a new random order per batch.

    Evaluation sees the order of the data in either case. Numbers from ``k`` on give a zero row.
    """

    def __init__(self, k: int, *, order: Literal["fixed", "random"] = "fixed") -> None:
        super().__init__(k)
        if order not in ("fixed", "random"):
            raise UsageError(f"Unknown order {order!r}. Known: fixed, random.")
        self.order = order

    @property
    def view(self) -> int:  # type: ignore[override]
        """How training looks at the rows."""
        return RANDOM_ORDER if self.order == "random" else AS_IS

    def rows(self, graphs: Sequence[Data]) -> list[np.ndarray]:
        """One array [nodes, k] per graph."""
        return [np.eye(int(graph.num_nodes or 0), self.k) for graph in graphs]


def adjacency(data: Data) -> sp.csr_matrix:
    """Symmetric 0/1 adjacency matrix; direction and repetition of edges are dropped, loops kept."""
    nodes = int(data.num_nodes or 0)
    source, target = data.edge_index.cpu().numpy()
    both = (np.concatenate([source, target]), np.concatenate([target, source]))
    matrix = sp.csr_matrix((np.ones(both[0].size), both), shape=(nodes, nodes))
    matrix.data[:] = 1.0
    return matrix


def laplacian(data: Data) -> sp.csr_matrix:
    """Symmetric normalised Laplacian, degrees at least one."""
    matrix = adjacency(data)
    root = sp.diags_array(1.0 / np.sqrt(np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), 1.0)))
    return sp.csr_matrix(sp.eye_array(matrix.shape[0]) - root @ matrix @ root)


def stacked_laplacians(graphs: Sequence[Data], size: int) -> Tensor:
    """`laplacian` of graphs of one size as a dense stack, without a sparse matrix for each."""
    count = torch.tensor([graph.edge_index.size(1) for graph in graphs])
    number = torch.repeat_interleave(torch.arange(len(graphs)), count)
    source, target = torch.cat([graph.edge_index.cpu() for graph in graphs], dim=1)
    matrix = torch.zeros(len(graphs), size, size, dtype=torch.float64)
    matrix[number, source, target] = 1.0
    matrix[number, target, source] = 1.0
    root = matrix.sum(-1).clamp_(min=1.0).rsqrt_()
    return torch.eye(size, dtype=torch.float64) - root.unsqueeze(2) * matrix * root.unsqueeze(1)


def _lowest(matrix: sp.csr_matrix, count: int) -> np.ndarray:
    """Eigenvectors of the ``count`` smallest eigenvalues of a Laplacian whose spectrum lies in [0, 2]."""
    # The largest of 2 I - L are found fast; a fixed start makes the result repeatable.
    shifted = 2.0 * sp.eye_array(matrix.shape[0]) - matrix
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    values, vectors = spla.eigsh(shifted, k=count, which="LA", v0=start)
    return np.asarray(vectors[:, np.argsort(-values)])
