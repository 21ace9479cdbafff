"""Ranks of true edges: filtered among all entities, and among hard negatives of their own."""

import dataclasses

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz import get_split, run_benchmark, task_from_networkx
from graphnetz._core.errors import DataError, UsageError
from graphnetz.analysis.examples import contributions
from graphnetz.datasets import task_of
from graphnetz.engine.predictions import kept_predictions
from graphnetz.engine.rescore import rescore
from graphnetz.metrics import METRICS
from graphnetz.records.kept import Kept
from graphnetz.tasktypes import TASK_TYPES, shown
from graphnetz.tasktypes.hard import HardNegatives, candidates
from graphnetz.tasktypes.heads import DistMultHead
from graphnetz.tasktypes.ranked import by_query, filtered_ranks, model_scorer, queries_of, ranks_of

LINK = TASK_TYPES["link_pred"]


# Knowledge graphs


@pytest.fixture(scope="module")
def kinship():
    split = get_split("kinship_rules", 1)
    assert (split.kind, split.metric) == ("relational", "mrr")
    return split


def true_triples(split):
    found = set()
    for part in ("train", "val", "test"):
        pairs = split.part(part)
        rows = zip(*pairs.index.tolist(), pairs.relation.tolist(), pairs.label.tolist(), strict=True)
        found |= {(h, r, t) for h, t, r, y in rows if y > 0.5}
    return found


def brute(split, part, table):
    """Filtered ranks by the definition, one triple at a time; ``table[h, r, t]`` are the scores."""
    every, nodes = true_triples(split), int(split.data.num_nodes)
    pairs = split.part(part)
    asked = [
        (h, r, t)
        for h, t, r, y in zip(*pairs.index.tolist(), pairs.relation.tolist(), pairs.label.tolist(), strict=True)
        if y > 0.5
    ]
    tails, heads = [], []
    for h, r, t in asked:
        rivals = [table[h, r, e] for e in range(nodes) if (h, r, e) not in every]
        own = table[h, r, t]
        tails.append(1 + sum(s > own for s in rivals) + sum(s == own for s in rivals) / 2)
        rivals = [table[e, r, t] for e in range(nodes) if (e, r, t) not in every]
        heads.append(1 + sum(s > own for s in rivals) + sum(s == own for s in rivals) / 2)
    return np.array(tails + heads)


@pytest.mark.parametrize("ties", [False, True])
def test_filtered_ranks_follow_the_definition(kinship, ties, monkeypatch):
    rng, nodes = np.random.default_rng(0), int(kinship.data.num_nodes)
    shape = (nodes, kinship.dims.num_relations, nodes)
    table = rng.integers(0, 4, shape).astype(float) if ties else rng.normal(size=shape)

    def scorer(given, relation, tails):
        return table[:, relation, given].T.copy() if tails else table[given, relation]

    monkeypatch.setattr("graphnetz.tasktypes.ranked.BLOCK", 7 * nodes)  # several blocks, the last one smaller
    found = filtered_ranks(kinship, "test", scorer)
    assert found == pytest.approx(brute(kinship, "test", table))
    asked = queries_of(kinship, "test")
    assert len(asked.example) == len(np.unique(asked.example)) == len(found)
    assert (found <= asked.candidates).all()


def test_one_way_for_all_entities_equals_pair_by_pair(kinship):
    nodes, relations = int(kinship.data.num_nodes), kinship.dims.num_relations
    torch.manual_seed(0)
    head, z = DistMultHead(torch.nn.Identity(), 6, relations), torch.randn(nodes, 6)

    class Plain(torch.nn.Module):
        def decode(self, z, index, kinds):
            return head.decode(z, index, kinds)

    with torch.no_grad():
        fast = filtered_ranks(kinship, "val", model_scorer(head, z, nodes))
        slow = filtered_ranks(kinship, "val", model_scorer(Plain(), z, nodes))
    assert np.mean(fast == slow) > 0.99  # sums in another order may swap two equal ones
    assert fast == pytest.approx(slow, abs=1.0)


def test_a_model_whose_scores_are_no_numbers_has_no_rank(kinship):
    nodes = int(kinship.data.num_nodes)
    found = filtered_ranks(kinship, "test", lambda given, relation, tails: np.full((len(given), nodes), np.nan))
    assert np.isnan(found).all()
    assert np.isnan(METRICS["mrr"].of_ranks(found))


