"""Make a mirror: a folder from which a machine without internet loads the same datasets."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from graphnetz._core.download import copying_into, mirrors
from graphnetz._core.errors import GraphnetzError, UsageError
from graphnetz.datasets.cards import CARDS


@dataclass(frozen=True)
class Mirrored:
    """What became of one dataset: the files it added, or why it could not be mirrored."""

    name: str
    files: tuple[str, ...]
    bytes: int
    error: str = ""


def make_mirror(names: Iterable[str], to: str | Path) -> list[Mirrored]:
    """Fetch the raw files of datasets and put them into ``to`` in the layout a mirror has.

    Each dataset is loaded once into a temporary folder, so that only files that can be read enter
    with a clean bill. Datasets that are generated need no files.

    Parameters
    ----------
    names
        Dataset names; a mirror that is already set (``GRAPHNETZ_MIRROR``) is asked first.
    to
        The folder, made when missing; files already there stay.
    """
    cards = [CARDS[name] for name in names]
    if not cards:
        raise UsageError("No dataset was named; give at least one, such as 'cora'.")
    folder = Path(to).resolve()
    if any(Path(place).resolve() == folder for place in mirrors() if "://" not in place):
        raise UsageError(f"{str(folder)!r} is the mirror in use; choose another folder for the new one.")
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for card in cards:
        if card.offline:
            results.append(Mirrored(card.name, (), 0))
            continue
        before = _files(folder)
        error = ""
        with tempfile.TemporaryDirectory(prefix="graphnetz-mirror-") as scratch, copying_into(folder):
            try:
                card.loader(scratch)
            except GraphnetzError as problem:
                error = str(problem)
        added = {name: size for name, size in _files(folder).items() if before.get(name) != size}
        results.append(Mirrored(card.name, tuple(sorted(added)), sum(added.values()), error))
    return results


def _files(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".") and path.name != "checksums.json"
    }
