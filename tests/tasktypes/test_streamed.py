"""Graph folders as tasks: exact evaluation equals that in memory, training draws the same batches, cells resume."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GraphConv, SAGEConv

import graphnetz.kernels as kernels
from graphnetz import GAT, GCN, GraphSAGE, Task, audit, run_benchmark, task_from_dataset, task_from_edges
from graphnetz._core.errors import DataError, UsageError
from graphnetz.graphs import GraphFolder, convert
from graphnetz.kernels.folders import propagated
from graphnetz.models import SGC, StackedSAGE
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES, evaluate, streamed
from graphnetz.tasktypes.sampled import SampledNodes
from graphnetz.tasktypes.streamed import StreamedNodes

SAMPLING = {"batch_nodes": 64, "fanouts": (5, 5)}


def made(place: Path, *, nodes: int = 800, edges: int = 4000, loops: bool = True) -> Path:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, nodes)
    ends = rng.integers(0, nodes, (edges, 2))
    ends = ends if loops else ends[ends[:, 0] != ends[:, 1]]
    x = (rng.standard_normal((nodes, 12)) + np.eye(12)[y]).astype(np.float32)
    part = rng.integers(0, 12, nodes)  # most nodes are in no part, as in citation graphs
    masks = {f"{name}_mask": part == k for k, name in enumerate(("train", "val", "test"))}
    np.savez(place / "graph.npz", edges=ends, x=x, y=y, **masks)
    convert(place / "graph.npz", place / "graph", num_nodes=nodes)
    return place / "graph"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> GraphFolder:
    return GraphFolder.open(made(tmp_path_factory.mktemp("streamed")))


def in_memory(folder: GraphFolder) -> Data:
    indptr, indices = folder.array("indptr"), folder.array("indices")
    target = np.repeat(np.arange(folder.num_nodes), np.diff(indptr))
    masks = {}
    for part in ("train", "val", "test"):
        masks[f"{part}_mask"] = torch.zeros(folder.num_nodes, dtype=torch.bool)
        masks[f"{part}_mask"][torch.from_numpy(folder.array(part).copy())] = True
    return Data(
        x=torch.from_numpy(folder.array("features").astype(np.float32)),
        edge_index=torch.from_numpy(np.stack([indices, target]).astype(np.int64)),
        y=torch.from_numpy(folder.array("labels").astype(np.int64)), **masks,
    )  # fmt: skip


class Own(nn.Module):
    """A user's module: other layers, a norm, a residual, and convolutions that are not declared."""

    def __init__(self, wide: int, hidden: int, out: int, conv: type = SAGEConv) -> None:
        super().__init__()
        self.first, self.second, self.norm = conv(wide, hidden), conv(hidden, hidden), nn.BatchNorm1d(hidden)
        self.last = nn.Linear(hidden + wide, out)

    def forward(self, data: Data) -> torch.Tensor:
        h = torch.relu(self.norm(self.first(data.x, data.edge_index)))
        h = h + self.second(h, data.edge_index)
        return self.last(torch.cat([h, data.x], dim=-1))


MODELS = {
    "GraphSAGE": GraphSAGE, "GCN": GCN, "GAT": GAT, "SGC": SGC, "own": Own, "stacked": StackedSAGE,
    "own GCN": lambda *widths: Own(*widths, conv=GCNConv), "own GraphConv": lambda *widths: Own(*widths, conv=GraphConv),
}  # fmt: skip


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_evaluation_is_that_of_the_whole_graph(folder: GraphFolder, name: str, fast: bool, monkeypatch) -> None:
    monkeypatch.setattr(streamed, "PIECE_ARCS", 500)
    kind = TASK_TYPES["node_cls"]
    disk, memory = kind.split(folder, 0), kind.split(in_memory(folder), 0)
    torch.manual_seed(3)
    model = MODELS[name](12, 16, 4)
    with kernels.enabled(fast), kernels.accelerate(model):
        want = evaluate(kind, model, memory)
        found = evaluate(StreamedNodes(Protocol(**SAMPLING), model), model, disk)
    for part in ("val", "test"):
        assert want[part].shape == (len(disk.targets[part]), 4)
        scale = want[part].abs().max()
        assert (found[part] - want[part]).abs().max() / scale < 1e-6
    np.testing.assert_array_equal(disk.targets["test"], memory.targets["test"])


