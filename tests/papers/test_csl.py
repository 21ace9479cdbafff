"""Circular skip links (Murphy et al., 2019): chance without positions, solved with them.

The short form trains a few epochs at a small budget; the published budget and length run in
``make golden`` (five folds, one seed each).
"""

import os
from pathlib import Path

import numpy as np
import pytest

from graphnetz.benchmark import run_benchmark
from graphnetz.datasets.custom import task_from_dataset
from graphnetz.datasets.generators.symmetric import csl
from graphnetz.records import Plateau
from graphnetz.tasktypes.encodings import LaplacianPE

FOLDS = [0, 1, 2, 3, 4]
BLIND = [
    "bgnn.MLP",
    "bgnn.GCN",
    "bgnn.GCN-vanilla",
    "bgnn.GraphSAGE",
    "bgnn.GAT",
    "bgnn.MoNet",
    "bgnn.GatedGCN",
    "bgnn.GIN",
]
SOLVING = ["bgnn.GCN", "bgnn.GAT", "bgnn.GatedGCN", "bgnn.GIN", "bgnn.GraphSAGE"]


def accuracies(models, *, epochs, transform=None, seeds=FOLDS, copies=15, out=None, **protocol):
    task = task_from_dataset("csl", "graph_cls", csl(0, copies=copies), epochs=epochs)
    kwargs = {} if transform is None else {"pe_mode": "replace"}
    report = run_benchmark(
        models=models, tasks=[task], seeds=seeds, backend="serial", verbose=False, transform=transform, out=out,
        protocol={"batch_size": 5, "lr": 5e-4, **protocol}, model_kwargs=dict.fromkeys(models, kwargs),
    )  # fmt: skip
    assert {cell.status for cell in report.results} == {"ok"}
    assert {cell.replication for cell in report.results} == {"fold"}
    return {m: np.array([c.metrics["test_acc"] for c in report.results if c.model == m]) for m in models}


def test_without_positions_every_fold_is_at_chance():
    for name, found in accuracies(BLIND, epochs=2, hidden_channels=8, batch_size=30).items():
        np.testing.assert_array_equal(found, np.full(5, 0.1), err_msg=name)


def test_with_positions_a_few_epochs_beat_chance():
    found = accuracies(["bgnn.GCN"], budget=100_000, epochs=8, transform=LaplacianPE(20), seeds=[0])
    assert found["bgnn.GCN"][0] > 0.25


@pytest.mark.golden
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", BLIND)
def test_published_budget_without_positions(name):
    found = accuracies([name], budget=100_000, epochs=60, schedule=Plateau(0.5, 5, 1e-6))[name]
    np.testing.assert_array_equal(found, np.full(5, 0.1))


@pytest.mark.golden
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", SOLVING)
def test_published_budget_with_laplacian_positions(name):
    found = accuracies([name], budget=100_000, epochs=120, transform=LaplacianPE(20), schedule=Plateau(0.5, 7, 1e-6))[
        name
    ]
    assert found.mean() > 0.98


@pytest.mark.golden
@pytest.mark.timeout(14400)
def test_published_budget_3wl_needs_no_positions():
    # All graphs of a class are isomorphic: training and test accuracy are equal, and five copies of each instead of
    # fifteen leave out renumberings only. The published runs took about 475 epochs of 18 steps per fold at 5e-4
    # (Table 10, total over seconds per epoch); this is 250 epochs of three steps at 1e-3 in batches of ten instead of
    # five: with fewer graphs per batch the classes it happens to hold drown what tells them apart.
    kept = os.environ.get("GRAPHNETZ_GOLDEN")
    name = "bgnn.3WLGNN"
    found = accuracies(
        [name], copies=5, out=Path(kept, "csl-3wl") if kept else None, budget=100_000, epochs=250, batch_size=10,
        lr=1e-3, eval_every=5, schedule=Plateau(0.5, 3, 1e-6),
    )[name]  # fmt: skip
    assert np.median(found) >= 0.9, found
