"""The store: round trips, claims, late finishes, foreign files, full disks."""

import json
import math
import os
import sqlite3
import threading
import time
import zlib
from contextlib import closing

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphnetz import run_benchmark, task_from_networkx
from graphnetz._core import arrays
from graphnetz._core.errors import StoreError
from graphnetz.engine.store import (
    SCHEMA_VERSION,
    Store,
    codec,
    database,
    files,
    new_owner,
    owner_is_dead,
    retire,
    schema,
    to_csv,
    to_json,
    to_parquet,
)
from graphnetz.records import Cell, CellResult, Plateau, Predictions, Protocol, Section, Table


def make_cells(n, **protocol):
    shared = Protocol(**protocol)
    return [Cell(f"key{i:06d}", f"task{i // 10}", f"model{i % 10}", i, shared) for i in range(n)]


def full_result(cell):
    return CellResult(
        cell.key,
        cell.task,
        cell.model,
        cell.seed,
        metric="test_acc",
        metrics={"test_acc": 0.1 + 0.2, "val_acc": math.nan, "loss": math.inf},
        history={"loss": [1.0, 1 / 3, math.nan], "epoch": [0, 1, 2]},
        epochs=3,
        best_epoch=1,
        seconds=1.5,
        peak_memory=1e6,
        parameters=77,
        environment="env",
        n_train=5,
        n_test=7,
        trace=({"lr": 0.1, "note": "x"},),
        notes=("a note",),
        predictions=Predictions(np.arange(3), np.array([[0, 1], [1, 0], [1, 1]]), np.array([0.5, -1.0, math.nan])),
        protocol=cell.protocol,
        reads={"file weights.npy": "0123456789abcdef"},
    )


def same(a, b):
    assert repr(a.metrics) == repr(b.metrics)
    assert repr(a.history) == repr(b.history)
    for name in ("example", "target", "score"):
        if a.predictions is not None:
            np.testing.assert_array_equal(getattr(a.predictions, name), getattr(b.predictions, name))
    rest = [f for f in a.__dataclass_fields__ if f not in ("metrics", "history", "predictions", "predicted")]
    assert [repr(getattr(a, f)) for f in rest] == [repr(getattr(b, f)) for f in rest]


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "run") as opened:
        yield opened


def test_a_result_comes_back_exactly(store):
    cells = make_cells(3, schedule=Plateau(patience=3), patience=4)
    assert store.plan(cells) == 3
    assert store.plan(cells) == 0
    assert list(store.cells()) == cells
    owner = new_owner()
    assert store.claim(cells[0].key, owner)
    result = full_result(cells[0])
    assert store.finish(owner, result)
    same(next(store.results()), result)
    assert next(store.results(histories=False)).history == {}
    assert store.missing([c.key for c in cells]) == [cells[1].key, cells[2].key]
    assert store.counts() == {"ok": 1, "pending": 2}
    assert store.durations() == {(cells[0].task, cells[0].model): (1, 1.5, 1e6)}


def test_results_follow_the_order_of_the_keys_asked_for(store):
    cells = make_cells(1200)
    store.plan(cells)
    store.adopt(CellResult(c.key, c.task, c.model, c.seed) for c in cells)
    wanted = [c.key for c in reversed(cells)]
    assert [r.key for r in store.results(wanted, histories=False)] == wanted


def test_the_table_that_others_script_against(store):
    cells = make_cells(2)
    store.plan(cells)
    store.claim(cells[0].key, "me")
    store.finish("me", full_result(cells[0]))
    plain = sqlite3.connect(store.path)
    row = plain.execute("SELECT key, task, model, seed, status, metric, value FROM cells ORDER BY position").fetchall()
    assert row[0] == (cells[0].key, cells[0].task, cells[0].model, 0, "ok", "test_acc", 0.1 + 0.2)
    assert row[1][4:] == ("pending", "", None)
    plain.close()


