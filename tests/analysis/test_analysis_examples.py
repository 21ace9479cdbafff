"""Contributions of examples: for every metric of every task type their mean is the score."""

import dataclasses
import math

import networkx as nx
import numpy as np
import pytest
import torch

from graphnetz.analysis.examples import contributions, example_reader
from graphnetz.engine import predictions as keeping
from graphnetz.engine.predictions import communities, kept_predictions
from graphnetz.metrics import METRICS, metric
from graphnetz.records import CellResult, Predictions
from graphnetz.records.kept import Kept, examples_file, pack_examples, unpack_examples
from graphnetz.records.task_info import TaskInfo
from graphnetz.tasktypes import TASK_TYPES
from graphnetz.tasktypes.hard import HardNegatives
from graphnetz.tasktypes.ranked import among_all, by_query, queries_of
from graphnetz.testing.examples import knowledge, labelled_edges, multi_targets, rings_and_stars, two_cliques


def many_labels(graphs):
    rng = np.random.default_rng(5)
    for graph in graphs:
        graph.y = torch.tensor(rng.integers(0, 2, (1, 3)), dtype=torch.float)
        graph.y[0, rng.random(3) < 0.15] = math.nan
    return graphs


def three_classes():
    data = two_cliques(300)
    data.y = torch.arange(300) % 3
    return data


def labelled_nodes():
    data = two_cliques(240)
    data.y = torch.tensor(np.random.default_rng(4).integers(0, 2, (240, 3)))
    return data


def one_graph_edges():
    data = two_cliques(60)
    data.edge_label = torch.tensor(np.random.default_rng(2).integers(0, 2, data.edge_index.size(1)))
    return data


def supplied():
    data, rng = two_cliques(60), np.random.default_rng(3)
    for name in ("val", "test"):
        for sign in ("pos", "neg"):
            data[f"{name}_{sign}_edge_index"] = torch.tensor(rng.integers(0, 60, (2, 40)))
    return data


CASES = {
    "node_cls": ("node_cls", lambda: two_cliques(200)),
    "node_cls, three classes": ("node_cls", three_classes),
    "node_cls, several labels": ("node_cls", labelled_nodes),
    "node_cls, many graphs": ("node_cls", lambda: [two_cliques(24, seed) for seed in range(30)]),
    "graph_cls": ("graph_cls", lambda: rings_and_stars(500)),
    "graph_cls, several labels": ("graph_cls", lambda: many_labels(rings_and_stars(900))),
    "graph_reg": ("graph_reg", lambda: rings_and_stars(100, regression=True)),
    "link_pred": ("link_pred", lambda: two_cliques(60)),
    "link_pred, supplied": ("link_pred", supplied),
    "link_pred, relational": ("link_pred", lambda: knowledge(60, 5)),
    "link_pred, hard negatives": ("link_pred", lambda: two_cliques(60)),
    "edge_cls": ("edge_cls", lambda: labelled_edges(80)),
    "edge_cls, one graph": ("edge_cls", one_graph_edges),
    "multi_reg": ("multi_reg", lambda: multi_targets(60)),
}
UNITS = {"node_cls": "node", "graph_cls": "graph", "graph_reg": "graph", "link_pred": "pair", "edge_cls": "edge",
         "multi_reg": "graph"}  # fmt: skip


def outputs(split, seed=0):
    """Outputs that know a little about the truth, in the shape that the metrics take."""
    rng, target = np.random.default_rng(seed), split.targets["test"]
    if target.dtype.kind in "iu" and target.ndim == 1:
        noise = rng.normal(size=(len(target), split.dims.out_channels))
        return noise + np.eye(split.dims.out_channels)[target]
    return np.nan_to_num(target) - 0.5 + rng.normal(size=target.shape)


