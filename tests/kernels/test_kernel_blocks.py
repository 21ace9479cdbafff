"""Batches as selections of blocks, pooling, and the shared evaluation pass."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

import graphnetz.kernels as gk
from graphnetz._core.rng import training_context
from graphnetz.kernels.structure import Structure, structure_of
from graphnetz.models import MODELS
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES, evaluate, fit, packing
from graphnetz.tasktypes.graph_level import evaluation_batches
from graphnetz.tasktypes.packing import pack

one_graph = st.integers(1, 5).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=9))
)
many = st.lists(one_graph, min_size=2, max_size=6).flatmap(
    lambda graphs: st.tuples(st.just(graphs), st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=7))
)


def packed(graphs):
    datas = []
    for number, (n, arcs) in enumerate(graphs):
        edges = torch.tensor(arcs, dtype=torch.int64).reshape(-1, 2).t().contiguous()
        attribute = torch.arange(edges.size(1), dtype=torch.float).unsqueeze(1) + 100 * number
        x = torch.arange(2 * n, dtype=torch.float).reshape(n, 2) + 10 * number
        datas.append(Data(x=x, edge_index=edges, edge_attr=attribute, y=torch.tensor([number])))
    return pack(datas)


@settings(deadline=None, max_examples=60)
@given(many)
def test_selection_equals_the_plain_one(drawn):
    graphs, chosen = drawn
    whole, index = packed(graphs), torch.tensor(chosen)
    fast = whole.select(index)
    with gk.enabled(False):
        plain = whole.select(index)
    assert sorted(fast.keys()) == sorted(plain.keys())
    for key in plain.keys():  # noqa: SIM118  # a method of Data: iterating it gives pairs
        assert torch.equal(torch.as_tensor(fast[key]), torch.as_tensor(plain[key])), key


@settings(deadline=None, max_examples=60)
@given(many)
def test_structure_of_a_batch_is_that_of_its_edges(drawn):
    graphs, chosen = drawn
    batch = packed(graphs).select(torch.tensor(chosen))
    found = structure_of(batch.edge_index, batch.num_nodes)
    fresh = Structure.from_edges(batch.edge_index, batch.num_nodes)
    assert type(found) is not Structure
    for a, b in ((found, fresh), (found.with_self_loops, fresh.with_self_loops)):
        np.testing.assert_array_equal(a.indptr, b.indptr)
        np.testing.assert_array_equal(a.indices, b.indices)
        np.testing.assert_array_equal(a.order, b.order)
        assert torch.equal(a.edge_index, b.edge_index)
        for left, right in zip(a.transpose, b.transpose, strict=True):
            np.testing.assert_array_equal(left, right)
        for kind in ("sum", "mean", "gcn"):
            for left, right in zip(a.weights(kind, torch.float64), b.weights(kind, torch.float64), strict=True):
                assert torch.equal(left, right)


POOLS = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


@pytest.mark.parametrize("how", POOLS)
@pytest.mark.parametrize("sizes", [(3,), (1, 4, 2), (2, 0, 3)])
def test_pool_equals_pyg_with_gradients(how, sizes):
    ptr = torch.tensor([0, *np.cumsum(sizes)])
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    x = torch.randn(
        int(ptr[-1]), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True
    )
    mine, theirs = gk.pool(x, ptr, how), POOLS[how](x, batch, size=len(sizes))
    torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)
    weight = torch.randn(mine.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ours, wanted = (torch.autograd.grad((out * weight).sum(), x)[0] for out in (mine, theirs))
    torch.testing.assert_close(ours, wanted, rtol=1e-12, atol=1e-12)
    if how != "max":
        assert torch.autograd.gradgradcheck(lambda v: gk.pool(v, ptr, how) ** 2, (x,))


def graphs_of(count=14):
    rng = np.random.default_rng(3)
    datas = []
    for i in range(count):
        n = int(rng.integers(3, 7))
        e = torch.from_numpy(rng.integers(0, n, (2, 2 * n)))
        x = torch.from_numpy(rng.normal(size=(n, 3))).float()
        datas.append(Data(x=x, edge_index=e, y=torch.tensor([i % 2])))
    return datas


@pytest.mark.parametrize("model", ["GCN", "GIN"])
def test_evaluation_in_one_batch_equals_one_batch_per_graph(model, monkeypatch):
    task = TASK_TYPES["graph_cls"]
    with training_context(0, dtype="float64"):
        split = task.split(graphs_of(40), 0)
        built = MODELS[model].build("graph_cls", split.dims, 4).double()
        together = evaluate(task, built, split)
        assert len(evaluation_batches(split, "test")) == 1
        monkeypatch.setattr(packing, "EVAL_NODES", 1)
        split.cache.clear()
        apart = evaluate(task, built, split)
        assert len(evaluation_batches(split, "test")) > 1
    for part in ("val", "test"):
        assert len(together[part]) == len(split.targets[part])
        torch.testing.assert_close(together[part], apart[part], rtol=1e-12, atol=1e-12)


def test_fresh_memory_is_left_alone_while_training_only():
    seen = []

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = torch.nn.Linear(3, 2)

        def forward(self, data):
            seen.append(torch.utils.deterministic.fill_uninitialized_memory)
            return self.head(gk.pool(data.x, data.ptr, "mean"))

    task = TASK_TYPES["graph_cls"]
    with training_context(0):
        fit(task, Model(), task.split(graphs_of(), 0), Protocol(epochs=1))
        assert torch.utils.deterministic.fill_uninitialized_memory
    assert not any(seen)
