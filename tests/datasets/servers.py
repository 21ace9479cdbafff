"""A local HTTP server that serves a folder and misbehaves on request."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Site:
    """Files by path, and a fault for each path: how many times to misbehave, and how."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[str]] = {}
        self.redirects: dict[str, str] = {}
        self.hits: Counter[str] = Counter()
        self.ranges: list[str] = []
        self.etags = True
        self.url = ""

    def add(self, path: str, content: bytes, *faults: str) -> str:
        self.files[path] = content
        self.faults[path] = list(faults)
        return f"{self.url}/{path}"

    def add_folder(self, folder: Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.add(path.relative_to(folder).as_posix(), path.read_bytes())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, *args: object) -> None:
        """Stay silent."""

    def do_HEAD(self) -> None:
        path = unquote(urlsplit(self.path).path.lstrip("/"))
        self.send_response(200 if path in self.site.files else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        site, path = self.site, unquote(urlsplit(self.path).path.lstrip("/"))
        site.hits[path] += 1
        if path in site.redirects:
            self.send_response(302)
            self.send_header("Location", site.redirects[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path not in site.files:
            self.send_error(404)
            return
        fault = site.faults[path].pop(0) if site.faults.get(path) else ""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            getattr(self, f"_{fault or 'plain'}")(site.files[path])

    def _headers(self, status: int, length: int | None, body: bytes, **more: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", more.pop("kind", "application/octet-stream"))
        if length is not None:
            self.send_header("Content-Length", str(length))
        if self.site.etags:
            self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
        for key, value in more.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()

    def _plain(self, body: bytes) -> None:
        asked = self.headers.get("Range", "")
        if asked:
            start = int(asked.split("=")[1].rstrip("-"))
            if_range = self.headers.get("If-Range")
            tag = f'"{hashlib.md5(body).hexdigest()}"'
            if (if_range is None or if_range == tag) and start < len(body):
                self.site.ranges.append(asked)
                span = f"bytes {start}-{len(body) - 1}/{len(body)}"
                self._headers(206, len(body) - start, body, Content_Range=span)
                self.wfile.write(body[start:])
                return
        self._headers(200, len(body), body)
        self.wfile.write(body)

    def _truncate(self, body: bytes) -> None:
        self._headers(200, len(body), body)
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        self.close_connection = True

    def _stall(self, body: bytes) -> None:
        self._headers(200, len(body), body)
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        time.sleep(3)
        self.close_connection = True

    def _drip(self, body: bytes) -> None:
        self._headers(200, len(body), body)
        for byte in body[:40]:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(0.1)
        self.close_connection = True

    def _short_length(self, body: bytes) -> None:
        self._headers(200, len(body) // 2, body)
        self.wfile.write(body)
        self.close_connection = True

    def _html(self, body: bytes) -> None:
        page = b"<!DOCTYPE html><html><body>Please log in</body></html>"
        self._headers(200, len(page), page, kind="text/html")
        self.wfile.write(page)

    def _hidden_html(self, body: bytes) -> None:
        page = b"\n <html><body>Please log in</body></html>"
        self._headers(200, len(page), page)
        self.wfile.write(page)

    def _busy(self, body: bytes) -> None:
        self._headers(503, 0, b"", Retry_After="0")

    def _gone(self, body: bytes) -> None:
        self._headers(410, 0, b"")

    def _wrong_range(self, body: bytes) -> None:
        self._headers(206, 4, body, Content_Range=f"bytes 1-4/{len(body)}")
        self.wfile.write(body[1:5])


@contextlib.contextmanager
def serve():
    """Run a `Site` on loopback for the length of the block."""
    site = Site()
    handler = type("BoundHandler", (Handler,), {"site": site})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
