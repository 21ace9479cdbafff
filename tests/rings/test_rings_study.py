"""Agreement, correlation and the study object for other pipelines."""

import sys
import types

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics import jaccard_score
from torch_geometric.data import Data

from graphnetz._core.errors import MissingExtraError, UnknownNameError, UsageError
from graphnetz.records import Predictions
from graphnetz.rings import SeparabilityStudy, agreement, correct_examples, correlate, overall_symbol


def test_overlaps_by_hand_and_by_scikit_learn():
    rng = np.random.default_rng(0)
    right = {name: rng.random((4, 30)) < 0.7 for name in ("o/GCN", "eg/GIN")}
    sets = {name: [set(np.flatnonzero(row)) for row in rows] for name, rows in right.items()}
    result = agreement(sets)
    a, b = right.values()
    expected = np.mean([jaccard_score(x, y) for x, y in zip(a, b, strict=True)])
    assert result.jaccard[0, 1] == pytest.approx(expected)
    assert result.jaccard[1, 0] == pytest.approx(expected)
    assert result.asymmetric[0, 1] == pytest.approx(
        np.mean([(x & y).sum() / y.sum() for x, y in zip(a, b, strict=True)])
    )
    assert result.asymmetric[1, 0] == pytest.approx(
        np.mean([(x & y).sum() / x.sum() for x, y in zip(a, b, strict=True)])
    )
    assert np.diag(result.jaccard).tolist() == [1, 1]
    assert len(result.to_frame()) == 4


def test_empty_sets_are_undefined_and_left_out():
    result = agreement({"a": {"r1": set(), "r2": {1}}, "b": {"r1": set(), "r2": {1, 2}, "r3": {5}}, "c": {"r9": {1}}})
    assert result.jaccard[0, 1] == 0.5
    assert result.asymmetric[0, 1] == 0.5
    assert result.asymmetric[1, 0] == 1
    assert np.isnan(result.jaccard[0, 2])
    assert result.runs[0, 1] == 2
    assert np.isnan(agreement({"a": [set()], "b": [{1}]}).asymmetric[1, 0])


def test_correct_examples_of_all_kinds_of_scores():
    ids = np.array([10, 11, 12])
    many = Predictions(ids, np.array([0, 1, 2]), np.array([[2.0, 1, 0], [2, 1, 0], [0, 1, 2]]))
    assert correct_examples(many) == {10, 12}
    assert correct_examples(Predictions(ids, np.array([0, 1, 1]), np.array([-1.0, 2, -3]))) == {10, 11}
    labels = np.array([[1.0, np.nan], [0, 1], [1, 1]])
    assert correct_examples(Predictions(ids, labels, np.array([[1.0, -1], [1, 1], [1, 1]]))) == {10, 12}


def test_correlation_equals_scipy_over_all_points():
    rng = np.random.default_rng(0)
    gamma = {code: rng.random(10) for code in ("o", "eg", "cg", "rg")}
    score = {"o": 0.8, "eg": 0.5, "cg": 0.6, "rf": 0.2}
    result = correlate(gamma, score)
    x = np.concatenate([gamma[code] for code in ("o", "eg", "cg")])
    y = np.repeat([0.8, 0.5, 0.6], 10)
    assert result.points == 30
    assert result.pearson == pytest.approx(stats.pearsonr(x, y)[0])
    assert result.spearman == pytest.approx(stats.spearmanr(x, y)[0])
    assert result.kendall == pytest.approx(stats.kendalltau(x, y)[0])
    flat = correlate({"o": [1, 1], "eg": [1, 1]}, {"o": 0.1, "eg": 0.2})
    assert np.isnan(flat.pearson)
    assert "vary" in flat.reason
    assert overall_symbol([correlate({c: [i] for i, c in enumerate("abc")}, {"a": 1, "b": 2, "c": 3})]) == "++"
    with pytest.raises(UsageError):
        overall_symbol([])