def test_a_run_on_a_knowledge_graph_keeps_ranks_that_give_its_scores():
    report = run_benchmark(
        tasks=["kinship_rules"], models=["GCN", "DegreeProduct", "Jaccard", "FeatureOnly"], seeds=2, epochs=4,
        hidden_channels=16, backend="serial", verbose=False,
    )  # fmt: skip
    assert "cannot rank all entities" in report.absent["kinship_rules", "FeatureOnly"]
    assert {cell.model for cell in report.results} == {"GCN", "DegreeProduct", "Jaccard"}
    for cell in report.results:
        keys = {key.removeprefix("test_") for key in cell.metrics if key.startswith("test_")}
        assert keys == {"mrr", "hits@1", "hits@3", "hits@10", "hits@20", "hits@50", "hits@100"}
        assert 0 <= cell.metrics["test_hits@1"] <= cell.metrics["test_mrr"] <= cell.metrics["test_hits@100"] <= 1


def test_pairs_of_true_and_false_triples_by_choice():
    report = run_benchmark(
        tasks=["kinship_rules"], models=["GCN", "FeatureOnly"], seeds=[0], epochs=2, metric="auc", backend="serial",
        verbose=False,
    )  # fmt: skip
    assert all(cell.ok for cell in report.results)
    assert {key for cell in report.results for key in cell.metrics if key.startswith("test_")} == {
        "test_auc",
        "test_ap",
    }


def test_a_schedule_reads_the_loss_of_pairs_and_not_of_ranks():
    report = run_benchmark(
        tasks=["kinship_rules"], models=["GCN"], seeds=[0], epochs=3, backend="serial", verbose=False,
        protocol={"schedule": {"patience": 1}},
    )  # fmt: skip
    loss = report.results[0].history["val_loss"]
    assert len(loss) == 3
    assert all(0 < value < 2 for value in loss)


# Hard negatives


def grid(nodes=8):
    return task_from_networkx("grid", nx.convert_node_labels_to_integers(nx.grid_2d_graph(nodes, nodes)))


@pytest.fixture(scope="module")
def hard():
    return HardNegatives(20)(get_split(grid(), 3), 3)


def test_candidates_are_false_share_an_end_and_are_the_hardest(hard):
    plain = get_split(grid(), 3)
    graph = nx.Graph(plain.data.edge_index.T.tolist())
    whole = nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 8))
    graph.add_nodes_from(whole)
    steps = dict(nx.all_pairs_shortest_path_length(graph))
    table = hard.test.index.reshape(2, -1, 21)
    truth = hard.targets["test"].reshape(-1, 21) > 0.5
    assert (truth.sum(axis=1) == 1).all()
    assert len(np.unique(truth.argmax(axis=1))) > 3  # not always at the same place
    for row in range(len(truth)):
        (a,), (b,) = table[0, row][truth[row]].tolist(), table[1, row][truth[row]].tolist()
        assert whole.has_edge(a, b)
        wrong = list(zip(*table[:, row][:, ~truth[row]].tolist(), strict=True))
        assert len(set(wrong)) == 20
        assert sum(u == a for u, _ in wrong) == 10
        for u, v in wrong:
            assert (u == a) != (v == b)
            assert not whole.has_edge(u, v)
            assert u != v
        # None that was left out shares more neighbours with the end than one that was taken.
        shared = {w: len(list(nx.common_neighbors(graph, a, w))) for w in whole if w != a and not whole.has_edge(a, w)}
        taken = {v for u, v in wrong if u == a}
        least = min((shared[w], -steps[a].get(w, 99)) for w in taken)
        assert all((shared[w], -steps[a].get(w, 99)) <= least for w in shared if w not in taken)


def test_the_same_for_every_model_and_another_seed_is_another_split(hard):
    again = HardNegatives(20)(get_split(grid(), 3), 3)
    assert torch.equal(again.test.index, hard.test.index)
    assert not torch.equal(HardNegatives(20)(get_split(grid(), 4), 4).test.index, hard.test.index)
    assert torch.equal(hard.train.index, get_split(grid(), 3).train.index)


def test_models_are_not_told_which_candidate_is_true(hard):
    assert torch.isnan(shown(hard).test.label).all()
    assert np.isnan(shown(hard).targets["test"]).all()


def test_ranks_and_pooled_metrics(hard):
    rng = np.random.default_rng(0)
    score = rng.normal(size=len(hard.targets["test"]))
    found = LINK.measure(hard, "test", score)
    table, truth = score.reshape(-1, 21), hard.targets["test"].reshape(-1, 21) > 0.5
    ranks = np.array([1 + (row > row[t]).sum() for row, t in zip(table, truth.argmax(axis=1), strict=True)])
    assert found["test_mrr"] == pytest.approx((1 / ranks).mean())
    assert found["test_hits@3"] == pytest.approx((ranks <= 3).mean())
    assert found["test_auc"] == pytest.approx(METRICS["auc"].compute(hard.targets["test"], score))
    perfect = LINK.measure(hard, "test", hard.targets["test"])
    assert (perfect["test_mrr"], perfect["test_hits@1"]) == (1.0, 1.0)
    constant = LINK.measure(hard, "test", np.zeros_like(score))
    assert constant["test_mrr"] == pytest.approx(1 / 11)  # ties are worth the mean place


