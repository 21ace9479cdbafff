"""Link prediction in the order of time, and node classification with test nodes unseen in training."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz import get_split, run_benchmark, task_from_dataset
from graphnetz._core.errors import UsageError
from graphnetz.datasets import CARDS
from graphnetz.tasktypes import TASK_TYPES, shown
from graphnetz.tasktypes.hard import HardNegatives
from graphnetz.testing.examples import two_cliques

LINK, NODE = TASK_TYPES["link_pred"], TASK_TYPES["node_cls"]


def timed(pairs=200, nodes=60, seed=0):
    """Random pairs, each in both directions and some of them again later, with their times."""
    rng = np.random.default_rng(seed)
    code = rng.choice(nodes * (nodes - 1) // 2, size=pairs, replace=False)
    low, high = (part[code] for part in np.triu_indices(nodes, 1))
    time = rng.permutation(pairs).astype(float)
    again = rng.integers(pairs, size=30)
    index = np.concatenate([[low, high], [high, low], [low[again], high[again]]], axis=1)
    data = Data(edge_index=torch.from_numpy(index), num_nodes=nodes)
    data.edge_time = torch.from_numpy(np.concatenate([time, time, np.full(30, 1e9)]))
    return data, dict(zip(zip(low.tolist(), high.tolist(), strict=True), time.tolist(), strict=True))


def positives(split, part):
    pairs = split.part(part)
    return {tuple(sorted(p)) for p, y in zip(pairs.index.T.tolist(), pairs.label.tolist(), strict=True) if y > 0.5}


def test_what_is_asked_comes_after_what_is_known():
    data, time = timed()
    split = LINK.split(data, 0)
    spans = {part: sorted(time[pair] for pair in positives(split, part)) for part in ("train", "val", "test")}
    assert [len(spans[part]) for part in ("train", "val", "test")] == [170, 10, 20]
    assert spans["train"][-1] < spans["val"][0]
    assert spans["val"][-1] < spans["test"][0]
    seen = {tuple(sorted(pair)) for pair in split.data.edge_index.T.tolist()}
    assert seen == positives(split, "train")  # a later repetition is not what makes a pair new
    assert any("last ones in time" in note for note in split.notes)


def test_every_seed_has_the_same_parts_and_says_so():
    data, _ = timed()
    first, second = LINK.split(data, 0), LINK.split(data, 5)
    for part in ("train", "val", "test"):
        assert torch.equal(first.part(part).index, second.part(part).index)
    assert first.replication == "init"
    del data.edge_time
    assert LINK.split(data, 0).replication == "resplit"


def test_hard_negatives_in_time():
    hard = HardNegatives(10)(LINK.split(timed()[0], 0), 0)
    assert (hard.n_test, hard.replication, hard.metric) == (20, "init", "mrr")


@pytest.mark.data
@pytest.mark.parametrize("name", ["dnc_emails_in_time", "sp_infectious_in_time"])
def test_real_networks_in_time(name, shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    split = get_split(name, 0, root=str(tmp_path))
    rows = np.loadtxt(shared_data / "networks" / f"{CARDS[name].mirror[0].split('/')[-1]}", delimiter=",", skiprows=1)
    first = {}
    for a, b, t in rows[:, :3]:
        if a != b:
            pair = (int(min(a, b)), int(max(a, b)))
            first[pair] = min(first.get(pair, np.inf), t)
    times = {part: [first[pair] for pair in positives(split, part)] for part in ("train", "val", "test")}
    assert sum(map(len, times.values())) == len(first)
    assert max(times["train"]) <= min(times["val"])
    assert max(times["val"]) <= min(times["test"])


# Test nodes unseen in training


def inductive(nodes=40):
    data = two_cliques(nodes)
    data.inductive = True
    return data


def test_held_out_nodes_and_their_edges_are_not_in_the_training_graph():
    data = inductive()
    split = NODE.split(data, 0)
    held = {*split.val.tolist(), *split.test.tolist()}
    kept = [node for node in range(40) if node not in held]
    assert split.train_data.num_nodes == len(kept)
    back = dict(enumerate(kept))
    edges = {(back[a], back[b]) for a, b in split.train_data.edge_index.T.tolist()}
    assert edges == {(a, b) for a, b in data.edge_index.T.tolist() if a not in held and b not in held}
    assert [back[row] for row in split.train_data.train_rows.tolist()] == split.train.tolist()
    assert torch.equal(split.train_data.x, split.data.x[kept])
    assert "y" not in split.train_data
    assert shown(split).train_data is split.train_data


def test_training_reads_no_feature_of_a_test_node():
    """Scores on validation and test change with the features of test nodes, weights do not."""
    weights = []
    for value in (0.0, 100.0):
        data = inductive()
        split = NODE.split(data, 0)
        split.data.x[split.test] = value
        from graphnetz import GCN, Protocol
        from graphnetz._core.rng import training_context
        from graphnetz.tasktypes import fit

        with training_context(0):
            model = GCN(split.dims.in_channels, 8, 2)
            fit(NODE, model, split, Protocol(epochs=3))
        weights.append([p.detach().clone() for p in model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))


def test_models_that_read_the_whole_graph_are_left_out():
    task = task_from_dataset("two", "node_cls", inductive(), 3)
    run = {"seeds": [0], "backend": "serial", "verbose": False}
    models = ["GCN", "Majority", "FeatureOnly", "GradientBoosting", "CorrectAndSmooth", "DGI"]
    report = run_benchmark(tasks=[task], models=models, **run)
    assert {cell.model for cell in report.results} == {"GCN", "Majority", "FeatureOnly"}
    assert all(cell.ok for cell in report.results)
    assert any("are not there while models are trained" in note for note in report.provenance["notes"])
    for model in ("GradientBoosting", "CorrectAndSmooth", "DGI"):
        assert "keeps test nodes out of training" in report.absent["two", model]
    with pytest.raises(UsageError, match="without its test nodes"):
        run_benchmark(tasks=[task], models=["GCN"], protocol={"batch_nodes": 8, "fanouts": (2, 2)}, **run)


@pytest.mark.data
def test_cora_without_its_test_papers(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    split = get_split("cora_inductive", 0, root=str(tmp_path))
    assert split.train_data.num_nodes == 2708 - 500 - 1000
    assert (split.n_train, split.n_test) == (140, 1000)
