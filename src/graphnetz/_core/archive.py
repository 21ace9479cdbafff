"""Unpack archives of strangers: nothing outside the folder, no links, no bombs, whole or not at all."""

from __future__ import annotations

import errno
import lzma
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from filelock import FileLock

from graphnetz._core.errors import DataError
from graphnetz._core.readers import MAX_RATIO, RATIO_FLOOR

MAX_BYTES = 200 << 30
MAX_FILES = 2_000_000

_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, NotImplementedError)


def unpack(
    archive: str | Path,
    folder: str | Path,
    *,
    max_bytes: int = MAX_BYTES,
    max_files: int = MAX_FILES,
) -> Path:
    """Unpack a zip or tar archive into ``folder``, which appears whole or not at all.

    An existing ``folder`` is returned as it is: it can only be there when it is complete.

    Raises
    ------
    DataError
        The archive is broken, names a place outside the folder, holds links or devices, or unpacks
        to far more than it weighs. Nothing is left behind.
    """
    archive, folder = Path(archive), Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(folder.parent / f".{folder.name}.lock")):
        if folder.is_dir():
            return folder
        budget = _Budget(archive, max_bytes, max_files, archive.stat().st_size)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            for name, source in _members(archive):
                _write(source, scratch.joinpath(*safe_parts(name, archive).parts), budget)
            scratch.chmod(0o755)
            scratch.rename(folder)
        except BaseException as error:
            shutil.rmtree(scratch, ignore_errors=True)
            raise _clear(error, archive) from error
    return folder


def read_members(archive: str | Path, names: Collection[str], *, max_bytes: int = 1 << 30) -> dict[str, bytes]:
    """Read a few members of a zip or tar archive into memory; nothing is written.

    Parameters
    ----------
    archive
        The file.
    names
        Exact names of members.
    max_bytes
        Most bytes that all of them together may have.

    Returns
    -------
    dict
        Name -> content, in the order of ``names``.

    Raises
    ------
    DataError
        The archive is broken, lacks a member, or holds one of the dangers that `unpack` refuses.
    """
    archive = Path(archive)
    budget = _Budget(archive, max_bytes, MAX_FILES, archive.stat().st_size)
    found: dict[str, bytes] = {}
    try:
        for name, source in _members(archive, frozenset(names)):
            pieces = []
            while chunk := source.read(1 << 20):
                budget.add(len(chunk))
                pieces.append(chunk)
            found[name] = b"".join(pieces)
    except Exception as error:
        raise _clear(error, archive) from error
    if missing := [name for name in names if name not in found]:
        raise DataError(f"{archive.name!r} holds no {missing[0]!r}; it is not the published file.")
    return {name: found[name] for name in names}


def safe_parts(name: str, archive: Path) -> PurePosixPath:
    """Return a member's name as a relative path, or refuse it."""
    path, windows = PurePosixPath(name), PureWindowsPath(name)
    outside = path.is_absolute() or windows.drive or windows.is_absolute() or ".." in (*path.parts, *windows.parts)
    if outside or not name.strip("/ ") or "\x00" in name:
        raise DataError(f"{archive.name!r} names {name!r}, which lies outside its folder; it was not unpacked.")
    return path


@dataclass
class _Budget:
    """Counts what really comes out, since the sizes in an archive's headers may lie."""

    archive: Path
    max_bytes: int
    max_files: int
    packed: int
    files: int = 0
    total: int = 0

    def file(self) -> None:
        self.files += 1
        if self.files > self.max_files:
            raise DataError(f"{self.archive.name!r} holds more than {self.max_files} files; it was not unpacked.")

    def add(self, count: int) -> None:
        self.total += count
        if self.total > min(self.max_bytes, max(RATIO_FLOOR, MAX_RATIO * self.packed)):
            raise DataError(
                f"{self.archive.name!r} ({self.packed} bytes) unpacks to more than {self.total} bytes, "
                "which looks like a decompression bomb; it was not unpacked."
            )


def _members(archive: Path, only: Collection[str] | None = None) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield names and contents; every member is checked, also where ``only`` some are opened."""
    if zipfile.is_zipfile(archive):
        yield from _zip_members(archive, only)
    elif tarfile.is_tarfile(archive):
        yield from _tar_members(archive, only)
    else:
        raise DataError(f"{archive.name!r} is neither a zip nor a tar archive. Remove it and fetch it again.")


def _zip_members(archive: Path, only: Collection[str] | None) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as source:
        for entry in source.infolist():
            safe_parts(entry.filename, archive)
            if entry.is_dir():
                continue
            mode = entry.external_attr >> 16
            if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
                raise DataError(f"{archive.name!r} holds the link or device {entry.filename!r}; it was not unpacked.")
            if entry.flag_bits & 0x1:
                raise DataError(f"{archive.name!r} is encrypted; it was not unpacked.")
            if only is not None and entry.filename not in only:
                continue
            with source.open(entry) as stream:
                yield entry.filename, stream


def _tar_members(archive: Path, only: Collection[str] | None) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as source:
        for entry in source:
            if entry.name.strip("./") or not entry.isdir():
                safe_parts(entry.name, archive)
            if entry.isdir():
                continue
            stream = source.extractfile(entry) if entry.isreg() else None
            if stream is None:
                raise DataError(f"{archive.name!r} holds the link or device {entry.name!r}; it was not unpacked.")
            if only is None or entry.name in only:
                yield entry.name, stream


def _write(source: IO[bytes], target: Path, budget: _Budget) -> None:
    budget.file()
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "xb") as sink:  # "x": two members of one name are refused
        while chunk := source.read(1 << 20):
            budget.add(len(chunk))
            sink.write(chunk)


def _clear(error: BaseException, archive: Path) -> BaseException:
    if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
        return DataError(f"{archive.name!r} holds two members of one name; it was not unpacked.")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DataError(f"The disk is full while unpacking {archive.name!r}; nothing was kept. Free some space.")
    if isinstance(error, _BROKEN) or (isinstance(error, OSError) and error.errno is None):
        return DataError(f"{archive.name!r} is broken ({error}). Remove it and fetch it again.")
    return error
