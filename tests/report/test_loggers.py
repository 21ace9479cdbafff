"""Cells reach TensorBoard, MLflow and Weights & Biases as they finish; nobody logs in and nothing fails with them."""

import math
import sys
import types

import pytest
import torch
from torch_geometric.data import Data

from graphnetz._core.errors import MissingExtraError, UnknownNameError, UsageError
from graphnetz.benchmark import run_benchmark
from graphnetz.cli.app import run_app
from graphnetz.engine.trackers import LOGGERS, curves, ends, listening, place
from graphnetz.records import Cell, CellResult, Protocol, Task
from graphnetz.testing import check_tracker

EVIL = "../../</script>"


def cell(task="cora", model="GCN", seed=0):
    return Cell(f"key-{task}-{model}-{seed}", task, model, seed, Protocol(epochs=6))


def result(of, status="ok"):
    history = {"train_loss": [1.0, math.nan, 0.2], "test_acc": [0.1, 0.2, 0.3]} if status == "ok" else {}
    metrics = {"test_acc": 0.3, "test_f1": math.nan} if status == "ok" else {}
    return CellResult(
        of.key, of.task, of.model, of.seed, status, "test_acc", True, metrics, history, 6, None, 1.5, 1e6, 10
    )


def test_curves_keep_the_distance_of_epochs_and_leave_undefined_values_out():
    found = list(curves(result(cell())))
    assert found == [("train_loss", 2, 1.0), ("train_loss", 6, 0.2), ("test_acc", 2, 0.1), ("test_acc", 4, 0.2), ("test_acc", 6, 0.3)]  # fmt: skip
    assert ends(result(cell())) == {"final/test_acc": 0.3, "seconds": 1.5, "peak_memory": 1e6, "parameters": 10.0}


def test_places_stay_inside_and_apart():
    names = [EVIL, "..-..-", "script", "a/b", "a-b", "x" * 300]
    found = {place(cell(task=a, model=b)) for a in names for b in names}
    assert len(found) == len(names) ** 2
    assert all(".." not in part.split("/") and not part.startswith("/") for part in found)


@pytest.mark.parametrize("name", list(LOGGERS))
def test_contract_of_every_tracker_that_is_installed(name):
    try:
        check_tracker(name)
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.fixture
def recorder():
    class Recorder:
        made = []

        def __init__(self, where, folder):
            self.where, self.cells, self.closed = where, [], False
            self.made.append(self)

        def cell(self, cell, result):
            if self.where == "broken":
                raise RuntimeError("no disk")
            self.cells.append((cell, result))

        def close(self):
            self.closed = True

    LOGGERS.add("recorder", Recorder)
    yield Recorder
    LOGGERS.remove("recorder")


def test_a_run_tells_every_cell_once_and_a_broken_logger_costs_nothing(recorder, tmp_path, capsys):
    edges = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]])
    labels = torch.arange(40) // 4 % 2
    parts = {f"{name}_mask": torch.arange(40) % 4 == i for i, name in enumerate(("train", "val", "test"))}
    data = Data(x=torch.randn(40, 3), edge_index=edges, y=labels, **parts)
    task = Task(EVIL, "node_cls", lambda root: data, epochs=2)
    given = {
        "tasks": [task],
        "models": ["MLP", "Majority"],
        "seeds": [0, 1],
        "backend": "serial",
        "out": tmp_path / "r",
    }
    report = run_benchmark(**given, verbose=False, log=["recorder:good", "recorder:broken"])
    good, broken = recorder.made
    assert good.closed
    assert broken.cells == []
    assert sorted((c.model, c.seed) for c, _ in good.cells) == [
        ("MLP", 0),
        ("MLP", 1),
        ("Majority", 0),
        ("Majority", 1),
    ]
    assert {r.key: r.value for _, r in good.cells} == {r.key: r.value for r in report.results}
    assert capsys.readouterr().err.count("'recorder:broken' failed and gets nothing more: RuntimeError: no disk") == 1
    run_benchmark(**given, verbose=False, log="recorder:again")
    assert recorder.made[-1].cells == []  # finished cells were told when they finished


