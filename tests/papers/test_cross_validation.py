"""Cross-validation as published: every seed on every fold, declared, priced, kept and compared fold by fold."""

import json

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz import run_benchmark
from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.datasets import SUITES
from graphnetz.engine.config import load_config, resolve
from graphnetz.papers.benchmarking_gnns.tasks import study_task
from graphnetz.records import CrossValidation, GraphList, Task


def published(name, **more):
    return resolve(load_config(None, {"suite": name, **more}))


def test_no_task_of_the_study_stands_on_some_of_its_folds():
    """Four seeds used to take the folds 1, 5, 2 and 5 of ten."""
    found = published("benchmarking-gnns")
    tasks = {task.name: task.cross_validation for task in found.tasks}
    folds = {"enzymes_attributes": 10, "dd": 10, "proteins_full": 10, "wikics": 20, "csl": 5, "csl_pe": 5}
    seeds = {"wikics": 4, "csl": 20, "csl_pe": 20}
    for name, count in folds.items():
        taken = np.array(found.seeds_of(name)) % count
        assert np.bincount(taken, minlength=count).tolist() == [seeds.get(name, 2)] * count
        assert {seed // count for seed in found.seeds_of(name)} == set(tasks[name].seeds)
    assert found.seeds_of("zinc") == (41, 95, 12, 35)
    assert [name for name, rule in tasks.items() if rule is not None and name not in folds] == []


def test_csl_has_the_hundred_published_runs():
    assert len(published("csl-study").seeds_of("csl")) == 100
    assert study_task("csl").cross_validation == CrossValidation(5, study_task("csl", pe=True).cross_validation.seeds)
    assert len(study_task("csl").cross_validation.seeds) == 20


def test_seeds_that_are_asked_for_run_inside_every_fold():
    found = published("csl-study", seeds=2)
    assert found.seeds_of("csl") == (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert published("csl-study", seed=7).seeds_of("csl") == (35, 36, 37, 38, 39)


def rings(folds=3):
    graphs = []
    for i in range(18):
        n = 4 + i % 2
        ends = torch.arange(n)
        ring = torch.stack([ends, (ends + 1) % n])
        graphs.append(Data(x=torch.ones(n, 1), edge_index=torch.cat([ring, ring.flip(0)], 1), y=torch.tensor([i % 2])))
    parts = np.arange(18) // 2 % folds
    splits = [
        {"test": np.flatnonzero(parts == f), "val": np.flatnonzero(parts == (f + 1) % folds),
         "train": np.flatnonzero((parts != f) & (parts != (f + 1) % folds))}
        for f in range(folds)
    ]  # fmt: skip
    return GraphList(graphs, splits=splits, replication="fold")


def small_task(**more):
    return Task("rings", "graph_cls", lambda root: rings(), epochs=1, **more)


def plain_task():
    return Task("plain", "graph_cls", lambda root: GraphList(rings()), epochs=1)


def test_a_run_trains_every_seed_on_every_fold(tmp_path):
    tasks = [small_task(cross_validation=CrossValidation(3)), plain_task()]
    run = {"models": ["GCN", "MLP"], "tasks": tasks, "seeds": [4, 9], "backend": "serial", "verbose": False}
    report = run_benchmark(**run, out=tmp_path)
    held = {task: sorted({r.seed for r in report.results if r.task == task}) for task in ("rings", "plain")}
    assert held == {"rings": [12, 13, 14, 27, 28, 29], "plain": [4, 9]}
    pairs = {pair.task: pair for pair in report.comparisons()}
    assert (pairs["rings"].n, pairs["plain"].n) == (3, 2)  # folds, and seeds
    assert report.summary()["n_seeds"].to_dict() == {
        ("rings", "GCN"): 6, ("rings", "MLP"): 6, ("plain", "GCN"): 2, ("plain", "MLP"): 2,
    }  # fmt: skip
    planned = json.loads((tmp_path / "plan.json").read_text())
    assert planned["tasks"]["rings"]["seeds"] == [12, 13, 14, 27, 28, 29]
    assert not [section for section in report.sections if "not there" in str(section)]
    assert "unevenly" not in str(report.verdicts())


def test_folds_that_the_data_do_not_have_are_refused():
    with pytest.raises(UsageError, match=r"declares 4 folds.*carry 3"):
        run_benchmark(
            models=["GCN"], tasks=[small_task(cross_validation=CrossValidation(4))], seeds=1, backend="serial",
            verbose=False,
        )  # fmt: skip


def test_the_price_shows_folds_and_seeds(tmp_path, capsys):
    flags = ["--suite", "csl-study", "--size", "small", "--model", "bgnn.MLP", "--task", "csl_small"]
    assert run_app(["run", *flags, "--seeds", "2", "--budget", "5k", "--dry-run", "--out", str(tmp_path / "x")]) == 0
    assert "csl_small: 5 folds x 2 seeds" in capsys.readouterr().out


def test_a_resumed_study_keeps_the_seeds_of_its_folds():
    found = published("benchmarking-gnns")
    again = resolve(load_config(None, {"suite": "benchmarking-gnns", "seeds": found.config.seeds}))
    assert again.seeds_of("csl") == found.seeds_of("csl")
    assert SUITES["benchmarking-gnns"].seeds_at(None) == [41, 95, 12, 35]
