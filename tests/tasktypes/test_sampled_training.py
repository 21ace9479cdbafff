"""Sampled training equals the whole graph where all neighbours are taken; evaluation is always exact."""

import gc

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

import graphnetz.kernels as kernels
from graphnetz._core.errors import UsageError
from graphnetz._core.rng import training_context
from graphnetz.kernels import accelerate
from graphnetz.kernels.sampling import NeighbourSample, SampledStructure
from graphnetz.models import MODELS
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES, fit
from graphnetz.tasktypes import onehop as onehop_module
from graphnetz.tasktypes.loop import evaluate
from graphnetz.tasktypes.sampled import SampledNodes, sampled

ALL = (-1, -1)
BUILT_IN = ("GCN", "GAT", "GraphSAGE", "GraphTransformer", "MLP")


def graph(n=60, m=400, *, weights=False, attributes=0, seed=0, loops=True):
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, (2, m))
    edges = edges if loops else edges[:, edges[0] != edges[1]]
    data = Data(
        x=torch.from_numpy(rng.standard_normal((n, 5))),
        edge_index=torch.from_numpy(edges),
        y=torch.from_numpy(rng.integers(0, 3, n)),
    )
    part = torch.from_numpy(rng.permutation(n))
    data.train_mask, data.val_mask, data.test_mask = part < n // 2, (part >= n // 2) & (part < n - 10), part >= n - 10
    if weights:
        data.edge_weight = torch.from_numpy(rng.random(edges.shape[1]) + 0.1)
    if attributes:
        data.edge_attr = torch.from_numpy(rng.standard_normal((edges.shape[1], attributes)))
    return data


class UserModel(torch.nn.Module):
    """Plain PyG layers in a list that is called ``layers``, as users write them."""

    task_types = frozenset({"node_cls"})

    def __init__(self, in_channels, hidden_channels, out_channels, conv=GCNConv):
        super().__init__()
        self.layers = torch.nn.ModuleList([conv(in_channels, hidden_channels), conv(hidden_channels, out_channels)])
        self.norm = torch.nn.LayerNorm(hidden_channels)

    def forward(self, data):
        x = self.layers[0](data.x, data.edge_index).relu()
        return self.layers[1](self.norm(x), data.edge_index)


def built(name, split, kind="node_cls"):
    torch.manual_seed(3)
    if name in BUILT_IN:
        return MODELS[name].build(kind, split.dims, 8).double()
    conv = {"user GCN": GCNConv, "user GAT": GATConv, "user SAGE": SAGEConv}[name]
    return UserModel(split.dims.in_channels, 8, split.dims.out_channels, conv).double()


@pytest.fixture(autouse=True)
def _double():
    with training_context(0, dtype="float64"):
        yield


def losses(name, data, *, enabled=True, fanouts=ALL):
    """Loss and gradients of all training nodes: whole graph, and one batch that takes all neighbours."""
    kind = TASK_TYPES["node_cls"]
    split = kind.split(data, 0)
    model = built(name, split).eval()  # no dropout: the two draw for different rows
    with kernels.enabled(enabled):
        whole = kind.loss(model, split, next(kind.batches(split, 1)))
        g_whole = torch.autograd.grad(whole, list(model.parameters()), allow_unused=True)
        other = sampled(kind, Protocol(batch_nodes=10_000, fanouts=fanouts), model)
        total, grads = 0.0, None
        for batch in other.batches(split, 1):
            loss = other.loss(model, split, batch)
            total += loss
            grads = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return whole, g_whole, total, grads


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("name", [*BUILT_IN, "user GCN", "user GAT", "user SAGE"])
def test_all_neighbours_give_the_whole_graph(name, enabled):
    whole, g_whole, batch, grads = losses(name, graph(), enabled=enabled)
    assert batch.item() == pytest.approx(whole.item(), abs=1e-9)
    for ours, reference in zip(grads, g_whole, strict=True):
        assert (ours is None) == (reference is None)
        assert ours is None or torch.allclose(ours, reference, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("name", "options"), [("GCN", {"weights": True}), ("GAT", {"attributes": 2})])
def test_edge_weights_and_attributes_go_along(name, options):
    whole, _, batch, _ = losses(name, graph(loops=False, **options))
    assert batch.item() == pytest.approx(whole.item(), abs=1e-9)


def test_too_few_neighbours_differ():
    whole, _, batch, _ = losses("GraphSAGE", graph(), fanouts=(2, 2))
    assert abs(batch.item() - whole.item()) > 1e-6


@pytest.mark.parametrize("name", ["GCN", "GraphSAGE", "GAT", "GraphTransformer"])
def test_kernels_and_plain_layers_sample_the_same(name):
    data, kind = graph(), TASK_TYPES["node_cls"]
    found = []
    for enabled in (True, False):
        split = kind.split(data, 0)
        model = built(name, split).eval()
        other = sampled(kind, Protocol(batch_nodes=7, fanouts=(3, 2)), model)
        torch.manual_seed(5)
        with kernels.enabled(enabled):
            found.append([other.loss(model, split, batch).item() for batch in other.batches(split, 1)])
    assert len(found[0]) == 5
    assert found[0] == pytest.approx(found[1], abs=1e-9)


