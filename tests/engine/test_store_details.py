"""Small promises of the store, each of which a changed line of it would break."""

import math
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from graphnetz._core.arrays import pack_arrays
from graphnetz._core.errors import StoreError
from graphnetz.engine.store import Store, codec, new_owner, owner_is_dead, owners, seal, truth
from graphnetz.engine.store.export import to_csv
from graphnetz.engine.store.files import plain_errors, store_file
from graphnetz.records import Cell, CellResult, Predictions, Protocol


def cells(n):
    return [Cell(f"key{i}", "task", f"model{i}", i, Protocol()) for i in range(n)]


def result(cell, **values):
    given = {"metric": "test_acc", "metrics": {"test_acc": 0.5}} | values
    return CellResult(cell.key, cell.task, cell.model, cell.seed, **given)


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path) as made:
        made.plan(cells(3))
        yield made


# -- predictions ----------------------------------------------------------------------------------


def test_predictions_of_older_stores_bring_their_examples():
    arrays = {"example": np.array([3, 4]), "target": np.array([0, 1]), "score": np.array([0.2, 0.9])}
    found = codec.unpack_predictions(pack_arrays(list(arrays.items())), tested=None)
    assert isinstance(found, Predictions)
    assert {name: getattr(found, name).tolist() for name in arrays} == {k: v.tolist() for k, v in arrays.items()}


def test_nested_values_are_stored_with_their_keys():
    assert codec.plain({1: (np.float64(0.5), {"b": np.int64(2)})}) == {"1": [0.5, {"b": 2}]}


# -- one file -------------------------------------------------------------------------------------


def test_folding_the_journal_says_whether_it_could(store, tmp_path):
    journal = tmp_path / "store.sqlite-wal"
    assert journal.exists()
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM cells").fetchall()
        assert store.checkpoint_to_one_file() is False
    assert store.checkpoint_to_one_file() is True
    assert not journal.exists()
    assert store.db.execute("PRAGMA busy_timeout").fetchone() == (30000,)


def test_a_folder_or_its_file_names_the_same_store(tmp_path):
    made = store_file(tmp_path)
    assert made == tmp_path / "store.sqlite"
    assert store_file(made) == made
    assert store_file(tmp_path / "other.db") == tmp_path / "other.db"


def test_only_the_process_that_opened_a_store_uses_it(store, monkeypatch):
    assert isinstance(store.db, sqlite3.Connection)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(StoreError, match="forked process"):
        _ = store.db


def _fails(path, first, then):
    with plain_errors(path):
        try:
            raise first
        except Exception:
            raise then  # noqa: B904


def test_the_cause_of_an_error_is_told_and_not_what_came_after_it(tmp_path):
    wrong, later = sqlite3.OperationalError("no such table: t"), sqlite3.OperationalError("cannot rollback")
    with pytest.raises(StoreError, match="no such table: t"):
        _fails(tmp_path, wrong, later)
    with pytest.raises(StoreError, match="no such table: t"):
        _fails(tmp_path, ValueError("unrelated"), wrong)


# -- owners ---------------------------------------------------------------------------------------


def test_a_machine_without_proc_is_known_by_its_name(monkeypatch):
    def missing(*_, **__):
        raise OSError

    monkeypatch.setattr(Path, "read_text", missing)
    assert owners._machine() == socket.gethostname()


def test_an_owner_is_a_process_of_this_machine_or_nobody_we_know():
    mine = new_owner()
    machine, pid, started, mark = mine.split("|")
    assert owners.process_of(mine) == os.getpid()
    assert not owner_is_dead(mine)
    assert owner_is_dead(f"{machine}|{pid}|{int(started) + 1}|{mark}"), "another process has its number now"
    for other in (f"elsewhere|{pid}|{started}|{mark}", f"{machine}|{pid}|-|{mark}", f"{machine}|x|{started}|{mark}",
                  f"{machine}|{pid}|{started}", "somebody"):  # fmt: skip
        assert owners.process_of(other) is None
        assert not owner_is_dead(other)


def test_a_process_is_named_with_what_to_do_where_it_is_stopped():
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert owners.process_words(sleeper.pid) == f"process {sleeper.pid} of this machine"
        os.kill(sleeper.pid, signal.SIGSTOP)
        deadline = time.monotonic() + 30
        while not owners.is_stopped(sleeper.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert owners.process_words(sleeper.pid) == (
            f"process {sleeper.pid} of this machine, which is stopped (go on with 'kill -CONT {sleeper.pid}', end it "
            f"with 'kill -9 {sleeper.pid}')"
        )
    finally:
        sleeper.kill()
        sleeper.wait()
    assert owners.is_stopped(sleeper.pid) is False
    assert owners._started(sleeper.pid) is None


def test_leases_are_extended_and_counted(store):
    mine = new_owner()
    assert store.claim("key0", mine)
    assert store.claim("key1", mine)
    assert not store.claim("key1", new_owner())
    assert store.heartbeat(mine, 500.0) == 2
    assert store.heartbeat(new_owner()) == 0
    leases = [row[0] for row in store.db.execute("SELECT lease FROM cells WHERE owner = ?", (mine,))]
    assert all(400 < lease - time.time() <= 500 for lease in leases)


# -- what is sealed -------------------------------------------------------------------------------


def sealed(store):
    return dict(store.db.execute("SELECT name, value FROM seal").fetchall())


def finish(store, cell, **values):
    owner = new_owner()
    assert store.claim(cell.key, owner)
    assert store.finish(owner, result(cell, **values))


def test_the_seal_follows_what_is_planned_finished_and_forgotten(store):
    empty = sealed(store)
    assert empty["planned"].split()[0] == "3"
    finish(store, cells(3)[0])
    once = sealed(store)
    assert once["finished"].split()[0] == "1"
    store.reset({"key0"})
    assert sealed(store)["finished"] == empty["finished"]
    assert store.db.execute("SELECT COUNT(*) FROM digests").fetchone() == (0,)
    assert seal.verify(store.db, name="store") is True


def test_a_store_from_before_seals_has_none_and_says_so(store):
    db = store.db
    db.execute("DROP TABLE seal")
    db.execute("DROP TABLE digests")
    db.execute(f"PRAGMA user_version = {seal.SINCE - 1}")
    assert seal.verify(db, name="store") is False


def test_digests_of_cells_without_predictions_are_their_own(store):
    finish(store, cells(3)[0])
    (found,) = store.cell_digests().values()
    assert len(found) == 1
    assert "" not in found


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"metrics": {"test_acc": 0.6}}, False),
        ({"metrics": {"test_acc": 0.5, "val_acc": 0.5}}, False),
        ({"status": "failed", "error": "x"}, False),
    ],
)
def test_cells_are_the_same_when_status_and_every_value_are(change, same):
    assert truth._same(result(cells(1)[0]), result(cells(1)[0], **change)) is same


def test_undefined_values_are_the_same():
    one = result(cells(1)[0], metrics={"test_acc": math.nan})
    assert truth._same(one, result(cells(1)[0], metrics={"test_acc": math.nan})) is True
    assert truth._same(one, result(cells(1)[0])) is False


# -- what is written ------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "written"), [("=1+1", "'=1+1"), ("+x", "'+x"), ("@x", "'@x"), ("plain", "plain")])
def test_text_that_a_spreadsheet_would_run_is_quoted(store, tmp_path, text, written):
    import csv

    finish(store, cells(3)[0], status="failed", metrics={}, error=text)
    to_csv(store, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row["error"] == written
    assert row["model"] == "model0"
