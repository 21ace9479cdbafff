"""Graphs, modules and training loops that `bench_rivals.py` compares; nothing here knows this project's kernels."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    EdgeConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    PNAConv,
    ResGatedGraphConv,
    SAGEConv,
    TransformerConv,
    global_mean_pool,
)

HIDDEN, BATCH = 64, 32

SINGLE = {
    "cora": {"nodes": 2708, "arcs": 10_556, "width": 1433, "density": 0.0127, "classes": 7, "train": 140},
    "arxiv": {"nodes": 169_343, "arcs": 2_315_598, "width": 128, "density": 1.0, "classes": 40, "train": 90_941},
    "products/20": {"nodes": 122_451, "arcs": 6_185_914, "width": 100, "density": 1.0, "classes": 47, "train": 9831},
}
"""Sizes of single graphs; products is a twentieth of ogbn-products, of the same mean degree."""

MANY = {
    "enzymes": {"graphs": 600, "nodes": 32.6, "arcs": 124.3, "width": 3, "classes": 6},
    "nci1": {"graphs": 4110, "nodes": 29.9, "arcs": 64.6, "width": 37, "classes": 2},
}
"""Sizes of sets of small graphs: their number, mean nodes and arcs, kinds of nodes."""


def single_graph(name: str) -> Data:
    """A random graph of that size with skewed degrees, undirected."""
    size, rng = SINGLE[name], np.random.default_rng(0)
    nodes, half = int(size["nodes"]), int(size["arcs"]) // 2
    popular = (nodes * rng.random(half) ** 2).astype(np.int64)
    ends = np.stack([popular, rng.integers(0, nodes, half)])
    if size["density"] < 1.0:
        x = (rng.random((nodes, int(size["width"]))) < size["density"]).astype(np.float32)
    else:
        x = rng.normal(size=(nodes, int(size["width"]))).astype(np.float32)
    mask = np.zeros((3, nodes), dtype=bool)
    order, first = rng.permutation(nodes), int(size["train"])
    cut = first + min(nodes - first, 1500) // 3
    for row, part in zip(mask, (order[:first], order[first:cut], order[cut : cut + 1000]), strict=True):
        row[part] = True
    train, val, test = torch.from_numpy(mask)
    return Data(
        x=torch.from_numpy(x), edge_index=torch.from_numpy(np.concatenate([ends, ends[::-1]], axis=1)),
        y=torch.from_numpy(rng.integers(0, int(size["classes"]), nodes)),
        train_mask=train, val_mask=val, test_mask=test,
    )  # fmt: skip


def small_graphs(name: str, share: float = 1.0) -> list[Data]:
    """Random connected graphs of those sizes, their nodes of a few kinds."""
    size, rng = MANY[name], np.random.default_rng(0)
    graphs = []
    for _ in range(int(size["graphs"] * share)):
        nodes = int(rng.integers(size["nodes"] // 2, 3 * size["nodes"] // 2 + 1))
        extra = max(0, round(nodes * (size["arcs"] / size["nodes"] / 2 - 1)))
        tree = np.stack([(np.arange(1, nodes) * rng.random(nodes - 1)).astype(np.int64), np.arange(1, nodes)])
        half = np.concatenate([tree, rng.integers(0, nodes, (2, extra))], axis=1)
        kinds = torch.from_numpy(rng.integers(0, size["width"], nodes))
        graphs.append(
            Data(
                x=F.one_hot(kinds, int(size["width"])).float(),
                edge_index=torch.from_numpy(np.concatenate([half, half[::-1]], axis=1)),
                y=torch.from_numpy(rng.integers(0, int(size["classes"]), 1)),
            )
        )
    return graphs


def _perceptron(wide: int, out: int) -> nn.Module:
    return nn.Sequential(nn.Linear(wide, out), nn.BatchNorm1d(out), nn.ReLU(), nn.Linear(out, out))


def _pna(wide: int, out: int) -> nn.Module:
    degrees = torch.tensor([0, 10, 20, 20, 10, 5, 2, 1])
    kinds = ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"]
    return PNAConv(wide, out, *kinds, degrees)


HEADS = 8
LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "GCN": GCNConv,
    "GraphSAGE": SAGEConv,
    "GIN": lambda wide, out: GINConv(_perceptron(wide, out)),
    "GAT": lambda wide, out: GATConv(wide, out // HEADS or out, heads=HEADS, concat=out % HEADS == 0),
    "GATv2": lambda wide, out: GATv2Conv(wide, out // HEADS or out, heads=HEADS, concat=out % HEADS == 0),
    "Transformer": lambda wide, out: TransformerConv(wide, out // HEADS or out, heads=HEADS, concat=out % HEADS == 0),
    "PNA": _pna,
    "GatedGCN": ResGatedGraphConv,
    "EdgeCNN": lambda wide, out: EdgeConv(_perceptron(2 * wide, out)),
}
"""One layer of each kind; attention shares the width among eight heads and averages them where it cannot."""


class Net(nn.Module):
    """What a tutorial writes: layers with ReLU between them; for graphs a mean over the nodes and a linear map."""

    def __init__(self, kind: str, wide: int, out: int, *, pooled: bool, hidden: int = HIDDEN) -> None:
        super().__init__()
        widths = [wide, hidden, hidden, hidden] if pooled else [wide, hidden, out]
        self.layers_ = nn.ModuleList(LAYERS[kind](a, b) for a, b in itertools.pairwise(widths))
        self.head = nn.Linear(hidden, out) if pooled else None

    def forward(self, data: Any) -> Tensor:
        x = data.x
        for number, layer in enumerate(self.layers_):
            x = layer(x if number == 0 else x.relu(), data.edge_index)
        if self.head is None:
            return x
        return self.head(global_mean_pool(x, data.batch, size=data.num_graphs))


class DGLNet(nn.Module):
    """The same two layers by DGL, which takes a graph object in place of the edge index."""

    def __init__(self, kind: str, wide: int, out: int, *, hidden: int = HIDDEN) -> None:
        super().__init__()
        import dgl.nn.pytorch as dglnn

        def layer(a: int, b: int) -> nn.Module:
            joined = b % HEADS == 0
            share = b // HEADS if joined else b
            made = {
                "GCN": lambda: dglnn.GraphConv(a, b),
                "GraphSAGE": lambda: dglnn.SAGEConv(a, b, "mean"),
                "GIN": lambda: dglnn.GINConv(_perceptron(a, b), "sum"),
                "GAT": lambda: dglnn.GATConv(a, share, HEADS),
                "GATv2": lambda: dglnn.GATv2Conv(a, share, HEADS),
            }
            return made[kind]()

        self.first, self.second = layer(wide, hidden), layer(hidden, out)

    def forward(self, data: Any) -> Tensor:
        x = self.first(data.dgl, data.x)
        x = x.flatten(1) if x.dim() == 3 else x
        x = self.second(data.dgl, x.relu())
        return x.mean(1) if x.dim() == 3 else x


def dgl_graph(data: Data, kind: str) -> Data:
    """The graph with a graph object of DGL beside it; with self-loops for the layers that PyG gives them."""
    import dgl

    other = copy.copy(data)
    graph = dgl.graph((data.edge_index[0], data.edge_index[1]), num_nodes=data.num_nodes)
    other.dgl = dgl.add_self_loop(graph) if kind in ("GCN", "GAT", "GATv2") else graph
    return other


def node_epoch(model: nn.Module, data: Data, optimiser: torch.optim.Optimizer) -> None:
    """One step on the training nodes, then the accuracy of the others."""
    model.train()
    optimiser.zero_grad()
    F.cross_entropy(model(data)[data.train_mask], data.y[data.train_mask]).backward()
    optimiser.step()
    model.eval()
    with torch.no_grad():
        best = model(data).argmax(1)
        for mask in (data.val_mask, data.test_mask):
            float((best[mask] == data.y[mask]).float().mean())


def graph_epoch(model: nn.Module, loaders: tuple[DataLoader, DataLoader], optimiser: torch.optim.Optimizer) -> None:
    """One pass over the training batches, then the accuracy of the others."""
    model.train()
    for batch in loaders[0]:
        optimiser.zero_grad()
        F.cross_entropy(model(batch), batch.y).backward()
        optimiser.step()
    model.eval()
    with torch.no_grad():
        for batch in loaders[1]:
            float((model(batch).argmax(1) == batch.y).float().sum())


def loaders_of(graphs: list[Data], splits: dict[str, list[int]]) -> tuple[DataLoader, DataLoader]:
    """A shuffled loader of training batches, and one of the rest."""
    train = [graphs[i] for i in splits["train"]]
    rest = [graphs[i] for part in ("val", "test") for i in splits[part]]
    return DataLoader(train, batch_size=BATCH, shuffle=True), DataLoader(rest, batch_size=BATCH)
