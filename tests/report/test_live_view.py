"""The live view: this machine only, three addresses, nothing else."""

import http.client
import json
import threading

import pytest

from graphnetz.cli.app import run_app
from graphnetz.cli.live import make_server
from graphnetz.cli.load import live_report, load_report
from graphnetz.engine.store import Store
from graphnetz.records import Cell, CellResult, Protocol

EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def folder(tmp_path):
    """Eight planned cells: four finished, one in work."""
    cells = [Cell(f"{m}{s}", EVIL, m, s, Protocol()) for m in ("A", "B") for s in range(4)]
    with Store.create(tmp_path / "run") as store:
        store.plan(cells)
        for cell in cells[:2] + cells[4:6]:
            store.claim(cell.key, "me")
            value = {"test_acc": 0.5 + 0.1 * cell.seed}
            store.finish("me", CellResult(cell.key, EVIL, cell.model, cell.seed, "ok", "test_acc", True, value))
        store.claim(cells[2].key, "me")
    return tmp_path / "run"


@pytest.fixture
def server(folder):
    made = make_server(folder, 0)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(5)


def ask(server, path="/", *, method="GET", host=None):
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def test_progress_and_report_while_cells_run(server):
    assert server.server_address[0] == "127.0.0.1"
    answer, body = ask(server)
    assert answer.status == 200
    assert "4 of 8 cells" in body
    assert 'http-equiv="refresh"' in body
    assert "default-src 'none'" in answer.getheader("Content-Security-Policy")
    answer, body = ask(server, "/report")
    assert answer.status == 200
    assert "4 of 8 cells finished" in body
    assert "<img src=x" not in body
    status = json.loads(ask(server, "/status.json")[1])
    assert (status["finished"], status["total"], status["done"]) == (4, 8, False)
    assert status["counts"] == {"ok": 4, "pending": 3, "running": 1}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:80", "", "127.0.0.1:1"])
def test_foreign_hosts_are_refused(server, host):
    answer, body = ask(server, host=host)
    assert answer.status == 421
    assert "cells" not in body


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/store.sqlite", "/report?x=1", "/report/", "/%2e%2e/x", "/status.json#a"]
)
def test_there_is_nothing_but_three_addresses(server, path):
    assert ask(server, path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_it_only_reads(server, method):
    assert ask(server, method=method)[0].status == 501
    answer, body = ask(server, method="HEAD")
    assert (answer.status, body) == (200, "")


def test_the_store_is_left_as_it_was(server, folder):
    before = (folder / "store.sqlite").read_bytes()
    for path in ("/", "/report", "/status.json"):
        ask(server, path)
    assert (folder / "store.sqlite").read_bytes() == before


def test_unfinished_folder_gives_a_report(folder):
    report = load_report(folder)
    assert report.scores.values.shape == (1, 2, 4)
    assert live_report(folder).summary()["n_seeds"].tolist() == [2, 2]


def test_merge_keeps_the_cells_of_both_stores(tmp_path, capsys):
    for name, model in (("one", "A"), ("two", "B")):
        cells = [Cell(f"{model}{s}", "t", model, s, Protocol()) for s in range(3)]
        with Store.create(tmp_path / name) as store:
            store.plan(cells)
            for cell in cells:
                store.claim(cell.key, "me")
                value = 0.5 + 0.1 * cell.seed + (0.01 * cell.seed**2 if model == "B" else 0.0)
                found = CellResult(
                    cell.key, "t", model, cell.seed, "ok", "test_acc", True, {"test_acc": value}, seconds=2.0,
                    environment=f"env-{name}",
                )  # fmt: skip
                store.finish("me", found)
            store.write_environment(f"env-{name}", {"python": "3.11"})
            store.checkpoint_to_one_file()
    assert run_app(["merge", str(tmp_path / "one"), str(tmp_path / "two"), "--out", str(tmp_path / "both")]) == 0
    capsys.readouterr()
    with Store.open(tmp_path / "both", readonly=True) as store:
        assert store.counts() == {"ok": 6}
        assert set(store.read_environments()) == {"env-one", "env-two"}
    assert not list((tmp_path / "both").glob("*-wal"))
    merged = load_report(tmp_path / "both")
    assert merged.summary()["n_seeds"].tolist() == [3, 3]
    assert merged.costs()["seconds_total"].tolist() == [6.0, 6.0]
