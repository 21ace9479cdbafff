"""Small graphs with every awkward feature, for the kernel tests."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st
from torch_geometric.nn import (
    MLP,
    ChebConv,
    EdgeConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GraphConv,
    PNAConv,
    ResGatedGraphConv,
    SAGEConv,
    SGConv,
    TransformerConv,
)

# Empty edge lists, isolated nodes, self-loops, repeated arcs, one node: all are in the range.
graphs = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=24),
        st.integers(0, 2**31 - 1),
    )
)

NAMED = {
    "one node": (1, []),
    "one node, loop": (1, [(0, 0)]),
    "no arcs": (4, []),
    "loops and repeats": (5, [(0, 1), (0, 1), (1, 1), (1, 1), (2, 0), (3, 0), (4, 0), (1, 0), (0, 0), (2, 0)]),
    "isolated end": (6, [(0, 1), (1, 0), (2, 1)]),
}


def edges(arcs) -> torch.Tensor:
    return torch.tensor(arcs, dtype=torch.int64).reshape(-1, 2).t().contiguous()


def random_edges(n: int, m: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, n, (2, m)))


def features(n: int, width: int, seed: int, dtype=torch.float64) -> torch.Tensor:
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


DEGREES = torch.tensor([1, 4, 3, 2])


def _pair_network(width: int, out: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(2 * width, out), torch.nn.ReLU(), torch.nn.Linear(out, out))


def convs(width: int, out: int = 3, dropout: float = 0.0) -> dict:
    wide = 2 * (width + 1)  # heads wide enough for attention over the features themselves
    mlp = torch.nn.Sequential(torch.nn.Linear(width, out), torch.nn.ReLU(), torch.nn.Linear(out, out))
    return {
        "gcn": GCNConv(width, out),
        "gcn bare": GCNConv(width, out, add_self_loops=False, bias=False),
        "gcn unnormalised": GCNConv(width, out, normalize=False),
        "gat": GATConv(width, out, heads=4, dropout=dropout),
        "gat mean residual": GATConv(width, out, heads=2, concat=False, residual=True, dropout=dropout),
        "gat one head": GATConv(width, out, heads=1, concat=False, add_self_loops=False, bias=False),
        "sage": SAGEConv(width, out),
        "sage max": SAGEConv(width, out, aggr="max"),
        "sage sum": SAGEConv(width, out, aggr="sum", root_weight=False, normalize=True),
        "transformer": TransformerConv(width, out, heads=4, dropout=dropout),
        "transformer mean": TransformerConv(width, out, heads=2, concat=False, dropout=dropout, root_weight=False),
        "gat narrow": GATConv(width, wide, heads=3, dropout=dropout),
        "gat narrow mean": GATConv(width, wide, heads=2, concat=False, residual=True, dropout=dropout),
        "transformer narrow": TransformerConv(width, wide, heads=3, dropout=dropout),
        "transformer narrow mean": TransformerConv(width, wide, heads=2, concat=False, bias=False, dropout=dropout),
        "gin": GINConv(mlp, train_eps=True),
        "gin perceptron": GINConv(MLP([width, 4, out], norm=None, plain_last=False), eps=0.5),
        "gin other": GINConv(torch.nn.Sequential(torch.nn.Linear(width, out), torch.nn.ELU())),
        "gated": ResGatedGraphConv(width, out),
        "gated bare": ResGatedGraphConv(width, out, root_weight=False, bias=False),
        "gcn improved": GCNConv(width, out, improved=True),
        "graph": GraphConv(width, out),
        "graph mean": GraphConv(width, out, aggr="mean", bias=False),
        "graph max": GraphConv(width, out, aggr="max"),
        "sg": SGConv(width, out, K=2),
        "sg bare": SGConv(width, 9, K=3, add_self_loops=False, bias=False),
        "cheb": ChebConv(width, out, K=3),
        "cheb walk": ChebConv(width, out, K=4, normalization="rw", bias=False),
        "cheb one": ChebConv(width, out, K=1),
        "cheb two": ChebConv(width, out, K=2),
        "gatv2": GATv2Conv(width, out, heads=4, dropout=dropout),
        "gatv2 mean": GATv2Conv(width, out, heads=2, concat=False, share_weights=True, residual=True, dropout=dropout),
        "gatv2 bare": GATv2Conv(width, out, add_self_loops=False, bias=False),
        "edge": EdgeConv(_pair_network(width, out)),
        "edge mean": EdgeConv(_pair_network(width, out), aggr="mean"),
        "edge perceptron": EdgeConv(MLP([2 * width, out, out], norm=None)),
        "edge sum": EdgeConv(MLP([2 * width, out, out], norm="layer_norm"), aggr="add"),
        "pna": PNAConv(width, 4, ["mean", "max", "min", "std"], ["identity", "amplification", "attenuation"], DEGREES),
        "pna towers": PNAConv(
            width, 4, ["sum", "var"], ["linear", "inverse_linear"], DEGREES, towers=2, post_layers=2, train_norm=True
        ),
    }


NAMES = tuple(convs(2))


def make(name: str, width: int, *, dropout: float = 0.0, dtype=torch.float64, seed: int = 0):
    torch.manual_seed(seed)
    conv = convs(width, dropout=dropout)[name].to(dtype)
    with torch.no_grad():
        for parameter in conv.parameters():  # zero-initialised biases would hide a lost bias
            parameter.add_(0.1 * torch.randn_like(parameter))
    return conv


def gradients(out: torch.Tensor, inputs) -> list[torch.Tensor]:
    """Gradients of a fixed random projection of ``out``, zero where nothing flows."""
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64).to(out.dtype)
    inputs = list(inputs)
    found = torch.autograd.grad((out * weights).sum(), inputs, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(inputs, found, strict=True)]
