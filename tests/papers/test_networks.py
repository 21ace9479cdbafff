"""Whole networks: symmetry, batching, expressive power, and the heads."""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.nn import Set2Set

from graphnetz._core.errors import UsageError
from graphnetz.datasets.generators.symmetric import csl
from graphnetz.models import MODELS, bgnn
from graphnetz.papers.benchmarking_gnns.models import _dense
from graphnetz.papers.benchmarking_gnns.models._dense import DenseBatch
from graphnetz.papers.benchmarking_gnns.models._frame import MLPReadout
from graphnetz.papers.benchmarking_gnns.models.threewl import extremes
from graphnetz.tasktypes import Dims
from graphnetz.tasktypes.packing import pack

MESSAGE_PASSING = [
    "MLP", "GatedMLP", "GCN", "GCN-vanilla", "GraphSAGE", "GraphSAGE-edgefeat", "GraphSAGE-edgerepr", "GAT",
    "GAT-isotropic", "GAT-edgefeat", "GAT-edgerepr", "MoNet", "GatedGCN", "GatedGCN-isotropic", "GatedGCN-edgefeat",
    "GIN",
]  # fmt: skip
DENSE = ["RingGNN", "3WLGNN"]
LEVELS = ["graph_cls", "node_cls", "edge_cls"]


def build(name, task_type="graph_cls", *, hidden=8, dims=None, **kwargs):
    torch.manual_seed(1)
    spec = MODELS[f"bgnn.{name}"].with_kwargs(kwargs)
    return spec.build(task_type, dims or Dims(2, 3, 1), hidden).double()


def settle(model, data):
    """Running statistics of batch norms from the data, then evaluation mode."""
    with torch.no_grad():
        for _ in range(3):
            model(data)
    return model.eval()


def from_networkx(graph, x=None):
    edges = torch.tensor(list(graph.to_directed().edges), dtype=torch.long).reshape(-1, 2).T
    n = graph.number_of_nodes()
    x = torch.ones(n, 2, dtype=torch.float64) if x is None else x
    return Data(edge_index=edges, x=x, edge_attr=torch.ones(edges.size(1), 1, dtype=torch.float64), y=torch.zeros(1))


def some_graphs(count=5):
    torch.manual_seed(2)
    out = []
    for seed in range(count):
        graph = nx.gnp_random_graph(5 + 2 * seed, 0.4, seed=seed)
        data = from_networkx(graph, torch.randn(graph.number_of_nodes(), 2, dtype=torch.float64))
        data.edge_attr = torch.randn(data.edge_index.size(1), 1, dtype=torch.float64)
        out.append(data)
    return out


def batch_of(graphs):
    torch.set_default_dtype(torch.float64)
    try:
        return pack(graphs).select(torch.arange(len(graphs)))
    finally:
        torch.set_default_dtype(torch.float32)


