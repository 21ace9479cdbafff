"""Basic statistics of a dataset (the columns of the paper's Table 3) and samples of large graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator
from graphnetz.graphs.counts import adjacency
from graphnetz.rings._batches import as_arrays, stream
from graphnetz.rings.complementarity import Setup, _all
from graphnetz.rings.perturbations import check_graph
from graphnetz.rings.spaces import Array

COLUMNS = ("nodes", "edges", "degree", "density", "gamma_1", "gamma_10")


@dataclass(frozen=True)
class DatasetStatistics:
    """Number of graphs, and mean and sample standard deviation of each column over graphs.

    ``edges`` counts the columns of ``edge_index`` (both directions of an undirected edge), ``degree``
    is edges / nodes, ``density`` edges / (nodes (nodes - 1)).
    """

    graphs: int
    columns: Mapping[str, Array] = field(repr=False)

    @property
    def mean(self) -> dict[str, float]:
        """Means over graphs, leaving out graphs on which a column is undefined."""
        return {name: _nan_safe(np.nanmean, values) for name, values in self.columns.items()}

    @property
    def std(self) -> dict[str, float]:
        """Sample standard deviations over graphs."""
        return {
            name: _nan_safe(lambda v: np.nanstd(v, ddof=1), values) if len(values) > 1 else float("nan")
            for name, values in self.columns.items()
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row per column with mean and std."""
        return pd.DataFrame({"mean": self.mean, "std": self.std})


def _nan_safe(function: Any, values: Array) -> float:
    return float(function(values)) if np.isfinite(values).any() else float("nan")


def dataset_statistics(graphs: Any) -> DatasetStatistics:
    """Compute the statistics of every graph of a dataset."""
    items = list(stream(graphs))
    n = np.array([int(data.num_nodes or 0) for data in items], dtype=float)
    m = np.array([data.edge_index.shape[1] for data in items], dtype=float)
    gamma = _all(items, ("o",), Setup.of("diffusion", "euclidean", "L11", (1, 10), None), seeds=(0,))["o"]
    with np.errstate(divide="ignore", invalid="ignore"):
        degree = np.where(n > 0, m / n, np.nan)
        density = np.where(n > 1, m / (n * (n - 1)), np.nan)
    columns = dict(zip(COLUMNS, (n, m, degree, density, gamma[:, 0], gamma[:, 1]), strict=True))
    return DatasetStatistics(len(items), columns)


def by_split(values: Array, split: Mapping[str, Sequence[int]]) -> pd.DataFrame:
    """Summarise per-graph values (complementarity, diversity) by train, validation and test part."""
    rows = {}
    for part, index in split.items():
        chosen = np.asarray(values)[np.asarray(index, dtype=np.int64)]
        low, high = np.percentile(chosen, [2.5, 97.5]) if len(chosen) else (np.nan, np.nan)
        rows[part] = {
            "graphs": len(chosen),
            "mean": float(np.mean(chosen)) if len(chosen) else np.nan,
            "std": float(np.std(chosen, ddof=1)) if len(chosen) > 1 else np.nan,
            "low": float(low),
            "high": float(high),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def ego_graphs(data: Data, *, hops: int = 2, samples: int = 200, max_nodes: int = 500, seed: int = 0) -> list[Data]:
    """Sample ego-graphs of a large graph, so that complementarity can be measured locally.

    The paper leaves node- and edge-level tasks to future work; this is our extension: gamma of the
    subgraph induced by the nodes within ``hops`` of a random centre.

    Parameters
    ----------
    data
        One graph.
    hops
        Radius.
    samples
        Number of centres, drawn without repetition; all nodes when there are fewer.
    max_nodes
        Balls are cut to this many nodes: whole inner shells, then a random part of the next.
    seed
        Seed of centres and cuts.
    """
    check_graph(data)
    if hops < 1 or samples < 1 or max_nodes < 2:
        raise UsageError(f"hops and samples must be at least 1, max_nodes 2; got {hops}, {samples}, {max_nodes}.")
    arrays = as_arrays(data, 0)
    n, edges = arrays.n, np.asarray(arrays.edges, dtype=np.int64)
    matrix = adjacency(edges[0], edges[1], n)
    rng = generator("ego", seed)
    centres = np.sort(rng.permutation(n)[:samples])
    out = []
    for centre in centres:
        nodes = _ball(matrix, int(centre), hops=hops, limit=max_nodes, rng=rng)
        block = matrix[nodes][:, nodes].tocoo()
        edge_index = torch.from_numpy(np.stack([block.coords[0], block.coords[1]]).astype(np.int64))
        x = data.x[torch.from_numpy(nodes)] if data.x is not None else None
        out.append(Data(x=x, edge_index=edge_index, num_nodes=len(nodes), centre=int(centre)))
    return out


def _ball(matrix: Any, centre: int, *, hops: int, limit: int, rng: np.random.Generator) -> Any:
    inside = np.array([centre], dtype=np.int64)
    shell = inside
    for _ in range(hops):
        reached = np.concatenate([matrix.indices[matrix.indptr[v] : matrix.indptr[v + 1]] for v in shell])
        shell = np.setdiff1d(reached.astype(np.int64), inside)
        room = limit - len(inside)
        if len(shell) > room:
            shell = np.sort(rng.permutation(shell)[:room])
        inside = np.union1d(inside, shell)
        if not len(shell) or len(inside) >= limit:
            break
    return inside
