"""`graphnetz serve`: a read-only view of a run for this machine's own browser."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from graphnetz._core.errors import GraphnetzError
from graphnetz._core.paths import refuse_links
from graphnetz._core.readers import from_others
from graphnetz._core.text import clean, number, printable
from graphnetz.cli.load import DAMAGED, live_report, load_report

HOST = "127.0.0.1"
EVERY = 10.0
"""Seconds between two reports of a run that is still going."""
LATEST = 12
"""Finished cells that the strip of progress lists."""
_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


class Live:
    """What the server says about one folder; it never writes there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._made: tuple[float, tuple[int, str], bytes] | None = None

    def status(self) -> dict[str, Any]:
        """Counts by status, cells in work, the latest ones, the time that is left, and whether the run goes on."""
        from graphnetz.engine.progress import Estimator
        from graphnetz.engine.store import Store
        from graphnetz.engine.store.owners import owner_is_dead

        refuse_links(self.folder)
        with (
            from_others(f"The store of {str(self.folder)!r}", DAMAGED),
            Store.open(self.folder, readonly=True) as store,
        ):
            counts = {str(name): count for name, count in store.counts().items()}
            held = store.running()
            recorded = {pair: (count, mean) for pair, (count, mean, _) in store.durations().items()}
            cells = list(store.cells())
            missing = set(store.missing([cell.key for cell in cells]))
            latest = [_line(*row) for row in store.latest(LATEST)]
        now = time.time()
        alive = [
            (task, model, seed) for task, model, seed, owner, lease in held if lease >= now and not owner_is_dead(owner)
        ]
        total, left = sum(counts.values()), counts.get("pending", 0) + counts.get("running", 0)
        state = "finished" if left == 0 else "running" if alive else "stopped"
        seconds = Estimator([cell for cell in cells if cell.key in missing], recorded).seconds(max(len(alive), 1))
        failed = sum(count for name, count in counts.items() if name not in ("ok", "pending", "running"))
        return {
            "counts": counts, "total": total, "finished": total - left, "done": left == 0, "state": state,
            "running": [f"{task} / {model} / seed {seed}" for task, model, seed in alive], "failed": failed,
            "seconds_left": round(seconds, 1) if left and seconds == seconds else None, "latest": latest,
            "words": self._words(state, total - left, total, failed, seconds),
        }  # fmt: skip

    def _words(self, state: str, finished: int, total: int, failed: int, seconds: float) -> str:
        from graphnetz.engine.progress import clock

        text = f"{finished} of {total} cells" + (f", {failed} failed" if failed else "")
        if state == "running":
            return f"{text}, about {clock(seconds)} left" if seconds == seconds else text
        go_on = f"; go on with: graphnetz resume {shlex.quote(str(self.folder))}"
        return text + (go_on if state == "stopped" else "")

    def report(self) -> bytes:
        """The report of a finished run, or one of the cells finished so far, under the progress of the run."""
        from graphnetz.report.page import page_bytes
        from graphnetz.report.pagedata import build_page

        with self._lock:
            status = self.status()
            now, done = time.monotonic(), (status["finished"], status["state"])
            if self._made and (self._made[1] == done or now - self._made[0] < EVERY):
                return self._made[2]
            finished = status["done"] and (self.folder / "results.json").exists()
            report = load_report(self.folder) if finished else live_report(self.folder)
            body = page_bytes(build_page(report), live=status)
            self._made = (now, done, body)
            return body


def _line(task: str, model: str, seed: int, status: str, value: float | None, error: str) -> dict[str, Any]:
    """One finished cell in words."""
    what = f"{number(value, digits=4)}" if status == "ok" and value is not None else f"{status}: {error}".rstrip(": ")
    return {"text": clean(f"{task} / {model} / seed {seed}: {what}")[:300], "failed": status != "ok"}


def make_server(folder: Path, port: int) -> ThreadingHTTPServer:
    """Return a server on this machine's own address; port 0 takes a free one."""
    from graphnetz.report.page import policy

    live = Live(folder)
    live.status()  # a folder without a run is refused before anything listens
    routes: dict[str, tuple[str, Callable[[], bytes]]] = {
        "/": ("text/html; charset=utf-8", live.report),
        "/report": ("text/html; charset=utf-8", live.report),
        "/status.json": ("application/json", lambda: json.dumps(live.status()).encode()),
    }

    class Handler(BaseHTTPRequestHandler):
        """Three fixed addresses; nothing of a request reaches the file system."""

        server_version = "graphnetz"
        sys_version = ""
        timeout = 30

        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def _answer(self, *, body: bool) -> None:
            if self.headers.get("Host", "") not in allowed:  # a foreign page that resolves its name to this machine
                return self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"Unknown host.\n", body=body)
            route = routes.get(self.path)
            if route is None:
                return self._send(HTTPStatus.NOT_FOUND, "text/plain", b"Known: / /report /status.json\n", body=body)
            kind, make = route
            try:
                data = make()
            except GraphnetzError as error:
                words = f"{printable(error)}\n".encode()
                return self._send(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", words, body=body)
            return self._send(HTTPStatus.OK, kind, data, body=body)

        def _send(self, status: HTTPStatus, kind: str, data: bytes, *, body: bool) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Security-Policy", rules if kind.startswith("text/html") else _POLICY)
            for name, value in _HEADERS:
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(data)

        def handle(self) -> None:
            """Answer; a browser that closes early is no error of ours."""
            with suppress(ConnectionError, TimeoutError):
                super().handle()

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are not logged: the terminal belongs to the user."""

    rules = f"{policy(live=True)}; frame-ancestors 'none'"
    server = ThreadingHTTPServer((HOST, port), Handler)
    server.daemon_threads = True
    chosen = server.server_address[1]
    allowed = {f"{HOST}:{chosen}", f"localhost:{chosen}"}
    return server


_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