# 1-WL cannot tell these apart: equal degrees everywhere.
PAIRS = {
    "triangles and a hexagon": (nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)), nx.cycle_graph(6)),
    "skip links 2 and 3": (nx.circulant_graph(11, [1, 2]), nx.circulant_graph(11, [1, 3])),
    "decalin and bicyclopentyl": (
        nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (4, 6), (6, 7), (7, 8), (8, 9), (9, 5)]),
        nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 5)]),
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", MESSAGE_PASSING)
def test_message_passing_cannot_tell_1wl_equivalent_graphs_apart(name, pair):
    batch = batch_of([from_networkx(graph) for graph in PAIRS[pair]])
    model = settle(build(name), batch)
    first, second = model(batch)
    torch.testing.assert_close(first, second, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", DENSE)
def test_higher_order_networks_tell_1wl_equivalent_graphs_apart(name, pair):
    # Without features, and with a heavy product, random weights already put the ReLUs to use.
    zeros = [torch.zeros(len(graph), 2, dtype=torch.float64) for graph in PAIRS[pair]]
    batch = batch_of([from_networkx(graph, x) for graph, x in zip(PAIRS[pair], zeros, strict=True)])
    extra = {"avg_nodes": 0.5} if name == "RingGNN" else {}
    with torch.no_grad():
        first, second = build(name, hidden=32, **extra).eval()(batch)
    assert float((first - second).abs().max()) > 1e-5 * float(first.abs().max())


@pytest.mark.parametrize("name", [*MESSAGE_PASSING, *DENSE])
def test_a_batch_gives_what_each_graph_gives_alone(name):
    graphs = some_graphs()
    batch = batch_of(graphs)
    for task_type in LEVELS:
        model = settle(build(name, task_type), batch)
        alone = torch.cat([model(batch_of([graph])) for graph in graphs])
        torch.testing.assert_close(model(batch), alone)


@pytest.mark.parametrize("name", [*MESSAGE_PASSING, *DENSE])
def test_outputs_follow_a_renumbering_of_the_nodes(name):
    graph = some_graphs(4)[3]
    torch.manual_seed(5)
    order = torch.randperm(graph.num_nodes)
    place = torch.argsort(order)
    other = Data(edge_index=place[graph.edge_index], x=graph.x[order], edge_attr=graph.edge_attr, y=graph.y)
    first, second = batch_of([graph]), batch_of([other])
    model = settle(build(name, "node_cls"), first)
    torch.testing.assert_close(model(second), model(first)[order])
    model = settle(build(name, "graph_cls"), first)
    torch.testing.assert_close(model(second), model(first))


@pytest.mark.parametrize("name", ["GatedGCN-E", "GAT-edgerepr-E", "GraphSAGE-edgerepr-E", "RingGNN-E", "3WLGNN-E"])
def test_edge_features_matter_where_the_name_says_so(name):
    batch = batch_of(some_graphs())
    for label, differs in ((name, True), (name.removesuffix("-E"), False)):
        model = settle(build(label), batch)
        before = model(batch)
        changed = batch.clone()
        changed.edge_attr = batch.edge_attr + 1.0
        assert bool((model(changed) - before).abs().max() > 1e-9) is differs


def test_bond_types_as_numbers_and_as_one_hot_rows_agree_with_an_embedding_table():
    batch = batch_of(some_graphs())
    kinds = torch.arange(batch.edge_index.size(1)) % 4
    model = settle(build("GatedGCN", edge_feat=True, num_bond_types=4), _with_edges(batch, kinds))
    hot = torch.nn.functional.one_hot(kinds, 4).double()
    torch.testing.assert_close(model(_with_edges(batch, kinds)), model(_with_edges(batch, hot)))
    table = torch.nn.functional.embedding(kinds, model.edge_embed.linear.weight.T)
    torch.testing.assert_close(model.edge_embed(_with_edges(batch, kinds), batch.x), table)


def _with_edges(batch, attr):
    view = batch.clone()
    view.edge_attr = attr
    return view


@pytest.mark.parametrize("name", ["GatedGCN-GRU", "GIN-GRU"])
def test_recurrent_networks_give_node_and_graph_targets(name):
    batch = batch_of(some_graphs())
    model = settle(build(name, "multi_reg", dims=Dims(2, 3, None, out_graph=2), num_layers=2), batch)
    node, graph = model(batch)
    assert node.shape == (batch.num_nodes, 3)
    assert graph.shape == (5, 2)
    h = model.embed(batch)
    one = Set2Set(8, 1).double()
    one.load_state_dict(model.set2set.state_dict())
    torch.testing.assert_close(model.pooled(h, batch), one(h, batch.batch))
    alone = [model(batch_of([g])) for g in some_graphs()]
    torch.testing.assert_close(node, torch.cat([a[0] for a in alone]))
    torch.testing.assert_close(graph, torch.cat([a[1] for a in alone]))


def test_gin_recurrent_step_is_a_gru_with_the_convolution_as_state():
    batch = batch_of(some_graphs())
    model = settle(build("GIN-GRU", "multi_reg", dims=Dims(2, 3, None, out_graph=2), num_layers=1), batch)
    h0 = model.embed(batch)
    gru = torch.nn.GRU(8, 8).double()
    gru.load_state_dict({f"{k}_l0": v for k, v in model.gru.state_dict().items()})
    _, h1 = gru(h0.unsqueeze(0), model.blocks[0](h0, batch.edge_index).unsqueeze(0))
    torch.testing.assert_close(model(batch)[0], model.node[0](h0) + model.node[1](h1[0]))


def test_jumping_head_sums_one_score_per_level():
    batch = batch_of(some_graphs())
    model = settle(build("GIN", num_layers=2), batch)
    states = model.levels(batch)
    expected = 0
    for score, h in zip(model.head.scores, states, strict=True):
        pooled = torch.stack([h[batch.batch == g].sum(0) for g in range(5)])
        expected = expected + score(pooled)
    torch.testing.assert_close(model(batch), expected)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=60))
def test_dense_batches_hold_every_graph_once_within_their_bounds(sizes):
    runs = [torch.tensor(sizes)[run] for run in _dense.size_buckets(torch.tensor(sizes))]
    assert sorted(torch.cat(runs).tolist()) == sorted(sizes)
    for run in runs:
        low, high = int(run.min()), int(run.max())
        assert high <= max(1.25 * low, low + 2)
        assert run.numel() == 1 or run.numel() * high**2 <= _dense.PAIRS


def test_readout_halves_twice():
    sizes = [(layer.in_features, layer.out_features) for layer in MLPReadout(146, 10) if hasattr(layer, "in_features")]
    assert sizes == [(146, 73), (73, 36), (36, 10)]


def test_matrix_factorisation_wants_its_own_graph():
    model = bgnn.MF(3, 4, 1, num_nodes=5)
    with pytest.raises(UsageError, match="5 node vectors"):
        model.encode(Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=4))


def test_dense_networks_refuse_link_prediction():
    with pytest.raises(UsageError, match="no head for 'link_pred'"):
        bgnn.ThreeWLGNN(3, 4, 1, task_type="link_pred")


@pytest.mark.parametrize("name", MESSAGE_PASSING)
def test_skip_links_are_bit_for_bit_the_same_to_message_passing(name):
    graphs = csl(0, copies=1)
    batch = pack([graphs[i] for i in range(len(graphs))]).select(torch.arange(10))
    spec = MODELS[f"bgnn.{name}"]
    torch.manual_seed(0)
    model = spec.build("graph_cls", Dims(1, 10, vocabulary=(1,)), 8)
    out = settle(model, batch)(batch)
    assert torch.equal(out, out[:1].expand_as(out))


def test_extremes_of_equal_sizes_skip_the_mask_and_change_nothing():
    x = torch.randn(2, 5, 4, 4, requires_grad=True)
    index = torch.arange(2)
    found = []
    for full in (True, False):
        dense = DenseBatch(x, torch.ones(2, 4), index, index, index, index, full=full)
        out = extremes(dense, x)
        (slope,) = torch.autograd.grad((out**2).sum(), x)
        found.append((out.detach(), slope))
    off = x.detach()[:, :, ~torch.eye(4, dtype=torch.bool)]
    torch.testing.assert_close(found[0][0][:, 5:], off.amax(-1))
    torch.testing.assert_close(found[0], found[1])
