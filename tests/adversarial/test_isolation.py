"""What one model does to data, libraries and classes reaches no other cell, whoever runs it and on how many workers."""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import warnings
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
import torch
from coins import many_graphs, one_graph
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import global_mean_pool

from graphnetz import run_benchmark, task_from_dataset
from graphnetz.engine.executors import LocalExecutor, results_of
from graphnetz.engine.guard import Guard, Watch, _digest, private
from graphnetz.models import MODELS
from graphnetz.records import Cell, CellResult, Protocol
from graphnetz.tasktypes import TASK_TYPES, shown


class Plain(nn.Module):
    """A linear model; every hostile one is it, plus one deed per forward pass."""

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = nn.Linear(in_channels, out_channels)

    def forward(self, data):
        self.deed(data)
        rows = self.layer(torch.relu(data.x))
        return global_mean_pool(rows, data.batch) if (data.get("num_graphs") or 1) > 1 else rows

    def deed(self, data):
        """Do nothing: hostile models do something here."""


class Centres(Plain):
    def deed(self, data):
        data.x -= 3.0


class ThroughNumpy(Plain):
    def deed(self, data):
        data.x.numpy()[:] = 0.0


class Rewires(Plain):
    def deed(self, data):
        data.edge_index[:] = 0


class Relabels(Plain):
    def deed(self, data):
        data.y.fill_(0)


class Patches(Plain):
    def deed(self, data):
        torch.relu = torch.zeros_like
        F.relu = torch.zeros_like


class PatchesTensors(Plain):
    def deed(self, data):
        torch.Tensor.relu = torch.zeros_like


class Hooks(Plain):
    def deed(self, data):
        nn.modules.module.register_module_forward_hook(
            lambda module, args, out: out * 0 if torch.is_tensor(out) else out
        )


class Doubles(Plain):
    def deed(self, data):
        torch.set_default_dtype(torch.float64)


class Threads(Plain):
    def deed(self, data):
        torch.set_num_threads(2)


TAMPERED = {
    Centres: "data.x was changed in place",
    ThroughNumpy: "data.x was changed in place",
    Rewires: "data.edge_index was changed in place",
    Relabels: "data.y was changed in place",
    Patches: "torch.relu was replaced",
    PatchesTensors: "torch.Tensor.relu was replaced",
    Hooks: "a hook on all modules was left behind",
    Doubles: "the default type of numbers was changed from torch.float32 to torch.float64",
    Threads: "the number of threads was changed from 1 to 2",
}


class Assigns(Plain):
    def deed(self, data):
        data.x = F.dropout(data.x, 0.5)


class Adds(Plain):
    def deed(self, data):
        data.x = data.x * 0.5 if "seen" in data else data.x
        data.seen = True


class Remembers(Plain):
    calls = 0
    kept: list[int] = []

    def deed(self, data):
        type(self).calls += 1
        self.kept.append(1)
        data.x = data.x * (1.0 if self.calls == len(self.kept) < 9 else 100.0)


class Reseeds(Plain):
    def deed(self, data):
        torch.manual_seed(5)
        np.random.seed(5)


HARMLESS = (Assigns, Adds, Remembers, Reseeds)
VICTIMS = {"GCN": "GCN", "Victim": (Plain, {"node_cls", "graph_cls"})}


def models_of(*hostile):
    """Hostile models stand between and in front of those they could harm."""
    bad = {cls.__name__: (cls, {"node_cls", "graph_cls"}) for cls in hostile}
    return {**bad, **VICTIMS}


def outcomes(tasks, models, **options):
    settings = {"seeds": range(2), "epochs": 3, "verbose": False, "backend": "serial"} | options
    report = run_benchmark(models=models, tasks=tasks, **settings)
    return {(r.task, r.model, r.seed): (r.status, r.error, dict(r.metrics)) for r in report.results}


@pytest.fixture(scope="module")
def tasks():
    return [
        task_from_dataset("nodes", "node_cls", one_graph()),
        task_from_dataset("graphs", "graph_cls", many_graphs("class")),
    ]


@pytest.fixture(scope="module")
def clean(tasks):
    """Scores of the victims in a run of their own."""
    return outcomes(tasks, VICTIMS)


@pytest.fixture(scope="module")
def everywhere(tasks):
    """All hostile models in one run, by executor."""
    ways = {
        "serial": {},
        "one worker": {"backend": "local", "workers": 1},
        "two workers": {"backend": "local", "workers": 2},
    }
    models = models_of(*TAMPERED, *HARMLESS)
    return {name: outcomes(tasks, models, **options) for name, options in ways.items()}


def test_no_deed_reaches_another_cell(everywhere, clean):
    for name, found in everywhere.items():
        for key, result in clean.items():
            assert result[0] == "ok"
            assert found[key] == result, f"{key} with {name}"


def test_results_do_not_depend_on_executor_and_workers(everywhere):
    first, *others = everywhere.values()
    for other in others:
        assert other == first


