"""The file under the store: where it lies, whether it can be written, and plain words for what went wrong."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphnetz._core.errors import StoreError

FILE_NAME = "store.sqlite"
_NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "beegfs", "ceph", "fuse.ceph", "fuse.glusterfs",
    "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "orangefs", "panfs", "virtiofs",
}  # fmt: skip

_WORDS = (
    ("disk is full", "The disk is full: {path!r} could not take the last write. Free space and resume; "
     "finished cells are safe."),
    ("readonly", "{path!r} cannot be written: the file or its folder is read-only. Choose a writable folder."),
    ("unable to open", "{path!r} cannot be opened. Check that the folder exists and may be read and written."),
    ("disk i/o error", "{path!r} could not be read or written (input/output error: disk full, quota or a broken "
     "disk). Make room and resume; finished cells are safe."),
    ("locked", "{path!r} is locked by another process for too long. Wait for it or stop it, then resume."),
    ("not a database", "{path!r} is not an SQLite file. Name the folder of a run."),
    ("malformed", "{path!r} is damaged (SQLite: malformed). Restore it from a copy."),
)  # fmt: skip


def store_file(path: str | Path) -> Path:
    """Return the file behind a run folder, or the file itself when a file was named."""
    given = Path(path)
    return given if given.suffix in (".sqlite", ".db") or given.is_file() else given / FILE_NAME


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one sentence."""
    try:
        yield
    except sqlite3.Error as error:
        # Python's own attempt to take back what never began hides why it did not.
        first = str(error.__context__ if "rollback" in str(error) and error.__context__ else error)
        known = (words.format(path=str(path)) for mark, words in _WORDS if mark in first.lower())
        raise StoreError(next(known, f"The store {str(path)!r} failed: {first}.")) from error
    except OverflowError as error:
        raise StoreError(f"{path!s}: a number does not fit 64 bits ({error}). Use smaller seeds.") from error


def warn_on_network(path: Path) -> None:
    """Warn when the folder lies on a network file system, whose locks SQLite cannot trust."""
    kind = file_system(path)
    if kind in _NETWORK:
        warnings.warn(
            f"The run folder {str(path.parent)!r} is on a network file system ({kind}), where locks and syncs may "
            "fail. Use a local disk, and only one runner per folder otherwise.",
            stacklevel=4,
        )


def file_system(path: Path) -> str:
    """Return the type of the file system below ``path``, or an empty string where unknown."""
    import psutil

    with suppress(OSError):
        place = path.resolve()
        over = [mount for mount in psutil.disk_partitions(all=True) if place.is_relative_to(mount.mountpoint)]
        return str(max(reversed(over), key=lambda mount: len(mount.mountpoint)).fstype) if over else ""
    return ""
