"""`accelerate`: any module tree runs in the kernels where they know it, and as it is everywhere else."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import pytest
import torch
from kernel_graphs import NAMES, features, gradients, make, random_edges
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import (
    MLP,
    ChebConv,
    EdgeConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    GraphNorm,
    InstanceNorm,
    LayerNorm,
    MaxAggregation,
    MeanAggregation,
    NNConv,
    PNAConv,
    SAGEConv,
    SGConv,
    SumAggregation,
    TransformerConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.nn.pool import glob

from graphnetz import kernels as gk
from graphnetz._core.errors import DataError, UsageError
from graphnetz.kernels import known

EXACT = {"atol": 1e-9, "rtol": 1e-9}
EDGES = random_edges(12, 40)


def noisy(conv):
    torch.manual_seed(0)
    conv = conv.double()
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return conv


def assert_same(module, *args, ran="1 of 1", inputs=(), **kwargs):
    """The accelerated call against the plain one: values and gradients of parameters and ``inputs``."""
    inputs = [*inputs, *(p for p in module.parameters() if p.requires_grad)]
    torch.manual_seed(3)
    want = module(*args, **kwargs)
    torch.manual_seed(3)
    with gk.accelerate(module) as report, gk.torch_dropout_stream():
        got = module(*args, **kwargs)
        assert report.active
    assert str(report).split(" (")[0] == ran
    first = (got, want) if isinstance(want, torch.Tensor) else (got[0], want[0])
    torch.testing.assert_close(*first, **EXACT)
    if inputs and first[1].requires_grad:
        for a, b in zip(gradients(first[0], inputs), gradients(first[1], inputs), strict=True):
            torch.testing.assert_close(a, b, **EXACT)
    assert "forward" not in vars(module)
    return report


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("name", NAMES)
def test_every_known_layer_runs_in_a_kernel_and_gives_the_same(name, dropout, any_products):
    x = features(12, 5, 0).requires_grad_()
    assert_same(make(name, 5, dropout=dropout), x, EDGES, inputs=[x])


WEIGHTED = {
    "gcn": lambda: GCNConv(5, 3),
    "gcn improved": lambda: GCNConv(5, 8, improved=True, add_self_loops=False),
    "gcn unnormalised": lambda: GCNConv(5, 3, normalize=False),
    "graph": lambda: GraphConv(5, 3),
    "graph mean": lambda: GraphConv(5, 9, aggr="mean"),
    "sg": lambda: SGConv(5, 3, K=2),
    "cheb": lambda: ChebConv(5, 3, K=3),
}


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
@pytest.mark.parametrize("name", WEIGHTED)
def test_edge_weights_run_in_kernels(name, shape):
    x, conv = features(12, 5, 0).requires_grad_(), noisy(WEIGHTED[name]())
    weight = features(40, 1, 5).abs().view(shape)
    if shape == (-1, 1) and name in ("cheb", "gcn", "gcn improved", "sg"):
        weight = weight.view(-1)  # their normalisation takes vectors only
    for _ in range(2):  # the second call finds what the first has kept
        assert_same(conv, x, EDGES, weight, inputs=[x])
    weight.mul_(2.0)
    assert_same(conv, x, EDGES, edge_weight=weight, inputs=[x])


def test_learned_edge_weights():
    x, weight = features(12, 5, 0), features(40, 1, 5).abs().view(-1).requires_grad_()
    assert_same(noisy(GraphConv(5, 3)), x, EDGES, weight, inputs=[weight])
    assert_same(noisy(GraphConv(5, 3, aggr="mean")), x, EDGES, weight, inputs=[weight])
    for layer in (GCNConv(5, 3), GCNConv(5, 8, improved=True), GCNConv(5, 3, normalize=False), SGConv(5, 3, K=2)):
        for _ in range(2):
            assert_same(noisy(layer), x, EDGES, weight, inputs=[weight])


def test_edge_attributes():
    x, attributes = features(12, 5, 0).requires_grad_(), features(40, 2, 1)
    mlp = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
    for conv in (GATConv(5, 3, heads=2, edge_dim=2), TransformerConv(5, 3, edge_dim=2), GINEConv(mlp, edge_dim=2)):
        assert_same(noisy(conv), x, EDGES, edge_attr=attributes, inputs=[x])
    learned = attributes.clone().requires_grad_()
    assert_same(noisy(GINEConv(mlp, edge_dim=2)), x, EDGES, learned, inputs=[x, learned])


def test_chebyshev_bounds_per_graph():
    x, batch = features(12, 5, 0).requires_grad_(), torch.arange(12) // 6
    inside = EDGES % 6 + 6 * (torch.arange(40) % 2)
    conv = noisy(ChebConv(5, 3, K=3, normalization=None))
    assert_same(conv, x, inside, batch=batch, lambda_max=torch.tensor([20.0, 30.0]).double(), inputs=[x])
    assert_same(conv, x, inside, lambda_max=torch.tensor(25.0).double(), inputs=[x])


class OwnGCN(GCNConv):
    """A subclass may compute something else."""

    def message(self, x_j, edge_weight):
        return 2.0 * super().message(x_j, edge_weight)


def hooked(kind):
    conv = GCNConv(5, 3)
    getattr(conv, kind)(lambda *_: None)
    return conv


def nested_linear():
    conv = SAGEConv(5, 3)
    conv.lin_l.register_forward_hook(lambda *_: None)
    return conv


def parametrised():
    conv = GraphConv(5, 3)
    nn.utils.parametrizations.weight_norm(conv.lin_rel)
    return conv


ASIDE = {
    "subclass": (lambda: OwnGCN(5, 3), {}),
    "forward hook": (lambda: hooked("register_forward_hook"), {}),
    "pre hook": (lambda: hooked("register_forward_pre_hook"), {}),
    "message hook": (lambda: hooked("register_message_forward_hook"), {}),
    "propagate hook": (lambda: hooked("register_propagate_forward_pre_hook"), {}),
    "hook of a linear map": (nested_linear, {}),
    "parametrised": (parametrised, {}),
    "smallest neighbour": (lambda: GraphConv(5, 3, aggr="min"), {}),
    "target to source": (lambda: GCNConv(5, 3, flow="target_to_source"), {}),
    "cached": (lambda: GCNConv(5, 3, cached=True), {}),
    "size": (lambda: SAGEConv(5, 3), {"size": (12, 12)}),
    "attention weights": (lambda: GATConv(5, 3), {"return_attention_weights": True}),
    "attention weights, second form": (lambda: GATv2Conv(5, 3), {"return_attention_weights": True}),
    "another aggregation": (lambda: SAGEConv(5, 3, aggr="median"), {}),
    "weighted maximum": (lambda: GraphConv(5, 3, aggr="max"), {"edge_weight": torch.ones(40).double()}),
    "gate": (lambda: TransformerConv(5, 3, beta=True), {}),
    "unknown layer": (lambda: NNConv(5, 3, nn.Linear(2, 15)), {"edge_attr": features(40, 2, 1)}),
    "two maps before": (
        lambda: PNAConv(5, 4, ["mean"], ["identity"], torch.tensor([1, 2]), pre_layers=2),
        {},
    ),
}  # fmt: skip


@pytest.fixture
def calls(monkeypatch):
    """Names of the layers that ran in a kernel."""
    seen = []

    def watched(name, run):
        def wrapper(*args, **kwargs):
            out = run(*args, **kwargs)
            if isinstance(out, torch.Tensor):
                seen.append(name)
            return out

        return wrapper

    import dataclasses

    for name, layer in known.LAYERS.items():
        monkeypatch.setitem(known.LAYERS, name, dataclasses.replace(layer, run=watched(name, layer.run)))
    return seen


@pytest.mark.parametrize("case", ASIDE)
def test_steps_aside(case, calls):
    make_layer, options = ASIDE[case]
    x, conv = features(12, 5, 0).requires_grad_(), noisy(make_layer())
    report = assert_same(conv, x, EDGES, ran="0 of 1", inputs=[x], **options)
    assert report.layers[0].reason
    assert calls == []


def test_steps_aside_while_explaining(calls):
    conv, x, mask = noisy(GCNConv(5, 3)), features(12, 5, 0), nn.Parameter(torch.rand(40).double())
    set_masks(conv, mask, EDGES)
    want = conv(x, EDGES)
    clear_masks(conv)
    with gk.accelerate(conv) as report:
        set_masks(conv, mask, EDGES)
        torch.testing.assert_close(conv(x, EDGES), want, **EXACT)
        clear_masks(conv)
    assert (calls, report.in_kernels, report.layers[0].plain) == ([], 0, 1)


@pytest.mark.parametrize(
    ("module", "given"),
    [
        (GCNConv(5, 3).double(), (features(12, 5, 0), torch.sparse_coo_tensor(EDGES, torch.ones(40).double(), (12, 12)))),
        (SAGEConv(5, 3).double(), (features(12, 5, 0), torch.zeros(12, 12).double().to_sparse_csr())),
        (SAGEConv(5, 3).double(), ((features(12, 5, 0), features(12, 5, 1)), EDGES)),
        (SAGEConv((5, 4), 3).double(), ((features(12, 5, 0), features(12, 4, 1)), EDGES)),
        (GCNConv(5, 3).bfloat16(), (features(12, 5, 0, torch.bfloat16), EDGES)),
        (GCNConv(5, 3).double(), (features(24, 5, 0).view(2, 12, 5), EDGES)),
    ],
)  # fmt: skip
def test_steps_aside_for_other_inputs(module, given, calls):
    want = module(*given)
    with gk.accelerate(module) as report:
        got = module(*given)
    torch.testing.assert_close(got, want)
    assert calls == []
    assert report.in_kernels == 0


def test_mismatched_types_get_the_layers_own_error():
    conv = GCNConv(5, 3).double()
    with gk.accelerate(conv), pytest.raises(RuntimeError):
        conv(features(12, 5, 0, torch.float32), EDGES)


def test_lazy_layers_materialise_by_themselves(calls):
    conv, x = GCNConv(-1, 3).double(), features(12, 5, 0)
    with gk.accelerate(conv) as report:
        conv(x, EDGES)
        assert calls == []
        conv(x, EDGES)
    assert (report.layers[0].kernel, report.layers[0].plain) == (1, 1)


class Model(nn.Module):
    def __init__(self, width=5):
        super().__init__()
        self.first, self.second = GCNConv(width, 4), SAGEConv(4, 3)

    def forward(self, data):
        x = F.dropout(data.x, 0.3, self.training)
        x = F.dropout(self.first(x, data.edge_index).relu(), 0.5, self.training)
        return self.second(x, data.edge_index)


def test_a_tree_is_swapped_and_restored_also_after_an_error():
    model = Model().double().eval()
    data = Data(x=features(12, 5, 0), edge_index=EDGES)
    want = model(data)
    with gk.accelerate(model) as report:
        torch.testing.assert_close(model(data), want, **EXACT)
    data.edge_index = data.edge_index + 99
    with pytest.raises(DataError, match="names node"), gk.accelerate(model):
        model(data)
    assert str(report) == "2 of 2"
    assert not any({"forward", "encode"} & set(vars(part)) for part in model.modules())


def test_blocks_may_be_nested():
    model = Model().double().eval()
    data = Data(x=features(12, 5, 0), edge_index=EDGES)
    with gk.accelerate(model, data) as outer:
        with gk.accelerate(model.first) as inner:
            model(data)
        model(data)
    assert (str(outer), str(inner)) == ("2 of 2", "1 of 1")
    assert (outer.layers[0].kernel, inner.layers[0].kernel) == (2, 1)
    assert not any("forward" in vars(part) for part in model.modules())


def test_copies_made_inside_have_their_own_parameters_and_fall_back_outside():
    conv, x = GCNConv(5, 3).double(), features(12, 5, 0)
    with gk.accelerate(conv):
        other = copy.deepcopy(conv)
        read = pickle.loads(pickle.dumps(conv))
        with torch.no_grad():
            other.lin.weight.mul_(2.0)
        torch.testing.assert_close(other(x, EDGES), 2.0 * conv(x, EDGES), **EXACT)
    for copied, factor in ((other, 2.0), (read, 1.0)):
        torch.testing.assert_close(copied(x, EDGES), factor * conv(x, EDGES), **EXACT)


def test_a_replaced_forward_is_left_alone():
    conv, x = GCNConv(5, 3).double(), features(12, 5, 0)
    conv.forward = lambda x, _: x
    with gk.accelerate(conv) as report:
        assert conv(x, EDGES) is x
    assert "replaced" in str(report)
    assert "forward" in vars(conv)


def test_switched_off():
    conv, x = GCNConv(5, 3).double(), features(12, 5, 0)
    with gk.enabled(False), gk.accelerate(conv) as report:
        conv(x, EDGES)
    assert "switched off" in str(report)
    with gk.accelerate(conv) as report, gk.enabled(False):
        conv(x, EDGES)
    assert "switched off" in str(report)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dropped", [True, False])
def test_constant_sparse_inputs_give_the_same(training, dropped):
    dense = features(40, 300, 0) * (features(40, 300, 1) > 1.6)
    data = Data(x=dense, edge_index=random_edges(40, 120))
    model = noisy(Model(300)).train(training and dropped)
    found = []
    for fast in (False, True):
        torch.manual_seed(1)
        with gk.enabled(fast), gk.torch_dropout_stream(), gk.accelerate(model, data):
            assert model.first.lin.weight.is_contiguous() != fast
            out = model(data)
        found.append((out, gradients(out, model.parameters())))
    assert model.first.lin.weight.is_contiguous()
    torch.testing.assert_close(found[0][0], found[1][0], **EXACT)
    for a, b in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(a, b, **EXACT)


def test_dropped_sparse_inputs_are_ordinary_tensors_to_other_code():
    dense = torch.eye(64, dtype=torch.float64)
    seen = {}

    class Other(nn.Module):
        def forward(self, data):
            x = F.dropout(data.x, 0.5)
            seen.update(
                kind=type(x).__name__, shape=x.shape, rows=x[:3], total=x.sum(), product=x @ torch.ones(64, 2).double()
            )
            before = x.clone()
            seen["again"] = F.linear(x, torch.eye(64).double())
            x.mul_(3.0)
            seen.update(changed=F.linear(x, torch.eye(64).double()), before=before)
            return x

    model = Other()
    with gk.accelerate(model, Data(x=dense)):
        model(Data(x=dense))
    assert (seen["kind"], seen["shape"]) == ("SparseRows", (64, 64))
    torch.testing.assert_close(seen["again"], seen["before"])
    torch.testing.assert_close(seen["changed"], 3.0 * seen["before"])
    torch.testing.assert_close(seen["total"], seen["before"].sum())
    torch.testing.assert_close(seen["product"][:, 0], seen["before"].sum(1))
    assert torch.equal(dense, torch.eye(64).double())  # the dataset's own matrix is as it was


def test_dropout_keeps_its_share_and_its_gradient():
    model = nn.Sequential(nn.Dropout(0.25)).double()
    x = torch.ones(200, 200, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    with gk.accelerate(model):
        out = model(x)
    (grad,) = torch.autograd.grad(out.sum(), x)
    assert torch.equal(grad, out.detach())
    assert set(out.detach().unique().tolist()) == {0.0, 1.0 / 0.75}
    assert abs(float((out == 0).double().mean()) - 0.25) < 0.01


def test_another_thread_keeps_torchs_dropout():
    model, found = nn.Sequential(nn.Dropout(0.5)), {}

    def elsewhere():
        torch.manual_seed(0)
        found["there"] = F.dropout(torch.ones(100), 0.5)

    class Waiting(nn.Module):
        def forward(self, x):
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            return x

    model.append(Waiting())
    with gk.accelerate(model):
        model(torch.ones(3))
    torch.manual_seed(0)
    assert torch.equal(found["there"], F.dropout(torch.ones(100), 0.5))


@pytest.mark.parametrize(("kind", "how"), [(SumAggregation, "sum"), (MeanAggregation, "mean"), (MaxAggregation, "max")])
def test_pooling_modules(kind, how):
    model, x = nn.ModuleList([kind()]), features(12, 5, 0).requires_grad_()
    for index, size in (
        (torch.arange(12) // 5, None),
        (torch.arange(12) // 5, 5),
        (torch.tensor([2, 0, 1] * 4), None),
        (torch.zeros(12, dtype=torch.long), None),
    ):
        want = model[0](x, index, dim_size=size)
        with gk.accelerate(model):
            got = model[0](x, index, dim_size=size)
        torch.testing.assert_close(got, want, **EXACT)
        torch.testing.assert_close(gradients(got, [x]), gradients(want, [x]), **EXACT)


class Called(nn.Module):
    """Pooling functions and norms as users call them."""

    def __init__(self, pool, norm):
        super().__init__()
        self.pool, self.norm = pool, norm

    def forward(self, x, batch):
        x = self.norm(x) if isinstance(self.norm, nn.BatchNorm1d) else self.norm(x, batch)
        return self.pool(x, batch, size=4)


NORMS = {
    "batch": lambda: nn.BatchNorm1d(5),
    "batch without moments": lambda: nn.BatchNorm1d(5, track_running_stats=False),
    "batch bare": lambda: nn.BatchNorm1d(5, affine=False),
    "batch cumulative": lambda: nn.BatchNorm1d(5, momentum=None),
    "graph": lambda: GraphNorm(5),
    "layer": lambda: LayerNorm(5),
    "instance": lambda: InstanceNorm(5),
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("pool", [global_add_pool, global_mean_pool, global_max_pool])
def test_pooling_functions_and_norms_as_users_call_them(pool, name, training):
    x, batch = features(12, 5, 0).requires_grad_(), torch.arange(12) // 5
    model = noisy(Called(pool, NORMS[name]())).train(training)
    other = copy.deepcopy(model)
    before = glob.scatter
    for _ in range(2):
        want = other(x, batch)
        with gk.accelerate(model):
            assert glob.scatter is not before
            got = model(x, batch)
        torch.testing.assert_close(got, want, **EXACT)
        inputs = [x, *model.parameters()], [x, *other.parameters()]
        for a, b in zip(gradients(got, inputs[0]), gradients(want, inputs[1]), strict=True):
            torch.testing.assert_close(a, b, **EXACT)
    assert glob.scatter is before
    for a, b in zip(model.buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(a, b, **EXACT)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("layer", ["gin", "edge"])
@pytest.mark.parametrize(
    "network",
    [
        lambda wide: nn.Sequential(nn.Linear(wide, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Linear(7, 3), nn.ReLU()),
        lambda wide: nn.Sequential(nn.BatchNorm1d(wide), nn.ReLU(), nn.BatchNorm1d(wide), nn.Linear(wide, 3)),
        lambda wide: MLP([wide, 4, 3]),
        lambda wide: MLP([wide, 4, 3], act_first=True, plain_last=False),
        lambda wide: MLP([wide, 4, 3], act="elu"),
    ],
)
def test_networks_with_batch_norms(network, layer, training, any_products):
    """Values, gradients and running moments of the networks inside layers are torch's."""
    x = features(12, 5, 0).requires_grad_()
    conv = GINConv(network(5), train_eps=True) if layer == "gin" else EdgeConv(network(10))
    conv = noisy(conv).train(training)
    other = copy.deepcopy(conv)
    want = other(x, EDGES)
    with gk.accelerate(conv) as report:
        got = conv(x, EDGES)
        again = conv(x, EDGES)
    assert str(report) == "1 of 1"
    torch.testing.assert_close(got, want, **EXACT)
    both = zip(gradients(got, [x, *conv.parameters()]), gradients(want, [x, *other.parameters()]), strict=True)
    for a, b in both:
        torch.testing.assert_close(a, b, **EXACT)
    (first,) = torch.autograd.grad(again.square().sum(), x, create_graph=True)
    (plain,) = torch.autograd.grad(other(x, EDGES).square().sum(), x, create_graph=True)
    torch.testing.assert_close(gradients(first, [x]), gradients(plain, [x]), atol=1e-8, rtol=1e-8)
    for a, b in zip(conv.buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(a, b, **EXACT)


def test_outputs_of_networks_are_freed_at_once(any_products):
    """No cycle through the node of the graph: the garbage collector is off in worker processes."""
    x = features(12, 5, 0).requires_grad_()
    gc.disable()
    try:
        for network in (nn.Linear(5, 3), nn.Sequential(nn.Linear(5, 3), nn.ReLU()), MLP([5, 4, 3], plain_last=False)):
            conv = GINConv(network).double()
            with gk.accelerate(conv):
                out = conv(x, EDGES)
            node, rows = weakref.ref(out.grad_fn), weakref.ref(out)
            del out
            assert (node(), rows()) == (None, None)
    finally:
        gc.enable()


def test_a_hooked_norm_runs_as_it_is():
    norm, seen, x = nn.BatchNorm1d(5).double(), [], features(12, 5, 0)
    norm.register_forward_hook(lambda *_: seen.append(1))
    conv = noisy(GINConv(nn.Sequential(nn.Linear(5, 5), norm, nn.ReLU())))
    assert_same(conv, x, EDGES)
    assert len(seen) == 2


def test_edges_of_a_field_refuse_everything_but_their_layers():
    model = Model().double().eval()
    field = gk.receptive_field(EDGES, torch.tensor([3, 5]), num_layers=2, num_nodes=12)
    x = features(12, 5, 0)
    layers = [model.first, model.second]
    want = model(Data(x=x, edge_index=EDGES))[[3, 5]]
    with gk.accelerate(model):
        assert gk.restrictable(layers, x)
        data = Data(x=field.inputs(x), edge_index=field.edges(layers))
        torch.testing.assert_close(model(data), want, **EXACT)
        with pytest.raises(UsageError, match="layers"):
            data.edge_index[0]
        other = Model().double()
        with gk.accelerate(other), pytest.raises(UsageError, match="declared"):
            other(data)
        model.first.register_forward_hook(lambda *_: None)
        with pytest.raises(UsageError, match="part of the graph"):
            model(data)
    assert not gk.restrictable(layers, x)


def test_compiled_modules_run_as_they_are():
    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.compile(nn.Linear(5, 3).double(), backend="eager")

        def forward(self, x):
            return self.inner(x)

    model, x = Whole(), features(12, 5, 0)
    with gk.accelerate(model):
        torch.testing.assert_close(model(x), F.linear(x, model.inner.weight, model.inner.bias))