def test_one_cell_one_owner_and_a_late_finish_is_rejected(store):
    (cell,) = make_cells(1)
    store.plan([cell])
    assert store.claim(cell.key, "slow", lease_seconds=0.05)
    with Store.open(store.path) as other:
        assert not other.claim(cell.key, "fast")
        time.sleep(0.06)
        assert other.claim(cell.key, "fast")
        before = store.counts()
        assert not store.finish("slow", full_result(cell))
        assert store.counts() == before == {"running": 1}
        assert list(store.results()) == []
        assert other.finish("fast", full_result(cell))
        assert not other.finish("fast", full_result(cell)), "a result is written once"
        assert not other.claim(cell.key, "third")


def test_heartbeat_keeps_a_claim_and_release_gives_it_back(store):
    (cell,) = make_cells(1)
    store.plan([cell])
    store.claim(cell.key, "a", lease_seconds=0.05)
    assert store.heartbeat("a", 30) == 1
    time.sleep(0.06)
    assert not store.claim(cell.key, "b")
    assert store.held_by_others("b") == {cell.key}
    assert store.held_by_others("a") == set()
    assert store.release("a") == 1
    assert store.claim(cell.key, "b")


def test_cells_of_a_dead_process_are_given_back_before_their_lease_ends(store):
    cells = make_cells(2)
    store.plan(cells)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, new_owner().encode())
        os._exit(0)
    os.waitpid(child, 0)
    dead = os.read(reader, 1000).decode()
    alive = new_owner()
    assert owner_is_dead(dead)
    assert not owner_is_dead(alive)
    assert not owner_is_dead(dead.replace(dead.split("|")[0], "another machine"))
    store.claim(cells[0].key, dead, 1000)
    store.claim(cells[1].key, alive, 1000)
    assert store.recover() == 1
    assert store.claim(cells[0].key, "new")
    retire(alive)  # it gave up, and could not write so
    assert store.recover() == 1
    assert store.claim(cells[1].key, "new")


def test_reset_forgets_results_only_of_the_keys_given(store):
    cells = make_cells(3)
    store.plan(cells)
    for cell in cells[:2]:
        store.claim(cell.key, "me")
        store.finish("me", full_result(cell))
    assert store.reset([cells[0].key, cells[2].key]) == 1
    assert store.counts() == {"ok": 1, "pending": 2}
    blank = sqlite3.connect(store.path).execute("SELECT * FROM cells ORDER BY position").fetchall()
    assert blank[0][5:-2] == blank[2][5:-2]
    assert [r.key for r in store.results()] == [cells[1].key]


def test_meta_environments_and_sections(store):
    store.write_meta({"config": {"epochs": 3, "tasks": ["a"]}, "hash": "x"})
    assert store.read_meta() == {"config": {"epochs": 3, "tasks": ["a"]}, "hash": "x"}
    store.write_environment("e1", {"python": "3.11"})
    assert store.read_environments() == {"e1": {"python": "3.11"}}
    first = Section("rings", "RINGS", tables=(Table(("a", "b"), ((1, 2.5), ("x", None))),))
    store.write_section(first)
    store.write_section(Section("audit", "Audit"))
    store.write_section(Section("rings", "RINGS again"))
    assert [s.title for s in store.read_sections()] == ["RINGS again", "Audit"]
    store.write_section(first)
    assert store.read_sections()[0] == first


def test_a_finished_run_is_one_file_and_a_read_only_folder_can_be_read(store):
    cells = make_cells(1)
    store.plan(cells)
    store.claim(cells[0].key, "me")
    store.finish("me", full_result(cells[0]))
    other = Store.open(store.path)
    assert other.counts() == {"ok": 1}
    assert store.checkpoint_to_one_file() is False, "someone else has it open"
    other.close()
    assert store.checkpoint_to_one_file()
    assert [p.name for p in store.path.parent.iterdir()] == ["store.sqlite"]
    with Store.open(store.path.parent, readonly=True) as reader:
        same(next(reader.results()), full_result(cells[0]))
        with pytest.raises(StoreError, match="read-only"):
            reader.plan(make_cells(2))