def test_wrong_names_and_missing_packages_are_told_before_training(monkeypatch, tmp_path, capsys):
    for name in ("tensorboard", "mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=rf"graphnetz-bench\[{name}\]"), listening(name, tmp_path):
            pass
    with pytest.raises(UnknownNameError, match="Did you mean 'wandb'"), listening(["wanb:x"], tmp_path):
        pass
    with pytest.raises(UsageError, match="name:where"), listening(":x", tmp_path):
        pass
    out = str(tmp_path / "run")
    assert run_app(["run", "--task", "sbm_communities", "--log", "tensorbord:x", "--out", out, "--seeds", "1"]) == 2
    assert "Did you mean 'tensorboard'" in capsys.readouterr().err
    assert not (tmp_path / "run" / "store.sqlite").exists()


def test_tensorboard_itself(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with listening(f"tensorboard:{tmp_path / 'tb'}", None) as tell:
        for item in (cell(), cell(task=EVIL)):
            tell(item, result(item))
        tell(cell(seed=1), result(cell(seed=1), status="failed"))
    events = EventAccumulator(str(tmp_path / "tb" / "cora" / "GCN" / "seed-0"))
    events.Reload()
    found = [(e.step, e.value) for e in events.Scalars("test_acc")]
    assert found == [(2, pytest.approx(0.1)), (4, pytest.approx(0.2)), (6, pytest.approx(0.3))]
    assert [e.step for e in events.Scalars("train_loss")] == [2, 6]
    assert [e.value for e in events.Scalars("final/test_acc")] == [pytest.approx(0.3)]
    assert len(list((tmp_path / "tb").rglob("events.out.*"))) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"tb"}


def test_mlflow_gets_a_run_per_cell(monkeypatch, tmp_path):
    calls = []

    class Client:
        def __init__(self, tracking_uri):
            calls.append(("open", tracking_uri))

        def get_experiment_by_name(self, name):
            return None

        def create_experiment(self, name):
            return "7"

        def create_run(self, experiment, run_name):
            calls.append(("run", experiment, run_name))
            return types.SimpleNamespace(info=types.SimpleNamespace(run_id=f"id{len(calls)}"))

        def log_batch(self, run, metrics=(), params=()):
            calls.extend(("metric", *m) for m in metrics)
            calls.extend(("param", *p) for p in params)

        def set_terminated(self, run, status):
            calls.append(("end", status))

    module, entities = types.ModuleType("mlflow"), types.ModuleType("mlflow.entities")
    module.MlflowClient = Client
    entities.Metric = lambda key, value, now, step: (key, value, step)
    entities.Param = lambda key, value: (key, value)
    monkeypatch.setitem(sys.modules, "mlflow", module)
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY", raising=False)
    with listening("mlflow", tmp_path / "run") as tell:
        tell(cell(), result(cell()))
        tell(cell(seed=1), result(cell(seed=1), status="failed"))
    assert calls[0] == ("open", f"sqlite:///{(tmp_path / 'run').resolve()}/mlflow.db")
    assert ("run", "7", "cora / GCN / seed 0") in calls
    assert ("metric", "test_acc", 0.2, 4) in calls
    assert ("param", "model", "GCN") in calls
    assert [c[1] for c in calls if c[0] == "end"] == ["FINISHED", "FAILED"]
    import os

    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    with listening("mlflow:http://example.invalid:5000", tmp_path):
        assert calls[-1] == ("open", "http://example.invalid:5000")


def test_wandb_is_offline_unless_the_user_said_otherwise(monkeypatch, tmp_path):
    runs = []

    class Run:
        def __init__(self, **given):
            self.given, self.rows, self.summary, self.code = given, [], {}, None
            runs.append(self)

        def log(self, values, step):
            self.rows.append((step, values))

        def finish(self, exit_code):
            self.code = exit_code

    module = types.ModuleType("wandb")
    module.init = Run
    monkeypatch.setitem(sys.modules, "wandb", module)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    with listening("wandb:mine", tmp_path) as tell:
        tell(cell(), result(cell()))
        monkeypatch.setenv("WANDB_MODE", "online")
        tell(cell(seed=1), result(cell(seed=1), status="failed"))
    first, second = runs
    assert (first.given["mode"], second.given["mode"]) == ("offline", "online")
    assert first.given["project"] == "mine"
    assert first.given["dir"] == str(tmp_path)
    assert first.given["config"]["seed"] == 0
    assert first.rows == [(2, {"train_loss": 1.0, "test_acc": 0.1}), (4, {"test_acc": 0.2}), (6, {"train_loss": 0.2, "test_acc": 0.3})]  # fmt: skip
    assert first.summary["final/test_acc"] == 0.3
    assert (first.code, second.code) == (0, 1)
