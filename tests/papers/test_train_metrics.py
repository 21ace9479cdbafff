"""Metrics on the training examples: measured once, on request, and set beside the training columns of the paper."""

import dataclasses

import networkx as nx
import numpy as np
import pytest
import torch

from graphnetz import Protocol, get_split, task_from_networkx
from graphnetz.analysis.published import beside
from graphnetz.datasets import SUITES, task_of
from graphnetz.engine.fitting import train_once
from graphnetz.models import MODELS
from graphnetz.papers.benchmarking_gnns.tasks import PROTOCOLS, study_task
from graphnetz.records import CellResult
from graphnetz.records.replication import Certificate, ReplicatedCell
from graphnetz.report import BenchmarkReport, TaskInfo
from graphnetz.report.certificate import markdown
from graphnetz.tasktypes import TASK_TYPES


def trained(split, kind, model, **more):
    protocol = Protocol(epochs=4, hidden_channels=8, **more)
    return train_once(TASK_TYPES[kind], MODELS[model], split, protocol, 0)


def extra(split, kind, model, **more):
    """Metrics that are there because they were asked for, and the model that they were measured on."""
    plain = trained(split, kind, model, **more)[0].metrics
    outcome, made = trained(split, kind, model, train_metrics=True, **more)
    assert plain == {key: value for key, value in outcome.metrics.items() if key in plain}  # nothing else changes
    return {key: value for key, value in outcome.metrics.items() if key not in plain}, made.eval()


@pytest.mark.parametrize("selection", ["last", "best_val"])
def test_training_nodes_are_measured_with_the_reported_weights(selection):
    split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    found, model = extra(split, "node_cls", "GCN", selection=selection)
    right = model(split.data)[split.train].argmax(1) == split.labels[split.train]
    assert found["train_acc"] == pytest.approx(float(right.float().mean()))
    assert {key.partition("_")[0] for key in found} == {"train"}


def test_training_graphs_and_pairs_are_measured():
    task = task_of("csl")
    split = get_split(task)
    found, model = extra(split, "graph_cls", "GIN")
    rows = torch.cat([model(split.data.select(split.train[i : i + 1])) for i in range(len(split.train))])
    assert found["train_acc"] == pytest.approx(np.mean(rows.argmax(1).numpy() == split.targets["train"]))
    pairs = get_split(task_from_networkx("karate", nx.karate_club_graph(), task_type="link_pred"))
    found, model = extra(pairs, "link_pred", "GCN")
    with torch.no_grad():
        score = model.decode(model.encode(pairs.data), pairs.train.index).numpy()
    wanted = TASK_TYPES["link_pred"].measure(pairs, "train", score)
    assert found == pytest.approx(wanted)


def test_a_predictor_tells_its_training_metrics_where_it_scores_that_part():
    split = get_split(dataclasses.replace(task_of("random_tsp", "edge_cls")))
    outcome, _ = train_once(
        TASK_TYPES["edge_cls"], MODELS["bgnn.NearestNeighbours"], split, Protocol(train_metrics=True), 0
    )
    assert outcome.metrics["train_f1"] == pytest.approx(outcome.metrics["test_f1"], abs=0.05)


def test_the_studies_ask_for_them_and_the_key_is_silent_elsewhere():
    assert all(rules["train_metrics"] for rules in PROTOCOLS.values())
    assert study_task("csl", size="small").protocol["train_metrics"]
    assert "train_metrics" not in Protocol().as_dict()
    assert Protocol(train_metrics=True).as_dict()["train_metrics"] is True


def report_with(values):
    info = TaskInfo("test_acc", "accuracy", True, "fold", 0.3, "csl_pe", "combinatorial", "graph_cls", 30, 0)
    cells = [
        CellResult(f"k{seed}", "csl_pe", "bgnn.3WLGNN", seed, metric="test_acc", metrics=metrics, parameters=7)
        for seed, metrics in enumerate(values)
    ]
    return BenchmarkReport.from_results(cells, tasks={"csl_pe": info}, models=["bgnn.3WLGNN"], seeds=range(len(values)))


def test_they_stand_beside_the_training_columns_of_the_paper(capsys):
    from graphnetz.cli.show import print_beside

    report = report_with([{"test_acc": 0.3, "train_acc": 0.98}, {"test_acc": 0.31, "train_acc": 1.0}])
    (row,) = beside(report, SUITES["csl-study"])
    assert (row.train, row.published_train) == (pytest.approx(0.99), pytest.approx(0.99644))
    print_beside(report, "csl-study")
    printed = capsys.readouterr().out
    assert "train, published" in printed
    assert "0.990" in printed
    (without,) = beside(report_with([{"test_acc": 0.3, "train_acc": 0.98}, {"test_acc": 0.31}]), SUITES["csl-study"])
    assert np.isnan(without.train)  # the mean of some runs is not that of all


def test_a_certificate_has_the_columns_only_where_something_was_measured():
    cell = ReplicatedCell(
        "10", "csl", "A", "acc", 0.1, 0, 5, 0.1, 0, 5, 0, 0, 0.02, "not comparable", "generator", "own"
    )
    cells = (dataclasses.replace(cell, train=0.111, published_train=0.1), dataclasses.replace(cell, model="B"))
    text = markdown(Certificate("mine", "Me", "small", cells))
    assert "| Train, published | Train, ours |" in text
    assert "| 0.100 | 0.111 |" in text
    assert "Train, ours" not in markdown(Certificate("mine", "Me", "small", (cell,)))