@pytest.mark.parametrize("model", TAMPERED, ids=lambda cls: cls.__name__)
def test_the_culprit_is_named_and_its_cell_fails(everywhere, model):
    found = everywhere["one worker"]["nodes", model.__name__, 0]
    status, error, metrics = found
    assert status == "tampered"
    assert error.startswith(f"{model.__name__} changed what it was lent: ")
    assert TAMPERED[model] in error
    assert metrics == {}
    if model not in (
        Relabels,
        Rewires,
    ):  # graphs of a batch are a copy in training, the kept ones of evaluation are not
        assert everywhere["one worker"]["graphs", model.__name__, 0][0] == "tampered"


@pytest.mark.parametrize("model", HARMLESS, ids=lambda cls: cls.__name__)
def test_what_a_model_does_to_its_own_copy_and_class_is_harmless(everywhere, tasks, model):
    alone = outcomes(tasks, {model.__name__: (model, {"node_cls", "graph_cls"})}, seeds=[1])
    for task in ("nodes", "graphs"):
        for found in everywhere.values():
            status, _, metrics = found[task, model.__name__, 1]
            assert status == "ok"
            assert metrics == alone[task, model.__name__, 1][2], "seed 1 after seed 0 is seed 1 alone"


def test_fresh_interpreters_give_the_same(tasks, clean, everywhere, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_START", "spawn")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # a fresh interpreter does not find the tests
    chosen = (Centres, Patches, Remembers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # cells that cannot be moved would run here, with a warning
        found = outcomes(tasks[:1], models_of(*chosen), backend="local", workers=1)
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert found == {key: everywhere["serial"][key] for key in found}
    assert found["nodes", "GCN", 0] == clean["nodes", "GCN", 0]


def test_the_program_of_the_caller_is_left_as_it_was(tasks):
    relu, kept = torch.relu, list(Remembers.kept)
    outcomes(tasks[:1], models_of(*TAMPERED, Remembers))
    assert torch.relu is relu
    assert torch.get_default_dtype() == torch.float32
    assert Remembers.calls == 0
    assert Remembers.kept == kept
    assert torch.tensor([-1.0]).relu().item() == 0.0
    assert math.isclose(float(nn.Linear(1, 1, bias=False).requires_grad_(False)(torch.zeros(1))), 0.0)


def test_hooks_and_predictors_are_watched_too(tasks):
    class Fits(Plain):
        def fit(self, split, protocol):
            split.data.x.mul_(0.0)

    class Scores:
        def fit(self, split, rng):
            split.train.fill_(0)

        def score(self, split):
            return {part: np.zeros((len(split.targets[part]), 2)) for part in ("train", "val", "test")}

    found = outcomes(tasks[:1], {"Fits": (Fits, "node_cls"), "Scores": (Scores, "node_cls"), "GCN": "GCN"})
    assert {model: status for (_, model, _), (status, _, _) in found.items()} == {
        "Fits": "tampered", "Scores": "tampered", "GCN": "ok",
    }  # fmt: skip


class Undeclared(Plain):
    """What no check of libraries looks for: whoever only restores what it knows about misses all of it."""

    def deed(self, data):
        torch.special.expit = torch.zeros_like
        os.environ["GRAPHNETZ_UNDECLARED"] = "left behind"
        os.chdir("/")


class Sigmoid(Plain):
    """The victim of `Undeclared`."""

    def deed(self, data):
        data.x = torch.special.expit(data.x)


def test_the_trial_of_a_model_without_task_types_leaves_nothing_behind(tasks):
    """Such a model is shown the first batch of every task before cells are planned, by the process that all others
    are forked from: the tests above declare their task types, and so never met it."""
    place, expit = Path.cwd(), torch.special.expit
    options = {"backend": "local", "workers": 2}
    alone = outcomes(tasks[:1], {"Sigmoid": (Sigmoid, "node_cls"), "GCN": "GCN"}, **options)
    found = outcomes(tasks[:1], {"Undeclared": Undeclared, "Sigmoid": (Sigmoid, "node_cls"), "GCN": "GCN"}, **options)
    assert (Path.cwd(), torch.special.expit) == (place, expit)
    assert "GRAPHNETZ_UNDECLARED" not in os.environ
    assert {key: found[key] for key in alone} == alone
    assert found["nodes", "Undeclared", 0][0] == "ok"


class Ends(Plain):
    def deed(self, data):
        os._exit(3)


class Crashes(Plain):
    def deed(self, data):
        os.kill(os.getpid(), 11)


@pytest.mark.parametrize(("model", "how"), [(Ends, "exit code 3"), (Crashes, "signal 11 (segmentation fault)")])
def test_a_model_that_ends_its_process_on_the_first_batch_ends_its_cells_and_not_the_run(tasks, model, how):
    found = outcomes(tasks[:1], {"Bad": model, "GCN": "GCN"}, backend="local", workers=1, seeds=[0])
    assert found["nodes", "Bad", 0][:2] == ("failed", f"worker died: {how}")
    assert found["nodes", "GCN", 0][0] == "ok"


def test_a_crash_in_a_child_ends_as_a_crash_in_a_worker(tasks):
    class Exits(Plain):
        def deed(self, data):
            os._exit(0)

    class Segfaults(Plain):
        def deed(self, data):
            import signal

            os.kill(os.getpid(), signal.SIGSEGV)

    models = {"Exits": (Exits, "node_cls"), "Segfaults": (Segfaults, "node_cls"), "GCN": "GCN"}
    found = outcomes(tasks[:1], models, backend="local", workers=1, seeds=[0])
    assert found["nodes", "Exits", 0][:2] == ("failed", "worker died: exit code 0")
    assert found["nodes", "Segfaults", 0][:2] == ("failed", "worker died: signal 11 (segmentation fault)")
    assert found["nodes", "GCN", 0][0] == "ok"


def test_models_of_this_package_are_known_and_all_others_run_apart():
    assert all(spec.is_ours for spec in MODELS.values() if spec.cls.__module__.startswith("graphnetz."))
    from graphnetz.models import spec_from

    assert not spec_from((Plain, "node_cls")).is_ours
    assert not spec_from((MODELS["GCN"].cls, "node_cls", lambda i, h, o: Plain(i, h, o))).is_ours
    assert not MODELS["GCN"].with_kwargs({"dropout": Plain}).is_ours


class InItsProcess:
    """Work that tells where it ran."""

    def foreign(self, cell):
        return cell.model == "foreign"

    def apart(self, cell):
        return self(cell)

    def __call__(self, cell):
        trace = ({"process": os.getpid(), "parent": os.getppid()},)
        return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="none", trace=trace)


def test_foreign_cells_have_processes_of_their_own_and_known_ones_share_a_worker():
    cells = [Cell(f"{model}{i}", "t", model, i, Protocol()) for model in ("foreign", "known") for i in range(3)]
    found = results_of(LocalExecutor(workers=1, spawn=False), cells, InItsProcess())
    where = {key: (result.trace[0]["process"], result.trace[0]["parent"]) for key, result in found.items()}
    worker = where["known0"][0]
    assert {where[f"known{i}"][0] for i in range(3)} == {worker}
    assert {where[f"foreign{i}"][1] for i in range(3)} == {worker}
    assert len({where[f"foreign{i}"][0] for i in range(3)}) == 3


class Tampers(InItsProcess):
    """Work that is known, and yet changed its process."""

    def __call__(self, cell):
        return dataclasses.replace(super().__call__(cell), status="tampered", error="changed")


def test_a_worker_that_known_code_has_changed_is_replaced():
    cells = [Cell(f"known{i}", "t", "known", i, Protocol()) for i in range(3)]
    found = results_of(LocalExecutor(workers=1, spawn=False), cells, Tampers())
    assert [result.status for result in found.values()] == ["tampered"] * 3
    assert len({result.trace[0]["process"] for result in found.values()}) == 3


def test_a_watch_sees_writes_that_no_version_counts():
    kind = TASK_TYPES["node_cls"]
    split = kind.split(one_graph(), 0)
    seen = shown(split)
    watch = Watch.over(seen)
    assert watch.changed() == []
    seen.data.x.data[5, 1] += 1e-6
    assert watch.changed() == ["data.x was changed in place"]
    assert Watch.over(shown(private(split))).changed() == []


def test_a_guard_finds_and_undoes_exchanged_methods():
    from torch_geometric.nn import GCNConv

    guard, before = Guard([Plain]), GCNConv.forward
    GCNConv.forward = lambda *_: None
    Plain.added = 1
    try:
        assert guard.changed() == ["torch_geometric.nn.GCNConv.forward was replaced"]
    finally:
        guard.restore()
    assert GCNConv.forward is before
    assert not hasattr(Plain, "added")
    assert guard.changed() == []


@pytest.mark.parametrize("shape", [(3, 1), (1, 1), (1, 3), (0, 2), (1,), ()])
def test_bytes_are_read_whatever_the_strides(shape):
    """Pairs of one column came with stride 0, and the check itself failed the cell."""
    value = torch.arange(4)[: math.prod(shape)].as_strided(shape, [0 if n == 1 else 1 for n in shape])
    assert _digest(value) == _digest(value.clone())
    if value.numel():
        assert _digest(value) != _digest(value + 1)


def test_a_single_hidden_value_counts_as_unchanged():
    """The label of one held-out graph is NaN, which equals nothing, itself included."""
    from graphnetz.engine.guard import _digest

    hidden = torch.tensor([[float("nan")]])
    assert _digest(hidden) == _digest(hidden.clone())
    assert _digest(hidden) != _digest(torch.tensor([[1.0]]))
