"""Small reports with known properties."""

import numpy as np
import pytest

from graphnetz.records import CellResult, Figure, Section, Table
from graphnetz.report import BenchmarkReport, TaskInfo


def make_results(means, *, seeds=10, sd=0.01, metric="test_acc", replication="init", rng=None, history=3):
    """Cells of one task per entry: means[task][model]; a seed effect is shared by all models."""
    rng = rng or np.random.default_rng(0)
    out = []
    for task, models in means.items():
        key = metric[task] if isinstance(metric, dict) else metric
        shared = rng.normal(0, sd, seeds)
        for model, mean in models.items():
            for seed in range(seeds):
                value = float(mean + shared[seed] + rng.normal(0, sd))
                series = [value - 0.1, value - 0.05, value][-history:]
                out.append(
                    CellResult(
                        f"{task}-{model}-{seed}", task, model, seed, "ok", key, "mae" not in key, {key: value},
                        {"train_loss": [1.0, 0.5, 0.2], key: series}, history, None, 1.5 + seed, 1e8, 1000, "", "env",
                        replication, 800, 100,
                    )
                )  # fmt: skip
    return out


def make_report(
    means, *, metric="test_acc", replication="init", seeds=10, sd=0.01, config=None, blocks=None, **settings
):
    results = make_results(means, seeds=seeds, sd=sd, metric=metric, replication=replication)
    tasks = {}
    for task in means:
        key = metric[task] if isinstance(metric, dict) else metric
        tasks[task] = TaskInfo(
            key, greater_is_better="mae" not in key, replication=replication, block=(blocks or {}).get(task, "")
        )
    models = tuple(dict.fromkeys(m for row in means.values() for m in row))
    return BenchmarkReport.from_results(
        results, tasks=tasks, models=models, seeds=range(seeds), config=config, **settings
    )


@pytest.fixture(scope="session")
def build():
    return make_report


@pytest.fixture
def cells():
    return make_results


@pytest.fixture
def mixed():
    """Two metrics in opposite directions, one model absent on one task, one failed cell, one Section."""
    means = {
        "cora": {"GCN": 0.81, "GAT": 0.80, "SAGE": 0.75},
        "zinc": {"GCN": 0.68, "GAT": 0.60, "SAGE": 0.61, "GIN": 0.40},
    }
    results = make_results(means, metric={"cora": "test_acc", "zinc": "test_mae"})
    bad = results[3]
    error = "RuntimeError: cannot open /home/somebody/data/x.pt\n  at line 3"
    results[3] = CellResult(bad.key, bad.task, bad.model, bad.seed, "failed", bad.metric, True, error=error)
    section = Section("rings", "Fitness", "Keep both.", ("Words.",), (Table(("a", "b"), (("x", 1),)),),
                      (Figure("bar", {"labels": ["x"], "values": [1.0]}, "A bar"),))  # fmt: skip
    return BenchmarkReport.from_results(
        results,
        tasks={"cora": TaskInfo("test_acc"), "zinc": TaskInfo("test_mae", greater_is_better=False)},
        models=("GCN", "GAT", "SAGE", "GIN"),
        seeds=range(10),
        config={"suite": "small", "root": "/somewhere/data", "workers": 2, "epochs": 3},
        absent={("cora", "GIN"): "GIN does not serve node_cls"},
        sections=[section],
        provenance={"date": "2026-01-01", "versions": {"python": "3.11"}},
    )
