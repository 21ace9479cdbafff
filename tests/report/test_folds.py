"""Several seeds on one fold are averaged before folds are compared: by hand, with scipy, and through the engine."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch_geometric.data import Data

from graphnetz.benchmark import run_benchmark
from graphnetz.datasets.custom import task_from_dataset
from graphnetz.engine.plan import fixed_splits
from graphnetz.records import CellResult, GraphList
from graphnetz.records.scores import split_means
from graphnetz.report import BenchmarkReport, TaskInfo

# Seeds 0 to 5 on three folds: fold 0 has seeds 0 and 3, fold 1 seeds 1 and 4, fold 2 seeds 2 and 5.
X = [0.70, 0.80, 0.60, 0.74, 0.82, 0.64]
Y = [0.68, 0.73, 0.60, 0.70, 0.79, 0.62]
BY_FOLD = [0.03, 0.05, 0.01]  # 0.72 - 0.69, 0.81 - 0.76, 0.62 - 0.61


def report(*, splits=3, missing=()):
    cells = [
        CellResult(
            f"{model}{seed}", "t", model, seed, "failed" if (model, seed) in missing else "ok", "test_acc", True,
            {"test_acc": value}, {"test_acc": [value]}, replication="fold", n_train=60, n_test=20,
        )
        for model, row in (("X", X), ("Y", Y))
        for seed, value in enumerate(row)
    ]  # fmt: skip
    info = TaskInfo("test_acc", replication="fold", splits=splits)
    return BenchmarkReport.from_results(cells, tasks={"t": info}, models=("X", "Y"), seeds=range(6))


def test_seeds_of_a_fold_are_averaged_before_the_corrected_test():
    (pair,) = report().comparisons()
    d = np.array(BY_FOLD)
    # Nadeau and Bengio with J = 3 folds: variance factor 1/3 + 20/60, two degrees of freedom.
    t = d.mean() / (d.std(ddof=1) * math.sqrt(1 / 3 + 20 / 60))
    assert pair.n == 3
    assert pair.mean_diff == pytest.approx(0.03, abs=1e-12)
    assert pair.p_corrected == pytest.approx(2 * stats.t.sf(abs(t), 2), rel=1e-9)
    assert pair.p == pytest.approx(stats.ttest_1samp(d, 0.0).pvalue, rel=1e-9)


def test_counting_the_seeds_as_folds_would_be_bolder():
    (nested,), (flat,) = report().comparisons(), report(splits=0).comparisons()
    assert flat.n == 6
    assert flat.p_corrected < nested.p_corrected


def test_the_interval_of_a_model_counts_folds_and_its_spread_counts_runs():
    row = report().summary().loc[("t", "X")]
    folds = np.array([0.72, 0.81, 0.62])
    half = stats.t.ppf(0.975, 2) * folds.std(ddof=1) * math.sqrt(1 / 3 + 1 / 3)
    assert (row["corrected_low"], row["corrected_high"]) == pytest.approx(
        (folds.mean() - half, folds.mean() + half), rel=1e-9
    )
    assert row["n_seeds"] == 6
    assert row["std"] == pytest.approx(np.std(X, ddof=1))


def test_a_failed_run_leaves_the_other_seed_of_its_fold():
    (pair,) = report(missing={("X", 0)}).comparisons()
    assert pair.n == 3
    assert pair.mean_diff == pytest.approx(np.mean([0.74 - 0.70, 0.05, 0.01]))
    (pair,) = report(missing={("X", 0), ("Y", 3)}).comparisons()
    assert pair.n == 2


def test_the_number_of_splits_survives_the_files():
    again = BenchmarkReport.from_json(report().to_json())
    assert again.task_info["t"].splits == 3
    assert again.comparisons()[0].n == 3
    assert BenchmarkReport.from_scores(report().frame()).comparisons()[0].n == 3


def test_split_means_leave_single_seeds_alone():
    values = np.array([3.0, 1.0, 2.0])
    assert split_means(values, (12, 10, 11), 3) is values
    assert split_means(values, (0, 1, 2), 0) is values
    np.testing.assert_array_equal(split_means(values, (0, 3, 4), 3), [2.0, 2.0, np.nan])


def graphs(count):
    edge = torch.tensor([[0, 1], [1, 0]])
    return [Data(x=torch.full((2, 1), float(i)), edge_index=edge, y=torch.tensor([i % 2])) for i in range(count)]


def test_the_engine_knows_how_many_splits_a_dataset_carries():
    part = {"train": [0, 1, 2, 3], "val": [4, 5], "test": [6, 7]}
    other = {"train": [4, 5, 6, 7], "val": [0, 1], "test": [2, 3]}
    folds = GraphList(graphs(8), splits=[part, other], replication="fold")
    assert fixed_splits(folds) == 2
    assert fixed_splits(GraphList(graphs(8), splits=part)) == 0
    assert fixed_splits(graphs(3)) == fixed_splits(None) == 0
    masked = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0], [1]]), train_mask=torch.ones(4, 20).bool())
    assert fixed_splits(masked) == fixed_splits([masked]) == 20
    found = run_benchmark(
        models=["bgnn.MLP", "bgnn.GCN"], tasks=[task_from_dataset("two_folds", "graph_cls", folds, epochs=1)],
        seeds=range(4), backend="serial", verbose=False, protocol={"hidden_channels": 4},
    )  # fmt: skip
    assert found.task_info["two_folds"].splits == 2
    assert found.comparisons()[0].n == 2
