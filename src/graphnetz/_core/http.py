"""One file over HTTP: verified TLS, retries with backoff, resume, and an end to every stall."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from graphnetz._core.errors import DownloadError
from graphnetz._core.text import masked

if TYPE_CHECKING:
    import requests

CHUNK = 1 << 18
LOW_SPEED_BYTES = 1024
MAX_BYTES = 256 << 30
RETRY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class InterruptedTransferError(DownloadError):
    """The transfer broke off; what came may be continued when the server's validator still holds."""

    wait: float = 0.0


@dataclass(frozen=True)
class Transfer:
    """How patiently to ask, and whom to tell."""

    progress: Callable[[int, int | None], None] | None = None
    timeout: float = 30.0
    retries: int = 4
    backoff: float = 0.5


def download(url: str, part: Path, *, pinned: bool, transfer: Transfer) -> None:
    """Write the body at ``url`` to ``part``, continuing a broken transfer when that is safe.

    ``pinned`` says that the caller will compare a known hash, which makes plain HTTP and a resume
    without a validator acceptable.
    """
    last: InterruptedTransferError | None = None
    for attempt in range(max(1, transfer.retries)):
        if attempt:
            time.sleep(min(30.0, max(transfer.backoff * 2 ** (attempt - 1), last.wait if last else 0.0)))
        try:
            _attempt(url, part, pinned=pinned, transfer=transfer)
            return
        except InterruptedTransferError as error:
            last = error
    raise last or DownloadError("no attempt was made")


def exists(url: str, *, timeout: float = 10.0) -> bool:
    """Whether a HEAD request for ``url`` succeeds."""
    import requests

    try:
        with _session(url, pinned=True) as session:
            return bool(session.head(url, timeout=timeout, allow_redirects=True).ok)
    except (requests.RequestException, DownloadError):
        return False


def forget(part: Path) -> None:
    """Remove a partial file and what is known about it."""
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def _attempt(url: str, part: Path, *, pinned: bool, transfer: Transfer) -> None:
    import requests
    from urllib3.exceptions import HTTPError

    headers = {"Accept-Encoding": "identity", "User-Agent": "graphnetz"}
    offset = _resumable(url, part, pinned=pinned)
    if offset:
        headers["Range"] = f"bytes={offset}-"
        validator = _read_note(part).get("validator")
        if validator:
            headers["If-Range"] = validator
    try:
        with (
            _session(url, pinned=pinned) as session,
            session.get(url, headers=headers, stream=True, timeout=transfer.timeout) as response,
        ):
            _refuse_status(response, part)
            start = _start_of(response, offset)
            _keep_note(url, part, response)
            _stream(response, part, start=start, transfer=transfer)
    except (requests.exceptions.SSLError, requests.exceptions.InvalidURL) as error:
        raise DownloadError(f"the connection cannot be trusted or used ({_short(error)})") from error
    except requests.exceptions.TooManyRedirects as error:
        raise DownloadError("the address redirects in circles") from error
    except (requests.RequestException, HTTPError, TimeoutError) as error:
        raise InterruptedTransferError(f"the transfer broke off ({_short(error)})") from error


def _session(url: str, *, pinned: bool) -> requests.Session:
    import requests

    class Session(requests.Session):
        """Follows redirects only to addresses that protect what they deliver."""

        def get_redirect_target(self, resp: requests.Response) -> str | None:
            target = super().get_redirect_target(resp)
            if target:
                _refuse_plain(urljoin(resp.url, target), pinned=pinned)
            return target

    _refuse_plain(url, pinned=pinned)
    session = Session()
    session.max_redirects = 8
    session.trust_env = not _loopback(url)  # proxies of the environment, but never for this machine
    return session


def _refuse_plain(url: str, *, pinned: bool) -> None:
    """Plain HTTP can be changed on the way: it is allowed for this machine or with a pinned hash."""
    scheme = urlsplit(url).scheme
    if scheme == "https" or (scheme == "http" and (pinned or _loopback(url))):
        return
    raise DownloadError(f"{scheme or 'no scheme'} is not protected and no sha256 is pinned; give an https address")


def _loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse_status(response: requests.Response, part: Path) -> None:
    status = response.status_code
    if status in (200, 206):
        if "text/html" in response.headers.get("Content-Type", "") and status == 200:
            raise DownloadError("a web page came instead of the file")
        return
    if status == 416:
        forget(part)
        raise InterruptedTransferError("the partial file does not fit the server's; starting again")
    text = f"the server answered {status} {response.reason}"
    if status in RETRY_STATUS:
        error = InterruptedTransferError(text)
        wait = response.headers.get("Retry-After", "")
        error.wait = float(wait) if wait.isdigit() else 0.0
        raise error
    raise DownloadError(text)


def _start_of(response: requests.Response, offset: int) -> int:
    if response.status_code != 206:
        return 0
    found = _RANGE.match(response.headers.get("Content-Range", ""))
    if not found or int(found.group(1)) != offset:
        raise DownloadError("the server sent another part of the file than asked for")
    return offset


def _stream(response: requests.Response, part: Path, *, start: int, transfer: Transfer) -> None:
    length = response.headers.get("Content-Length", "")
    encoded = response.headers.get("Content-Encoding", "identity") not in ("", "identity")
    total = start + int(length) if length.isdigit() and not encoded else None
    _refuse_size(part, (total or start) - start)
    done, window, since = start, 0, time.monotonic()
    with open(part, "r+b" if start else "wb") as sink:
        sink.seek(start)
        sink.truncate()
        for chunk in response.raw.stream(CHUNK, decode_content=encoded):
            sink.write(chunk)
            done += len(chunk)
            window += len(chunk)
            if done > MAX_BYTES:
                raise DownloadError(f"the server sends more than {MAX_BYTES} bytes")
            if transfer.progress is not None:
                transfer.progress(done, total)
            if time.monotonic() - since > transfer.timeout:
                if window < LOW_SPEED_BYTES:
                    raise InterruptedTransferError(f"only {window} bytes came in {transfer.timeout:g} seconds")
                window, since = 0, time.monotonic()
        sink.flush()
        os.fsync(sink.fileno())
    if total is not None and done != total:
        raise InterruptedTransferError(f"{done} of {total} bytes came")


def _refuse_size(part: Path, wanted: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if wanted > MAX_BYTES or wanted > free:
        raise DownloadError(f"the file needs {wanted} bytes and the disk has {free} left")


def _note(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_note(part: Path) -> dict[str, Any]:
    try:
        note = json.loads(_note(part).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _keep_note(url: str, part: Path, response: requests.Response) -> None:
    etag = response.headers.get("ETag", "")
    strong = etag if etag and not etag.startswith("W/") else ""
    note = {"url": masked(url), "validator": strong or response.headers.get("Last-Modified", "")}
    _note(part).write_text(json.dumps(note), encoding="utf-8")


def _resumable(url: str, part: Path, *, pinned: bool) -> int:
    """Return how many bytes may be kept: only of the same address, and only when a mix would be noticed."""
    note = _read_note(part)
    if part.is_file() and note.get("url") == masked(url) and (note.get("validator") or pinned):
        return part.stat().st_size
    forget(part)
    return 0


def _short(error: BaseException) -> str:
    text = masked(" ".join(str(error).split()))
    return text if len(text) <= 160 else text[:157] + "..."