def filled(modes=("o", "eg", "cf")):
    study = SeparabilityStudy(modes=modes, directions={"mae": False})
    rng = np.random.default_rng(0)
    for run in range(20):
        for rank, mode in enumerate(modes):
            for model, bonus in (("GCN", 0.0), ("GIN", 0.5 if mode == "o" else -0.5)):
                noise = rng.normal() * 0.01
                acc, mae = 1 - 0.1 * rank + bonus + noise, 0.1 * rank - bonus + noise
                study.record(mode, acc, metric="acc", run=run, model=model, validation=acc)
                study.record(mode, mae, metric="mae", run=run, model=model, validation=mae)
    return study


def test_study_picks_the_best_model_per_mode_and_judges():
    study = filled()
    assert study.best_models("acc") == {"o": "GIN", "eg": "GCN", "cf": "GCN"}
    assert study.best_models("mae") == {"o": "GIN", "eg": "GCN", "cf": "GCN"}
    assert study.evaluate("acc").relation == "o > eg > cf"
    assert study.evaluate("mae").relation == "o < eg < cf"
    assert study.evaluate("acc", within_runs=True).relation == "o > eg > cf"
    assert study.evaluate("acc", statistic="signedrank").relation == "o > eg > cf"
    assert study.assess().symbol == "++"


def test_study_survives_a_file(tmp_path):
    study = filled()
    study.save(tmp_path / "study.json")
    back = SeparabilityStudy.load(tmp_path / "study.json")
    assert back == study
    assert back.evaluate("acc").relation == study.evaluate("acc").relation


def test_study_pairs_runs_by_name():
    study = SeparabilityStudy(modes=("o", "eg"))
    for run in range(12):
        study.record("o", run + 0.5, metric="acc", run=run)
    for run in reversed(range(2, 12)):
        study.record("eg", float(run), metric="acc", run=run)
    result = study.evaluate("acc", statistic="signedrank")
    assert result.runs == {"o": 10, "eg": 10}
    assert result.comparisons[0].mean_diff == pytest.approx(0.5)
    assert result.comparisons[0].p == pytest.approx(2 / 2**10)


def test_study_refuses_mistakes():
    study = SeparabilityStudy(modes=("o", "eg"))
    study.record("o", 1.0, metric="acc", run=0)
    with pytest.raises(UsageError, match="already"):
        study.record("o", 1.0, metric="acc", run=0)
    with pytest.raises(UsageError, match="no mode 'rf'"):
        study.record("rf", 1.0, metric="acc", run=0)
    with pytest.raises(UsageError, match="Recorded: acc"):
        study.evaluate("auc")
    with pytest.raises(UnknownNameError):
        SeparabilityStudy(modes=("o", "zz"))


def test_study_hands_out_perturbed_datasets():
    graphs = [Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=n) for n in (3, 4)]
    sets = SeparabilityStudy().datasets(graphs, seed=1)
    assert list(sets) == ["o", "eg", "cg", "rg", "cf", "rf"]
    assert [d.x.shape[1] for d in sets["cf"]] == [4, 4]
    assert [d.x.shape[1] for d in sets["rf"]] == [10, 10]
    assert sets["cg"][1].num_edges == 12


def test_lightning_callback(monkeypatch):
    study = SeparabilityStudy(modes=("o", "eg"))
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match="Lightning"):
        study.callback("o", metric="test_acc", run=0)
    fake = types.ModuleType("pytorch_lightning")
    fake.Callback = type("Callback", (), {})
    monkeypatch.setitem(sys.modules, "pytorch_lightning", fake)
    callback = study.callback("o", metric="test_acc", run=(0, 1), model="GCN")
    callback.on_test_end(types.SimpleNamespace(callback_metrics={"test_acc": torch.tensor(0.75)}), None)
    assert study.records[0].value == 0.75
    assert study.records[0].run == "(0, 1)"
    with pytest.raises(UsageError, match="Logged: loss"):
        callback.on_test_end(types.SimpleNamespace(callback_metrics={"loss": 1.0}), None)
