"""Models of the configuration space: each against an outside implementation or a brute-force count."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.nn import SGConv, models

from graphnetz._core.rng import training_context
from graphnetz.kernels import accelerate
from graphnetz.models import MODELS
from graphnetz.models import _walks as walks
from graphnetz.models.embeddings import GraRep, SpectralEmbedding
from graphnetz.models.heuristics import AdamicAdar, ResourceAllocation
from graphnetz.records import Protocol
from graphnetz.selection.building import build_model, engine_model
from graphnetz.selection.plan import bank_space
from graphnetz.selection.space import Configuration, configuration_space
from graphnetz.tasktypes import TASK_TYPES


def two_groups(n=40, seed=0, labels=False):
    graph = nx.planted_partition_graph(2, n // 2, 0.35, 0.02, seed=seed)
    edges = torch.tensor(list(graph.edges())).T
    data = Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=n)
    data.x = torch.randn(n, 5, generator=torch.Generator().manual_seed(seed))
    if labels:
        data.y = (torch.arange(n) >= n // 2).long()
        part = torch.randperm(n, generator=torch.Generator().manual_seed(seed)) % 3
        data.train_mask, data.val_mask, data.test_mask = part == 0, part == 1, part == 2
    return graph, data


STACKS = [
    ("GCN", {"act": "tanh", "num_layers": 3}, {}),
    ("GraphSAGE", {"aggr": "max", "jk": "last", "num_layers": 2}, {}),
    ("GAT", {"heads": 4, "concat": True, "num_layers": 3}, {}),
    ("GAT", {"heads": 2, "concat": False, "num_layers": 2}, {}),
    ("GIN", {"num_layers": 2, "train_eps": True}, {}),
]


@pytest.mark.parametrize(("name", "kwargs", "renamed"), STACKS)
def test_stacks_equal_the_classes_of_pyg(name, kwargs, renamed):
    """With the same weights our encoder returns what torch_geometric.nn.models returns."""
    del renamed
    _, data = two_groups()
    ours = MODELS[f"stack.{name}"].cls(5, 8, 6, **kwargs).eval()
    theirs = getattr(models, name)(5, 8, out_channels=6, **kwargs).eval()
    weights = list(ours.parameters())
    wanted = list(theirs.parameters())
    assert sorted(p.shape for p in weights) == sorted(p.shape for p in wanted)
    with torch.no_grad():
        for conv, other in zip(ours.convs, theirs.convs, strict=True):
            for a, b in zip(other.parameters(), conv.parameters(), strict=True):
                a.copy_(b)
        if hasattr(theirs, "lin"):
            theirs.lin.weight.copy_(ours.lin.weight)
            theirs.lin.bias.copy_(ours.lin.bias)
        with accelerate(ours, data):
            got = ours(data)
        torch.testing.assert_close(got, theirs(data.x, data.edge_index), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("hops", [1, 3])
def test_sgc_equals_sgconv(hops, learned):
    _, data = two_groups()
    data.x = data.x.repeat(1, 2).requires_grad_(learned)
    ours, theirs = MODELS["SGC"].cls(10, 0, 3, K=hops), SGConv(10, 3, K=hops)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.conv.lin.weight)
        theirs.lin.bias.copy_(ours.conv.lin.bias)
    with accelerate(ours, data) as report:
        torch.testing.assert_close(ours(data), theirs(data.x, data.edge_index), rtol=1e-4, atol=1e-5)
    assert str(report) == "1 of 1"


@pytest.mark.parametrize("name", ["EGC", "ChebNet", "PNA"])
def test_a_graph_does_not_depend_on_its_batch(name):
    """Two graphs in one batch give what each gives alone."""
    from torch_geometric.data import Batch

    _, a = two_groups(seed=1)
    _, b = two_groups(20, seed=2)
    kwargs = {"ChebNet": {"K": 3, "normalization": "none"}, "PNA": {"scalers": "amplification"}}.get(name, {})
    model = MODELS[name].cls(5, 8, 4, **kwargs).eval()
    model(a)  # PNA takes the typical degree from the first graph it sees
    joint = model(Batch.from_data_list([a, b]))
    torch.testing.assert_close(joint, torch.cat([model(a), model(b)]), rtol=1e-4, atol=1e-5)


def test_pna_takes_the_degrees_of_the_first_graph():
    graph, data = two_groups()
    model = MODELS["PNA"].cls(5, 8, 4, scalers="linear")
    model(data)
    mean = 2 * graph.number_of_edges() / 40
    assert float(model.convs[0].aggr_module.avg_deg_lin) == pytest.approx(mean, rel=1e-6)
    _, other = two_groups(20, seed=3)
    model(other)
    assert float(model.convs[0].aggr_module.avg_deg_lin) == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(
    ("cls", "oracle"), [(ResourceAllocation, nx.resource_allocation_index), (AdamicAdar, nx.adamic_adar_index)]
)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), p=st.floats(0.1, 0.6))
def test_shared_neighbours_equal_networkx(cls, oracle, seed, p):
    graph = nx.gnp_random_graph(25, p, seed=seed)
    if graph.number_of_edges() < 10:
        return
    edges = torch.tensor(list(graph.edges())).T
    split = TASK_TYPES["link_pred"].split(Data(edge_index=edges, num_nodes=25), seed)
    model = cls()
    model.fit(split, np.random.default_rng(0))
    seen = nx.Graph()
    seen.add_nodes_from(range(25))
    seen.add_edges_from(split.data.edge_index.T.tolist())
    pairs = [tuple(pair) for pair in split.test.index.T.tolist()]
    expected = [value for _, _, value in oracle(seen, pairs)]
    np.testing.assert_allclose(model.score(split)["test"], expected, atol=1e-9)


def test_spectral_embedding_spans_the_leading_eigenvectors():
    graph, _ = two_groups(60)
    adjacency = nx.to_scipy_sparse_array(graph, format="csr", dtype=float)
    got = SpectralEmbedding(4, 1e-9).embed(sp.csr_matrix(adjacency), np.random.default_rng(0))
    root = np.sqrt(np.asarray(adjacency.sum(axis=1)).ravel())
    dense = adjacency.toarray() / root[:, None] / root[None, :]
    wanted = np.linalg.eigh(dense)[1][:, ::-1][:, 1:5]
    ours = got * root[:, None]
    overlap = np.linalg.svd(np.linalg.qr(ours)[0].T @ wanted)[1]
    np.testing.assert_allclose(overlap, 1.0, atol=1e-6)
    side = got[:, 0] > np.median(got[:, 0])
    assert max(side[:30].mean(), side[30:].mean()) > 0.9  # the first vector tells the groups apart


def test_grarep_factors_the_positive_log_transitions():
    graph, _ = two_groups(30)
    adjacency = sp.csr_matrix(nx.to_scipy_sparse_array(graph, format="csr", dtype=float))
    got = GraRep(28, 2).embed(adjacency, np.random.default_rng(0))
    step = adjacency.toarray() / np.maximum(adjacency.sum(axis=1), 1)
    for block, reached in zip((got[:, :28], got[:, 28:]), (step, step @ step), strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            table = np.log(np.asarray(reached) / np.asarray(reached).sum(axis=0)) + np.log(30)
        table = np.where(np.isfinite(table), np.maximum(table, 0), 0)
        strength = np.linalg.svd(table)[1][:28]
        np.testing.assert_allclose(np.linalg.norm(block, axis=0) ** 2, strength, rtol=1e-3, atol=1e-6)


def test_walks_follow_edges_and_the_bias():
    """Every step is an edge; the share of returns is that of the second-order chain."""
    graph = nx.lollipop_graph(6, 4)
    adjacency = nx.to_scipy_sparse_array(graph, format="csr", dtype=float)
    rows = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
    starts = np.tile(np.arange(10), 3000)
    for p, q in ((1.0, 1.0), (0.25, 4.0), (4.0, 0.5)):
        path = walks.walks(*rows, starts, 3, p, q, 1)
        assert all(graph.has_edge(a, b) and graph.has_edge(b, c) for a, b, c in path[:2000].tolist())
        inside = path[(path[:, 0] == 0) & (path[:, 1] == 1)]  # both in the clique
        returned = (inside[:, 2] == 0).mean()
        expected = (1 / p) / (1 / p + 4)  # back, or to one of the four other clique nodes
        assert returned == pytest.approx(expected, abs=4 * np.sqrt(0.25 / len(inside)))
    lonely = walks.walks(np.array([0, 0]), np.zeros(0, dtype=np.int64), np.array([0]), 5, 1.0, 1.0, 0)
    assert lonely.tolist() == [[0, -1, -1, -1, -1]]


@pytest.mark.parametrize("name", ["Node2Vec", "SpectralEmbedding", "GraRep", "DGI", "stack.GCN", "ChebNet"])
def test_groups_are_found_without_features_that_help(name):
    """Two well separated groups: labels of held-out nodes and links are predicted far above chance."""
    from graphnetz.engine.fitting import train_once

    _, data = two_groups(120, labels=True)
    data.x = torch.arange(120)[:, None]  # no features: encoders learn a vector per node
    few = {"Node2Vec": {"epochs": 10}, "SpectralEmbedding": {"num_components": 2}}
    spec = MODELS[name].with_kwargs(few.get(name, {}))
    for kind in ("node_cls", "link_pred"):
        task = TASK_TYPES[kind]
        with training_context(0):
            split = task.split(data, 0)
            protocol = Protocol(epochs=80, lr=1e-2, hidden_channels=16, selection="best_val", eval_every=5)
            result, _ = train_once(task, spec, split, protocol, 0)
        least = {"node_cls": 0.75, "link_pred": 0.6 if name != "DGI" else 0.5}[kind]
        assert result.metrics[f"test_{split.metric}"] > least, (name, kind)


def test_every_configuration_has_a_model_that_takes_its_settings():
    for configuration in (*configuration_space(), *bank_space("node_cls"), *bank_space("link_pred")):
        spec = engine_model(configuration)
        for task_type in ("node_cls", "link_pred"):
            assert spec.serves(task_type) or not configuration.serves(task_type), configuration.name
    assert build_model(Configuration("Node2Vec", (("hidden_channels", 16), ("p", 4))), 5, 3).dimensions == 16
    seal = build_model(
        Configuration("SEAL", (("conv", "SAGE"), ("hidden_channels", 16), ("mlp_hidden_channels", 8))), 5, 3
    )
    assert (seal.table.embedding_dim, seal.head[0].out_features) == (16, 8)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_enclosing_subgraphs_equal_brute_force(seed):
    """Nodes, edges and double-radius labels of every pair, by networkx."""
    from graphnetz.models._enclosing import enclosing

    graph = nx.gnp_random_graph(14, 0.25, seed=seed)
    adjacency = nx.to_scipy_sparse_array(graph, format="csr", dtype=float)
    rows = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
    pairs = np.array([(a, b) for a in range(5) for b in range(5, 9)]).T
    starts, nodes, labels, edges = enclosing(*rows, pairs[0], pairs[1], 30, 50)
    for number, (u, v) in enumerate(pairs.T.tolist()):
        part = nodes[starts[number] : starts[number + 1]].tolist()
        assert set(part) == {u, v, *graph[u], *graph[v]}
        assert part[:2] == [u, v]
        inside = graph.subgraph(part).copy()
        if inside.has_edge(u, v):
            inside.remove_edge(u, v)
        mine = (edges >= starts[number]).all(axis=0) & (edges < starts[number + 1]).all(axis=0)
        got = {(int(nodes[a]), int(nodes[b])) for a, b in edges[:, mine].T}
        assert got == {(a, b) for x, y in inside.edges() for a, b in ((x, y), (y, x))}
        near = nx.single_source_shortest_path_length(inside.subgraph(set(part) - {v}), u)
        far = nx.single_source_shortest_path_length(inside.subgraph(set(part) - {u}), v)
        for node, label in zip(part[2:], labels[starts[number] + 2 : starts[number + 1]].tolist(), strict=True):
            if node not in near or node not in far:
                assert label == 0
                continue
            total = near[node] + far[node]
            assert label == 1 + min(near[node], far[node]) + (total // 2) * (total // 2 + total % 2 - 1)


@pytest.mark.parametrize("conv", ["GCN", "SAGE", "GAT"])
def test_seal_learns_triangles(conv):
    """Links that close triangles are told from pairs that do not."""
    from graphnetz.engine.fitting import train_once

    graph = nx.connected_caveman_graph(20, 6)
    edges = torch.tensor(list(graph.edges())).T
    data = Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), x=torch.arange(120)[:, None], num_nodes=120)
    task = TASK_TYPES["link_pred"]
    with training_context(0):
        split = task.split(data, 0)
        protocol = Protocol(epochs=15, lr=1e-2, hidden_channels=16, selection="best_val", eval_every=5)
        result, model = train_once(task, MODELS["SEAL"].with_kwargs({"conv": conv}), split, protocol, 0)
    assert result.metrics["test_auc"] > 0.9
    assert int(model.kept) >= 10
