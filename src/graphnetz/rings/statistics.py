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
    """Size, density and complementarity of the graphs of a dataset.

    Attributes
    ----------
    graphs
        Number of graphs.
    columns
        One value per graph: ``nodes``, ``edges`` (columns of ``edge_index``: both directions of an
        undirected edge), ``degree`` (edges / nodes), ``density`` (edges / (nodes (nodes - 1))),
        ``gamma_1`` and ``gamma_10`` (complementarity at t = 1 and 10).

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import dataset_statistics
    >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> dataset_statistics([path]).mean["nodes"]
    3.0
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
        """Return mean and sample standard deviation of each column.

        Returns
        -------
        DataFrame
            One row per column, with mean and std.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.rings import DatasetStatistics
        >>> DatasetStatistics(2, {"nodes": np.array([3.0, 5.0])}).to_frame().round(2).to_dict("index")
        {'nodes': {'mean': 4.0, 'std': 1.41}}
        """
        return pd.DataFrame({"mean": self.mean, "std": self.std})


def _nan_safe(function: Any, values: Array) -> float:
    return float(function(values)) if np.isfinite(values).any() else float("nan")


def dataset_statistics(graphs: Any) -> DatasetStatistics:
    """Compute the statistics of every graph of a dataset.

    Parameters
    ----------
    graphs
        A list, a dataset or a generator of graphs with features.

    Returns
    -------
    DatasetStatistics
        One value per graph and column.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import dataset_statistics
    >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> round(dataset_statistics([path]).mean["density"], 3)
    0.667
    """
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
    """Summarise per-graph values by train, validation and test part.

    Parameters
    ----------
    values
        One value per graph, such as its complementarity or diversity.
    split
        Part -> positions of its graphs.

    Returns
    -------
    DataFrame
        One row per part: graphs, mean, std, and the 2.5 % and 97.5 % percentiles low and high.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.rings import by_split
    >>> by_split(np.array([0.1, 0.3, 0.5]), {"train": [0, 1], "test": [2]})["mean"].round(2).to_dict()
    {'train': 0.2, 'test': 0.5}
    """
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

    Returns
    -------
    list of Data
        One graph per centre, with the centre's node number in ``centre``.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import ego_graphs
    >>> ring = Data(num_nodes=9, edge_index=torch.stack([torch.arange(9), (torch.arange(9) + 1) % 9]))
    >>> [ego.num_nodes for ego in ego_graphs(ring, hops=2, samples=3)]
    [5, 5, 5]
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
    # Shell by shell, so that a ball too large loses its outermost nodes first.
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
