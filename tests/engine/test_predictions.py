"""Predictions are kept by default: in the store, in examples/, for every model, and not where they are switched off."""

import dataclasses
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from graphnetz import run_benchmark
from graphnetz._core.errors import StoreError
from graphnetz.cli.load import load_report
from graphnetz.engine.store import Store
from graphnetz.records import Cell, CellResult, Predictions, Protocol
from graphnetz.records.config import RunConfig
from graphnetz.report import BenchmarkReport
from graphnetz.rings import correct_examples

RUN = {
    "tasks": ["karate_club", "les_miserables"], "models": ["GCN", "Majority", "DegreeProduct"], "epochs": 2,
    "backend": "serial", "verbose": False,
}  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr("graphnetz.report.write.write_figures", lambda *_, **__: None)
    return {**RUN, "root": str(tmp_path / "data")}


def files(folder):
    return {path.name: path.read_bytes() for path in (folder / "examples").iterdir()}


def test_every_door_gives_the_same_contributions(run, tmp_path):
    report = run_benchmark(**run, seeds=2, out=tmp_path / "run")
    doors = [
        report,
        load_report(tmp_path / "run"),
        BenchmarkReport.from_json(tmp_path / "run" / "results.json"),
        run_benchmark(**run, seeds=2),
    ]
    bare = Path(shutil.copytree(tmp_path / "run", tmp_path / "bare"))
    shutil.rmtree(bare / "examples")
    doors.append(load_report(bare))
    (bare / "results.json").unlink()
    doors.append(load_report(bare))
    for door in doors:
        find = door.analysis.facts.examples
        karate, links = find("karate_club"), find("les_miserables")
        assert (karate.unit, karate.one_graph, karate.kind) == ("node", True, "loss")
        assert set(karate.values) == {"GCN", "Majority"}, "baselines as well"
        assert set(links.values) == {"GCN", "DegreeProduct"}
        assert links.ends.shape == (len(links.examples), 2)
        for cell in report.results:
            found = find(cell.task).values[cell.model][find(cell.task).seeds.index(cell.seed)]
            assert np.nanmean(found) == pytest.approx(cell.value, rel=1e-9)
        for name, values in doors[0].analysis.facts.examples("les_miserables").values.items():
            np.testing.assert_array_equal(values, links.values[name])
    assert BenchmarkReport.from_json(report.to_json()).analysis.facts.examples("karate_club") is None


def test_a_resumed_run_writes_the_same_bytes(run, tmp_path):
    run_benchmark(**run, seeds=3, out=tmp_path / "calm")
    run_benchmark(**run, seeds=[2], out=tmp_path / "twice")
    run_benchmark(**run, seeds=3, out=tmp_path / "twice")
    assert set(files(tmp_path / "calm")) == {"karate_club.bin", "les_miserables.bin"}
    assert files(tmp_path / "calm") == files(tmp_path / "twice")


def test_they_are_switched_off_with_one_setting(run, tmp_path):
    assert RunConfig().save_predictions
    report = run_benchmark(**run, seeds=2, out=tmp_path / "run", save_predictions=False)
    assert not (tmp_path / "run" / "examples").exists()
    assert all(result.predictions is None for result in report.results)
    assert report.analysis.facts.examples("karate_club") is None


def test_classes_are_class_numbers_and_the_right_ones_are_found(run):
    report = run_benchmark(**run, seeds=2)
    for result in report.results:
        kept = result.predictions
        if result.task == "karate_club":
            assert kept.score.dtype == np.uint8
            assert len(correct_examples(kept)) / len(kept.example) == pytest.approx(result.value)
        else:
            assert (kept.score.dtype, kept.score.ndim) == (np.float32, 1)


def cell_of(seed, example):
    cell = Cell(f"key{seed}", "task", "GCN", seed, Protocol())
    kept = Predictions(
        example, example % 2, np.zeros((len(example), 2), np.float32), unit="node", total=9, one_graph=True
    )
    return cell, CellResult(
        cell.key, "task", "GCN", seed, metric="test_acc", metrics={"test_acc": 1.0}, predictions=kept
    )


def test_examples_stand_once_per_split_and_damage_is_named(tmp_path):
    results = [cell_of(seed, np.arange(5) + (seed > 1)) for seed in range(4)]
    with Store.create(tmp_path) as store:
        store.plan([cell for cell, _ in results])
        store.adopt([result for _, result in results])
        assert store.db.execute("SELECT COUNT(*) FROM examples").fetchone() == (2,)
        first, second, *_ = store.results()
        assert first.predictions.example is second.predictions.example
        assert dataclasses.replace(first.predictions, example=None, target=None, score=None) == Predictions(
            None, None, None, unit="node", total=9, one_graph=True
        )
        assert store.predicted_bytes() > 0
        assert all(r.predictions is None for r in store.results(histories=False))
        assert all(r.predictions is not None for r in store.results(histories=False, predictions=True))
        store.db.execute("DELETE FROM examples")
        with pytest.raises(StoreError, match="lacks the test examples"):
            list(store.results())


def test_a_store_of_the_version_before_is_read_and_brought_up_to_date(tmp_path):
    cell, result = cell_of(0, np.arange(5))
    with Store.create(tmp_path) as store:
        store.plan([cell])
    raw = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
    for table in ("examples", "digests", "seal"):
        raw.execute(f"DROP TABLE {table}")
    raw.execute("PRAGMA user_version = 1")
    raw.close()
    with Store.open(tmp_path, readonly=True) as store:
        assert list(store.results()) == []
    with Store.create(tmp_path) as store:
        store.adopt([result])
        np.testing.assert_array_equal(next(store.results()).predictions.example, np.arange(5))


def test_what_a_report_says_of_itself_has_no_place_on_disk(run, tmp_path):
    run_benchmark(**run, seeds=2, out=tmp_path / "run")
    assert str(tmp_path) not in json.dumps(json.loads((tmp_path / "run" / "results.json").read_text()))