def test_no_connection_crosses_a_fork(store):
    store.plan(make_cells(1))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.counts()
        except StoreError as error:
            code = 0 if "forked" in str(error) else 2
        finally:
            store.close()
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.counts() == {"pending": 1}


def test_a_reader_waits_for_a_store_that_is_being_made(tmp_path):
    """The file is there before its tables: `graphnetz status` at that moment must not call it a stranger's."""
    (tmp_path / "store.sqlite").touch()
    maker = threading.Timer(0.3, lambda: Store.create(tmp_path).close())
    maker.start()
    with Store.open(tmp_path, readonly=True) as seen:
        assert seen.counts() == {}
    maker.join()


def test_files_that_are_not_ours_are_refused_with_a_sentence(tmp_path):
    with pytest.raises(StoreError, match="no run in"):
        Store.open(tmp_path)
    (tmp_path / "text.sqlite").write_text("not a database at all, but long enough to look at " * 40)
    with pytest.raises(StoreError, match="not an SQLite file"):
        Store.open(tmp_path / "text.sqlite")
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE t(x)")
    other.commit()
    other.close()
    for readonly in (False, True):
        with pytest.raises(StoreError, match="not a graphnetz store"):
            Store.open(tmp_path / "other.sqlite", readonly=readonly)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE TRIGGER evil AFTER INSERT ON cells BEGIN DELETE FROM cells; END", "triggers"),
        ("DROP TABLE sections", "no table 'sections'"),
        ("ALTER TABLE cells DROP COLUMN metric", "lacks metric"),
        (f"PRAGMA user_version = {SCHEMA_VERSION + 1}", "Upgrade graphnetz"),
    ],
)
def test_a_changed_schema_is_noticed(tmp_path, statement, words):
    Store.create(tmp_path).close()
    raw = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
    raw.execute(statement)
    raw.close()
    with pytest.raises(StoreError, match=words):
        Store.open(tmp_path)


def test_damaged_blobs_are_an_error_not_a_crash():
    for blob in (b"junk", zlib.compress(b"\xff\xff\xff\xff"), codec.pack_history({"a": [1.0, 2.0]})[:-3]):
        with pytest.raises(StoreError):
            codec.unpack_arrays(blob)
    header = json.dumps([["a", "|O8", [1]]]).encode()
    with pytest.raises(StoreError, match="dtype"):
        codec.unpack_arrays(zlib.compress(len(header).to_bytes(4, "little") + header + b"\0" * 8))
    with pytest.raises(StoreError, match="Only numbers"):
        codec.pack_arrays([("a", np.array([object()]))])


def test_a_bomb_is_not_inflated(monkeypatch):
    monkeypatch.setattr(arrays, "MAX_BLOB", 1000)
    with pytest.raises(StoreError, match="more than 1000"):
        codec.unpack_json(zlib.compress(b"[" + b"0," * 100_000 + b"0]"))


@given(
    st.dictionaries(st.text(), st.lists(st.floats(), max_size=20), max_size=4),
    st.dictionaries(st.text(), st.floats(), max_size=5),
)
def test_any_history_and_metrics_survive(history, metrics):
    assert repr(codec.unpack_history(codec.pack_history(history))) == repr(history)
    text = codec.dump_metrics(metrics)
    json.loads(text, parse_constant=pytest.fail)
    assert repr(codec.load_metrics(text)) == repr(metrics)


def test_migration_runs_once_and_keeps_the_cells(tmp_path, monkeypatch):
    with Store.create(tmp_path) as old:
        old.plan(make_cells(3))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setitem(schema.MIGRATIONS, SCHEMA_VERSION, ["ALTER TABLE cells ADD COLUMN extra TEXT DEFAULT 'x'"])
    for _ in range(2):
        with Store.open(tmp_path) as new:
            assert new.db.execute("SELECT COUNT(*), MIN(extra) FROM cells").fetchone() == (3, "x")
            assert new.db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION + 1


