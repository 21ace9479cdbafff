"""A cell knows how it was trained, every output says so, and its model can be built again from that."""

import numpy as np
import pytest
import torch

from graphnetz import BenchmarkReport, SearchSpace, run_benchmark
from graphnetz._core.errors import UsageError
from graphnetz._core.rng import training_context
from graphnetz.benchmark import get_split, load_model
from graphnetz.cli.load import load_report
from graphnetz.datasets import find_task
from graphnetz.engine.store import Store
from graphnetz.metrics import positive_score
from graphnetz.records import Protocol
from graphnetz.report.compare_runs import merge_reports
from graphnetz.report.paper import methods_tex
from graphnetz.report.provenance import origin_tables
from graphnetz.tasktypes import TASK_TYPES, evaluate

RUN = {"tasks": ["karate_club"], "seeds": range(2), "epochs": 2, "backend": "serial", "verbose": False}
NARROW = {"models": ["GCN", "GraphSAGE", "Majority"], "model_protocol": {"GCN": {"hidden_channels": 16, "lr": 0.5}}}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow") / "run"
    return run_benchmark(**RUN, **NARROW, out=folder, root=str(folder.parent)), folder


def widths(report):
    return {result.model: result.protocol.hidden_channels for result in report.results}


WIDTHS = {"GCN": 16, "GraphSAGE": 64, "Majority": 64}


def test_a_width_for_one_model_is_recorded_as_its_own(narrow):
    report, folder = narrow
    assert widths(report) == WIDTHS
    assert report.config["protocols"]["karate_club"]["hidden_channels"] == 64
    assert report.config["model_protocols"] == {"karate_club": {"GCN": {"lr": 0.5, "hidden_channels": 16}}}
    assert widths(load_report(folder)) == WIDTHS
    assert widths(BenchmarkReport.from_json(folder / "results.json")) == WIDTHS
    assert widths(merge_reports([report, BenchmarkReport.from_json(folder / "results.json")])) == WIDTHS


def test_the_store_keeps_a_protocol_once_and_its_results_share_it(narrow):
    _, folder = narrow
    with Store.open(folder, readonly=True) as store:
        assert store.db.execute("SELECT COUNT(*) FROM protocols").fetchone() == (2,)
        results = list(store.results())
        assert len({id(result.protocol) for result in results}) == 2
        assert [r.protocol for r in results] == [cell.protocol for cell in store.cells()]


def test_costs_page_and_methods_show_the_settings_of_a_model(narrow):
    report, folder = narrow
    costs = report.costs().set_index("model")["own_settings"]
    assert costs["GCN"] == "lr=0.5, hidden_channels=16"
    assert costs["GraphSAGE"] == costs["Majority"] == ""
    tables = dict(origin_tables(report))
    training = tables["Training by task"]
    assert training.columns == ("Task", "Learning rate", "Hidden channels")
    assert training.rows == (("karate_club", 0.01, 64), ("karate_club / GCN", 0.5, 16))
    assert "Own settings" in tables["Cost"].columns
    words = methods_tex(report, {})
    assert "GCN: learning rate 0.5, hidden channels 16." in words
    assert "hidden channels 64" in words
    assert "karate_club / GCN" in (folder / "report.html").read_text(encoding="utf-8")
    assert '"model_protocol"' in (folder / "plan.json").read_text(encoding="utf-8")


def test_where_all_agree_nothing_is_added(tmp_path):
    report = run_benchmark(models=["GCN", "Majority"], **RUN, root=str(tmp_path))
    assert "model_protocols" not in report.config
    tables = dict(origin_tables(report))
    assert tables["Training by task"].rows == (("karate_club",),)
    assert "Own settings" not in tables["Cost"].columns


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GCN", {}),
        ("GCN", {"model_protocol": {"GCN": {"hidden_channels": 16}}}),
        ("GCN", {"protocol": {"budget": 3000}}),
        ("GCN", {"protocol": {"dtype": "float64", "selection": "best_val"}}),
        ("GCN", {"search": SearchSpace(hidden_channels=(5, 12), lr=(0.1, 1e-5))}),
        ("stack.GCN", {"search": SearchSpace(hidden_channels=(7, 9), model={"num_layers": (1, 3)})}),
    ],
    ids=["plain", "width", "budget", "float64", "searched", "searched model"],
)
def test_a_model_is_built_again_as_its_cell_trained_it(tmp_path, name, options):
    report = run_benchmark(
        models=[name], **RUN, **options, out=tmp_path / "run", root=str(tmp_path), save_weights=True,
        metric="auc",
    )  # fmt: skip
    with Store.open(tmp_path / "run", readonly=True) as store:
        kept = {result.seed: result for result in store.results()}
    for source in (report, load_report(tmp_path / "run")):
        for seed, result in kept.items():
            model = load_model(source, "karate_club", name, seed, folder=tmp_path / "run", root=str(tmp_path))
            assert not model.training
            assert sum(p.numel() for p in model.parameters()) == result.parameters
            with training_context(seed, dtype=result.protocol.dtype):
                split = get_split("karate_club", seed, root=str(tmp_path))
                score = evaluate(TASK_TYPES["node_cls"], model, split)["test"].numpy()
            np.testing.assert_allclose(positive_score(score), result.predictions.score, rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(split.examples["test"], result.predictions.example)


def test_models_without_edge_attributes_and_tasks_of_a_script_are_built_again(tmp_path):
    from graphnetz import task_from_dataset

    data = get_split("karate_club", 0).data.clone()
    data.edge_attr = torch.randn(data.num_edges, 3)
    for part in ("train", "val", "test"):
        data[f"{part}_mask"] = torch.arange(data.num_nodes) % 3 == ("train", "val", "test").index(part)
    task = task_from_dataset("attributed", "node_cls", data)
    report = run_benchmark(
        models=["GAT"],
        **(RUN | {"tasks": [task]}),
        protocol={"edge_attributes": False},
        out=tmp_path,
        save_weights=True,
    )
    model = load_model(report, task, "GAT", 1, folder=tmp_path)
    assert sum(p.numel() for p in model.parameters()) == report.results[1].parameters


def test_weights_that_are_not_there_are_named(narrow):
    report, folder = narrow
    with pytest.raises(UsageError, match="No weights were kept"):
        load_model(report, "karate_club", "GCN", 0, folder=folder)
    with pytest.raises(UsageError, match="no cell"):
        load_model(report, find_task("karate_club"), "GCN", 9, folder=folder)


def test_a_result_of_a_single_cell_carries_its_protocol():
    from graphnetz.engine.worker import Workbench
    from graphnetz.models import named_specs
    from graphnetz.records import Cell

    task = find_task("karate_club")
    protocol = Protocol(epochs=1, hidden_channels=4)
    made = Workbench({task.name: task}, named_specs(["GCN"]), "data")(Cell("k", task.name, "GCN", 0, protocol))
    assert made.protocol == protocol
