"""Each differentiable function by finite differences, and against plain operations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from kernel_graphs import edges, features, graphs, random_edges
from torch.autograd import gradcheck, gradgradcheck

from graphnetz import kernels as gk
from graphnetz._core.errors import DataError, UsageError
from graphnetz.kernels import plain, runtime
from graphnetz.kernels.structure import TensorCache


def cases():
    """Function and float64 inputs; channels and heads are more than one."""
    s = gk.Structure.from_edges(edges([(0, 1), (0, 1), (2, 2), (3, 0), (1, 0), (2, 0), (3, 0), (0, 0), (3, 1)]), 5)
    x, nodes = features(5, 3, 0), features(5, 6, 1).view(5, 2, 3)
    mask = (features(9, 2, 2) > -0.5).double() * 1.5
    att = [features(2, 3, k) for k in (3, 4)]
    weight, bias, rows = features(9, 1, 5).view(-1), features(1, 3, 6).view(-1), features(5, 3, 7)
    return {
        "spmm": (lambda w, v: gk.spmm(s, w, v), (weight, x)),
        "spmm bias": (lambda w, v, b: gk.spmm(s, w, v, base=b), (weight, x, bias)),
        "spmm rows": (lambda v, b: gk.spmm(s, None, v, base=b), (x, rows)),
        "mean": (lambda v: gk.mean_aggregate(s, v), (x,)),
        "gcn": (lambda v: gk.gcn_aggregate(s, v), (x,)),
        "max": (lambda v: gk.max_aggregate(s, v), (x,)),
        "pairs": (lambda v: gk.pair_scores(v, edges([(0, 1), (2, 2), (0, 1), (4, 0)])), (x,)),
        "gat": (lambda v, a, b, c: gk.gat_attention(s, v, a, b, mask=mask, base=c), (nodes, *att, bias.repeat(2))),
        "dot": (
            lambda q, k, v, b: gk.dot_attention(s, q, k, v, mask=mask, base=b),
            (nodes, nodes.flip(0), nodes * 0.7, features(5, 6, 8)),
        ),
    }


@pytest.mark.parametrize("name", cases())
def test_gradients_by_finite_differences(name):
    function, inputs = cases()[name]
    inputs = tuple(t.clone().requires_grad_() for t in inputs)
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


@given(graph=graphs)
@settings(max_examples=40, deadline=None)
def test_functions_equal_plain_operations(graph):
    n, arcs, seed = graph
    s = gk.Structure.from_edges(edges(arcs), n)
    x, w = features(n, 3, seed), features(len(arcs), 1, seed).view(-1)
    same = torch.testing.assert_close
    same(gk.spmm(s, w, x), plain.spmm(s, w, x))
    same(gk.sum_aggregate(s, x), plain.spmm(s, torch.ones_like(w), x))
    same(gk.max_aggregate(s, x), plain.max_aggregate(s, x))
    dense = torch.zeros(n, n, dtype=torch.float64)
    for source, target in arcs:
        dense[target, source] += 1.0
    same(gk.sum_aggregate(s, x), dense @ x)
    same(gk.mean_aggregate(s, x), dense @ x / dense.sum(1, keepdim=True).clamp(min=1.0))


@given(graph=graphs)
@settings(max_examples=40, deadline=None)
def test_structure_holds_the_arcs_and_its_transpose(graph):
    n, arcs, _ = graph
    s = gk.Structure.from_edges(edges(arcs), n)
    assert s.edge_index.t().tolist() == [list(arc) for arc in arcs]
    indptr, indices, position = s.transpose
    sources = np.repeat(np.arange(n), np.diff(indptr))
    assert sorted(zip(sources.tolist(), indices.tolist(), strict=True)) == sorted(arcs)
    assert s.indices[position].tolist() == sources.tolist()
    loops = s.with_self_loops.edge_index.t().tolist()
    assert loops == [list(arc) for arc in arcs if arc[0] != arc[1]] + [[i, i] for i in range(n)]


def test_ties_of_the_largest_share_the_gradient_as_in_torch():
    s = gk.Structure.from_edges(edges([(0, 2), (1, 2), (1, 2)]), 3)
    x = torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
    gk.max_aggregate(s, x).sum().backward()
    assert x.grad.view(-1).tolist() == pytest.approx([1 / 3, 2 / 3, 0.0])


def test_nan_and_infinity_pass_through():
    s = gk.Structure.from_edges(edges([(0, 1), (2, 1), (1, 0)]), 3)
    x = torch.tensor([[float("nan")], [float("inf")], [1.0]])
    out = gk.sum_aggregate(s, x)
    assert torch.isnan(out[1]).all()
    assert torch.isinf(out[0]).all()
    assert torch.isnan(gk.max_aggregate(s, x)[1]).all()
    assert torch.isnan(gk.gat_attention(s, x[:, None], torch.ones(1, 1), torch.ones(1, 1))[1]).all()
    assert torch.isnan(gk.dropout(x, 0.5)[0]).all()


def test_large_scores_do_not_overflow_the_softmax():
    s = gk.Structure.from_edges(edges([(0, 0), (1, 0)]), 2)
    x = torch.tensor([[[200.0]], [[100.0]]])
    assert gk.dot_attention(s, x, x, x)[0].item() == pytest.approx(200.0)


def test_int64_indices_give_the_same():
    small = gk.Structure.from_edges(random_edges(12, 40), 12)
    large = gk.Structure(small.indptr.astype(np.int64), small.indices.astype(np.int64), small.order, 12)
    x = features(12, 4, 0).requires_grad_()
    outs = [gk.gcn_aggregate(s, x) for s in (small, large)]
    torch.testing.assert_close(*outs)
    torch.testing.assert_close(*[torch.autograd.grad(out.pow(2).sum(), x)[0] for out in outs])


@pytest.mark.parametrize("bad", [edges([(0, 5)]), edges([(-1, 0)]), torch.zeros(3, 2, dtype=torch.int64)])
def test_wrong_edges_are_refused(bad):
    with pytest.raises(DataError):
        gk.Structure.from_edges(bad, 5)


def test_unknown_weights_and_bipartite_gcn_are_refused():
    s = gk.Structure.from_edges(edges([(0, 1), (2, 1)]), (3, 2))
    with pytest.raises(UsageError, match="sum, mean, gcn"):
        s.weights("median", torch.float64)
    with pytest.raises(UsageError, match="as many sources"):
        s.weights("gcn", torch.float64)
    with pytest.raises(UsageError, match="missing"):
        s.restrict(np.array([1]), np.array([1]))


def test_structure_is_kept_while_the_edge_index_lives_unchanged():
    edge_index = random_edges(6, 12)
    first = gk.structure_of(edge_index, 6)
    assert gk.structure_of(edge_index, 6) is first
    assert gk.structure_of(edge_index, 7) is not first
    edge_index[0, 0] = 5 - edge_index[0, 0]
    second = gk.structure_of(edge_index, 6)
    assert second is not first
    assert torch.equal(second.edge_index, edge_index)


def test_cache_forgets_dead_and_ignores_inference_tensors():
    cache, tensor = TensorCache(), torch.ones(2)
    cache.slot(tensor)["a"] = 1
    assert cache.slot(tensor) == {"a": 1}
    del tensor
    assert len(cache) == 0
    with torch.inference_mode():
        frozen = torch.ones(2)
    cache.slot(frozen)["a"] = 1
    assert cache.slot(frozen) == {}


def test_loading_leaves_the_random_stream_alone():
    torch.manual_seed(0)
    want = torch.rand(3)
    torch.manual_seed(0)
    gk.load(torch.float64)
    assert torch.equal(torch.rand(3), want)
    assert runtime.ops().aggregate.signatures
