"""`graphnetz serve`: a read-only view of a run for this machine's own browser."""

from __future__ import annotations

import json
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
from graphnetz._core.text import printable
from graphnetz.cli.load import DAMAGED, live_report, load_report

HOST = "127.0.0.1"
EVERY = 10.0
"""Seconds between two reports of a run that is still going."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


class Live:
    """What the server says about one folder; it never writes there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._made: tuple[float, int, bytes] | None = None

    def status(self) -> dict[str, Any]:
        """Counts by status, cells in work, and whether all are done."""
        from graphnetz.engine.store import Store

        refuse_links(self.folder)
        with (
            from_others(f"The store of {str(self.folder)!r}", DAMAGED),
            Store.open(self.folder, readonly=True) as store,
        ):
            counts = {str(name): count for name, count in store.counts().items()}
            running = [f"{task} / {model} / seed {seed}" for task, model, seed, _, _ in store.running()]
        total = sum(counts.values())
        left = counts.get("pending", 0) + counts.get("running", 0)
        return {"counts": counts, "total": total, "finished": total - left, "running": running, "done": left == 0}

    def progress(self) -> bytes:
        """The page with the progress of the run."""
        from graphnetz.report.live import progress_page

        return progress_page(self.status(), refresh=3).encode()

    def report(self) -> bytes:
        """The report of a finished run, or one of the cells finished so far."""
        from graphnetz.report.page import render_page
        from graphnetz.report.pagedata import build_page

        with self._lock:
            status = self.status()
            now, done = time.monotonic(), status["finished"]
            if self._made and (self._made[1] == done or now - self._made[0] < EVERY):
                return self._made[2]
            finished = status["done"] and (self.folder / "results.json").exists()
            report = load_report(self.folder) if finished else live_report(self.folder)
            body = render_page(build_page(report)).encode()
            self._made = (now, done, body)
            return body


def make_server(folder: Path, port: int) -> ThreadingHTTPServer:
    """Return a server on this machine's own address; port 0 takes a free one."""
    live = Live(folder)
    live.status()  # a folder without a run is refused before anything listens
    routes: dict[str, tuple[str, Callable[[], bytes]]] = {
        "/": ("text/html; charset=utf-8", live.progress),
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
            if self.path != "/report":  # the report carries its own, stricter policy
                self.send_header("Content-Security-Policy", _POLICY)
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
