"""Parts beside validation and test: measured once, on the weights of the selected epoch, and compared in the report."""

import dataclasses
import json

import numpy as np
import pytest
import scipy.stats

from graphnetz import BenchmarkReport, Task, get_split, run_benchmark
from graphnetz.datasets import task_of
from graphnetz.records import CellResult
from graphnetz.records.protocol import Protocol
from graphnetz.report import TaskInfo
from graphnetz.tasktypes import TASK_TYPES, fit
from graphnetz.tasktypes.loop import evaluate

SMALL = {"train": 40, "val": 16, "test": 20, "ood": 12}


def small(name):
    task = task_of(name)
    return dataclasses.replace(task, loader=_Smaller(task.loader), epochs=6, card=None)


class _Smaller:
    def __init__(self, loader):
        self.loader = loader

    def __call__(self, root, *, seed=0):
        return self.loader(root, seed=seed, **SMALL)


def run(*names, **options):
    settings = {"models": ["GCN", "FeatureOnly", "GradientBoosting", "Majority"], "seeds": 3, "verbose": False}
    return run_benchmark(
        tasks=[small(n) for n in names], **{**settings, **options}, backend="serial", hidden_channels=8
    )


@pytest.fixture(scope="module")
def report():
    return run("algo_distance", "algo_bridges", "algo_connected", "algo_diameter")


def test_every_model_on_every_kind_of_task_has_both_scores(report):
    assert len(report.analysis.shifts) == 4 * 4
    for cell in report.results:
        key = cell.metric.removeprefix("test_")
        assert np.isfinite(cell.metrics[f"ood_{key}"]), (cell.task, cell.model)
        assert {k.removeprefix("ood_") for k in cell.metrics if k.startswith("ood_")} == {
            k.removeprefix("test_") for k in cell.metrics if k.startswith("test_")
        }


def test_a_constant_answer_is_measured_on_the_further_part_itself(report):
    found = next(c for c in report.results if (c.task, c.model, c.seed) == ("algo_diameter", "Majority", 0))
    split = get_split(small("algo_diameter"), 0)
    median = np.median(np.concatenate([split.targets["train"], split.targets["val"]]))
    assert found.metrics["ood_mae"] == pytest.approx(np.abs(split.targets["ood"] - median).mean())
    assert found.metrics["test_mae"] == pytest.approx(np.abs(split.targets["test"] - median).mean())


def test_losses_and_intervals_are_those_of_scipy(report):
    for found in report.analysis.shifts:
        cells = [c for c in report.results if (c.task, c.model) == (found.task, found.model)]
        key = cells[0].metric.removeprefix("test_")
        sign = 1 if cells[0].greater_is_better else -1
        lost = sign * np.array([c.metrics[f"test_{key}"] - c.metrics[f"ood_{key}"] for c in cells])
        assert found.loss == pytest.approx(lost.mean())
        if np.ptp(lost):
            low, high = scipy.stats.t.interval(0.95, 2, lost.mean(), scipy.stats.sem(lost))
            assert (found.low, found.high) == pytest.approx((low, high))
        assert found.reach == "source"  # every seed draws graphs of its own


def test_the_report_shows_them(report, tmp_path):
    report.write(tmp_path, figures=False) if "figures" in report.write.__code__.co_varnames else report.write(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "Out of distribution" in page
    frame = report.frame("shifts")
    rows = (tmp_path / "shifts.csv").read_text().splitlines()
    assert len(rows) == len(frame) + 1 == 17
    again = BenchmarkReport.from_json(tmp_path / "results.json")
    assert again.analysis.shifts == report.analysis.shifts
    assert "ood_mae" in json.loads((tmp_path / "results.json").read_text())["cells"][-1]["metrics"]


def test_the_weights_are_those_of_the_selected_epoch():
    task = small("algo_distance")
    split, kind = get_split(task, 0), TASK_TYPES["node_cls"]
    from graphnetz.models import spec_from

    protocol = Protocol(lr=0.01, epochs=8, selection="best_val", hidden_channels=8)
    found = run_benchmark(
        tasks=[dataclasses.replace(task, epochs=8, protocol={"lr": 0.01, "selection": "best_val"})], models=["GCN"],
        seeds=[0], hidden_channels=8, backend="serial", verbose=False,
    ).results[0]  # fmt: skip
    from graphnetz._core.rng import seed_everything, training_context

    with training_context(0):
        seed_everything(0)
        model = spec_from("GCN").build("node_cls", split.dims, 8)
        fit(kind, model, split, protocol, keep_best_weights=True)
        score = evaluate(kind, model, split, ("ood",))["ood"].numpy()
    assert found.metrics["ood_balanced_acc"] == pytest.approx(
        kind.measure(split, "ood", score)["ood_balanced_acc"], abs=1e-6
    )


def test_a_predictor_that_knows_three_parts_only_has_no_further_score():
    class Three:
        def fit(self, split, rng):
            self.width = split.dims.out_channels

        def score(self, split):
            return {part: np.zeros((len(split.targets[part]), self.width)) for part in ("train", "val", "test")}

    report = run("algo_connected", models={"Three": (Three, {"graph_cls"}, None)}, seeds=2)
    assert all(cell.ok for cell in report.results)
    assert not report.analysis.shifts


def test_single_seeds_and_tasks_without_such_parts():
    cells = [CellResult("", "t", "A", 0, metric="test_acc", metrics={"test_acc": 0.9, "ood_acc": 0.8})]
    from graphnetz.analysis.shifts import shifts_of

    (one,) = shifts_of(cells, {"t": TaskInfo("test_acc")})
    assert (one.n, round(one.loss, 6)) == (1, 0.1)
    assert np.isnan(one.low)
    assert shifts_of([dataclasses.replace(cells[0], metrics={"test_acc": 0.9})], {"t": TaskInfo("test_acc")}) == ()


def test_parts_that_share_graphs_are_refused():
    from graphnetz._core.errors import DataError

    task = small("algo_connected")

    def overlapping(root, *, seed=0):
        graphs = task.loader(root, seed=seed)
        graphs.splits = {**graphs.splits, "ood": graphs.splits["test"]}
        return graphs

    with pytest.raises(DataError, match="ood"):
        run_benchmark(
            tasks=[Task("same", "graph_cls", overlapping, 2, replication="regenerate")], models=["GCN"], seeds=[0],
            backend="serial", verbose=False,
        )  # fmt: skip
