"""The studies as suites: tasks, models, budgets, and the published figures beside ours."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from graphnetz._core.errors import UsageError
from graphnetz.analysis.published import beside
from graphnetz.cli.app import run_app
from graphnetz.datasets import SUITES
from graphnetz.engine.config import load_config, resolve
from graphnetz.engine.plan import make_plan
from graphnetz.engine.worker import Workbench
from graphnetz.metrics import METRICS
from graphnetz.models import MODELS
from graphnetz.papers.benchmarking_gnns.tasks import FOLDED, PROTOCOLS, RATES, SIZES, study_task
from graphnetz.records import CellResult, Plateau
from graphnetz.records.suite import read_published
from graphnetz.report import BenchmarkReport, TaskInfo
from graphnetz.stats import welch_interval
from graphnetz.tasktypes import TASK_TYPES

REFERENCE = Path(__file__).resolve().parents[2].parent / "shared" / "reference"

STUDIES = ("benchmarking-gnns", "pe-study", "csl-study", "anisotropy-study", "edge-study", "budget-study")
ROWS = read_published("graphnetz.papers.benchmarking_gnns")


def test_every_study_is_a_suite_and_has_a_small_form():
    for name in STUDIES:
        full, small = SUITES[name](), SUITES[name]("small")
        assert SUITES[name].title.startswith("Return ")
        names = [task.name for task in full]
        assert len(set(names)) == len(names)
        assert 0 < len(small) <= len(full)
        assert all(task.name.endswith("_small") for task in small)
        assert small[0].epochs < full[0].epochs == 1000


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_protocols_are_the_published_ones(name, request):
    if not REFERENCE.is_dir():
        pytest.skip("the published configurations are not beside the project")
    theirs = {
        "zinc": "ZINC", "aqsol": "AQSOL", "mnist_superpixels_slic": "MNIST", "cifar10_superpixels": "CIFAR10",
        "pattern": "SBM_PATTERN", "cluster": "SBM_CLUSTER", "wikics": "WikiCS", "csl": "CSL", "cycles": "CYCLES",
        "graph_theory_prop": "GraphTheoryProp", "tsp": "TSP", "ogbl_collab": "OGBL-COLLAB",
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
    dataset = {"proteins_full": "PROTEINS_full"}.get(name, name.upper())
    theirs = {c["model"]: c["train"]["init_lr"] for c in configs if c["dataset"] == dataset}
    ours = {model.removeprefix("bgnn.").lower(): rate for model, rate in RATES[name].items()}
    assert ours.pop("gcn-vanilla") == ours["gcn"]
    assert {model.lower(): rate for model, rate in theirs.items()} == ours


def test_dense_networks_are_trained_in_every_suite_as_published():
    """RingGNN and 3WL-GNN: batches of 4, patience 5, and 1e-4 for RingGNN on images; small studies are cut short."""
    tasks = {task.name: task.model_protocol for task in SUITES["benchmarking-gnns"]()}
    short = Plateau(patience=5, min_lr=1e-5)
    for name in ("zinc", "aqsol", "pattern", "cluster"):
        for model in ("bgnn.RingGNN", "bgnn.3WLGNN"):
            assert tasks[name][model] == {"lr": 1e-3, "schedule": short, "batch_size": 4}
    for name in ("mnist_superpixels_slic", "cifar10_superpixels"):
        assert tasks[name]["bgnn.RingGNN"] == {
            "lr": 1e-4,
            "schedule": Plateau(patience=5, min_lr=1e-6),
            "batch_size": 4,
        }
        assert tasks[name]["bgnn.3WLGNN"] == {"lr": 1e-3, "schedule": short, "batch_size": 4}
    assert tasks["enzymes_attributes"]["bgnn.RingGNN"]["schedule"].patience == 25
    assert tasks["enzymes_attributes"]["bgnn.GAT"] == {"lr": 1e-3}
    assert study_task("cluster", size="small").model_protocol == {}


@pytest.mark.data
@pytest.mark.parametrize("name", ["dd", "enzymes"])
def test_tu_datasets_have_ten_stratified_folds(name, shared_data, tmp_path):
    graphs = study_task(name, size="generated").loader(str(tmp_path), mirror=str(shared_data))
    labels = np.array([int(graph.y) for graph in graphs])
    assert len(graphs.splits) == 10
    tested = np.concatenate([split["test"] for split in graphs.splits])
    np.testing.assert_array_equal(np.sort(tested), np.arange(len(labels)))
    for split in graphs.splits:
        parts = [np.asarray(split[part]) for part in ("train", "val", "test")]
        assert len(np.unique(np.concatenate(parts))) == len(labels)
        shares = [np.bincount(labels[part], minlength=labels.max() + 1) / np.bincount(labels) for part in parts]
        np.testing.assert_allclose(shares, np.broadcast_to([[0.8], [0.1], [0.1]], np.shape(shares)), atol=0.011)
    assert graphs[0].x.size(1) == {"enzymes": 18, "dd": 89}[name]
    assert {study_task(key).name for key in FOLDED} <= {row.task for row in ROWS}


def test_a_model_takes_the_rate_of_its_task_unless_the_caller_names_one():
    task = dataclasses.replace(
        study_task("csl", size="small"), name="rated", protocol={"lr": 1e-3}, model_protocol={"bgnn.GIN": {"lr": 7e-3}}
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

    def printed(row):
        unit = 1 if row.metric in ("mae", "log_mse") or row.task == "tsp" else 100
        return round(unit * row.mean, 3), round(unit * row.sd, 3)

    ours = [printed(row) for row in ROWS if not np.isnan(row.mean)]
    assert len(ours) == 306 - sum(bool(row.more["note"]) and np.isnan(row.mean) for row in ROWS) > 280
    assert not [pair for pair in ours if pair not in published]


def test_rows_belong_to_tasks_and_models_of_their_study():
    for name in ("benchmarking-gnns", "pe-study", "csl-study", "budget-study"):
        chosen = SUITES[name]
        metrics = {task.name: task.metric or TASK_TYPES[task.task_type].metrics[0] for task in chosen()}
        shared = [row for row in chosen.published() if row.task in metrics and row.model in chosen.models()]
        assert shared
        assert [row for row in shared if row.metric != metrics[row.task]] == []
    cycles = {task.name for task in SUITES["pe-study"]() if task.name.startswith("cycles")}
    assert cycles == {row.task for row in ROWS if row.table == "11"}


def test_csl_counts_folds_not_runs():
    (row,) = (r for r in SUITES["csl-study"].published() if (r.task, r.model) == ("csl", "bgnn.3WLGNN"))
    assert (row.mean, row.sd, row.n) == (0.957, 0.1485, 5)
    report = report_of("csl_pe", np.tile([0.9, 0.92, 0.94, 0.96, 0.98], 4), splits=5)
    (beside_it,) = beside(report, SUITES["csl-study"])
    assert beside_it.runs == beside_it.published_runs == 5


def test_budget_study_asks_for_two_sizes():
    found = resolve(load_config(None, {"suite": "budget-study", "size": "small"}))
    assert {value["budget"] for value in found.model_protocol.values()} == {100_000, 500_000}
    assert found.specs["bgnn.GCN-500k"].kwargs["num_layers"] == 16
    assert resolve(load_config(None, {"suite": "budget-study", "budget": "50k"})).model_protocol == {}
    assert {row.model for row in SUITES["budget-study"].published()} >= {"bgnn.GCN-100k", "bgnn.GCN-500k"}


def config(**flags):
    return load_config(None, {"suite": "pe-study", "size": "small", **flags})


def test_flags_win_over_the_study():
    found = resolve(config())
    assert found.protocol["budget"] == 100_000
    assert found.seeds == (41, 95, 12, 35)
    assert found.seeds_of("csl_small") == (0, 1, 2, 3, 4)  # five folds, one seed
    assert found.config.seeds is None  # the suite's, and its tasks with folds have their own
    assert resolve(config(task=["cycles_1000_small"])).config.seeds == [41, 95, 12, 35]  # written to config.toml
    found = resolve(config(seeds=2, model=["bgnn.GIN"], budget="20k", task=["csl_small"]))
    assert (found.seeds, list(found.specs)) == ((0, 1), ["bgnn.GIN"])
    assert found.specs["bgnn.GIN"].kwargs["readout"] == "sum"  # as the study has it, not as it is registered
    assert [task.name for task in found.tasks] == ["csl_small"]
    assert found.protocol["budget"] == 20_000
    assert resolve(config(hidden_channels=8)).protocol["hidden_channels"] == 8
    assert "budget" not in resolve(config(hidden_channels=8)).protocol
    with pytest.raises(UsageError, match="Unknown task of the suite 'pe-study': 'cora'"):
        resolve(config(task=["cora"]))


def test_small_is_refused_where_it_means_nothing():
    with pytest.raises(UsageError, match="'default' has one size"):
        resolve(load_config(None, {"suite": "default", "size": "small"}))
    with pytest.raises(UsageError, match=r"Unknown size 'smal'\. Did you mean 'small'"):
        resolve(config(size="smal"))


def report_of(task, values, model="bgnn.GIN", splits=0):
    info = TaskInfo("test_acc", "accuracy", True, "fold", 0.3, task, "combinatorial", "graph_cls", 30, splits)
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
    (row,) = beside(report_of("csl_pe", values), SUITES["csl-study"])
    expected = welch_interval(np.mean(values), np.std(values, ddof=1), len(values), 0.99333, 0.01333, 5, ddof_b=0)
    assert (row.low, row.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert row.verdict == verdict
    assert (row.smallest, row.largest, row.parameters) == (min(values), max(values), 7)
    assert row.same_data


def test_reduced_sizes_and_own_generators_are_marked():
    (small,) = beside(report_of("csl_pe_small", (0.9, 1.0)), SUITES["csl-study"])
    (cycles,) = beside(report_of("cycles_500", (0.7, 0.8)), SUITES["pe-study"])
    assert not small.same_data
    assert not cycles.same_data
    assert beside(report_of("unknown", (0.7, 0.8)), SUITES["pe-study"]) == []


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


# --- Every table of the paper as a suite.

TABLES = sorted(name for name in SUITES if name.startswith("bgnn-table-"))


def test_every_row_of_every_table_is_in_a_suite():
    held = {
        (row.table, row.task, row.model.partition("-500k")[0]) for name in TABLES for row in SUITES[name].published()
    }
    assert held == {(row.table, row.task, row.model) for row in ROWS}
    assert len(ROWS) == 306
    assert {row.table for row in ROWS} == {
        *["3", "4", "5", "6", "7a", "7b", "8a", "8b", "9", "10", "11", "12", "13", "14", "15", "16"], "16 (second run)"
    }  # fmt: skip


def test_settings_of_a_row_reach_its_cells():
    suite = SUITES["bgnn-table-7a"]
    (task,) = suite()
    ring = task.model_protocol["bgnn.RingGNN"]
    assert (ring["lr"], ring["schedule"].patience, ring["hidden_channels"], ring["batch_size"]) == (1e-4, 5, 45, 4)
    deep = SUITES["bgnn-table-3"].models()["bgnn.3WLGNN-E-500k-L8"]
    assert (deep.kwargs["num_layers"], deep.kwargs["residual"]) == (8, True)
    assert [t.name for t in SUITES["bgnn-table-13-csl"]()] == [
        "csl", "csl_eigvecs", "csl_pe", "csl_abs", "csl_index", "csl_random_index"
    ]  # fmt: skip


def test_the_two_nearest_cities_by_hand():
    from graphnetz import get_split
    from graphnetz.datasets import task_of

    split = get_split(task_of("random_tsp", "edge_cls"))
    model = MODELS["bgnn.NearestNeighbours"].cls()
    model.fit(split, np.random.default_rng(0))
    found = model.score(split)["test"]
    data = split.data.select(split.test)
    source, target = data.edge_index.numpy()
    length = np.linalg.norm(data.x.numpy()[source] - data.x.numpy()[target], axis=1)
    for city in np.unique(source)[:40]:
        out = np.flatnonzero(source == city)
        nearest = set(out[np.argsort(length[out], kind="stable")[:2]].tolist())
        assert set(out[found[out, 1] == 1].tolist()) == nearest
    assert len(found) == len(split.targets["test"])


def test_positions_stay_where_a_split_is_supplied():
    import torch
    from torch_geometric.data import Data

    from graphnetz.tasktypes.encodings import LaplacianPE

    ring = torch.stack([torch.arange(12), (torch.arange(12) + 1) % 12])
    both = torch.cat([ring, ring.flip(0)], dim=1)
    held = {f"{part}_{sign}_edge_index": torch.tensor([[a, a + 1], [a + 5, a + 6]])
            for part, a in (("val", 0), ("test", 3)) for sign in ("pos", "neg")}  # fmt: skip
    data = LaplacianPE(4)(Data(x=torch.eye(12), edge_index=both, **held))
    split = TASK_TYPES["link_pred"].split([data], 0)
    assert split.dims.pe_dim == 4
    assert torch.equal(split.data.pe, data.pe)
    leaking = LaplacianPE(4)(Data(x=torch.eye(12), edge_index=torch.cat([both, held["val_pos_edge_index"]], 1), **held))
    assert TASK_TYPES["link_pred"].split([leaking], 0).dims.pe_dim is None
    assert (
        TASK_TYPES["link_pred"].split([LaplacianPE(4)(Data(x=torch.eye(12), edge_index=both))], 0).dims.pe_dim is None
    )
