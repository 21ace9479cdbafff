"""The file under the store: where it lies, whether it can be written, and plain words for what went wrong."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphnetz._core.errors import StoreError
from graphnetz.engine.store.owners import process_words

FILE_NAME = "store.sqlite"
_WRITE_LOCK = 120  # the byte of the shared memory that SQLite locks to write; part of its file format
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
    ("locked", "{path!r} is locked by {holder} for too long. Wait for it or stop it, then resume."),
    ("not a database", "{path!r} is not an SQLite file. Name the folder of a run."),
    ("malformed", "{path!r} is damaged (SQLite: malformed). Restore it from a copy."),
)  # fmt: skip


def store_file(path: str | Path) -> Path:
    """Return the file behind a run folder, or the file itself when a file was named."""
    given = Path(path)
    return given if given.suffix in (".sqlite", ".db") or given.is_file() else given / FILE_NAME


def file_number(path: Path) -> tuple[int, int] | None:
    """Tell a file from another one of the same name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def removed(path: Path) -> StoreError:
    """Return the error for a file that somebody took away while we held it open."""
    return StoreError(f"{str(path)!r} was removed or moved while it was in use. Put its folder back and resume, or "
                      "run again.")  # fmt: skip


def lock_holder(path: Path) -> str:
    """Name the process that writes to a store this moment, where the system tells.

    Opening the file to ask would not do: closing it again would drop the locks of this process.
    """
    number = file_number(path.with_name(f"{path.name}-shm"))
    with suppress(OSError, ValueError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            *_, kind, pid, place, start, _ = line.split()
            inode = int(place.rpartition(":")[2])
            if number and kind == "WRITE" and inode == number[1] and int(start) == _WRITE_LOCK and int(pid) > 0:
                return process_words(int(pid))
    return "another process"


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite, and a lack of memory in it, into one sentence."""
    try:
        yield
    except sqlite3.Error as error:
        # Python's own attempt to take back what never began hides why it did not.
        first = str(error.__context__ if "rollback" in str(error) and error.__context__ else error)
        if "unable to open" not in first and path.is_absolute() and not path.exists():
            # SQLite calls this read-only, or an I/O error.
            raise removed(path) from error
        names = {"path": str(path), "holder": lock_holder(path)}
        known = (words.format(**names) for mark, words in _WORDS if mark in first.lower())
        raise StoreError(next(known, f"The store {str(path)!r} failed: {first}.")) from error
    except MemoryError as error:
        raise StoreError(
            f"The memory is full: {str(path)!r} could not be read or written. Close other programs or take fewer "
            "workers, and resume; finished cells are safe."
        ) from error
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
