"""Fetch files so that a later run can trust them: verified, whole, once, and from a mirror first.

A file appears under its name only when it is complete and its sha256 is the pinned one, or the one
that was recorded beside it (``checksums.json``) the first time it came.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import logging
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit

from filelock import FileLock, Timeout

from graphnetz._core import http
from graphnetz._core.errors import DownloadError, UsageError
from graphnetz._core.paths import inside, write_file
from graphnetz._core.readers import unpacked_limit
from graphnetz._core.text import masked

Progress = Callable[[int, int | None], None]
"""Called with the bytes so far and the total when the server told it."""

MIRROR_VARIABLE = "GRAPHNETZ_MIRROR"
OFFLINE_VARIABLE = "GRAPHNETZ_OFFLINE"
RECORD = "checksums.json"
LOCK_SECONDS = 3600.0

_log = logging.getLogger(__name__)
_copy_to: ContextVar[Path | None] = ContextVar("graphnetz_mirror_under_construction", default=None)


def fetch(
    urls: str | Sequence[str],
    target: str | Path,
    *,
    sha256: str | None = None,
    mirror: str | Path | None = None,
    names: Sequence[str] = (),
    progress: Progress | None = None,
    timeout: float = 30.0,
    retries: int = 4,
    backoff: float = 0.5,
) -> Path:
    """Bring one file to ``target`` and return its path.

    Parameters
    ----------
    urls
        Where the file is published; several are tried in order.
    target
        Where it goes. An existing file is checked against its known sha256 and fetched again when
        it does not match.
    sha256
        The pinned hash. Without it the hash of the first copy is recorded and checked ever after.
    mirror
        Folder or URL asked before ``urls``; several may be joined by ``;``. Left out, the
        environment variable ``GRAPHNETZ_MIRROR`` is asked.
    names
        Relative paths under which a mirror may hold the file; the first is where
        `graphnetz mirror` puts it. The target's own name when left out.
    progress
        Receives the bytes so far and the total.
    timeout, retries, backoff
        Seconds without a byte that count as a stall; attempts per address; first pause between them.

    Raises
    ------
    DownloadError
        No place gave the file, or what came is not what was promised. Nothing is left that a later
        run would trust.
    """
    target = Path(target)
    addresses = [urls] if isinstance(urls, str) else list(urls)
    names = tuple(names) or (target.name,)
    transfer = http.Transfer(progress=progress, timeout=timeout, retries=retries, backoff=backoff)
    _make_folder(target.parent)
    with _locked(target.parent / f".{target.name}.lock"):
        recorded = _recorded(target)
        expected = (sha256 or recorded or "").lower() or None
        if not _trusted(target, expected):
            _fetch_any(addresses, target, expected=expected, mirror=mirror, names=names, transfer=transfer)
        digest = file_sha256(target)
        if recorded != digest:
            _write_record(target, digest)
    _copy_into_mirror(target, names[0])
    return target


def file_sha256(path: str | Path) -> str:
    """Return the sha256 of a file as hexadecimal digits."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def mirrors(explicit: str | Path | None = None) -> list[str]:
    """Return the mirrors to ask, in order: the explicit ones, or those of the environment."""
    chosen = os.environ.get(MIRROR_VARIABLE, "") if explicit is None else str(explicit)
    return [part.strip() for part in chosen.split(";") if part.strip()]


def mirror_has(name: str, *, mirror: str | Path | None = None) -> bool:
    """Whether a mirror folder holds ``name``; an address is asked with a short request."""
    held = (_in_mirror(place, name) for place in mirrors(mirror))
    return any(http.exists(where) if isinstance(where, str) else where.exists() for where in held)


@contextmanager
def copying_into(folder: str | Path) -> Iterator[None]:
    """While inside, every file that `fetch` brings is also put into ``folder`` in mirror layout."""
    token = _copy_to.set(Path(folder))
    try:
        yield
    finally:
        _copy_to.reset(token)


def making_mirror() -> bool:
    """Whether files are being gathered for a mirror, so that what lies elsewhere on this machine does not suffice."""
    return _copy_to.get() is not None


def _fetch_any(
    addresses: Sequence[str],
    target: Path,
    *,
    expected: str | None,
    mirror: str | Path | None,
    names: Sequence[str],
    transfer: http.Transfer,
) -> None:
    part = target.with_name(f".{target.name}.part")
    failures: list[str] = []
    for place in _places(addresses, mirror=mirror, names=names):
        try:
            _bring(place, part, expected=expected, transfer=transfer)
            _check_content(part, target.name, expected=expected)
            part.replace(target)
            http.forget(part)
            return
        except DownloadError as error:
            failures.append(masked(f"{place}: {error}"))
            if not isinstance(error, http.InterruptedTransferError):  # a half file with its ETag may be resumed later
                http.forget(part)
        except OSError as error:
            http.forget(part)
            raise _disk_error(error, target) from error
    offline = bool(os.environ.get(OFFLINE_VARIABLE))
    reason = "; ".join(failures) or ("offline mode is on and no mirror has it" if offline else "no address is known")
    raise DownloadError(
        f"Could not fetch {target.name!r} ({reason}). Check the connection, set {MIRROR_VARIABLE} to a folder or "
        f"address that has it as {names[0]!r}, or put the file at {str(target)!r} yourself."
    )