def test_a_failing_migration_changes_nothing(tmp_path, monkeypatch):
    Store.create(tmp_path).close()
    monkeypatch.setattr(schema, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setitem(schema.MIGRATIONS, SCHEMA_VERSION, ["ALTER TABLE cells ADD COLUMN extra", "NOT SQL"])
    with pytest.raises(StoreError):
        Store.open(tmp_path)
    monkeypatch.undo()
    with Store.open(tmp_path) as store:
        names = {row[1] for row in store.db.execute("PRAGMA table_info(cells)")}
    assert "extra" not in names


def test_network_file_systems_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "file_system", lambda path: "nfs4")
    with pytest.warns(UserWarning, match=r"network file system \(nfs4\)"):
        Store.create(tmp_path).close()


def test_exports_agree(store, tmp_path):
    cells = make_cells(2)
    store.plan(cells)
    for cell, error in zip(cells, ("", "=cmd()"), strict=True):
        store.claim(cell.key, "me")
        status = "failed" if error else "ok"
        store.finish("me", CellResult(cell.key, cell.task, cell.model, cell.seed, status=status, error=error,
                                      metric="m", metrics={"m": 0.25, "n": math.nan}))  # fmt: skip
    for write, name in ((to_csv, "a.csv"), (to_json, "a.json"), (to_parquet, "a.parquet")):
        write(store, tmp_path / name)
    table = pd.read_csv(tmp_path / "a.csv")
    arrow = pd.read_parquet(tmp_path / "a.parquet")
    body = json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail)
    assert table["value"].tolist()[0] == arrow["value"].tolist()[0] == body["cells"][0]["value"] == 0.25
    assert math.isnan(table["value"][1])
    assert math.isnan(arrow["value"][1])
    assert body["cells"][1]["value"] is None
    assert body["cells"][0]["metrics"] == {"m": 0.25, "n": None}
    assert table["error"][1] == "'=cmd()"
    assert arrow["error"][1] == "=cmd()"
    assert list(table.columns) == list(arrow.columns)


def test_huge_plan_is_fast_enough_to_be_no_worry(store):
    cells = make_cells(20_000)
    begin = time.perf_counter()
    assert store.plan(cells) == 20_000
    assert len(store.missing(c.key for c in cells)) == 20_000
    assert time.perf_counter() - begin < 10


class Contested:
    """A connection whose file is held by another process for a few calls."""

    def __init__(self, failures, error="database is locked"):
        self.failures, self.error, self.calls = failures, error, 0

    def execute(self, _):
        self.calls += 1
        if self.calls <= self.failures:
            raise sqlite3.OperationalError(self.error)


def test_runners_that_start_together_wait_for_each_other(monkeypatch):
    """Switching the journal does not honour SQLite's own timeout."""
    monkeypatch.setattr(database.time, "sleep", lambda _: None)
    patient = Contested(3)
    database._write_ahead(patient)
    assert patient.calls == 4
    with pytest.raises(sqlite3.OperationalError, match="disk"):
        database._write_ahead(Contested(1, "disk I/O error"))
    monkeypatch.setattr(database, "PATIENCE", 0.0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        database._write_ahead(Contested(10**9))


def test_a_store_whose_making_was_cut_short_is_made_by_the_next_run(tmp_path):
    """A full disk left a file without tables, which the next run called a file of somebody else."""
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as db:
        db.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(StoreError, match="holds nothing yet: making it was cut short"):
        Store.open(tmp_path, readonly=True)
    task = task_from_networkx("karate", nx.karate_club_graph(), label="club", epochs=1)
    report = run_benchmark(tasks=[task], models="Majority", seeds=[0], backend="serial", verbose=False, out=tmp_path)
    assert [result.status for result in report.results] == ["ok"]
