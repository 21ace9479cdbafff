"""Maximum flow and bipartite matching, solved exactly."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import both_ways, graph
from graphnetz.records import GraphList


def maxflow(
    seed: int, *, num_graphs: int = 128, num_nodes: int = 30, p: float = 0.2, max_capacity: int = 10
) -> GraphList:
    """Return directed Erdos-Renyi networks with a maximum flow from node 0 to the last node.

    Capacities are whole numbers 1 to ``max_capacity``. ``x`` marks source and sink, ``edge_attr`` the
    capacity as a share of the largest, ``edge_label`` the edges that carry flow in one maximum flow
    (scipy, exact); ``solution`` holds the flow per edge and its value. Instances without a path from
    source to sink are drawn again.
    """
    rng = generator("maxflow", seed)
    return GraphList(_flow_instance(rng, num_nodes, p, max_capacity) for _ in range(num_graphs))


def _flow_instance(rng: np.random.Generator, num_nodes: int, p: float, max_capacity: int) -> Data:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    while True:
        capacity = rng.integers(1, max_capacity + 1, (num_nodes, num_nodes)) * (rng.random((num_nodes, num_nodes)) < p)
        np.fill_diagonal(capacity, 0)
        result = maximum_flow(csr_array(capacity.astype(np.int32)), 0, num_nodes - 1)
        if result.flow_value > 0:
            break
    edges = np.argwhere(capacity > 0).T
    flow = np.maximum(result.flow.toarray()[edges[0], edges[1]], 0)
    ends = np.zeros((num_nodes, 2))
    ends[0, 0] = ends[-1, 1] = 1.0
    return graph(
        edges,
        num_nodes,
        x=ends,
        edge_attr=capacity[edges[0], edges[1]][:, None] / max_capacity,
        edge_label=(flow > 0).astype(np.int64),
        solution={"flow": flow, "value": int(result.flow_value), "capacity": capacity[edges[0], edges[1]]},
    )


def bipartite_matching(seed: int, *, num_graphs: int = 128, side: int = 20, p: float = 0.4) -> GraphList:
    """Return weighted bipartite graphs with a matching of largest total weight.

    Both sides have ``side`` nodes, edges appear with probability ``p`` and weigh U(0, 1). ``x`` is the
    side's one-hot code, ``edge_attr`` the weight, ``edge_label`` 1 on the matching that
    ``linear_sum_assignment`` (scipy, exact) finds; ``solution`` holds its total weight.
    """
    rng = generator("matching", seed)
    return GraphList(_matching_instance(rng, side, p) for _ in range(num_graphs))


def _matching_instance(rng: np.random.Generator, side: int, p: float) -> Data:
    from scipy.optimize import linear_sum_assignment

    present = rng.random((side, side)) < p
    if not present.any():
        present[0, 0] = True
    weight = np.where(present, rng.uniform(0.0, 1.0, (side, side)), 0.0)
    rows, cols = linear_sum_assignment(weight, maximize=True)
    chosen = np.zeros((side, side), dtype=np.int64)
    chosen[rows, cols] = 1  # absent pairs weigh nothing, so dropping them leaves the total unchanged
    pairs = np.argwhere(present)
    labels, weights = chosen[pairs[:, 0], pairs[:, 1]], weight[pairs[:, 0], pairs[:, 1]]
    return graph(
        both_ways(pairs + np.array([0, side])),
        2 * side,
        x=np.repeat(np.eye(2), side, axis=0),
        edge_attr=np.tile(weights, 2)[:, None],
        edge_label=np.tile(labels, 2),
        solution={"weight": float(weights[labels == 1].sum())},
    )