@pytest.mark.parametrize("name", [*BUILT_IN, "user GCN", "user GAT", "user SAGE"])
@pytest.mark.parametrize("options", [{}, {"weights": True}, {"attributes": 2}])
def test_evaluation_in_pieces_is_exact(name, options, monkeypatch):
    monkeypatch.setattr(onehop_module, "PIECE_ARCS", 50)
    kind = TASK_TYPES["node_cls"]
    split = kind.split(graph(loops=not options, **options), 0)
    model = built(name, split)
    with kernels.enabled(False):
        reference = evaluate(kind, model, split)
        ours = evaluate(sampled(kind, Protocol(batch_nodes=5, fanouts=(2, 2)), model), model, split)
    for part, value in reference.items():
        assert torch.allclose(ours[part], value, rtol=0, atol=1e-9)


def test_pieces_never_hold_all_messages(monkeypatch):
    monkeypatch.setattr(onehop_module, "PIECE_ARCS", 50)
    kind = TASK_TYPES["node_cls"]
    split = kind.split(graph(), 0)
    model, seen = built("user SAGE", split), []
    for layer in model.layers:
        plain = layer.message
        layer.message = lambda x_j, plain=plain: (seen.append(x_j.size(0)), plain(x_j))[1]
    evaluate(sampled(kind, Protocol(batch_nodes=5, fanouts=(2, 2)), model), model, split)
    assert max(seen) <= 50
    assert sum(seen) == 2 * split.data.num_edges


def test_a_seed_decides_the_numbers():
    kind = TASK_TYPES["node_cls"]

    def run(seed):
        with training_context(seed, dtype="float64"):
            split = kind.split(graph(), 0)
            model = built("GAT", split)
            torch.manual_seed(seed)
            protocol = Protocol(epochs=3, batch_nodes=8, fanouts=(3, 3))
            return fit(sampled(kind, protocol, model), model, split, protocol).history["train_loss"]

    assert run(1) == run(1)
    assert run(1) != run(2)


@pytest.mark.parametrize("name", ["GCN", "GraphSAGE"])
def test_link_prediction_with_all_neighbours_is_that_of_the_whole_graph(name):
    kind = TASK_TYPES["link_pred"]
    data = graph()
    split = kind.split(Data(x=data.x, edge_index=data.edge_index), 0)
    model = built(name, split, "link_pred").eval()
    whole = kind.loss(model, split, split.data)
    for enabled in (True, False):
        with kernels.enabled(enabled):
            other = sampled(kind, Protocol(batch_nodes=10**6, fanouts=ALL), model)
            (batch,) = other.batches(split, 1)
            assert other.loss(model, split, batch).item() == pytest.approx(whole.item(), abs=1e-9)
            reference, ours = evaluate(kind, model, split), evaluate(other, model, split)
            assert torch.allclose(ours["test"], reference["test"], rtol=0, atol=1e-9)
    small = sampled(kind, Protocol(batch_nodes=20, fanouts=(2, 2)), model)
    batches = list(small.batches(split, 1))
    assert sum(len(batch.pairs) for batch in batches) == len(split.train)
    assert all(torch.isfinite(small.loss(model, split, batch)) for batch in batches)


def test_a_list_called_layers_trains_on_the_whole_graph_too():
    kind = TASK_TYPES["node_cls"]
    data = graph(n=200, m=60)  # most nodes are out of reach: the case in which built-in encoders are restricted
    split = kind.split(data, 0)
    assert fit(kind, built("user GCN", split), split, Protocol(epochs=1, dtype="float64")).epochs == 1


def test_what_the_loss_may_see():
    kind = TASK_TYPES["node_cls"]
    split = kind.split(graph(), 0)
    model = built("user SAGE", split)
    other = sampled(kind, Protocol(batch_nodes=7, fanouts=(2, 2)), model)
    assert isinstance(other, SampledNodes)
    seen = []
    for batch in other.batches(split, 1):
        assert batch.train_mask.nonzero().flatten().tolist() == list(range(batch.seeds.numel()))
        assert torch.equal(batch.x, split.data.x[batch.n_id])
        seen += batch.seeds.tolist()
    assert sorted(seen) == split.train.tolist()


def test_other_task_types_are_refused():
    with pytest.raises(UsageError, match="batch_nodes samples neighbours"):
        sampled(TASK_TYPES["graph_cls"], Protocol(batch_nodes=4, fanouts=(2,)), torch.nn.Linear(1, 1))


@pytest.mark.parametrize(("name", "fast"), [("GCN", True), ("GAT", True), ("user GCN", False)])
def test_batches_take_the_fast_way_where_there_is_one_and_are_not_kept(name, fast):
    kind = TASK_TYPES["node_cls"]
    split = kind.split(graph(), 0)
    model = built(name, split)
    other = sampled(kind, Protocol(batch_nodes=7, fanouts=(2, 2)), model)
    with accelerate(model, split.data):
        for batch in other.batches(split, 1):
            assert (type(batch.edge_index).__name__ == "FieldEdges") == fast
            other.loss(model, split, batch).backward()
        del batch
    gc.collect()
    kept = [item for item in gc.get_objects() if type(item) in (NeighbourSample, SampledStructure)]
    assert kept == []
