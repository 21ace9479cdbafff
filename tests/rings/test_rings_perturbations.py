"""Perturbations: pure, deterministic, of the right kind; every registered one passes the contract."""

import pickle

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data, HeteroData
from torch_geometric.utils import is_undirected, to_networkx

from graphnetz._core.errors import DataError, UnknownNameError, UsageError
from graphnetz.graphs import random_graphs as draws
from graphnetz.records import Task
from graphnetz.records.graphs import GraphList
from graphnetz.rings import PERTURBATIONS, RandomGraph, degree_features, perturb, perturb_task
from graphnetz.rings.perturbations import perturbation
from graphnetz.testing import check_perturbation


def graph(n=9, p=0.4, seed=0, *, directed=False, width=3):
    g = nx.gnp_random_graph(n, p, seed=seed, directed=directed)
    edges = np.array(list(g.edges), dtype=np.int64).reshape(-1, 2).T
    if not directed:
        edges = np.concatenate([edges, edges[::-1]], axis=1)
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(n, width))).float()
    data = Data(x=x, edge_index=torch.from_numpy(edges), y=torch.tensor([1]))
    data.edge_attr = torch.ones(edges.shape[1], 2)
    return data


def same(a, b):
    return set(a.keys()) == set(b.keys()) and all(
        torch.equal(a[k], b[k]) for k in set(a.keys()) if torch.is_tensor(a[k])
    )


@pytest.mark.parametrize("code", list(PERTURBATIONS))
def test_contract_of_every_perturbation(code):
    check_perturbation(code)


def test_empty_and_complete():
    data = graph()
    assert perturb(data, "eg").edge_index.shape == (2, 0)
    complete = to_networkx(perturb(data, "cg"), to_undirected=True)
    assert nx.is_isomorphic(complete, nx.complete_graph(9))
    assert perturb(data, "cg").edge_index.shape[1] == 9 * 8
    assert torch.equal(perturb(data, "ef").x, torch.zeros(9, 1))
    assert torch.equal(perturb(data, "cf").x, torch.eye(9))
    assert torch.equal(perturb(data, "cf", width=12).x, torch.eye(12)[:9])
    with pytest.raises(UsageError, match="at least 9"):
        perturb(data, "cf", width=8)


def test_node_count_is_kept_without_features():
    data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=6)
    for code in ("eg", "cg", "rg", "sg", "crg", "ef", "cf"):
        assert perturb(data, code).num_nodes == 6
    bare = Data(edge_index=torch.tensor([[0, 5], [5, 0]]))  # PyG infers six nodes from the edges
    assert perturb(bare, "eg").num_nodes == 6


def test_edge_labels_survive_structural_perturbation():
    data = graph()
    data.edge_label_index, data.edge_label = torch.tensor([[0], [1]]), torch.tensor([1.0])
    out = perturb(data, "rg")
    assert torch.equal(out.edge_label_index, data.edge_label_index)
    assert torch.equal(out.edge_label, data.edge_label)


@pytest.mark.parametrize("directed", [False, True])
def test_random_graph_keeps_kind_and_expected_edges(directed):
    data = graph(n=20, p=0.3, directed=directed)
    arcs = data.edge_index.shape[1]
    drawn = [perturb(data, "rg", index=i).edge_index for i in range(400)]
    assert all(is_undirected(edges, num_nodes=20) != directed for edges in drawn)
    assert all((edges[0] != edges[1]).all() for edges in drawn)
    counts = np.array([edges.shape[1] for edges in drawn])
    step = 1 if directed else 2
    room = 20 * 19 / step
    sd = step * np.sqrt(room * (arcs / step / room) * (1 - arcs / step / room) / len(drawn))
    assert abs(counts.mean() - arcs) < 4 * sd
    assert counts.std() > 0
    dense = perturb(data, "rg", p=1.0)
    assert dense.edge_index.shape[1] == 20 * 19
    with pytest.raises(UsageError, match="between 0 and 1"):
        RandomGraph(p=2.0)(data)


@pytest.mark.parametrize("directed", [False, True])
def test_shuffled_graph_keeps_count_loops_and_kind(directed):
    data = graph(n=20, p=0.3, directed=directed)
    data.edge_index = torch.cat([data.edge_index, torch.tensor([[3, 4], [3, 4]])], dim=1)
    out = perturb(data, "sg", seed=1)
    assert out.edge_index.shape == data.edge_index.shape
    assert int((out.edge_index[0] == out.edge_index[1]).sum()) == 2
    assert is_undirected(out.edge_index, num_nodes=20) != directed
    assert torch.unique(out.edge_index, dim=1).shape == out.edge_index.shape


