"""Metrics against the official evaluators of OGB and against torchmetrics: ties, missing labels, labels of one value."""

import builtins

import numpy as np
import pytest
import sklearn.metrics as sk
import torch

from graphnetz.metrics import METRICS, mean_of_inverse, ranked_within, ranks_among

torchmetrics = pytest.importorskip("torchmetrics.functional")


@pytest.fixture
def evaluator(monkeypatch):
    """An evaluator of OGB by family and dataset; what it would ask at the terminal is a failure."""
    pytest.importorskip("ogb")
    monkeypatch.setattr(builtins, "input", lambda *_: pytest.fail("ogb asked a question"))

    def make(family, name):
        import importlib

        return importlib.import_module(f"ogb.{family}").Evaluator(name=name)

    return make


def scores(rng, shape, ties):
    return rng.integers(-2, 3, shape).astype(float) if ties else rng.normal(size=shape)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", ["ogbg-molhiv", "ogbg-moltox21", "ogbg-molpcba"])
@pytest.mark.parametrize("seed", range(5))
def test_several_labels_with_gaps_equal_ogb(evaluator, name, ties, seed):
    judge, rng = evaluator("graphproppred", name), np.random.default_rng(seed)
    tasks = judge.num_tasks
    y, s = rng.integers(0, 2, (60, tasks)).astype(float), scores(rng, (60, tasks), ties)
    if tasks > 3:
        y[rng.random(y.shape) < 0.3] = np.nan
        y[:, 0], y[:, 1], y[:, 2] = 1.0, 0.0, np.nan  # one value only, or none: OGB leaves such labels out
    key = {"rocauc": "auc", "ap": "ap"}[judge.eval_metric]
    wanted = judge.eval({"y_true": y, "y_pred": s})[judge.eval_metric]
    target = y[:, 0] if tasks == 1 else y
    assert METRICS[key].compute(target, s) == pytest.approx(wanted, abs=1e-12)


def test_labels_of_one_value_alone_have_no_value():
    y, s = np.ones((20, 3)), np.random.default_rng(0).normal(size=(20, 3))
    assert np.isnan(METRICS["auc"].compute(y, s))
    assert np.isnan(METRICS["ap"].compute(y, s))


@pytest.mark.parametrize("name", ["ogbg-molesol", "ogbg-molfreesolv", "ogbg-mollipo"])
def test_root_mean_square_error_equals_ogb(evaluator, name):
    judge, rng = evaluator("graphproppred", name), np.random.default_rng(3)
    y, s = rng.normal(size=(50, 1)), rng.normal(size=(50, 1))
    assert METRICS["rmse"].compute(y, s) == pytest.approx(judge.eval({"y_true": y, "y_pred": s})["rmse"], abs=1e-12)


@pytest.mark.parametrize("name", ["ogbn-arxiv", "ogbn-products"])
def test_accuracy_equals_ogb(evaluator, name):
    judge, rng = evaluator("nodeproppred", name), np.random.default_rng(4)
    y, s = rng.integers(0, 5, 80), rng.normal(size=(80, 5))
    wanted = judge.eval({"y_true": y[:, None], "y_pred": s.argmax(1)[:, None]})["acc"]
    assert METRICS["acc"].compute(y, s) == pytest.approx(wanted)


