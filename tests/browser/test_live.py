"""`graphnetz serve` in a real browser: the same page, and it follows the run."""

import threading

import pytest

from graphnetz.cli.live import make_server
from graphnetz.engine.store import Store
from graphnetz.records import Cell, CellResult, Protocol

pytestmark = pytest.mark.browser


def finish(store, cell, value=None):
    store.claim(cell.key, "me")
    found = {"test_acc": value} if value is not None else {}
    status, error = ("ok", "") if value is not None else ("failed", "RuntimeError: <b>no</b>")
    result = CellResult(
        cell.key, cell.task, cell.model, cell.seed, status, "test_acc", True, found, error=error, seconds=1
    )
    store.finish("me", result)


@pytest.fixture
def run(tmp_path):
    """A store that is being filled, its cells, and the address of a server that watches it."""
    cells = [Cell(f"{t}{m}{s}", t, m, s, Protocol()) for t in ("cora", "citeseer") for m in "AB" for s in range(3)]
    with Store.create(tmp_path / "run") as store:
        store.plan(cells)
        store.claim(cells[-1].key, "me")
        server = make_server(tmp_path / "run", 0)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield store, cells, f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        server.server_close()
        thread.join(5)


def test_the_page_follows_the_run(look, run, monkeypatch):
    monkeypatch.setattr("graphnetz.cli.live.EVERY", 0.0)
    store, cells, address = run
    page = look(address)
    strip = page.locator("#live")
    assert "Running" in strip.inner_text()
    assert "0 of 12 cells" in strip.inner_text()
    assert page.locator(".working li").inner_text() == "in work: citeseer / B / seed 2"
    for i, cell in enumerate(cells[:9]):
        finish(store, cell, 0.8 + 0.01 * i)
    finish(store, cells[9])
    page.locator(".done", has_text="10 of 12 cells, 1 failed, about 2 s left").wait_for()
    page.locator("table.heat tbody tr").nth(1).wait_for()
    assert page.locator(".latest li").first.inner_text() == "citeseer / B / seed 0: failed: RuntimeError: <b>no</b>"
    assert page.locator(".latest li.bad").count() == 1
    assert "2 runs are still to be made" in page.locator(".headline li").last.inner_text()
    page.get_by_label("Filter tasks").fill("cora")
    page.locator("#task-0 details.said summary").click()
    finish(store, cells[10], 0.9)
    page.locator(".done", has_text="11 of 12").wait_for()
    page.locator("h1", has_text="11 of 12 cells finished").wait_for()
    assert page.get_by_label("Filter tasks").input_value() == "cora"  # as the reader left it
    assert page.locator(".card:visible").count() == 1
    assert page.locator("#task-0 details.said").get_attribute("open") is not None
    store.release("me")
    page.locator("#live.stopped", has_text="Stopped").wait_for()
    assert "go on with: graphnetz resume" in strip.inner_text()
    finish(store, cells[11], 0.9)
    page.wait_for_timeout(100)
    page.reload()
    page.locator("#live.finished", has_text="12 of 12 cells, 1 failed").wait_for()
    assert page.logged == []
    assert {url.split("/")[2] for url in page.requests} == {address.split("/")[2]}


def test_the_live_page_is_accessible_and_readable_without_script(look, run, axe):
    store, cells, address = run
    for i, cell in enumerate(cells[:9]):
        finish(store, cell, 0.8 + 0.01 * i)
    page = look(address)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.wait_for_timeout(100)
    # The policy of the page keeps foreign scripts out, axe too unless it is evaluated.
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    assert [(v["id"], n["html"][:160]) for v in found["violations"] for n in v["nodes"]] == []
    bare = look(address, script=False)
    assert "9 of 12 cells" in bare.inner_text("#live")
    assert bare.locator("table.heat tbody tr").count() == 2