def _places(addresses: Sequence[str], *, mirror: str | Path | None, names: Sequence[str]) -> Iterator[str | Path]:
    for place in mirrors(mirror):
        for name in names:
            where = _in_mirror(place, name)
            if isinstance(where, str) or where.is_file():
                yield where
    if not os.environ.get(OFFLINE_VARIABLE):
        yield from addresses


def _bring(place: str | Path, part: Path, *, expected: str | None, transfer: http.Transfer) -> None:
    if isinstance(place, str):
        http.download(place, part, pinned=expected is not None, transfer=transfer)
        return
    http.forget(part)
    with open(place, "rb") as source, open(part, "wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
        sink.flush()
        os.fsync(sink.fileno())


def _check_content(part: Path, name: str, *, expected: str | None) -> None:
    """Refuse a page, a broken archive or a wrong hash before the file gets its name."""
    with open(part, "rb") as stream:
        head = stream.read(512).lstrip().lower()
    if not head:
        raise DownloadError("the file is empty")
    if head.startswith((b"<!doctype html", b"<html")) and not name.endswith((".html", ".htm")):
        raise DownloadError("a web page came instead of the file")
    if expected is not None:
        digest = file_sha256(part)
        if digest != expected:
            raise DownloadError(f"the sha256 is {digest}, expected {expected}")
        return
    if name.endswith((".zip", ".npz")) and not zipfile.is_zipfile(part):
        raise DownloadError("the file is not a complete zip archive")
    if name.endswith((".gz", ".tgz")):
        _check_gzip(part)


def _check_gzip(part: Path) -> None:
    try:
        with gzip.open(part, "rb") as stream:
            done, most = 0, unpacked_limit(part.stat().st_size)
            while chunk := stream.read(1 << 20):
                done += len(chunk)
                if done > most:
                    raise DownloadError(f"the file unpacks to more than {most:,} bytes, which looks like a bomb")
    except (OSError, EOFError, zlib.error) as error:
        if getattr(error, "errno", None):  # the disk's fault, not the file's
            raise
        raise DownloadError(f"the file is not a complete gzip file ({error})") from error


def _trusted(target: Path, expected: str | None) -> bool:
    """Whether the file is there and whole; one without a known hash was put there by the user and is recorded now."""
    if not target.is_file():
        return False
    try:
        _check_content(target, target.name, expected=expected)
    except DownloadError as error:
        _log.warning("%s is not usable (%s); fetching it again.", target, error)
        return False
    return True


def _recorded(target: Path) -> str | None:
    record = target.parent / RECORD
    if not record.is_file():
        return None
    try:
        entry = json.loads(record.read_text(encoding="utf-8")).get(target.name)
    except (ValueError, AttributeError) as error:
        raise DownloadError(
            f"{str(record)!r} is not a readable list of checksums ({error}). Remove it to start afresh."
        ) from error
    return str(entry) if entry else None


def _write_record(target: Path, digest: str) -> None:
    record = target.parent / RECORD
    with _locked(target.parent / f".{RECORD}.lock"):
        known = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
        known[target.name] = digest
        write_file(record, json.dumps(known, indent=1, sort_keys=True))


def _copy_into_mirror(target: Path, name: str) -> None:
    folder = _copy_to.get()
    if folder is None:
        return
    if PurePosixPath(name).is_absolute():
        raise UsageError(f"The mirror name {name!r} is not a relative path.")
    copy = inside(folder, name)
    _make_folder(copy.parent)
    part = copy.with_name(f".{copy.name}.part")
    try:
        shutil.copyfile(target, part)
        part.replace(copy)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _disk_error(error, copy) from error
    _write_record(copy, file_sha256(copy))


def _in_mirror(place: str, name: str) -> str | Path:
    """Return the address or the path of ``name`` in a mirror."""
    url = urlsplit(place).scheme in {"http", "https"}
    return f"{place.rstrip('/')}/{quote(name)}" if url else inside(place, name)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(
            f"Cannot make the folder {str(folder)!r}: {error.strerror}. Choose another root."
        ) from error


def _disk_error(error: OSError, target: Path) -> DownloadError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DownloadError(
            f"The disk is full while writing {str(target)!r}; nothing was kept. Free some space or choose another root."
        )
    return DownloadError(f"Cannot write {str(target)!r}: {error.strerror or error}. Nothing was kept.")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that the system releases when its owner dies."""
    lock = FileLock(str(path), timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout as error:
        raise DownloadError(f"Another process has held {str(path)!r} for an hour. End it and try again.") from error
    except OSError as error:
        raise _disk_error(error, path) from error
    try:
        yield
    finally:
        lock.release()
