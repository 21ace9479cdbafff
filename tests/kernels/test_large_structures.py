"""A large graph in memory holds few bytes per arc, and what is computed on it has the bits of a small one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.nn import GATConv, GCNConv, GraphConv, SAGEConv, SGConv, TransformerConv

import graphnetz.kernels as kernels
from graphnetz.engine.predictions import communities
from graphnetz.kernels import functions, structure
from graphnetz.kernels.receptive import reach, receptive_field
from graphnetz.kernels.structure import LoopedStructure, Structure, structure_of

CONVS = {
    "GCN": GCNConv, "SAGE": SAGEConv, "sum": GraphConv, "GAT": GATConv, "SG": SGConv, "transformer": TransformerConv,
    "max": lambda wide, out: SAGEConv(wide, out, aggr="max"),
}  # fmt: skip


def edges(*, nodes: int = 300, arcs: int = 3000) -> torch.Tensor:
    """Repeated arcs, self-loops and nodes without arcs among them."""
    return torch.from_numpy(np.random.default_rng(0).integers(0, nodes - 5, (2, arcs)))


def results(conv: torch.nn.Module, wide: int) -> list[torch.Tensor]:
    torch.manual_seed(1)
    x = torch.randn(300, wide, requires_grad=True)
    conv.zero_grad()
    with kernels.accelerate(conv):
        out = conv(x, edges())
        (out * torch.randn(out.shape)).sum().backward()
    return [out.detach(), x.grad, *(p.grad for p in conv.parameters() if p.grad is not None)]


@pytest.mark.parametrize("wide", [3, 24])
@pytest.mark.parametrize("name", CONVS)
def test_a_large_structure_gives_the_same_bits(name: str, wide: int, monkeypatch) -> None:
    torch.manual_seed(0)
    conv = CONVS[name](wide, 8)
    usual = results(conv, wide)
    monkeypatch.setattr(structure, "LARGE", 1)
    monkeypatch.setattr(functions, "BLOCK_ARCS", 100)
    for one, other in zip(usual, results(conv, wide), strict=True):
        assert torch.equal(one, other)


def test_the_arcs_of_both_have_the_same_places_and_weights(monkeypatch) -> None:
    usual = Structure.from_edges(edges(), 300)
    monkeypatch.setattr(structure, "LARGE", 1)
    large = Structure.from_edges(edges(), 300)
    assert callable(large.places)
    assert not callable(usual.places)
    for one, other in ((usual, large), (usual._looped(), large.with_self_loops)):
        for name in ("indptr", "indices", "order", "destinations"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        for kind in ("sum", "mean", "gcn"):
            for a, b in zip(one.weights(kind, torch.float32), other.weights(kind, torch.float32), strict=True):
                assert torch.equal(a, b)
    assert isinstance(large.with_self_loops, LoopedStructure)
    for one, other in zip(usual.transpose[:2], large.turned, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_convolution_makes_neither_looped_arcs_nor_weights_of_all(monkeypatch) -> None:
    monkeypatch.setattr(structure, "LARGE", 1)
    index, x = edges(), torch.randn(300, 4, requires_grad=True)
    conv = GCNConv(4, 2)
    with kernels.accelerate(conv):
        conv(x, index).sum().backward()
    made = structure_of(index, 300)
    assert "turned" in vars(made)
    assert not {"order", "destinations", "transpose"} & vars(made).keys()
    assert "_arcs" not in vars(made.with_self_loops)
    assert not made._store


def test_second_derivatives_of_a_large_structure(monkeypatch) -> None:
    monkeypatch.setattr(structure, "LARGE", 1)
    s = Structure.from_edges(edges(nodes=20, arcs=60), 20)
    x = torch.randn(20, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda v: functions.gcn_aggregate(s.with_self_loops, v**2), (x,))


def test_the_reach_is_the_size_of_the_field() -> None:
    index, seeds = edges(arcs=400), torch.arange(0, 40)
    for layers in (1, 2, 3):
        field = receptive_field(index, seeds, num_layers=layers, num_nodes=300)
        assert reach(index, seeds, num_layers=layers, num_nodes=300) == field.nodes.size


def test_neighbourhoods_of_a_large_graph_are_as_near(monkeypatch) -> None:
    """Ties may go to another centre; the number of neighbourhoods and the distances are the same."""
    import networkx as nx

    index = edges(arcs=500)
    usual = communities(index, 300)
    monkeypatch.setattr("graphnetz.engine.predictions.LARGE", 1)
    large = communities(index, 300)
    assert len(set(usual.tolist())) == len(set(large.tolist()))
    graph = nx.Graph(index.T.tolist())
    graph.add_nodes_from(range(300))
    from graphnetz.engine.predictions import _centres

    centres = _centres(300).tolist()
    near = nx.multi_source_dijkstra_path_length(graph, set(centres))
    for node, distance in near.items():
        assert nx.shortest_path_length(graph, node, centres[large[node]]) == distance
