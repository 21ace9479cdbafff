"""Attention layers with edge attributes against the plain PyG layers: outputs and all gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_graphs import NAMED, edges, features, gradients, graphs, random_edges
from torch_geometric.nn import GATConv, NNConv, TransformerConv

from graphnetz import kernels as gk
from graphnetz.kernels import edged

EXACT = {"atol": 1e-9, "rtol": 1e-9}
EDGE_DIM = 2


def convs(width, dropout):
    wide = 2 * (width + 1)
    options = {"edge_dim": EDGE_DIM, "dropout": dropout}
    return {
        "gat": GATConv(width, 3, heads=4, **options),
        "gat mean residual": GATConv(width, 3, heads=2, concat=False, residual=True, **options),
        "gat one head": GATConv(width, 3, heads=1, concat=False, add_self_loops=False, bias=False, **options),
        "gat narrow": GATConv(width, wide, heads=3, **options),
        "gat narrow mean": GATConv(width, wide, heads=2, concat=False, **options),
        "transformer": TransformerConv(width, 3, heads=4, **options),
        "transformer mean": TransformerConv(width, 3, heads=2, concat=False, **options),
        "transformer bare": TransformerConv(width, 3, heads=2, root_weight=False, bias=False, **options),
        "transformer narrow": TransformerConv(width, wide, heads=3, **options),
        "transformer narrow mean": TransformerConv(width, wide, heads=2, concat=False, bias=False, **options),
        "transformer mean bare": TransformerConv(width, 3, heads=2, concat=False, root_weight=False, **options),
    }


NAMES = tuple(convs(2, 0.0))


def make(name, width, *, dropout=0.0, dtype=torch.float64, seed=0):
    torch.manual_seed(seed)
    conv = convs(width, dropout)[name].to(dtype)
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    assert gk.supports(conv, edges=True)
    return conv


def assert_same(conv, x, edge_index, *, tolerance=EXACT):
    attributes = features(edge_index.size(1), EDGE_DIM, 5, x.dtype)
    inputs = [x, *conv.parameters()]
    torch.manual_seed(3)
    want = conv(x, edge_index, edge_attr=attributes)
    torch.manual_seed(3)
    with gk.torch_dropout_stream():
        got = gk.message_passing(conv, x, edge_index, edge_attr=attributes)
    torch.testing.assert_close(got, want, **tolerance)
    for a, b in zip(gradients(got, inputs), gradients(want, inputs), strict=True):
        torch.testing.assert_close(a, b, **tolerance)


@pytest.mark.parametrize("name", NAMES)
@given(graph=graphs, width=st.sampled_from([1, 2, 5]), dropout=st.sampled_from([0.0, 0.5]))
@settings(max_examples=25, deadline=None)
def test_layer_equals_pyg_on_any_graph(name, graph, width, dropout):
    n, arcs, seed = graph
    conv = make(name, width, dropout=dropout, seed=seed)
    assert_same(conv, features(n, width, seed).requires_grad_(), edges(arcs))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("graph", NAMED)
def test_layer_equals_pyg_on_awkward_graphs(name, graph):
    n, arcs = NAMED[graph]
    assert_same(make(name, 3), features(n, 3, 1).requires_grad_(), edges(arcs))


@pytest.mark.parametrize("name", NAMES)
def test_layer_equals_pyg_in_float32(name):
    conv = make(name, 12, dropout=0.3, dtype=torch.float32)
    x = features(60, 12, 2, torch.float32).requires_grad_()
    assert_same(conv, x, random_edges(60, 400), tolerance={"atol": 2e-5, "rtol": 2e-4})


@pytest.mark.parametrize("name", NAMES)
def test_batches_of_blocks_equal_pyg(name):
    """The same arcs in a batch that was cut from graphs collated before."""
    pieces = [random_edges(5, 9, 1), random_edges(4, 0), random_edges(6, 14, 2)]
    node_ptr, edge_ptr = torch.tensor([0, 5, 9, 15]), torch.tensor([0, 9, 9, 23])
    chosen = gk.Blocks(torch.cat(pieces, dim=1), node_ptr, edge_ptr).select(torch.tensor([2, 0, 1, 2]))
    assert_same(make(name, 3, dropout=0.5), features(21, 3, 0).requires_grad_(), chosen.edge_index)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_go_through_plain_operations(name):
    conv, edge_index = make(name, 3), random_edges(6, 15)
    x, attributes = features(6, 3, 0).requires_grad_(), features(15, EDGE_DIM, 1)
    found = []
    for out in (
        conv(x, edge_index, edge_attr=attributes),
        gk.message_passing(conv, x, edge_index, edge_attr=attributes),
    ):
        (first,) = torch.autograd.grad(out.pow(2).sum(), x, create_graph=True)
        found.append(torch.autograd.grad(first.pow(2).sum(), [x, *conv.parameters()], allow_unused=True))
    for want, got in zip(*found, strict=True):
        if want is not None and want.abs().max() > 0:
            torch.testing.assert_close(got, want, **EXACT)


def test_the_kernels_are_used_where_they_may_be(monkeypatch):
    edge_index, x, attributes = random_edges(9, 20), features(9, 4, 0), features(20, EDGE_DIM, 1)
    used = []
    for name in ("gat_scores", "transformer_conv"):
        fast = getattr(edged, name)
        monkeypatch.setattr(edged, name, lambda *arguments, fast=fast: (used.append(1), fast(*arguments))[1])
    for name in ("gat", "transformer"):
        gk.message_passing(make(name, 4), x, edge_index, edge_attr=attributes)
    assert len(used) == 2
    learned = attributes.clone().requires_grad_()
    out = gk.message_passing(make("gat", 4), x, edge_index, edge_attr=learned)
    assert torch.autograd.grad(out.sum(), learned)[0].abs().sum() > 0
    filled = GATConv(4, 3, edge_dim=EDGE_DIM, fill_value=1.0).double()
    gated = TransformerConv(4, 3, edge_dim=EDGE_DIM, beta=True).double()
    other = NNConv(4, 3, torch.nn.Linear(EDGE_DIM, 12)).double()
    for conv in (filled, gated, other):
        assert not gk.supports(conv, edges=True)
        torch.testing.assert_close(
            gk.message_passing(conv, x, edge_index, edge_attr=attributes), conv(x, edge_index, edge_attr=attributes)
        )
    with gk.enabled(False):
        gk.message_passing(make("gat", 4), x, edge_index, edge_attr=attributes)
    assert len(used) == 2


def test_attributes_that_do_not_fit_get_the_layers_own_error():
    edge_index, x, conv = random_edges(9, 20), features(9, 4, 0), make("transformer", 4)
    for wrong in (features(25, EDGE_DIM, 1), features(20, EDGE_DIM, 1, torch.float32)):
        with pytest.raises(RuntimeError):
            conv(x, edge_index, edge_attr=wrong)
        with pytest.raises(RuntimeError):
            gk.message_passing(conv, x, edge_index, edge_attr=wrong)
