"""Predictions made elsewhere: metrics, contributions, and one sentence for everything that is wrong."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from graphnetz._core.errors import DataError
from graphnetz.cli.load import load_report
from graphnetz.report import BenchmarkReport


def table(**columns):
    """Two models, three seeds, 80 examples."""
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product([["GCN", "MLP"], range(3), range(80)], names=["model", "seed", "example"])
    frame = index.to_frame(index=False).assign(task="outside")
    frame["target"] = frame["example"] % 2
    frame["prediction"] = np.where(rng.random(len(frame)) < 0.8, frame["target"], 1 - frame["target"])
    return frame.assign(**columns)


def test_classes_give_accuracy_and_one_loss_per_example():
    frame = table()
    report = BenchmarkReport.from_predictions(frame)
    right = (frame["target"] == frame["prediction"]).groupby([frame["model"], frame["seed"]]).mean()
    for result in report.results:
        assert result.metrics == {"test_acc": right[result.model, result.seed]}
    assert report.task_info["outside"].replication == "unknown"
    found = report.analysis.facts.examples("outside")
    assert (found.kind, found.seeds, found.splits, len(found.examples)) == ("loss", (0, 1, 2), (0, 0, 0), 80)
    np.testing.assert_allclose(found.values["MLP"].mean(axis=1), right["MLP"])
    assert report.summary().loc[("outside", "GCN"), "mean"] == pytest.approx(right["GCN"].mean())


def test_scores_give_auc_and_names_of_classes_are_understood():
    rng = np.random.default_rng(1)
    frame = table().drop(columns="prediction")
    frame["score"] = frame["target"] + rng.normal(size=len(frame))
    report = BenchmarkReport.from_predictions(frame)
    cell = frame[(frame["model"] == "GCN") & (frame["seed"] == 2)]
    value = next(r.value for r in report.results if (r.model, r.seed) == ("GCN", 2))
    assert value == pytest.approx(roc_auc_score(cell["target"], cell["score"]))
    found = report.analysis.facts.examples("outside")
    assert found.kind == "pseudo"
    assert found.values["GCN"][2].mean() == pytest.approx(value, rel=1e-9)
    names = table(metric="macro_f1", example=table()["example"].map("node {}".format))
    names[["target", "prediction"]] = names[["target", "prediction"]].map(lambda c: ("cat", "dog")[c])
    report = BenchmarkReport.from_predictions(names)
    cell = names[(names["model"] == "MLP") & (names["seed"] == 0)]
    value = next(r.value for r in report.results if (r.model, r.seed) == ("MLP", 0))
    assert value == pytest.approx(f1_score(cell["target"], cell["prediction"], average="macro"))


def test_values_give_errors_and_score_columns_classes():
    frame = table(target=table()["target"] + 0.5)
    report = BenchmarkReport.from_predictions(frame)
    assert report.task_info["outside"].metric == "test_mae"
    assert report.results[0].value == pytest.approx((frame["target"] - frame["prediction"]).abs()[:80].mean())
    several = table(score_0=0.0, score_1=table()["prediction"] - 0.5, score_2=-1.0).drop(columns="prediction")
    report = BenchmarkReport.from_predictions(several)
    assert report.results[0].metric == "test_acc"
    assert report.results[0].value == BenchmarkReport.from_predictions(table()).results[0].value


def test_splits_and_replication_are_taken_over():
    frame = table(split=table()["seed"] % 2, replication="fold")
    info = BenchmarkReport.from_predictions(frame).task_info["outside"]
    assert (info.splits, info.replication) == (2, "fold")


def test_a_file_is_recognised_by_its_columns(tmp_path):
    table().to_csv(tmp_path / "predictions.csv", index=False)
    report = load_report(tmp_path / "predictions.csv")
    assert report.analysis.facts.examples("outside").values["GCN"].shape == (3, 80)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop(columns=["example", "target"]), "lack the columns example, target. Give task, model"),
        (lambda f: f.drop(columns="prediction"), "lack the column prediction. Give"),
        (lambda f: f[:0], "have no row"),
        (lambda f: pd.concat([f, f[:1]]), "hold example 0 of task 'outside', model 'GCN', seed 0 twice"),
        (lambda f: f.assign(prediction=f["prediction"].where(f.index != 3)), "no prediction for task 'outside', model 'GCN', seed 0, example 3"),
        (lambda f: f[1:], "seed 0, the models 'GCN' and 'MLP' have different examples"),
        (lambda f: f.assign(metric="accurracy"), "Task 'outside': .*accurracy"),
        (lambda f: f.assign(seed=0.5), "column 'seed' holds 0.5. Give a whole number"),
        (lambda f: f.assign(metric="acc", target=f["target"] + 0.5), "its targets are not classes"),
        (lambda f: f.assign(score="x"), "has 'x' as score"),
        (lambda f: f.assign(score_0=1, score_1=2, target=7), "scores of 2 classes. Give targets from 0 to 1"),
        (lambda f: f.assign(split=f["example"]), "several splits for seed 0"),
        (lambda f: f.assign(metric=f["seed"].astype(str)), "several values of metric"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(change, words):
    with pytest.raises(DataError, match=words):
        BenchmarkReport.from_predictions(change(table()))


def test_a_written_folder_says_the_same_when_it_is_read_again(tmp_path):
    """Also one that is written from another folder: what cells predicted goes with them."""
    report = BenchmarkReport.from_predictions(table(), replication="resplit")
    said = [(v.about, v.text) for v in report.verdicts()]
    asked = [(c.evidence.method, c.evidence.p) for p in report.comparisons() for c in p.claims]
    assert any("crossed" in method and p < 1 for method, p in asked)
    source = report
    for name in ("one", "two"):
        source.write(tmp_path / name, figures=False)
        source = BenchmarkReport.from_json(tmp_path / name / "results.json")
        assert [(c.evidence.method, c.evidence.p) for p in source.comparisons() for c in p.claims] == asked
        assert [(v.about, v.text) for v in source.verdicts()] == said
