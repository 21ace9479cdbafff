"""The plan that is written before the first cell, and what departs from it."""

import importlib.util
import json
from pathlib import Path

import pytest

from graphnetz.analysis.registration import family_words, plan_hash
from graphnetz.engine.store import Store, seal

pytestmark = pytest.mark.usefixtures("no_figures")

_spec = importlib.util.spec_from_file_location("auto_seeds_models", Path(__file__).with_name("test_auto_seeds.py"))
_models = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_models)
MODELS = _models.MODELS


def run(folder, **options):
    return _models.auto(folder, **({"seeds": range(3), "precision": None, "max_seeds": None} | options))


def registered(report):
    return next(section for section in report.sections if section.name == "preregistration")


def deviations(report):
    return [row[0] for row in registered(report).extra["deviations"]]


def test_the_plan_is_hashed_and_a_second_sitting_keeps_it(tmp_path):
    first = registered(run(tmp_path))
    body = json.loads((tmp_path / "plan.json").read_text())
    assert body.pop("sha256") == plan_hash(body) == first.extra["hash"]
    assert set(body) >= {"tasks", "models", "seeds", "comparisons", "margin", "stopping_rule", "search"}
    assert body["tasks"]["coins"]["metric"] == "test_acc"
    assert "the one that was planned" in first.verdict
    assert registered(run(tmp_path)) == first


def test_the_plan_is_there_before_the_first_cell(tmp_path):
    class Killer(_models.Guesser):
        def fit(self, split, rng):
            raise KeyboardInterrupt

    spec = _models.ModelSpec(Killer, frozenset({"node_cls"}))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, models={"a": spec, "b": spec})
    assert (tmp_path / "plan.json").exists()
    with Store.open(tmp_path, readonly=True) as store:
        assert not list(store.results())


def test_every_deviation_is_listed(tmp_path):
    run(tmp_path)
    report = run(tmp_path, seeds=range(5), models={name: MODELS[name] for name in ("p50", "p90")}, epochs=3)
    found = deviations(report)
    assert "seeds added later" in found
    assert "models dropped" in found
    assert "protocol of coins changed" in found
    assert registered(report).level == "warning"
    assert "departs from its plan" in (tmp_path / "report.html").read_text()
    rows = {row[0]: row for row in registered(report).extra["deviations"]}
    assert rows["seeds added later"][2] == "3, 4"
    assert rows["models dropped"][1] == "p52"


def test_a_changed_setting_of_one_model_is_a_deviation(tmp_path):
    run(tmp_path)
    rows = registered(run(tmp_path, model_protocol={"p50": {"epochs": 3}})).extra["deviations"]
    assert rows == [["model protocol of coins changed", "p50: None", "p50: {'epochs': 3}"]]


def test_a_changed_metric_and_a_changed_rule_are_deviations(tmp_path):
    task = _models.Task("coins", "node_cls", _models.graph, 1)
    options = {"backend": "serial", "verbose": False, "out": tmp_path, "models": MODELS}
    _models.run_benchmark(tasks=[task], seeds=range(3), **options)
    other = _models.Task("coins", "node_cls", _models.graph, 1, metric="macro_f1")
    assert "metric of coins changed" in deviations(_models.run_benchmark(tasks=[other], seeds=range(3), **options))
    later = _models.run_benchmark(tasks=[task], seeds="auto", precision=0.01, max_seeds=6, **options)
    assert {"stopping rule changed", "margin changed", "comparisons changed"} <= set(deviations(later))


def test_an_edited_plan_and_a_late_plan_are_found(tmp_path):
    run(tmp_path)
    path = tmp_path / "plan.json"
    path.write_text(path.read_text().replace('"Holm"', '"none"'))
    assert "plan.json was changed" in deviations(run(tmp_path))
    path.unlink()
    with Store.open(tmp_path) as store:
        store.db.execute("DELETE FROM meta")
        seal.small(store.db)
    assert "the plan was written late" in deviations(run(tmp_path))


def test_evaluations_on_the_test_split_beyond_the_planned_ones_are_counted(tmp_path):
    first = registered(run(tmp_path))
    assert first.extra["unshown_evaluations"] == {"other_cells": 0, "evaluated_again": 0}
    assert "and not otherwise" in first.paragraphs[1]
    second = registered(run(tmp_path, epochs=7))  # other settings: other cells on the same test split
    assert second.extra["unshown_evaluations"]["other_cells"] == 9
    assert "9 times more" in second.paragraphs[1]


def test_the_family_is_stated(tmp_path):
    words = registered(run(tmp_path)).paragraphs[0]
    assert "Holm at 0.05 over the 3 comparisons of each task" in words
    assert "3 comparisons in 1 family;" in words
    one = family_words([1], {"comparisons": {"alpha": 0.05, "correction": "Holm"}})
    assert "over the 1 comparison of each task. The page shows 1 comparison in 1 family;" in one