@pytest.mark.parametrize("case", CASES)
def test_the_mean_of_contributions_is_the_score(case):
    name, make = CASES[case]
    kind = TASK_TYPES[name]
    split = kind.split(make(), 0)
    if "hard" in case:
        split = HardNegatives(10)(split, 0)
    given = outputs(split).astype(np.float32)
    extra = {"hits@20"} if name == "link_pred" else {"mse", "r2", "log_mse"} if "reg" in name else {"micro_f1", "f1"}
    measured = 0
    for key in {*kind.metrics, split.metric, *extra}:
        split.metric = key
        # Of triples that are ranked among all entities the ranks are what a model gives.
        score = np.random.default_rng(7).integers(1, 60, len(given)).astype(float) if among_all(split) else given
        value = kind.measure(split, "test", score, (key,))[f"test_{key}"]
        kept = kept_predictions(split, score)
        assert kept.score.nbytes <= 4 * max(kept.score.size, 1)
        tested = len(queries_of(split, "test").example) if by_query(split) else len(split.targets["test"])
        assert len(kept.score) == len(kept.example) == tested
        info = TaskInfo(f"test_{key}")
        found = contributions("task", info, [Kept("GCN", 0, kept)], {("GCN", 0): value})
        if math.isnan(value) or (name == "multi_reg" and key in ("r2", "log_mse")):
            assert found.reason
            continue
        assert not found.reason, (key, found.reason)
        tolerance = 1e-6 if found.kind == "loss" else 1e-9
        np.testing.assert_allclose(found.values["GCN"].mean(), value, rtol=tolerance, err_msg=key)
        assert found.values["GCN"].shape == (1, len(found.examples))
        assert found.unit == ("ranked edge" if by_query(split) else UNITS[name])
        assert found.values["GCN"].std() > 0 or value == 1, key
        measured += 1
    assert measured >= 3


def tiled(split, times, *, without):
    """The test part many times over, less one copy of one example: its weight is a little smaller."""
    rows = np.tile(np.arange(len(split.targets["test"])), times)
    rows = np.delete(rows, without)
    return rows, dataclasses.replace(split, targets={"test": split.targets["test"][rows]})


