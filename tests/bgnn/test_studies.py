"""The studies as suites: tasks, models, budgets, and the published figures beside ours."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.cli.studies import study_arguments
from graphnetz.datasets import SUITES
from graphnetz.datasets.bgnn import FOLDED, PROTOCOLS, RATES, SIZES, STUDIES, study_task
from graphnetz.engine.config import load_config
from graphnetz.engine.plan import make_plan
from graphnetz.engine.worker import Workbench
from graphnetz.metrics import METRICS
from graphnetz.models import MODELS
from graphnetz.papers.benchmarking_gnns.suite import beside, studies, study
from graphnetz.papers.benchmarking_gnns.tables import CYCLES, EDGES, LARGE_BUDGET, RUNS, SMALL_BUDGET
from graphnetz.records import CellResult, Plateau
from graphnetz.report import BenchmarkReport, TaskInfo
from graphnetz.stats import welch_interval

REFERENCE = Path(__file__).resolve().parents[2].parent / "shared" / "reference"


def test_every_study_is_a_suite_and_has_a_small_form():
    assert set(STUDIES) == set(studies())
    for name in STUDIES:
        full, small = SUITES[name](), SUITES[name]("small")
        names = [task.name for task in full]
        assert len(set(names)) == len(names)
        assert 0 < len(small) <= len(full)
        assert all(task.name.endswith("_small") for task in small)
        assert study(name).tasks("small")[0].epochs < study(name).tasks("published")[0].epochs == 1000


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_protocols_are_the_published_ones(name, request):
    if not REFERENCE.is_dir():
        pytest.skip("the published configurations are not beside the project")
    theirs = {
        "zinc": "ZINC", "aqsol": "AQSOL", "mnist_superpixels_slic": "MNIST", "cifar10_superpixels": "CIFAR10",
        "pattern": "SBM_PATTERN", "cluster": "SBM_CLUSTER", "wikics": "WikiCS", "csl": "CSL", "cycles": "CYCLES",
        "graph_theory_prop": "GraphTheoryProp", "random_tsp": "TSP", "ogbl_collab": "OGBL-COLLAB",
    }  # fmt: skip
    if name not in theirs:
        pytest.skip("rates differ between the models of this dataset")
    configs = json.loads((REFERENCE / "benchmarking_gnns_configs.json").read_text())
    found = [c for c in configs if c["dataset"] == theirs[name] and c["model"] == "GIN"]
    assert found
    ours = PROTOCOLS[name]
    for config in found:
        train = config["train"]
        assert ours["lr"] == train["init_lr"]
        assert ours["weight_decay"] == train["weight_decay"]
        assert ours["schedule"] == Plateau(train["lr_reduce_factor"], train["lr_schedule_patience"], train["min_lr"])
        if name not in ("wikics", "ogbl_collab"):  # one graph: the engine trains on all of it
            assert ours["batch_size"] == train["batch_size"]


@pytest.mark.parametrize("name", sorted(RATES))
def test_rates_of_every_model_are_the_published_ones(name, shared_reference):
    configs = json.loads((shared_reference / "benchmarking_gnns_configs.json").read_text())
    dataset = {"proteins": "PROTEINS_full"}.get(name, name.upper())
    theirs = {c["model"]: c["train"]["init_lr"] for c in configs if c["dataset"] == dataset}
    ours = {model.removeprefix("bgnn.").lower(): rate for model, rate in RATES[name].items()}
    assert ours.pop("gcn-vanilla") == ours["gcn"]
    assert {model.lower(): rate for model, rate in theirs.items()} == ours


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(FOLDED))
def test_tu_datasets_have_ten_stratified_folds(name, shared_data, tmp_path):
    graphs = study_task(name).loader(str(tmp_path), mirror=str(shared_data))
    labels = np.array([int(graph.y) for graph in graphs])
    assert len(graphs.splits) == 10
    tested = np.concatenate([split["test"] for split in graphs.splits])
    np.testing.assert_array_equal(np.sort(tested), np.arange(len(labels)))
    for split in graphs.splits:
        parts = [np.asarray(split[part]) for part in ("train", "val", "test")]
        assert len(np.unique(np.concatenate(parts))) == len(labels)
        shares = [np.bincount(labels[part], minlength=labels.max() + 1) / np.bincount(labels) for part in parts]
        np.testing.assert_allclose(shares, np.broadcast_to([[0.8], [0.1], [0.1]], np.shape(shares)), atol=0.011)
    assert graphs[0].x.size(1) == {"enzymes": 18, "dd": 89, "proteins": 3}[name]
    assert (study_task(name).name in RUNS) is (name != "proteins")  # the published runs use PROTEINS_full


def test_a_model_takes_the_rate_of_its_task_unless_the_caller_names_one():
    task = dataclasses.replace(
        study_task("csl"), name="rated", protocol={"lr": 1e-3}, model_protocol={"bgnn.GIN": {"lr": 7e-3}}
    )
    bench = Workbench({"rated": task}, {name: MODELS[name] for name in ("bgnn.GIN", "bgnn.GAT")}, "nowhere")
    rates = {cell.model: cell.protocol.lr for cell in make_plan(bench, (0,), protocol={}).cells}
    assert rates == {"bgnn.GIN": 7e-3, "bgnn.GAT": 1e-3}
    assert {cell.protocol.lr for cell in make_plan(bench, (0,), protocol={"lr": 0.1}).cells} == {0.1}


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published tables are not beside the project")
def test_every_figure_stands_in_the_published_tables():
    data = json.loads((REFERENCE / "benchmarking_gnns_tables.json").read_text())["tables"]
    published = set()
    for table in data.values():
        for row in table["rows"]:
            for mean, sd in (("test", "test_sd"), ("average", "average_sd")):
                if row.get(mean) is not None:
                    published.add((round(float(row[mean]), 3), round(float(row[sd]), 3)))
    ours = [
        pair for part in (SMALL_BUDGET, CYCLES, LARGE_BUDGET, EDGES) for row in part.values() for pair in row.values()
    ]
    assert len(ours) > 150
    assert not [pair for pair in ours if (round(pair[0], 3), round(pair[1], 3)) not in published]


def test_rows_belong_to_tasks_and_models_of_their_study():
    for name in ("benchmarking-gnns", "pe-study", "csl-study", "budget-study"):
        chosen = study(name)
        tasks = {task.name for task in chosen.tasks("published")}
        pairs = {(task, model) for task, model in chosen.published if task in tasks and model in chosen.models}
        assert pairs
        for task in chosen.tasks("published"):
            assert task.metric is None or task.metric in METRICS
    cycles = {task.name for task in study("pe-study").tasks("published") if task.name.startswith("cycles")}
    assert cycles == set(CYCLES)


def test_csl_counts_seeds_not_folds():
    mean, sd, runs = study("csl-study").published["csl", "bgnn.3WLGNN"]
    assert (mean, sd) == pytest.approx((0.957, 0.1485))
    assert runs == RUNS["csl"] == 20
    assert study("csl-study").seeds["published"] == tuple(range(100))


def test_budget_study_asks_for_two_sizes():
    chosen = study("budget-study")
    arguments = chosen.arguments("small")
    assert {value["budget"] for value in arguments["model_protocol"].values()} == {100_000, 500_000}
    assert chosen.models["bgnn.GCN-500k"].kwargs["num_layers"] == 16
    assert chosen.arguments("small", budget=50_000)["model_protocol"] == {}


def config(**flags):
    return load_config(None, {"suite": "pe-study", "size": "small", **flags})


def test_flags_win_over_the_study():
    plain = config()
    found = study_arguments(plain)
    assert found["protocol"] == {"budget": 100_000}
    assert found["seeds"] == [0, 1, 2, 3, 4]
    assert plain.seeds == found["seeds"]  # written to config.toml, so that a resumed run has them
    found = study_arguments(config(seeds=2, model=["bgnn.GIN"], budget="20k", task=["csl_small"]))
    assert (found["seeds"], list(found["models"])) == ([0, 1], ["bgnn.GIN"])
    assert [task.name for task in found["tasks"]] == ["csl_small"]
    assert found["protocol"]["budget"] == 20_000
    assert study_arguments(config(hidden_channels=8))["protocol"]["hidden_channels"] == 8
    assert "budget" not in study_arguments(config(hidden_channels=8))["protocol"]
    with pytest.raises(UsageError, match="task of the study"):
        study_arguments(config(task=["cora"]))


def test_small_is_refused_where_it_means_nothing():
    assert study_arguments(load_config(None, {"suite": "default"})) == {}
    with pytest.raises(UsageError, match="is for the studies"):
        study_arguments(load_config(None, {"suite": "default", "size": "small"}))


def report_of(task, values, model="bgnn.GIN"):
    info = TaskInfo("test_acc", "accuracy", True, "fold", 0.3, task, "combinatorial", "graph_cls", 30)
    cells = [
        CellResult(f"k{seed}", task, model, seed, metric="test_acc", metrics={"test_acc": value}, parameters=7)
        for seed, value in enumerate(values)
    ]
    return BenchmarkReport.from_results(cells, tasks={task: info}, models=[model], seeds=range(len(values)))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [((0.993, 1.0, 0.98, 1.0), "compatible"), ((0.5, 0.51, 0.49, 0.5), "differs"), ((1.0, 0.6), "too wide to say")],
)
def test_verdicts_are_those_of_welch(values, verdict):
    (row,) = beside(report_of("csl_pe", values), study("csl-study"))
    expected = welch_interval(np.mean(values), np.std(values, ddof=1), len(values), 0.99333, 0.01333, 20, ddof_b=0)
    assert (row.low, row.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert row.verdict == verdict
    assert (row.smallest, row.largest, row.parameters) == (min(values), max(values), 7)
    assert row.same_data


def test_reduced_sizes_and_own_generators_are_marked():
    (small,) = beside(report_of("csl_pe_small", (0.9, 1.0)), study("csl-study"))
    (cycles,) = beside(report_of("cycles_500", (0.7, 0.8)), study("pe-study"))
    assert not small.same_data
    assert not cycles.same_data
    assert beside(report_of("unknown", (0.7, 0.8)), study("pe-study")) == []


def test_log_mse_is_the_logarithm():
    compute = METRICS["log_mse"].compute
    assert compute(np.array([1.0, 2.0]), np.array([1.1, 2.1])) == pytest.approx(-2.0)
    assert np.isnan(compute(np.array([1.0]), np.array([1.0])))


def test_published_size_is_the_default_and_unknown_datasets_are_named():
    assert SIZES[0] == "published"
    assert study_task("zinc", size="small") is None
    with pytest.raises(UsageError, match="dataset of the studies"):
        study_task("cora")


def test_a_small_study_runs_and_prints_both_tables(tmp_path, capsys):
    flags = ("--suite", "pe-study", "--size", "small", "--task", "csl_small", "--task", "csl_pe_small", "--epochs", "1")
    more = ("--model", "bgnn.GIN", "--budget", "5k", "--seeds", "2", "--backend", "serial", "--quiet")
    assert run_app(["run", *flags, *more, "--out", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    assert "beside the published numbers" in printed
    assert "0.100 ± 0.000" in printed
    assert "(other data)" in printed
    assert "JMLR 24(43), 2023" in printed
    assert run_app(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    capsys.readouterr()
    assert run_app(["published", str(tmp_path / "run"), "--suite", "pe-study", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["task"] for row in rows] == ["csl_small", "csl_pe_small"]
    assert [row["published"] for row in rows] == pytest.approx([0.1, 0.99333])
