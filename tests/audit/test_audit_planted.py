"""Planted leaks of each kind are found, and clean data stay quiet."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz.audit import CHECKS, audit, audit_section
from graphnetz.records import GraphList, Task
from graphnetz.tasktypes.overlap import wl_hashes
from graphnetz.tasktypes.packing import pack

N = 300


def found(task_type, data, **options):
    return {item.check: item for item in audit(Task("planted", task_type, lambda root: data, 1), **options)}


def node_data(seed=0, **changes):
    rng = np.random.default_rng(seed)
    part = torch.from_numpy(rng.permutation(N))
    fields = {
        "x": torch.from_numpy(rng.normal(size=(N, 8))).float(),
        "edge_index": torch.from_numpy(rng.integers(0, N, (2, 900))),
        "y": torch.from_numpy(rng.integers(0, 3, N)),
        "train_mask": part < 150, "val_mask": (part >= 150) & (part < 200), "test_mask": part >= 200,
    }  # fmt: skip
    return Data(**(fields | changes))


def graphs(seed=0, count=200):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        nodes = int(rng.integers(8, 14))
        edges = torch.from_numpy(rng.integers(0, nodes, (2, 20)))
        out.append(Data(x=torch.from_numpy(rng.normal(size=(nodes, 3))).float(), edge_index=edges,
                        y=torch.tensor([int(rng.integers(0, 2))])))  # fmt: skip
    return out


def link_data(seed=0):
    graph = nx.gnm_random_graph(N, 900, seed=seed)
    edges = torch.tensor(list(graph.edges)).T
    both = torch.cat([edges, edges.flip(0)], dim=1)
    return Data(x=node_data(seed).x, edge_index=both, num_nodes=N)


def supplied(train, held, visible):
    rng = np.random.default_rng(1)
    data = Data(x=node_data().x, edge_index=visible, num_nodes=N, train_pos_edge_index=train)
    for part, edges in (("val", held[:, :50]), ("test", held[:, 50:])):
        data[f"{part}_pos_edge_index"] = edges
        data[f"{part}_neg_edge_index"] = torch.from_numpy(rng.integers(0, N, (2, edges.size(1))))
    return data


def test_clean_data_give_no_finding():
    assert found("node_cls", node_data()) == {}
    assert found("graph_cls", graphs()) == {}
    assert found("link_pred", link_data()) == {}


def test_examples_in_two_parts():
    data = node_data()
    twice = data.train_mask.nonzero().squeeze(1)[:25]
    data.test_mask[twice] = True
    item = found("node_cls", data)["shared_examples"]
    assert (item.level, item.value) == ("leak", pytest.approx(25 / 125))
    lists = GraphList(graphs(), splits={"train": range(150), "val": range(180, 200), "test": range(140, 180)})
    assert found("graph_cls", lists)["shared_examples"].value == pytest.approx(10 / 40)


def test_test_edges_among_training_pairs_and_messages():
    edges = link_data().edge_index
    one_way = edges[:, edges[0] < edges[1]]
    train, held = one_way[:, :700], one_way[:, 700:]
    clean = found("link_pred", supplied(train, held, torch.cat([train, train.flip(0)], 1)))
    assert "held_out_edges" not in clean
    leaky = found("link_pred", supplied(train, held, edges))
    assert leaky["held_out_edges"].value == 1.0
    backwards = found("link_pred", supplied(torch.cat([train, held[:, 50:80].flip(0)], 1), held, train))
    assert backwards["shared_examples"].value == pytest.approx(30 / 150)


def test_triples_read_backwards():
    rng = np.random.default_rng(0)
    ends = np.unique(rng.integers(0, N, (1500, 2)), axis=0)
    ends = torch.from_numpy(rng.permutation(ends[ends[:, 0] < ends[:, 1]]).T.copy())

    def graph(train, kinds, test):
        data = Data(edge_index=train, num_nodes=N, num_relations=2, train_edge_index=train, train_edge_type=kinds)
        for part in ("valid", "test"):
            data[f"{part}_edge_index"] = test
            data[f"{part}_edge_type"] = torch.zeros(test.size(1), dtype=torch.long)
        return data

    train, test = ends[:, :400], ends[:, 400:500]
    zeros = torch.zeros(400, dtype=torch.long)
    assert "reverse_pairs" not in found("link_pred", graph(train, zeros, test))
    copied = torch.cat([train, test[:, :40].flip(0)], 1)
    kinds = torch.cat([zeros, torch.ones(40, dtype=torch.long)])
    item = found("link_pred", graph(copied, kinds, test))["reverse_pairs"]
    assert (item.level, item.value) == ("leak", pytest.approx(0.4))


def test_nodes_that_are_copies():
    data = node_data()
    train, test = (mask.nonzero().squeeze(1) for mask in (data.train_mask, data.test_mask))
    data.x[test[:10]] = data.x[train[:10]]
    item = found("node_cls", data)["duplicate_nodes"]
    assert (item.level, item.value) == ("warning", pytest.approx(0.1))
    few = node_data(x=torch.eye(4)[torch.arange(N) % 4])  # four categories: equal rows mean nothing
    assert "duplicate_nodes" not in found("node_cls", few)


def test_graphs_that_are_renumbered_copies():
    rng = np.random.default_rng(3)
    lists = graphs()
    for copy, original in zip(range(180, 190), range(10), strict=True):
        source = lists[original]
        order = torch.from_numpy(rng.permutation(source.num_nodes))
        place = torch.argsort(order)
        lists[copy] = Data(x=source.x[order], edge_index=place[source.edge_index], y=source.y)
    given = GraphList(lists, splits={"train": range(160), "val": range(160, 180), "test": range(180, 200)})
    item = found("graph_cls", given)["duplicate_graphs"]
    assert (item.level, item.value) == ("leak", pytest.approx(0.5))


def test_hashes_agree_with_networkx_on_isomorphism():
    atlas = [g for g in nx.graph_atlas_g()[1:200] if g.number_of_edges()]
    rng = np.random.default_rng(0)
    copies = []
    for graph in atlas:
        order = rng.permutation(graph.number_of_nodes())
        copies.append(nx.relabel_nodes(graph, dict(zip(graph.nodes, order.tolist(), strict=True))))

    def data(graph):
        edges = torch.tensor([*graph.edges, *[(b, a) for a, b in graph.edges]]).T
        return Data(x=torch.ones(graph.number_of_nodes(), 1), edge_index=edges)

    hashes = wl_hashes(pack([data(g) for g in [*atlas, *copies]]))
    assert np.array_equal(hashes[: len(atlas)], hashes[len(atlas) :])
    ours = {(i, j) for i in range(60) for j in range(i) if hashes[i] == hashes[j]}
    theirs = [nx.weisfeiler_lehman_graph_hash(g, iterations=4) for g in atlas[:60]]
    assert ours == {(i, j) for i in range(60) for j in range(i) if theirs[i] == theirs[j]}


def test_a_feature_that_is_the_label():
    data = node_data()
    data.x[:, 5] = data.y.float() * 2 - 1
    item = found("node_cls", data)["label_in_feature"]
    assert item.level == "leak"
    assert "Feature 5" in item.message
    lists = graphs()
    for graph in lists:
        graph.y = torch.randn(1, generator=torch.Generator().manual_seed(int(graph.x.sum() * 1000) % 10**6))
        graph.x[:, 1] = graph.y
    assert "Feature 1 " in found("graph_reg", lists)["label_in_feature"].message


def test_splits_that_cannot_measure():
    data = node_data()
    data.test_mask = data.test_mask & (torch.cumsum(data.test_mask, 0) <= 12)
    item = found("node_cls", data)["degenerate_split"]
    assert "12 examples" in item.message
    data = node_data()
    data.y[data.test_mask] = 1
    assert "one class only" in found("node_cls", data)["degenerate_split"].message
    data = node_data()
    data.y[data.train_mask & (data.y == 2)] = 0
    assert "never shows" in found("node_cls", data)["degenerate_split"].message


def test_accuracy_on_uneven_classes():
    rare = (torch.arange(N) % 10 == 0).long()
    assert found("node_cls", node_data(y=rare))["uneven_classes"].value == pytest.approx(0.9, abs=0.05)
    task = Task("planted", "node_cls", lambda root: node_data(y=rare), 1, metric="balanced_acc")
    assert "uneven_classes" not in {item.check for item in audit(task)}


def test_features_alone_by_a_line_and_by_trees():
    data = node_data()
    data.y = (data.x[:, 0] + data.x[:, 1] > 0).long()
    assert "linear model" in found("node_cls", data)["features_alone"].message
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(3000, 2))).float()
    part = torch.arange(3000)
    ring = node_data(
        x=x, y=(x.norm(dim=1) < 1.2).long(), edge_index=torch.stack([part, part.roll(1)]), train_mask=part < 2000,
        val_mask=(part >= 2000) & (part < 2500), test_mask=part >= 2500,
    )  # fmt: skip
    assert "boosting" in found("node_cls", ring, checks=["features_alone"])["features_alone"].message


def test_degree_alone():
    rng = np.random.default_rng(0)
    y = torch.from_numpy(rng.integers(0, 2, N))
    source = torch.repeat_interleave(torch.arange(N), 2 + 8 * y)
    edges = torch.stack([source, torch.from_numpy(rng.integers(0, N, source.numel()))])
    assert "degree_alone" in found("node_cls", node_data(y=y, edge_index=edges))


def test_every_check_is_documented_and_found_somewhere_above():
    source = Path(__file__).read_text(encoding="utf-8")
    for name in CHECKS:
        assert f'"{name}"' in source
        assert CHECKS[name].__doc__


def test_findings_make_a_section():
    data = node_data()
    data.x[:, 5] = data.y.float()
    findings = audit(Task("planted", "node_cls", lambda root: data, 1))
    section = audit_section(findings, ["planted"])
    assert section.level == "warning"
    assert section.verdict.startswith("1 leak")
    assert findings[0].level == "leak"
    assert "No check found anything" in audit_section([], ["planted"]).verdict