@pytest.mark.parametrize(
    ("case", "keys"),
    [
        ("graph_cls", ("acc", "balanced_acc", "macro_f1", "auc", "ap")),
        ("graph_cls, several labels", ("acc", "balanced_acc", "macro_f1", "micro_f1", "auc", "ap")),
        ("node_cls, three classes", ("macro_f1", "balanced_acc", "auc", "ap")),
        ("edge_cls", ("f1", "auc")),
        ("graph_reg", ("mae", "mse", "rmse", "log_mse", "r2")),
        ("link_pred", ("auc", "ap")),
    ],
)
def test_contributions_are_what_a_little_less_weight_changes(case, keys):
    name, make = CASES[case]
    kind = TASK_TYPES[name]
    split = kind.split(make(), 0)
    score = outputs(split).astype(np.float32)
    n, times = len(score), 100
    for key in keys:
        split.metric = key
        whole = kind.measure(split, "test", score, (key,))[f"test_{key}"]
        kept = kept_predictions(split, score)
        found = contributions("t", TaskInfo(f"test_{key}"), [Kept("A", 0, kept)], {("A", 0): whole})
        assert not found.reason
        wide = np.abs(found.values["A"] - whole).max()
        for i in range(0, n, max(1, n // 8)):
            rows, less = tiled(split, times, without=i)
            change = (whole - kind.measure(less, "test", score[rows], (key,))[f"test_{key}"]) * (n * times - 1)
            column = np.searchsorted(found.examples, split.examples["test"][i])
            assert abs(change - (found.values["A"][0, column] - whole)) < 0.01 * wide, (key, i)


@pytest.mark.parametrize("key", ["mae", "mse", "rmse"])
def test_a_graph_contributes_with_its_nodes(key):
    kind = TASK_TYPES["multi_reg"]
    split = kind.split(multi_targets(900), 0)
    split.metric, score = key, outputs(split).astype(np.float32)
    whole = kind.measure(split, "test", score, (key,))[f"test_{key}"]
    kept = kept_predictions(split, score)
    found = contributions("t", TaskInfo(f"test_{key}"), [Kept("A", 0, kept)], {("A", 0): whole})
    graphs = split.test.numpy()
    member = np.repeat(graphs, split.data.node_ptr.diff()[split.test].numpy())
    for graph in graphs[:12]:
        rows = member != graph
        less = dataclasses.replace(split, test=split.test[torch.tensor(graphs != graph)])
        less = dataclasses.replace(less, targets={"test": split.targets["test"][rows]})
        change = (whole - kind.measure(less, "test", score[rows], (key,))[f"test_{key}"]) * (len(graphs) - 1)
        value = found.values["A"][0, np.searchsorted(found.examples, graph)] - whole
        assert abs(change - value) < 0.03 * np.abs(found.values["A"] - whole).max()


def test_seeds_and_splits_stand_side_by_side():
    kind, data = TASK_TYPES["link_pred"], two_cliques(60)
    kept = []
    for seed in (0, 1):
        split = kind.split(data, seed)
        kept += [Kept(model, seed, kept_predictions(split, outputs(split, seed))) for model in ("GCN", "MLP")]
    scores = {(cell.model, cell.seed): 0.5 for cell in kept}
    found = contributions("t", TaskInfo("test_auc", replication="resplit"), kept, scores)
    assert (found.seeds, found.splits, found.one_graph, found.unit) == ((0, 1), (0, 1), True, "pair")
    assert set(found.values) == {"GCN", "MLP"}
    for row, seed in enumerate((0, 1)):
        split = kind.split(data, seed)
        tested = np.isfinite(found.values["GCN"][row])
        assert set(found.examples[tested]) == set(split.examples["test"])
        ends = {tuple(pair) for pair in found.ends[tested]}
        assert ends == {tuple(pair) for pair in split.test.index.T.tolist()}
    # Data that each seed makes anew share no example, no node and no block, whatever their numbers are.
    fresh = contributions("t", TaskInfo("test_auc", replication="regenerate"), kept, scores)
    assert len(fresh.examples) == sum(len(kept[i].predictions.example) for i in (0, 2))
    assert not set(fresh.ends[np.isfinite(fresh.values["GCN"][0])].ravel()) & set(
        fresh.ends[np.isfinite(fresh.values["GCN"][1])].ravel()
    )
    same = [Kept(cell.model, seed, cell.predictions) for cell in kept[:2] for seed in (0, 1)]
    assert contributions("t", TaskInfo("test_auc"), same, scores).splits == (0, 0)


def test_examples_that_occur_twice_keep_apart():
    kept = Predictions(np.array([3, 3, 5]), np.array([0, 1, 1]), np.array([0, 0, 1], dtype=np.uint8))
    found = contributions("t", TaskInfo("test_acc"), [Kept("A", 0, kept)], {("A", 0): 2 / 3})
    assert len(set(found.examples.tolist())) == 3
    np.testing.assert_allclose(found.values["A"].mean(), 2 / 3)


def test_what_cannot_be_assessed_has_a_reason():
    few = Predictions(np.arange(50), np.arange(50) < 19, np.arange(50.0))
    few = dataclasses.replace(few, target=few.target.astype(int))
    found = contributions("t", TaskInfo("test_auc"), [Kept("A", 0, few)], {("A", 0): 0.5})
    assert found.reason == "class 1 has 19 test examples on one side, fewer than 20"
    assert not found.values
    enough = dataclasses.replace(few, target=(np.arange(50) < 20).astype(int))
    assert not contributions("t", TaskInfo("test_auc"), [Kept("A", 0, enough)], {("A", 0): 0.5}).reason

    @metric("strange", "strange", greater_is_better=True, bounds=(0, 1))
    def strange(target, score):
        return 0.5

    try:
        found = contributions("t", TaskInfo("test_strange"), [Kept("A", 0, enough)], {("A", 0): 0.5})
    finally:
        METRICS.remove("strange")
    assert found.reason == "the metric 'strange' has no contributions of single examples"
    other = dataclasses.replace(enough, example=np.arange(50) + 1)
    both = [Kept("A", 0, enough), Kept("B", 0, other)]
    found = contributions("t", TaskInfo("test_auc"), both, {("A", 0): 0.5, ("B", 0): 0.5})
    assert found.reason == "the models of seed 0 were tested on different examples"


def test_of_many_examples_a_sample_is_kept_that_all_models_share(monkeypatch):
    monkeypatch.setattr(keeping, "KEPT_EXAMPLES", 40)
    split = TASK_TYPES["node_cls"].split(two_cliques(300), 0)
    first, second = (kept_predictions(split, outputs(split, seed)) for seed in (0, 1))
    assert (len(first.example), first.total, first.complete) == (40, 100, False)
    np.testing.assert_array_equal(first.example, second.example)
    truth = dict(zip(split.examples["test"].tolist(), split.targets["test"].tolist(), strict=True))
    assert [truth[i] for i in first.example.tolist()] == first.target.tolist()
    found = contributions("t", TaskInfo("test_acc"), [Kept("A", 0, first)], {("A", 0): 0.5})
    assert found.total == 100
    split = TASK_TYPES["link_pred"].split(two_cliques(60), 0)
    split.metric = "mrr"
    kept = kept_predictions(split, outputs(split))
    found = contributions("t", TaskInfo("test_mrr"), [Kept("A", 0, kept)], {("A", 0): 0.5})
    assert found.reason == "mrr ranks against all negatives, and only a sample of them was kept"


def test_a_damaged_file_is_one_sentence_and_others_are_read(tmp_path):
    kept = Predictions(np.array([7, 9]), np.array([0, 1]), np.array([0, 0], dtype=np.uint8))
    cells = [CellResult("", task, "GCN", 3, metric="test_acc", metrics={"test_acc": 0.5}) for task in "abc"]
    (tmp_path / "examples").mkdir()
    good = pack_examples("a", [Kept("GCN", 3, kept), Kept("gone", 3, kept)])
    (tmp_path / "examples" / examples_file("a")).write_bytes(good)
    (tmp_path / "examples" / examples_file("b")).write_bytes(good[:-9])
    find = example_reader(cells, dict.fromkeys("abc", TaskInfo("test_acc")), tmp_path)
    assert find("a").values["GCN"].tolist() == [[1.0, 0.0]]
    assert list(find("a").values) == ["GCN"], "only cells of the report"
    assert find("a") is find("a")
    assert find("b").reason.startswith("The predictions in 'examples/b.bin' cannot be read: Stored bytes")
    assert find("c") is None
    assert find("unknown") is None


def test_the_file_of_a_task_does_not_depend_on_the_order_of_cells():
    split = TASK_TYPES["graph_reg"].split(rings_and_stars(100, regression=True), 0)
    kept = [Kept(model, seed, kept_predictions(split, outputs(split, seed))) for seed in (2, 1) for model in "BA"]
    assert pack_examples("t", kept) == pack_examples("t", kept[::-1])
    for cell, back in zip(
        sorted(kept, key=lambda c: (c.seed, c.model)), unpack_examples(pack_examples("t", kept)), strict=True
    ):
        assert (cell.model, cell.seed) == (back.model, back.seed)
        for name in ("example", "target", "score"):
            np.testing.assert_array_equal(getattr(cell.predictions, name), getattr(back.predictions, name))


def test_communities_are_connected_and_cover_every_node():
    data = two_cliques(400)
    found = communities(data.edge_index, 400)
    assert (len(found), found.min(), found.max()) == (400, 0, 63)
    graph = nx.Graph(data.edge_index.T.tolist())
    assert all(nx.is_connected(graph.subgraph(np.flatnonzero(found == block))) for block in range(64))
    alone = communities(torch.empty(2, 0, dtype=torch.long), 70)
    assert sorted(alone) == list(range(70)), "nodes without edges are blocks of their own"


def test_models_of_which_some_seeds_kept_nothing_are_left_out():
    """A claim about new examples is about the runs whose mean is shown, not about those that kept predictions."""
    rng = np.random.default_rng(3)
    target = rng.integers(0, 2, 60)

    def cell(model, seed, *, kept):
        score = np.where(rng.random(60) < 0.8, target, 1 - target).astype(np.uint8)
        return CellResult(
            "", "cora", model, seed, metric="test_acc", metrics={"test_acc": float((score == target).mean())},
            predictions=Predictions(np.arange(60), target, score) if kept else None,
        )  # fmt: skip

    cells = [cell("GCN", seed, kept=True) for seed in range(3)]
    cells += [cell("MLP", seed, kept=seed == 1) for seed in range(3)]
    found = example_reader(cells, {"cora": TaskInfo("test_acc")})("cora")
    assert list(found.values) == ["GCN"]
    found = example_reader(cells[3:], {"cora": TaskInfo("test_acc")})("cora")
    assert found.values == {}
    assert found.reason == "predictions of some seeds only were kept"