def test_blocks_from_the_map_and_from_memory_have_the_same_bits(folder: GraphFolder, monkeypatch) -> None:
    """The arrays of a folder loaded into memory take the same row blocks: the map itself changes no bit."""
    monkeypatch.setattr(streamed, "PIECE_ARCS", 500)
    loaded = GraphFolder(folder.path, folder.header)
    loaded._arrays = {name: np.array(folder.array(name)) for name in folder.header["files"]}
    for name in ("GraphSAGE", "GCN", "GAT", "SGC"):
        torch.manual_seed(3)
        model = MODELS[name](12, 16, 4)
        with kernels.accelerate(model):
            found = [
                evaluate(StreamedNodes(Protocol(**SAMPLING), model), model, TASK_TYPES["node_cls"].split(graph, 0))
                for graph in (folder, loaded)
            ]
        assert torch.equal(found[0]["test"], found[1]["test"])


def test_training_takes_the_batches_that_memory_takes(folder: GraphFolder) -> None:
    kind, protocol = TASK_TYPES["node_cls"], Protocol(batch_nodes=16, fanouts=(5, 5))
    losses = []
    for form, graph in ((StreamedNodes, folder), (SampledNodes, in_memory(folder))):
        split = kind.split(graph, 0)
        torch.manual_seed(3)
        model = GCN(12, 16, 4)  # without dropout no other numbers are drawn between the batches
        with kernels.accelerate(model):
            task = form(protocol, model)
            torch.manual_seed(5)
            losses.append([task.loss(model, split, batch) for batch in task.batches(split, 32)])
    assert len(losses[0]) == len(losses[1]) > 1
    for one, other in zip(*losses, strict=True):
        assert torch.equal(one, other)


def test_sgc_trains_as_on_the_whole_graph(folder: GraphFolder) -> None:
    protocol = {"hidden_channels": 8, "dtype": "float32"}
    disk = Task("disk", "node_cls", lambda _root: folder, 20, protocol={"batch_nodes": None, "fanouts": None})
    memory = task_from_dataset("memory", "node_cls", in_memory(folder), 20)
    found = [
        run_benchmark(tasks=task, models="SGC", seeds=[0], protocol=protocol, backend="serial", verbose=False).results[
            0
        ]
        for task in (disk, memory)
    ]
    assert found[0].status == found[1].status == "ok"
    assert found[0].history["train_loss"] == pytest.approx(found[1].history["train_loss"], rel=1e-5)
    assert found[0].metrics["test_acc"] == found[1].metrics["test_acc"]


def test_a_folder_is_a_task_like_any_other(folder: GraphFolder, tmp_path: Path) -> None:
    task = task_from_edges("disk", folder.path, epochs=3)
    models = ["GraphSAGE", "GCN", "GAT", "SGC"]
    options = {"tasks": task, "models": models, "seeds": [0, 1], "out": tmp_path / "run", "verbose": False}
    report = run_benchmark(**options, backend="serial")
    assert {(r.model, r.status) for r in report.results} == {(name, "ok") for name in models}
    assert all(np.isfinite(r.metrics["test_acc"]) for r in report.results)
    again = run_benchmark(**options, backend="serial")  # every cell is found in the store by the folder's digest
    assert [(r.key, r.seconds) for r in again.results] == [(r.key, r.seconds) for r in report.results]


def test_what_cannot_run_is_said_before_training(folder: GraphFolder, tmp_path: Path) -> None:
    task = task_from_edges("disk", folder.path, epochs=1)
    report = run_benchmark(tasks=task, models=["GCN", "LabelPropagation"], seeds=[0], backend="serial", verbose=False)
    assert [r.model for r in report.results] == ["GCN"]

    class Mixing(nn.Module):
        def __init__(self, wide: int, hidden: int, out: int) -> None:
            super().__init__()
            self.conv = GCNConv(wide, out)

        def forward(self, data: Data) -> torch.Tensor:
            return self.conv(data.x - data.x.mean(0), data.edge_index)

    split = TASK_TYPES["node_cls"].split(folder, 0)
    with pytest.raises(UsageError, match="applies 'mean' to the rows of all nodes"):
        streamed.noted(Mixing(12, 4, 4), split.data)