def test_kept_ranks_give_contributions_and_are_scored_again(hard):
    from graphnetz.records import CellResult
    from graphnetz.report import TaskInfo

    score = np.random.default_rng(1).normal(size=len(hard.targets["test"]))
    kept, metrics = kept_predictions(hard, score), LINK.measure(hard, "test", score)
    assert by_query(hard)
    assert kept.ranked
    assert len(kept.score) == hard.n_test == len(np.unique(kept.example))
    assert kept.score == pytest.approx(ranks_of(hard, "test", score))
    cell = CellResult("", "grid", "GCN", 0, metric="test_mrr", metrics=metrics)
    again = {row.metric: row.verdict for row in rescore(cell, kept)}
    assert {again[key] for key in metrics if "mrr" in key or "hits" in key} == {"agrees"}
    assert again["test_auc"] == "not possible"
    for key in ("mrr", "hits@10"):
        value = metrics[f"test_{key}"]
        found = contributions("grid", TaskInfo(f"test_{key}"), [Kept("GCN", 0, kept)], {("GCN", 0): value})
        assert found.values["GCN"].mean() == pytest.approx(value)
        assert (found.kind, found.reason) == ("loss", "")
    assert contributions("grid", TaskInfo("test_auc"), [Kept("GCN", 0, kept)], {("GCN", 0): 0.5}).reason


def test_small_and_dense_graphs():
    rng, path = np.random.default_rng(0), np.array([[0, 1], [1, 2]])
    few = candidates(path, 4, np.array([[0], [1]]), known=path, count=50, rng=rng)
    assert few.shape[2] == 3  # (0, 2), (0, 3) and (3, 1)
    full = np.array(np.triu_indices(4, 1))
    with pytest.raises(DataError, match="so dense"):
        candidates(full, 4, full[:, :1], known=full, count=5, rng=rng)


def test_hard_negatives_by_one_setting_at_every_door(tmp_path):
    settings = {"seeds": 2, "epochs": 2, "negatives": "hard", "backend": "serial", "verbose": False}
    task = grid()
    report = run_benchmark(tasks=[task, "karate_club"], models=["GCN", "DegreeProduct"], out=str(tmp_path), **settings)
    found = {cell.task: cell.metric for cell in report.results}
    assert found == {"grid": "test_mrr", "karate_club": "test_acc"}
    cell = next(c for c in report.results if c.task == "grid")
    assert any("hard negatives of its own" in note for note in cell.notes)
    random = run_benchmark(tasks=[task], models=["GCN"], **{**settings, "negatives": "random"})
    assert random.results[0].metric == "test_auc"
    chosen = run_benchmark(tasks=[task], models=["GCN"], metric="hits@10", **settings)
    assert chosen.results[0].metric == "test_hits@10"
    keys = {r.results[0].key for r in (random, chosen)} | {cell.key}
    assert len(keys) == 3
    with pytest.raises(UsageError, match="link prediction"):
        run_benchmark(tasks=["karate_club"], models=["GCN"], **settings)


def test_hard_negatives_are_part_of_a_stable_key():
    from graphnetz.engine.config import RunConfig, resolve

    def key():
        run = resolve(RunConfig.read({"task": "les_miserables", "model": "GCN", "seeds": 1, "negatives": "hard"}))
        return run.plan()[1].cells[0].key

    assert key() == key()


def test_supplied_negatives_give_way_to_hard_ones():
    g = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6))
    pairs = torch.tensor(list(g.edges)).T
    data = Data(edge_index=torch.cat([pairs[:, 8:], pairs[:, 8:].flip(0)], dim=1), num_nodes=36)
    data.train_pos_edge_index = pairs[:, 8:]
    for part, rows in (("val", slice(0, 4)), ("test", slice(4, 8))):
        data[f"{part}_pos_edge_index"] = pairs[:, rows]
        data[f"{part}_neg_edge_index"] = torch.tensor([[0, 1], [20, 30]])
    hard = HardNegatives(10)(LINK.split(data, 0), 0)
    assert (hard.n_test, hard.test.width) == (4, 11)


@pytest.mark.data
def test_random_negatives_flatter(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    task = dataclasses.replace(task_of("power_grid"), epochs=20)
    run = {"models": ["DegreeProduct", "AdamicAdar"], "seeds": [0], "root": str(tmp_path), "verbose": False}
    hard = run_benchmark(tasks=[task], negatives="hard", **run).results
    for cell in hard:
        assert cell.metrics["test_auc"] < 0.75  # a false edge next door is as good a guess
        assert cell.metrics["test_mrr"] < 0.3
