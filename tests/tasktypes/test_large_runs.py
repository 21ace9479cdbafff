"""Sampling through the engine: keys, settings, the command line, the memory estimate and its refusal."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz import kernels
from graphnetz._core.errors import UsageError
from graphnetz._core.rng import training_context
from graphnetz.benchmark import run_benchmark
from graphnetz.cli.app import run_app
from graphnetz.datasets import task_from_dataset
from graphnetz.engine.config import load_config
from graphnetz.engine.cost import footprint
from graphnetz.engine.cost.alive import Alive
from graphnetz.engine.identity.keys import content_key
from graphnetz.engine.plan import GraphSize
from graphnetz.models import MODELS
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES
from large_graphs import large_sbm

SAMPLING = {"batch_nodes": 64, "fanouts": (5, 5)}


def task(name="sbm", **options):
    settings = {"num_nodes": 400, "classes": 4, "degree": 12.0, "homophily": 0.8, "signal": 1.0, "features": 8}
    return task_from_dataset(name, "node_cls", large_sbm(0, **{**settings, **options}), 4)


def test_keys_of_whole_graph_cells_do_not_know_sampling():
    facts = {"task": "t", "task_type": "node_cls", "dataset": "d", "model": "m", "model_hash": "h", "seed": 0}
    # The key that a plain protocol had before sampling existed.
    before = {
        "optimiser": "adam", "lr": 0.01, "weight_decay": 0.0, "epochs": 100, "hidden_channels": 64, "batch_size": 32,
        "selection": "last", "patience": None, "schedule": None, "clip": None, "budget": None, "eval_every": 1,
        "edge_attributes": False, "threads": 1, "dtype": "float32", "device": "cpu",
    }  # fmt: skip
    plain, sampled = Protocol(), Protocol(**SAMPLING)
    assert content_key(protocol=plain.as_dict(), **facts) == content_key(protocol=before, **facts)
    assert content_key(protocol=sampled.as_dict(), **facts) != content_key(protocol=before, **facts)
    other = sampled.replace(fanouts=(5, 6))
    assert content_key(protocol=other.as_dict(), **facts) != content_key(protocol=sampled.as_dict(), **facts)
    assert Protocol().replace(**json.loads(json.dumps(sampled.as_dict()))) == sampled  # through the store and back


@pytest.mark.parametrize(
    "wrong",
    [{"batch_nodes": 8}, {"fanouts": (3,)}, {"batch_nodes": 0, "fanouts": (3,)}, {"batch_nodes": 8, "fanouts": ()},
     {"batch_nodes": 8, "fanouts": (3, 0)}, {"batch_nodes": 8, "fanouts": (-2,)}],
)  # fmt: skip
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(UsageError, match=r"batch_nodes|fanouts"):
        Protocol(**wrong)


def test_a_sampled_run_learns_and_repeats(tmp_path):
    settings = {"tasks": task(), "models": ["GCN", "MLP"], "seeds": range(2), "protocol": SAMPLING, "verbose": False}
    report = run_benchmark(**settings, out=tmp_path, workers=2)
    again = run_benchmark(**settings, backend="serial")
    whole = run_benchmark(tasks=task(), models=["GCN", "MLP"], seeds=range(2), verbose=False, backend="serial")
    values = {(r.model, r.seed): r.metrics["test_acc"] for r in report.results}
    assert all(result.ok for result in report.results)
    assert values == {(r.model, r.seed): r.metrics["test_acc"] for r in again.results}
    assert {r.key for r in report.results} == {r.key for r in again.results}
    assert not {r.key for r in report.results} & {r.key for r in whole.results}
    assert min(values["GCN", seed] for seed in range(2)) > 0.6  # four classes: chance is 0.25
    assert list(report.config["protocols"]["sbm"]["fanouts"]) == [5, 5]


def test_sampled_and_whole_training_reach_the_same_accuracy():
    data = task(num_nodes=1500, classes=4, degree=12.0, homophily=0.7, signal=1.0)
    found = {}
    sampling = {"batch_nodes": 64, "fanouts": (8, 8), "epochs": 6}
    for name, protocol in (("sampled", sampling), ("whole", {"epochs": 60})):
        report = run_benchmark(
            tasks=data, models="GCN", seeds=range(3), protocol=protocol, verbose=False, backend="serial"
        )
        found[name] = np.mean([result.metrics["test_acc"] for result in report.results])
    assert found["whole"] > 0.6
    assert found["sampled"] == pytest.approx(found["whole"], abs=0.03)


def test_tasks_that_cannot_be_sampled_are_named():
    graphs = [
        Data(x=torch.randn(4, 2), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.arange(4) % 2) for _ in range(9)
    ]
    with pytest.raises(UsageError, match="'many' has 9"):
        run_benchmark(tasks=task_from_dataset("many", "node_cls", graphs), models="GCN", protocol=SAMPLING, seed=0)
    labelled = [Data(x=g.x, edge_index=g.edge_index, y=torch.tensor([i % 2])) for i, g in enumerate(graphs)]
    with pytest.raises(UsageError, match="none of the chosen tasks"):
        run_benchmark(tasks=task_from_dataset("few", "graph_cls", labelled), models="GCN", protocol=SAMPLING, seed=0)


def test_settings_from_a_file_and_from_flags(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("batch_nodes = 32\nfanouts = [4, -1]\n")
    assert load_config(path, {}).overrides()["fanouts"] == [4, -1]
    assert load_config(path, {"batch_nodes": 16}).overrides()["batch_nodes"] == 16
    edges, labels = tmp_path / "g.csv", tmp_path / "labels.csv"
    rng = np.random.default_rng(0)
    pairs = {tuple(sorted(pair)) for pair in rng.integers(0, 40, (200, 2)).tolist() if pair[0] != pair[1]}
    edges.write_text("source,target\n" + "\n".join(f"{a},{b}" for a, b in sorted(pairs)))
    labels.write_text("node,label\n" + "\n".join(f"{node},{node % 2}" for node in range(40)))
    out = tmp_path / "run"
    flags = ["--graph", str(edges), "--labels", str(labels), "--model", "GraphSAGE", "--seeds", "1", "--epochs", "2"]
    code = run_app(
        ["run", *flags, "--batch-nodes", "8", "--fanouts", "3,3", "--out", str(out), "--backend", "serial", "--quiet"]
    )
    assert code == 0
    config = json.loads((out / "results.json").read_text())["config"]
    (protocol,) = config["protocols"].values()
    assert (protocol["batch_nodes"], list(protocol["fanouts"])) == (8, [3, 3])
    assert run_app(["run", *flags, "--batch-nodes", "8", "--fanouts", "3,x", "--out", str(out)]) == 2


def step_and_estimate(name, nodes, arcs):
    kind = TASK_TYPES["node_cls"]
    with training_context(0):
        split = kind.split(large_sbm(0, num_nodes=400, features=8), 0)
        model = MODELS[name].build("node_cls", split.dims, 16).train()
        size = GraphSize(nodes, arcs, split.dims.in_channels)
        probes = [footprint.step_bytes(kind, model, footprint.small_split(split, *p)) for p in footprint._PROBES]
        beside = footprint.ARC_BYTES * arcs + 4 * nodes * split.dims.in_channels
        measured = footprint.step_bytes(kind, model, footprint.small_split(split, nodes, arcs))
        return measured, footprint.extrapolate(probes, size) - beside


@pytest.mark.parametrize("name", ["GCN", "GraphSAGE", "GAT", "GraphTransformer"])
def test_the_estimate_follows_a_larger_step(name):
    measured, estimated = step_and_estimate(name, 6000, 50_000)
    assert estimated == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize("name", ["GCN", "GraphSAGE", "GraphTransformer"])
def test_the_estimate_is_that_of_the_step_which_the_engine_runs(name):
    # The engine accelerates every model; plain layers would hold the messages of all arcs.
    kind = TASK_TYPES["node_cls"]
    with training_context(0):
        split = kind.split(large_sbm(0, num_nodes=400, features=8), 0)
        model = MODELS[name].build("node_cls", split.dims, 16).train()
        small = footprint.small_split(split, 512, 20_000)
        counted = footprint.step_bytes(kind, model, small)
        with kernels.enabled(False):
            plain = footprint.step_bytes(kind, model, footprint.small_split(split, 512, 20_000))
    assert counted < plain / 2


class AllPairs(torch.nn.Module):
    """Every node looks at every other one through an explicit matrix."""

    def __init__(self, width, out):
        super().__init__()
        self.key, self.out = torch.nn.Linear(width, 4), torch.nn.Linear(width, out)

    def forward(self, data):
        key = self.key(data.x)
        return torch.softmax(key @ key.T, dim=1) @ self.out(data.x)


def test_the_estimate_sees_a_square_of_the_nodes():
    kind = TASK_TYPES["node_cls"]
    with training_context(0):
        split = kind.split(large_sbm(0, num_nodes=400, features=8), 0)
        model = AllPairs(8, split.dims.out_channels)
        probes = [footprint.step_bytes(kind, model, footprint.small_split(split, *p)) for p in footprint._PROBES]
        measured = footprint.step_bytes(kind, model, footprint.small_split(split, 3000, 4000))
    assert measured > 4 * 3000**2
    assert footprint.extrapolate(probes, GraphSize(3000, 4000, 8)) == pytest.approx(measured, rel=0.1)


def test_counting_tensors_that_are_alive():
    with Alive() as alive:
        kept = torch.zeros(1000)
        for _ in range(5):
            passing = kept + 1.0
            del passing
        view = kept[:10]
    assert alive.peak == 8000
    assert view.numel() == 10


def test_a_graph_that_does_not_fit_is_refused_with_an_estimate_and_advice(monkeypatch):
    large = task(num_nodes=20_000, degree=10.0)
    settings = {"tasks": large, "models": "GAT", "seeds": [0], "verbose": False}
    with pytest.raises(UsageError, match=r"sbm / GAT needs about \d+ MB .* may use 50 MB: train on sampled") as caught:
        run_benchmark(**settings, memory=50.0)
    words = str(caught.value)
    assert "--batch-nodes 1024 --fanouts 10,10" in words
    assert words.count(". ") == 0  # one sentence
    needed = float(words.split("needs about ")[1].split(" MB")[0])
    assert 150 < needed < 2000  # 20,000 nodes times 512 channels of four bytes are 41 MB, several times over
    sampled = run_benchmark(**settings, protocol={"batch_nodes": 256, "fanouts": (2, 2), "epochs": 1})
    assert sampled.results[0].ok
    monkeypatch.setattr(footprint.memory, "available", lambda: 60e6)
    with pytest.raises(UsageError, match="may use 60 MB"):
        run_benchmark(**settings, workers=1)


def test_large_block_models_are_what_they_claim():
    data = large_sbm(3, num_nodes=3000, classes=3, degree=20.0, homophily=0.6)
    edges = data.edge_index.numpy()
    codes = edges[0] * 3000 + edges[1]
    assert np.unique(codes).size == codes.size  # no edge twice
    assert (edges[0] != edges[1]).all()
    assert np.isin(edges[1] * 3000 + edges[0], codes).all()
    assert edges.shape[1] / 3000 == pytest.approx(20.0, rel=0.05)
    assert (data.y[edges[0]] == data.y[edges[1]]).float().mean().item() == pytest.approx(0.6, abs=0.02)
    assert torch.bincount(data.y).tolist() == [1000, 1000, 1000]
    assert (data.train_mask.int() + data.val_mask.int() + data.test_mask.int() == 1).all()
    assert torch.equal(large_sbm(3, num_nodes=300).x, large_sbm(3, num_nodes=300).x)


def test_attention_is_charged_for_the_holes_between_its_arrays() -> None:
    """Rows per arc beside rows per node leave holes; rows of one kind alone do not."""
    size, bytes_of = GraphSize(50_000, 1_000_000, 32), np.array([0.0, 10_000.0, 0.0, 200.0])
    peaks = [float(bytes_of @ [1, n, n**2, m]) for n, m in footprint._PROBES]
    alive = bytes_of @ [1, size.nodes, 0, size.arcs]
    extra = footprint.resident(peaks, size, limited=False) - footprint.extrapolate(peaks, size)
    assert extra == pytest.approx((footprint.HOLES - 1) * alive)
    plain = [10_000.0 * n for n, _ in footprint._PROBES]
    assert footprint.resident(plain, size, limited=False) == footprint.extrapolate(plain, size)
    # Under a limit a large graph's arrays are given back; those of a smaller one are kept as ever.
    assert footprint.resident(peaks, size, limited=True) == footprint.extrapolate(peaks, size)
    small = dataclasses.replace(size, arcs=400_000)
    assert footprint.resident(peaks, small, limited=True) > footprint.extrapolate(peaks, small)
