"""The fast layers against the plain PyG layers they stand for: outputs and all gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_graphs import NAMED, NAMES, edges, features, gradients, graphs, make, random_edges
from torch_geometric.nn import GATConv, GCNConv

from graphnetz import kernels as gk
from graphnetz._core.errors import UsageError

EXACT = {"atol": 1e-9, "rtol": 1e-9}


def assert_same(conv, x, edge_index, *, tolerance=EXACT, fast_x=None, constant=False):
    inputs = [t for t in (x, *conv.parameters()) if t.requires_grad]
    torch.manual_seed(3)
    want = conv(x, edge_index)
    torch.manual_seed(3)
    with gk.torch_dropout_stream():
        got = gk.message_passing(conv, x if fast_x is None else fast_x, edge_index, constant=constant)
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
@pytest.mark.parametrize("layout", ["from_dense", "from_csr"])
@pytest.mark.parametrize("column_major", [False, True])
def test_sparse_features_give_the_same(name, layout, column_major):
    dense = features(30, 40, 0) * (features(30, 40, 1) > 1.4)
    sparse = getattr(gk.SparseFeatures, layout)(dense if layout == "from_dense" else dense.to_sparse_csr())
    assert sparse.density < 0.15
    torch.testing.assert_close(sparse.to_dense(), dense, **EXACT)
    conv = make(name, 40)
    if column_major:
        assert all(gk.column_major_(weight) for weight in conv.parameters() if weight.dim() == 2)
    assert_same(conv, dense, random_edges(30, 90), fast_x=sparse)


@pytest.mark.parametrize("name", NAMES)
def test_constant_features_are_propagated_once_and_give_the_same(name):
    x, edge_index = features(20, 6, 0), random_edges(20, 70)
    for _ in range(2):
        assert_same(make(name, 6), x, edge_index, constant=True)


def test_propagation_is_kept_until_the_features_change():
    x, s = features(8, 3, 0), gk.Structure.from_edges(random_edges(8, 20), 8)
    first = gk.propagated_features(s, x, kind="mean")
    assert gk.propagated_features(s, x, kind="mean") is first
    x.mul_(2.0)
    torch.testing.assert_close(gk.propagated_features(s, x, kind="mean"), 2.0 * first, **EXACT)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_go_through_plain_operations(name):
    conv, edge_index = make(name, 3), random_edges(6, 15)
    x = features(6, 3, 0).requires_grad_()
    found = []
    for out in (conv(x, edge_index), gk.message_passing(conv, x, edge_index)):
        (first,) = torch.autograd.grad(out.pow(2).sum(), x, create_graph=True)
        found.append(torch.autograd.grad(first.pow(2).sum(), [x, *conv.parameters()], allow_unused=True))
    for want, got in zip(*found, strict=True):
        if want is not None and want.abs().max() > 0:
            torch.testing.assert_close(got, want, **EXACT)


@pytest.mark.parametrize("name", ["gcn", "gat", "gat mean residual", "sage", "sage max", "transformer", "gin"])
@pytest.mark.parametrize("sparse", [False, True])
def test_receptive_field_gives_the_rows_of_the_full_pass(name, sparse):
    x, edge_index = features(50, 6, 0), random_edges(50, 90)
    conv1, conv2 = make(name, 6), make(name, 12 if name in ("gat", "transformer") else 3, seed=1)
    seeds = torch.tensor([7, 3, 41])
    field = gk.receptive_field(edge_index, seeds, num_layers=2, num_nodes=50)
    rows = field.rows(gk.SparseFeatures.from_dense(x) if sparse else x)
    hidden = gk.message_passing(conv1, rows, field.structures[0]).relu()
    got = gk.message_passing(conv2, hidden, field.structures[1])
    want = conv2(conv1(x, edge_index).relu(), edge_index)[seeds]
    torch.testing.assert_close(got, want, **EXACT)
    inputs = [*conv1.parameters(), *conv2.parameters()]
    for a, b in zip(gradients(got, inputs), gradients(want, inputs), strict=True):
        torch.testing.assert_close(a, b, **EXACT)
    assert field.nodes.size < 50


def test_receptive_field_takes_masks_and_refuses_repetitions():
    edge_index = edges([(1, 0), (2, 1), (3, 2)])
    mask = torch.tensor([True, False, False, False])
    field = gk.receptive_field(edge_index, mask, num_layers=2, num_nodes=4)
    assert field.nodes.tolist() == [0, 1, 2]
    with pytest.raises(UsageError, match="distinct"):
        gk.receptive_field(edge_index, torch.tensor([0, 0]), num_layers=1, num_nodes=4)


def test_unsupported_settings_run_the_layer_itself():
    edge_index, x = random_edges(9, 20), features(9, 4, 0)
    hooked, kept = make("gcn", 4), GCNConv(4, 3, cached=True).double()
    calls = []
    hooked.register_forward_hook(lambda *_: calls.append(1))
    lazy = GCNConv(-1, 3).double()
    edged = GATConv(4, 3, edge_dim=2).double()
    assert not any(gk.supports(conv) for conv in (hooked, kept, lazy, edged, torch.nn.Linear(2, 2)))
    torch.testing.assert_close(gk.message_passing(hooked, x, edge_index), hooked(x, edge_index), **EXACT)
    assert len(calls) == 2
    torch.testing.assert_close(gk.message_passing(lazy, x, edge_index), lazy(x, edge_index), **EXACT)
    assert gk.supports(lazy)


def test_restricted_structure_without_kernels_is_an_error():
    field = gk.receptive_field(random_edges(9, 20), torch.tensor([1]), num_layers=1, num_nodes=9)
    conv, x = make("gcn", 4), features(9, 4, 0)
    assert gk.can_restrict([conv], x)
    with gk.enabled(False):
        assert not gk.can_restrict([conv], x)
        with pytest.raises(UsageError, match="can_restrict"):
            gk.message_passing(conv, field.rows(x), field.structures[0])
    with pytest.raises(UsageError, match="rows"):
        gk.message_passing(conv, x[:2], gk.Structure.from_edges(random_edges(9, 20), 9))