@given(n=st.integers(1, 9), edges=st.integers(0, 60), seed=st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
def test_connected_random_graph_is_connected_and_ends(n, edges, seed):
    pairs = draws.connected(np.random.default_rng(seed), n, edges=edges)
    g = nx.Graph()
    g.add_nodes_from(range(n))
    g.add_edges_from(pairs.T.tolist())
    assert nx.is_connected(g)
    assert g.number_of_edges() == pairs.shape[1] == min(max(edges, n - 1), n * (n - 1) // 2)
    assert nx.number_of_selfloops(g) == 0


@given(n=st.integers(2, 40), directed=st.booleans())
@settings(max_examples=60, deadline=None)
def test_pair_codes_invert(n, directed):
    codes = np.arange(draws.capacity(n, directed=directed))
    pairs = draws.pairs_of(codes, n, directed=directed)
    assert len(set(map(tuple, pairs.T.tolist()))) == len(codes)
    assert (pairs[0] != pairs[1]).all()
    assert np.array_equal(draws.codes_of(pairs, n, directed=directed), codes)


def test_pair_codes_of_huge_graphs():
    n = 3_000_000_000
    codes = np.array([0, 2**52 - 1, 2**52, n * (n - 1) // 2 - 1])
    assert np.array_equal(draws.codes_of(draws.pairs_of(codes, n, directed=False), n, directed=False), codes)


def test_distinct_draws_are_uniform():
    rng = np.random.default_rng(0)
    for population, size in ((12, 5), (1 << 17, 40)):
        hits = np.concatenate([draws.distinct(rng, population, size) for _ in range(2000)])
        halves = np.bincount(hits * 4 // population, minlength=4) / len(hits)
        assert np.abs(halves - 0.25).max() < 0.01
    with pytest.raises(ValueError, match="do not exist"):
        draws.distinct(rng, 3, 4)


def test_random_features_are_standard_normal_of_the_right_width():
    data = graph(n=500, p=0.01, width=4)
    x = perturb(data, "rf").x
    assert x.shape == (500, 4)
    assert x.dtype == data.x.dtype
    assert abs(float(x.mean())) < 0.1
    assert abs(float(x.std()) - 1) < 0.1
    assert perturb(data, "rf", width=10).x.shape == (500, 10)
    shuffled = perturb(data, "sf").x
    assert torch.equal(shuffled.sort(dim=0).values, data.x.sort(dim=0).values)
    rows = {tuple(row) for row in data.x.tolist()}
    assert all(tuple(row) in rows for row in shuffled.tolist())


def test_clear_errors():
    with pytest.raises(UnknownNameError, match="Did you mean"):
        perturb(graph(), "egg")
    with pytest.raises(UsageError, match="no option 'p'"):
        perturb(graph(), "eg", p=0.5)
    with pytest.raises(DataError, match="width"):
        perturb(Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=3), "rf")
    with pytest.raises(DataError, match="HeteroData"):
        perturb(HeteroData(), "eg")


@perturbation("test_doubled", mode="features", title="doubled")
def doubled(data, rng):
    """Twice the features."""
    data.x = 2 * data.x
    return data


def test_user_adds_one_with_a_decorator():
    try:
        data = graph()
        assert torch.equal(perturb(data, "test_doubled").x, 2 * data.x)
        assert torch.equal(doubled()(data).x, 2 * data.x)
    finally:
        PERTURBATIONS.remove("test_doubled")


def load_three(root):
    split = {"train": [0], "val": [1], "test": [2]}
    return GraphList([graph(n=n, seed=n) for n in (5, 9, 7)], splits=split)


def load_seeded(root, *, seed):
    return [graph(n=6, seed=seed)]


def load_bare(root):
    return [Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=n) for n in (3, 4)]


class TestPerturbTask:
    task = Task("three", "graph_cls", load_three)

    def test_widths_agree_for_training(self):
        complete = perturb_task(self.task, "cf").loader("root")
        assert [d.x.shape for d in complete] == [(5, 9), (9, 9), (7, 9)]
        random = perturb_task(self.task, "rf").loader("root")
        assert [d.x.shape[1] for d in random] == [10, 10, 10]
        assert [d.x.shape[1] for d in perturb_task(self.task, "rf", width=4).loader("root")] == [4, 4, 4]

    def test_split_and_identity_are_kept(self):
        changed = perturb_task(self.task, "eg")
        loaded = changed.loader("root")
        assert loaded.splits == {"train": [0], "val": [1], "test": [2]}
        assert changed.name == "three@eg"
        assert changed.block == self.task.block
        assert all(d.num_edges == 0 for d in loaded)

    def test_loader_is_equal_by_content_and_pickles(self):
        a, b = perturb_task(self.task, "rg", seed=1), perturb_task(self.task, "rg", seed=1)
        assert a == b
        assert hash(a.loader) == hash(b.loader)
        assert a != perturb_task(self.task, "rg", seed=2)
        back = pickle.loads(pickle.dumps(a.loader))
        assert same(back("root")[1], a.loader("root")[1])

    def test_seed_reaches_inner_loader_and_perturbation(self):
        seeded = perturb_task(Task("s", "graph_cls", load_seeded), "sf")
        assert seeded.seeded
        assert not same(seeded.loader("r", seed=1)[0], seeded.loader("r", seed=2)[0])
        varied = perturb_task(self.task, "rg", vary=True)
        assert varied.seeded
        assert not same(varied.loader("r", seed=1)[1], varied.loader("r", seed=2)[1])
        assert not perturb_task(self.task, "eg", vary=True).seeded

    def test_featureless_data_gets_degrees_of_the_original(self):
        loaded = perturb_task(Task("bare", "graph_cls", load_bare), "eg").loader("root")
        assert torch.equal(loaded[0].x.argmax(1), torch.tensor([1, 2, 1]))
        assert [d.x.shape[1] for d in loaded] == [3, 3]
        assert all(d.x is None for d in load_bare(""))
        assert degree_features(loaded)[0] is loaded[0]

    def test_single_graph_stays_single(self):
        task = Task("one", "node_cls", lambda root: graph())
        assert isinstance(perturb_task(task, "eg").loader("root"), Data)

    def test_edge_tasks_are_perturbed_after_the_split(self):
        task = Task("links", "link_pred", load_three)
        for code in ("rg", "sf"):
            changed = perturb_task(task, code)
            assert changed.name == f"links@{code}"
            assert changed.loader is task.loader
            assert callable(changed.after_split)
