"""Tables of labels, some of them unknown: metrics against scikit-learn, and the real training loop."""

import warnings

import numpy as np
import pytest
import sklearn.metrics as sk
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphnetz.metrics import METRICS
from graphnetz.models import GCN
from graphnetz.records import GraphList, Protocol
from graphnetz.tasktypes import TASK_TYPES, fit


def table(seed, *, rows=30, labels=4, unknown=0.3):
    rng = np.random.default_rng(seed)
    target = rng.integers(0, 2, (rows, labels)).astype(float)
    target[rng.random(target.shape) < unknown] = np.nan
    return target, rng.normal(size=target.shape)


def by_label(compute, target, score):
    """Apply a scikit-learn metric to the known entries of every label."""
    known = [np.isfinite(column) for column in target.T]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.mean(
            [compute(target[k, c].astype(int), (score[k, c] > 0).astype(int)) for c, k in enumerate(known) if k.any()]
        )


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 0.9]))
@settings(max_examples=60, deadline=None)
def test_label_tables_equal_sklearn(seed, unknown):
    target, score = table(seed, unknown=unknown)
    known = np.isfinite(target)
    if not known.any():
        return
    truth, guess = target[known].astype(int), (score[known] > 0).astype(int)
    assert METRICS["acc"].compute(target, score) == pytest.approx(sk.accuracy_score(truth, guess))
    assert METRICS["micro_f1"].compute(target, score) == pytest.approx(sk.f1_score(truth, guess, zero_division=0))
    assert METRICS["f1"].compute(target, score) == METRICS["micro_f1"].compute(target, score)
    assert METRICS["macro_f1"].compute(target, score) == pytest.approx(
        by_label(lambda a, b: sk.f1_score(a, b, zero_division=0), target, score)
    )
    # scikit-learn, like us, averages recall over the classes that occur
    assert METRICS["balanced_acc"].compute(target, score) == pytest.approx(
        by_label(sk.balanced_accuracy_score, target, score)
    )


def test_complete_tables_equal_the_multilabel_averages_of_sklearn():
    target, score = table(1, unknown=0.0)
    truth, guess = target.astype(int), (score > 0).astype(int)
    assert METRICS["macro_f1"].compute(truth, score) == pytest.approx(sk.f1_score(truth, guess, average="macro"))
    assert METRICS["micro_f1"].compute(truth, score) == pytest.approx(sk.f1_score(truth, guess, average="micro"))


def test_a_label_that_nobody_knows_is_left_out_and_nothing_known_is_nan():
    target, score = table(2, unknown=0.2)
    target[:, 1] = np.nan
    kept = [0, 2, 3]
    for key in ("acc", "balanced_acc", "macro_f1", "micro_f1", "f1", "auc", "ap"):
        value = METRICS[key].compute(target, score)
        assert value == pytest.approx(METRICS[key].compute(target[:, kept], score[:, kept])), key
        assert np.isnan(METRICS[key].compute(np.full_like(target, np.nan), score)), key
    for key in ("hits@10", "mrr"):  # one ranking is not defined for a table of labels
        assert np.isnan(METRICS[key].compute(target, score))


def graphs_with(make, count=24):
    rng = np.random.default_rng(0)
    graphs = []
    for number in range(count):
        nodes = 6 + number % 4
        ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
        edges = torch.from_numpy(np.concatenate([ring, ring[::-1]], axis=1))
        x = torch.from_numpy(rng.normal(size=(nodes, 5)).astype(np.float32))
        graphs.append(Data(x=x, edge_index=edges, y=make(rng, nodes, number)))
    return GraphList(graphs)


def ppi_like(rng, nodes, number):
    return torch.from_numpy(rng.integers(0, 2, (nodes, 7)).astype(np.float32))


def peptides_like(rng, nodes, number):
    return torch.from_numpy(rng.integers(0, 2, (1, 10)).astype(np.float32))


def ogbg_like(rng, nodes, number):
    y = rng.integers(0, 2, (1, 6)).astype(np.float32)
    y[rng.random(y.shape) < 0.5] = np.nan
    if number % 3 == 0:
        y[:] = np.nan  # some molecules carry no label at all
    return torch.from_numpy(y)


@pytest.mark.parametrize(
    ("kind", "make", "headline"),
    [("node_cls", ppi_like, "micro_f1"), ("graph_cls", peptides_like, "auc"), ("graph_cls", ogbg_like, "auc")],
)
@pytest.mark.parametrize("batch_size", [1, 8])
def test_the_training_loop_takes_label_tables(kind, make, headline, batch_size):
    torch.manual_seed(0)
    task_type = TASK_TYPES[kind]
    split = task_type.split(graphs_with(make), 0)
    assert split.metric == headline
    model = task_type.adapt(lambda i, h, o: GCN(i, h, o), split.dims, 8)
    outcome = fit(task_type, model, split, Protocol(epochs=2, batch_size=batch_size, selection="best_val"))
    assert np.isfinite(outcome.history["train_loss"]).all()
    target, score = split.targets["test"], outcome.scores["test"]
    known = np.isfinite(target)
    assert score.shape == target.shape
    assert outcome.metrics["test_acc"] == pytest.approx(((score > 0) == (target > 0.5))[known].mean())
    assert outcome.metrics["test_balanced_acc"] == pytest.approx(by_label(sk.balanced_accuracy_score, target, score))


@pytest.mark.parametrize(("kind", "make"), [("node_cls", ppi_like), ("graph_cls", ogbg_like)])
def test_the_engine_takes_label_tables_with_every_default_model(kind, make, tmp_path):
    from graphnetz.datasets import task_from_dataset
    from graphnetz.engine.config import DEFAULT_MODELS
    from graphnetz.engine.run import run_benchmark

    task = task_from_dataset("labels", kind, graphs_with(make), epochs=1)
    report = run_benchmark(models=list(DEFAULT_MODELS), tasks=[task], seeds=[0], backend="serial", verbose=False)
    assert {result.model for result in report.results} >= {"GCN", "Majority"}
    assert [result.error for result in report.results if not result.ok] == []
