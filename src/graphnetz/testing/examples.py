"""One tiny dataset for each task type, on which the contract suites train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data


def two_cliques(n: int = 24, seed: int = 0, *, masks: int = 1, features: int = 6) -> Data:
    """Two communities; labels follow them, features barely do."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    p = np.where(y[:, None] == y[None], 0.5, 0.05)
    upper = np.triu(rng.random((n, n)) < p, 1)
    a, b = np.nonzero(upper | upper.T)
    x = rng.normal(size=(n, features)) + 0.3 * y[:, None]
    data = Data(x=torch.tensor(x, dtype=torch.float), edge_index=torch.tensor(np.stack([a, b])), y=torch.tensor(y))
    for name, part in (("train", 0), ("val", 1), ("test", 2)):
        orders = [np.random.default_rng(100 + column).permutation(n) for column in range(masks)]
        mask = torch.tensor(np.stack([np.isin(np.arange(n), order[part::3]) for order in orders], 1))
        data[f"{name}_mask"] = mask if masks > 1 else mask[:, 0]
    return data


def rings_and_stars(count: int = 30, seed: int = 0, *, regression: bool = False) -> list[Data]:
    """Graphs that are a ring or a star; the target is which, or the number of nodes."""
    rng = np.random.default_rng(seed)
    graphs = []
    for i in range(count):
        n = int(rng.integers(4, 9))
        edges = [(k, (k + 1) % n) for k in range(n)] if i % 2 else [(0, k) for k in range(1, n)]
        e = torch.tensor(edges + [(b, a) for a, b in edges]).T
        y = torch.tensor([float(n)]) if regression else torch.tensor([i % 2])
        graphs.append(Data(x=torch.tensor(rng.normal(size=(n, 3)), dtype=torch.float), edge_index=e, y=y))
    return graphs


def labelled_edges(count: int = 12, seed: int = 0) -> list[Data]:
    """Edges labelled by whether both ends' first features agree in sign."""
    graphs = rings_and_stars(count, seed)
    for g in graphs:
        s = g.x[:, 0] > 0
        g.edge_label = (s[g.edge_index[0]] == s[g.edge_index[1]]).long()
        del g.y
    return graphs


def multi_targets(count: int = 12, seed: int = 0) -> list[Data]:
    """Targets of every node and of the graph at once."""
    graphs = rings_and_stars(count, seed)
    for g in graphs:
        degree = torch.bincount(g.edge_index[0], minlength=int(g.num_nodes or 0)).float()
        g.y_node = torch.stack([degree, degree**2], 1)
        g.y_graph = torch.tensor([[float(g.num_nodes or 0)]])
        del g.y
    return graphs


def knowledge(entities: int = 30, relations: int = 3, *, seed: int = 0) -> Data:
    """Triples of typed relations with a given split."""
    rng = np.random.default_rng(seed)
    head = rng.integers(0, entities, 200)
    kind = rng.integers(0, relations, 200)
    tail = (head + 1 + kind) % entities
    triples = np.unique(np.stack([head, kind, tail]), axis=1)
    triples = triples[:, rng.permutation(triples.shape[1])]
    data = Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=entities)
    cut = (int(triples.shape[1] * 0.7), int(triples.shape[1] * 0.85))
    for name, part in zip(("train", "valid", "test"), np.split(triples, cut, axis=1), strict=True):
        data[f"{name}_edge_index"] = torch.tensor(part[[0, 2]])
        data[f"{name}_edge_type"] = torch.tensor(part[1])
    data.num_relations = relations
    return data


EXAMPLES: dict[str, Callable[[], Any]] = {
    "node_cls": two_cliques,
    "graph_cls": rings_and_stars,
    "graph_reg": lambda: rings_and_stars(regression=True),
    "link_pred": two_cliques,
    "edge_cls": labelled_edges,
    "multi_reg": multi_targets,
}
"""A dataset for each task type of ours, made anew at each call."""
