"""Graphs whose labels are coins: whoever scores above chance on them has seen the answers."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

NODES, GRAPHS = 300, 120


def _edges(nodes: int, arcs: int, source: torch.Generator) -> torch.Tensor:
    half = torch.randint(nodes, (2, arcs), generator=source)
    half = half[:, half[0] != half[1]]
    return torch.cat([half, half.flip(0)], dim=1)


def one_graph(*, labels: str = "class") -> Data:
    """One graph with masks; ``labels`` is class, float (several labels) or whole (several labels, integers)."""
    source = torch.Generator().manual_seed(0)
    y = torch.randint(2, (NODES,) if labels == "class" else (NODES, 3), generator=source)
    data = Data(x=torch.randn(NODES, 4, generator=source), edge_index=_edges(NODES, 600, source))
    data.y = y.float() if labels == "float" else y
    part = torch.arange(NODES) % 3
    data.train_mask, data.val_mask, data.test_mask = part == 0, part == 1, part == 2
    return data


def many_graphs(kind: str) -> list[Data]:
    """Small graphs: ``kind`` is class, labels, real, nodes, edges or both (node and graph targets)."""
    source = torch.Generator().manual_seed(1)
    graphs = []
    for _ in range(GRAPHS):
        data = Data(x=torch.randn(8, 4, generator=source), edge_index=_edges(8, 10, source))
        if kind == "class":
            data.y = torch.randint(2, (1,), generator=source)
        elif kind == "labels":
            data.y = torch.randint(2, (1, 3), generator=source).float()
        elif kind == "real":
            data.y = torch.randn(1, 1, generator=source)
        elif kind == "nodes":
            data.y = torch.randint(2, (8,), generator=source)
        elif kind == "edges":
            data.edge_label = torch.randint(2, (data.num_edges,), generator=source)
        else:
            data.y_node = torch.randn(8, 1, generator=source)
            data.y_graph = torch.randn(1, 1, generator=source)
        graphs.append(data)
    return graphs


def triples() -> Data:
    """A knowledge graph whose true triples are drawn at random."""
    rng, data = np.random.default_rng(2), Data(num_nodes=80)
    head, relation, tail = np.unique(rng.integers(0, [80, 3, 80], (900, 3)), axis=0).T
    order = rng.permutation(head.size)
    for name, rows in zip(("train", "valid", "test"), np.split(order, [500, 650]), strict=True):
        data[f"{name}_edge_index"] = torch.from_numpy(np.stack([head[rows], tail[rows]]))
        data[f"{name}_edge_type"] = torch.from_numpy(relation[rows])
    data.edge_index = data.train_edge_index
    return data
