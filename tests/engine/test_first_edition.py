"""Folders and banks of earlier editions: read, reported and exported, and not resumed."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from graphnetz import run_benchmark
from graphnetz._core.errors import StoreError
from graphnetz.cli.app import run_app
from graphnetz.cli.load import load_report
from graphnetz.engine.reproduce import reproduce
from graphnetz.engine.store import Store, schema, to_csv, to_json
from graphnetz.records import Section
from graphnetz.selection.bank import PerformanceBank

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
RUN = {"tasks": ["karate_club", "sbm_communities"], "models": ["GCN", "Majority"], "seeds": range(2), "epochs": 3}


@pytest.fixture(params=[(1, "first"), (2, "second")], ids=["first", "second"])
def edition(request):
    return request.param


@pytest.fixture
def folder(tmp_path, edition):
    return Path(shutil.copytree(FIXTURES / f"{edition[1]}_edition_store", tmp_path / "run"))


def test_it_is_read_with_the_protocol_of_every_cell(folder):
    report = load_report(folder)
    assert len(report.results) == 8
    assert {result.protocol.hidden_channels for result in report.results} == {8}
    assert {name: info.replication for name, info in report.task_info.items()} == {
        "karate_club": "resplit",
        "sbm_communities": "regenerate",
    }
    published = json.loads((folder / "results.json").read_text())
    wanted = {(c["task"], c["model"], c["seed"]): c["metrics"]["test_acc"] for c in published["cells"]}
    assert {(r.task, r.model, r.seed): r.value for r in report.results} == wanted
    (folder / "results.json").unlink()
    live = load_report(folder)
    assert {(r.task, r.model, r.seed): r.value for r in live.results} == wanted
    assert live.config["protocols"]["karate_club"]["hidden_channels"] == 8


def test_it_is_reported_and_exported(folder, tmp_path, capsys):
    assert run_app(["report", str(folder)]) in (0, None)
    assert "karate_club" in capsys.readouterr().out
    with Store.open(folder, readonly=True) as store:
        to_csv(store, tmp_path / "cells.csv")
        to_json(store, tmp_path / "cells.json")
        assert all(result.predictions is not None for result in store.results())
    assert len(pd.read_csv(tmp_path / "cells.csv")) == 8
    assert len(json.loads((tmp_path / "cells.json").read_text())["cells"]) == 8


def test_it_is_not_resumed_and_one_sentence_says_so(folder, edition, tmp_path):
    words = f"cells of edition {edition[0]}, and this is edition {schema.KEY_VERSION}: it can be read, reported and exported, but not resumed"
    with pytest.raises(StoreError, match=words):
        run_benchmark(**RUN, hidden_channels=8, out=folder, root=str(tmp_path), verbose=False)
    assert len(load_report(folder).results) == 8
    assert not list(folder.glob("*-wal"))


def test_its_cells_can_be_trained_again(folder, tmp_path):
    found = reproduce(folder, root=str(tmp_path), workers=1)
    assert len(found) == 8
    assert all(item.verdict in ("exact", "close") for item in found), found


def test_sections_can_be_added_to_it(folder, edition):
    with Store.open(folder) as store:
        store.write_section(Section("note", "A note", paragraphs=("Added later.",)))
    with Store.open(folder, readonly=True) as store:
        assert [section.name for section in store.read_sections()][-1] == "note"
        assert schema.edition(store.db) == edition[0]


def test_a_new_store_is_resumed(tmp_path):
    run = {**RUN, "tasks": ["karate_club"], "out": tmp_path / "run", "root": str(tmp_path), "verbose": False}
    first = run_benchmark(**run, backend="serial")
    with Store.open(tmp_path / "run", readonly=True) as store:
        assert schema.edition(store.db) == schema.KEY_VERSION
    again = run_benchmark(**run, backend="serial")
    assert [r.seconds for r in first.results] == [r.seconds for r in again.results], "nothing was trained again"


def test_a_bank_is_read(tmp_path):
    bank = PerformanceBank.load(FIXTURES / "first_edition_bank.npz")
    assert list(bank.graphs) == ["ring", "star"]
    assert bank.graphs["ring"].nodes == 12
    table = bank.matrix("link_pred")
    assert [item.method for item in table.configurations] == ["Jaccard", "GCN"]
    assert dict(table.configurations[1].settings) == {"hidden_channels": 16, "num_layers": 2}
    assert table.P.tolist() == [[0.5, 0.75], [0.6, 0.5]]
    assert table.seconds.tolist() == [[0.25, 1.5], [0.25, 1.5]]
    bank.save(tmp_path / "again.npz")
    assert PerformanceBank.load(tmp_path / "again.npz").records == bank.records