def test_roc_auc_of_protein_functions_equals_ogb(evaluator):
    judge, rng = evaluator("nodeproppred", "ogbn-proteins"), np.random.default_rng(5)
    y, s = rng.integers(0, 2, (90, judge.num_tasks)), scores(rng, (90, judge.num_tasks), True)
    assert METRICS["auc"].compute(y, s) == pytest.approx(judge.eval({"y_true": y, "y_pred": s})["rocauc"], abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", ["ogbl-ddi", "ogbl-collab", "ogbl-ppa"])
@pytest.mark.parametrize("negatives", [5, 400])
def test_hits_against_shared_negatives_equal_ogb(evaluator, name, ties, negatives):
    judge, rng = evaluator("linkproppred", name), np.random.default_rng(6)
    pos, neg = scores(rng, 70, ties), scores(rng, negatives, ties)
    key = f"hits@{judge.K}"
    wanted = judge.eval({"y_pred_pos": torch.from_numpy(pos), "y_pred_neg": torch.from_numpy(neg)})[key]
    y = np.r_[np.ones(70), np.zeros(negatives)]
    assert METRICS[key].compute(y, np.r_[pos, neg]) == pytest.approx(wanted)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", ["ogbl-citation2", "ogbl-wikikg2"])
def test_ranks_among_own_candidates_equal_ogb(evaluator, name, ties):
    judge, rng = evaluator("linkproppred", name), np.random.default_rng(7)
    pos, neg = scores(rng, 40, ties), scores(rng, (40, 30), ties)
    wanted = judge.eval({"y_pred_pos": torch.from_numpy(pos), "y_pred_neg": torch.from_numpy(neg)})
    rank = ranks_among(pos, neg)
    assert mean_of_inverse(rank) == pytest.approx(float(wanted["mrr_list"].mean()), abs=1e-6)
    for k in (1, 3, 10):
        assert ranked_within(k)(rank) == pytest.approx(float(wanted[f"hits@{k}_list"].mean()), abs=1e-6)


def test_a_score_that_is_not_a_number_has_no_rank():
    rank = ranks_among(np.array([np.nan, 0.0, 0.0]), np.array([[0.0, 1.0], [np.nan, 1.0], [-1.0, -np.inf]]))
    assert np.isnan(rank[:2]).all()
    assert rank[2] == 1.0
    assert np.isnan(mean_of_inverse(rank))
    assert np.isnan(ranked_within(3)(rank))
    assert np.isnan(mean_of_inverse(np.empty(0)))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_binary_metrics_equal_torchmetrics(ties, seed):
    rng = np.random.default_rng(seed)
    y, s = rng.integers(0, 2, 60), scores(rng, 60, ties) / 10  # inside (-1, 1): one sigmoid for both
    p, t = torch.sigmoid(torch.from_numpy(s)), torch.from_numpy(y)
    two = np.stack([np.zeros(60), s], axis=1)
    wanted = {
        "auc": torchmetrics.auroc(p, t, task="binary"),
        "ap": torchmetrics.average_precision(p, t, task="binary"),
    }
    for key, value in wanted.items():
        assert METRICS[key].compute(y, s) == pytest.approx(float(value), abs=1e-6)
        assert METRICS[key].compute(y, two) == pytest.approx(float(value), abs=1e-6)
    guess = torch.from_numpy(two.argmax(1))
    assert METRICS["f1"].compute(y, two) == pytest.approx(float(torchmetrics.f1_score(guess, t, task="binary")))


@pytest.mark.parametrize("classes", [2, 4])
def test_class_metrics_equal_torchmetrics(classes):
    rng = np.random.default_rng(classes)
    y, s = rng.integers(0, classes, 90), rng.normal(size=(90, classes))
    t, g = torch.from_numpy(y), torch.from_numpy(s.argmax(1))
    many = {"task": "multiclass", "num_classes": classes}
    assert METRICS["acc"].compute(y, s) == pytest.approx(
        float(torchmetrics.accuracy(g, t, **many, average="micro")), abs=1e-6
    )
    assert METRICS["balanced_acc"].compute(y, s) == pytest.approx(
        float(torchmetrics.accuracy(g, t, **many, average="macro")), abs=1e-6
    )
    for key, how in (("macro_f1", "macro"), ("micro_f1", "micro")):
        assert METRICS[key].compute(y, s) == pytest.approx(
            float(torchmetrics.f1_score(g, t, **many, average=how)), abs=1e-6
        )
    if classes > 2:
        p = torch.softmax(torch.from_numpy(s), 1)
        assert METRICS["auc"].compute(y, p.numpy()) == pytest.approx(float(torchmetrics.auroc(p, t, **many)), abs=1e-6)
        assert METRICS["ap"].compute(y, p.numpy()) == pytest.approx(
            float(torchmetrics.average_precision(p, t, **many)), abs=1e-6
        )


def test_labels_equal_torchmetrics():
    rng = np.random.default_rng(11)
    y, s = rng.integers(0, 2, (70, 4)), rng.normal(size=(70, 4))
    t, p = torch.from_numpy(y), torch.sigmoid(torch.from_numpy(s))
    many = {"task": "multilabel", "num_labels": 4}
    assert METRICS["auc"].compute(y, s) == pytest.approx(float(torchmetrics.auroc(p, t, **many)), abs=1e-6)
    assert METRICS["ap"].compute(y, s) == pytest.approx(float(torchmetrics.average_precision(p, t, **many)), abs=1e-6)
    for key, how in (("macro_f1", "macro"), ("micro_f1", "micro")):
        assert METRICS[key].compute(y, s) == pytest.approx(
            float(torchmetrics.f1_score(p, t, **many, average=how)), abs=1e-6
        )
    assert METRICS["acc"].compute(y, s) == pytest.approx(
        float(torchmetrics.accuracy(p, t, **many, average="micro")), abs=1e-6
    )


def test_errors_equal_torchmetrics():
    rng = np.random.default_rng(12)
    y, s = rng.normal(size=50), rng.normal(size=50)
    t, p = torch.from_numpy(y), torch.from_numpy(s)
    assert METRICS["mae"].compute(y, s) == pytest.approx(float(torchmetrics.mean_absolute_error(p, t)))
    assert METRICS["mse"].compute(y, s) == pytest.approx(float(torchmetrics.mean_squared_error(p, t)))
    assert METRICS["rmse"].compute(y, s) == pytest.approx(float(torchmetrics.mean_squared_error(p, t, squared=False)))
    assert METRICS["r2"].compute(y, s) == pytest.approx(float(torchmetrics.r2_score(p, t)))
    assert METRICS["log_mse"].compute(y, s) == pytest.approx(np.log10(float(torchmetrics.mean_squared_error(p, t))))


def test_queries_equal_sklearn_and_torchmetrics():
    rng = np.random.default_rng(13)
    pos, neg = rng.normal(size=20), rng.normal(size=(20, 15))
    rank, every = ranks_among(pos, neg), np.c_[pos, neg]
    truth = np.zeros(every.shape, dtype=int)
    truth[:, 0] = 1
    # With one relevant candidate per row and no ties, label ranking average precision is the mean reciprocal rank.
    assert mean_of_inverse(rank) == pytest.approx(sk.label_ranking_average_precision_score(truth, every))
    for k in (1, 3, 10):
        hits = [torchmetrics.retrieval.retrieval_hit_rate(*map(torch.from_numpy, (p, t)), top_k=k)
                for p, t in zip(every, truth, strict=True)]  # fmt: skip
        assert ranked_within(k)(rank) == pytest.approx(np.mean(hits))
