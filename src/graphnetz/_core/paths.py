"""Paths and files: names from others never leave their folder, files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from graphnetz._core.errors import StoreError, UsageError, want_of_memory

_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


def slug(name: str, *, length: int = 80) -> str:
    """Return ``name`` as one harmless path component.

    Examples
    --------
    >>> slug("../etc/passwd")
    'etc-passwd'
    """
    cleaned = _UNSAFE.sub("-", name).strip("-.")
    return cleaned[:length] or "unnamed"


def inside(root: str | Path, *parts: str) -> Path:
    """Join ``parts`` to ``root`` and refuse any result outside it (``..``, absolute, symlink)."""
    base = Path(root).resolve()
    target = base.joinpath(*parts).resolve()
    if target != base and base not in target.parents:
        raise UsageError(f"The path {'/'.join(parts)!r} leaves its folder {str(root)!r}. Use a plain name below it.")
    return target


def make_folder(folder: Path) -> None:
    """Make a folder with those above it, so that none of them is gone after a loss of power."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: a new name is otherwise in memory only, whatever its file holds."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows does not open folders, and one may be writable but not readable
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)


_NO_FOLDER_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES)
"""What file systems say that cannot sync a folder, and need not be asked to."""


def refuse_links(folder: str | Path) -> None:
    """Refuse a run folder whose parts are links: reading would show, and writing would change, what lies elsewhere.

    The folder itself may be reached by a link, since its name was given by the caller.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> (place / "results.json").symlink_to("/etc/hostname")
    >>> refuse_links(place)
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.StoreError: ... has the link 'results.json', ... Put the file itself there, or remove it.
    """
    for place, folders, files in os.walk(folder):  # what cannot be listed is told by whoever opens it
        for entry in sorted([*folders, *files]):
            if (found := Path(place, entry)).is_symlink():
                name = found.relative_to(folder).as_posix()
                raise StoreError(
                    f"The folder {str(folder)!r} has the link {name!r}, and links are not followed. Put the file "
                    "itself there, or remove it."
                )


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO[str]]:
    """Write to a temporary neighbour, then rename: a reader never sees half a file, also after a loss of power."""
    target = Path(path)
    try:
        if target.exists() and not (target.is_file() or target.is_dir()):
            raise StoreError(
                f"{str(target)!r} is a device or a pipe, which would be replaced. Give the name of a file."
            )
        make_folder(target.parent)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise StoreError(
            f"Cannot write {str(target)!r}: {error.strerror}. Choose a writable folder with --out."
        ) from error
    text = "b" not in mode
    try:
        with os.fdopen(handle, mode, encoding="utf-8" if text else None, newline="\n" if text else None) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException as error:
        with suppress(OSError):  # the error on its way is the one to tell
            Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StoreError(f"Cannot write {str(target)!r}: {error.strerror}. Nothing was changed.") from error
        if want_of_memory(error):
            raise MemoryError(f"{str(target)!r} cannot be written ({error})") from error
        raise
    try:
        sync_folder(target.parent)
    except OSError as error:
        raise StoreError(
            f"{str(target)!r} is written, but may be lost with the power: its folder cannot be synced "
            f"({error.strerror}). Check the disk, then write it again."
        ) from error


def write_file(path: str | Path, content: str | bytes) -> Path:
    """Write a file whole or not at all, and return its path."""
    with atomic_write(path, "w" if isinstance(content, str) else "wb") as stream:
        stream.write(content)  # type: ignore[arg-type]
    return Path(path)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