def test_an_audit_of_a_folder_finds_what_it_finds_in_memory(folder: GraphFolder, monkeypatch) -> None:
    task, same = task_from_edges("disk", folder.path), task_from_dataset("disk", "node_cls", in_memory(folder), 1)
    found = audit(task)
    assert [(item.check, item.message, item.value) for item in found] == [
        (item.check, item.message, item.value) for item in audit(same)
    ]
    monkeypatch.setattr(sys.modules["graphnetz.audit.inspect"], "MOST", 15)
    few = audit(task)
    assert {item.check for item in few} == {"degenerate_split"}  # 15 test nodes are few
    assert "(Seen: 15 of " in few[0].message


def test_a_leak_on_a_folder_is_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y, part = rng.integers(0, 2, 600), rng.integers(0, 3, 600)
    x = np.column_stack([y, rng.standard_normal(600)]).astype(np.float32)
    masks = {f"{name}_mask": part == k for k, name in enumerate(("train", "val", "test"))}
    np.savez(tmp_path / "g.npz", edges=rng.integers(0, 600, (2000, 2)), x=x, y=y, **masks)
    convert(tmp_path / "g.npz", tmp_path / "g")
    assert "label_in_feature" in {item.check for item in audit(task_from_edges("leaky", tmp_path / "g"))}


def test_a_folder_without_labels_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "bare.npz", edges=[[0, 1], [1, 2]], x=np.eye(3))
    convert(tmp_path / "bare.npz", tmp_path / "bare")
    with pytest.raises(DataError, match="holds no labels"):
        run_benchmark(tasks=task_from_edges("bare", tmp_path / "bare"), models="GCN", seeds=[0], verbose=False)


def test_a_killed_propagation_is_made_again_and_leaves_nothing(tmp_path: Path) -> None:
    folder = GraphFolder.open(made(tmp_path))
    data = TASK_TYPES["node_cls"].split(folder, 0).data
    want = np.array(propagated(data.sampler, 2, data.labelled))
    (kept,) = folder.path.glob("propagated-*")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    kept.rename(folder.path / f".{kept.name}.{gone.pid}")
    np.testing.assert_array_equal(propagated(data.sampler, 2, data.labelled), want)
    assert not list(folder.path.glob(".propagated*"))


def test_a_run_killed_in_training_goes_on_with_its_next_cell(folder: GraphFolder, tmp_path: Path, monkeypatch) -> None:
    options = f"models='GraphSAGE', seeds=[0, 1, 2], out={str(tmp_path / 'run')!r}, backend='serial', verbose=False"
    code = f"""
import os, signal
from graphnetz import run_benchmark, task_from_edges
from graphnetz.tasktypes.streamed import StreamedNodes
scores, calls = StreamedNodes.scores, []
def killed(self, *args):
    calls.append(1)
    if len(calls) == 2:  # the second cell was trained and is evaluated
        os.kill(os.getpid(), signal.SIGKILL)
    return scores(self, *args)
StreamedNodes.scores = killed
run_benchmark(tasks=task_from_edges("disk", {str(folder.path)!r}, epochs=1), {options})
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    calls, scores = [], StreamedNodes.scores
    monkeypatch.setattr(StreamedNodes, "scores", lambda self, *args: calls.append(1) or scores(self, *args))
    task = task_from_edges("disk", folder.path, epochs=1)
    report = run_benchmark(
        tasks=task, models="GraphSAGE", seeds=[0, 1, 2], out=tmp_path / "run", backend="serial", verbose=False
    )
    assert [result.status for result in report.results] == ["ok"] * 3
    assert len(calls) == 2  # the first cell was kept
    assert not list(folder.path.glob(".scratch*"))


def test_no_file_is_left_behind(folder: GraphFolder) -> None:
    split = TASK_TYPES["node_cls"].split(folder, 0)
    model = GraphSAGE(12, 16, 4)
    evaluate(StreamedNodes(Protocol(**SAMPLING), model), model, split)
    assert not list(folder.path.glob(".scratch*"))
