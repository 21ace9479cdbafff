"""``digest.json`` of a run folder, and what every reader holds against it and against the store."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from graphnetz._core.errors import IntegrityError, NoDigestsWarning
from graphnetz._core.paths import write_file
from graphnetz.records import CellResult
from graphnetz.records.digests import root_digest

FILE_NAME = "digest.json"
SCHEMA, VERSION = "graphnetz.digest", 1
MAX_BYTES = 256 << 20
NOT_IDENTICAL = (
    "config.toml", "store.sqlite", "provenance.json", "costs.csv", "report.html", "figures/pareto.pdf",
    "figures/pareto.png",
)  # fmt: skip
"""Files that hold times, places or settings of one machine: they are listed, and have no digest."""

_STORE = "graphnetz.engine.store.truth"
"""Who reads a store. Named, not imported: a report needs no engine, unless a store lies beside it."""

_NAME = re.compile(r"^(?:(?:figures|examples)/)?[A-Za-z0-9_+-][A-Za-z0-9._+-]*$")
_ADVICE = "Restore it from a copy, or remove it and write the report again."

Place = tuple[str, str, int]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_digests(folder: Path, cells: Iterable[Mapping[str, Any]], names: Iterable[str]) -> None:
    """Write ``digest.json``: the cells of ``results.json``, and those of ``names`` that are there.

    It holds no time and no place, so that the same cells give the same bytes.
    """
    found = [(str(cell["task"]), str(cell["model"]), int(cell["seed"]), str(cell["digest"])) for cell in cells]
    tree: dict[str, dict[str, dict[str, str]]] = {}
    for task, model, seed, digest in found:
        tree.setdefault(task, {}).setdefault(model, {})[str(seed)] = digest
    files = {name: file_digest(folder / name) for name in sorted(set(names)) if (folder / name).is_file()}
    body = {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "algorithm": "sha256",
        "root": root_digest(found),
        "files": files,
        "without_digest": list(NOT_IDENTICAL),
        "cells": tree,
    }
    write_file(folder / FILE_NAME, json.dumps(body, ensure_ascii=False, indent=1) + "\n")


def read_digests(folder: Path) -> dict[str, Any] | None:
    """Return ``digest.json`` of a folder, None where there is none."""
    path = folder / FILE_NAME
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES >> 20} MB")
        raw = json.loads(path.read_text(encoding="utf-8"))
        if (raw["schema"], raw["schema_version"], raw["algorithm"]) != (SCHEMA, VERSION, "sha256"):
            raise ValueError("it has another schema")
        cells = [(t, m, int(s), d) for t, models in raw["cells"].items() for m, seeds in models.items()
                 for s, d in seeds.items()]  # fmt: skip
        if root_digest(cells) != raw["root"] or not set(raw["without_digest"]) <= set(NOT_IDENTICAL):
            raise ValueError("it does not match itself")
        if bad := [name for name in raw["files"] if not _NAME.match(name)]:
            raise ValueError(f"it names {bad[0]!r}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise IntegrityError(f"{str(path)!r} is not as it was written: {_short(error)}. {_ADVICE}") from None
    return dict(raw)


def changed_files(folder: Path, digests: Mapping[str, Any]) -> list[str]:
    """Return the files of a folder that are there and are not those that were written."""
    return [
        name
        for name, digest in digests["files"].items()
        if (folder / name).is_file() and file_digest(folder / name) != digest
    ]


def check_beside(path: Path, digests: Mapping[Place, str], root: str, results: Sequence[CellResult]) -> None:
    """Hold a ``results.json`` against the digests and the store in its folder.

    Parameters
    ----------
    path
        The file.
    digests, root
        Digests of its cells, and that of the run; nothing for a file from before there were any.
    results
        Its cells.
    """
    folder = path.parent
    kept = read_digests(folder)
    if kept is not None:
        # A changed plan is listed on the page as a departure from it, which says more than a refusal.
        if changed := [name for name in changed_files(folder, kept) if name != "plan.json"]:
            raise IntegrityError(f"{str(folder / changed[0])!r} is not as it was written (see {FILE_NAME}). {_ADVICE}")
        if root and root != kept["root"]:
            raise IntegrityError(f"{str(path)!r} and {FILE_NAME} beside it are of different runs. {_ADVICE}")
    if (folder / "store.sqlite").is_file():
        why = import_module(_STORE).disagreement(folder, digests, root, results)
        if why:
            raise IntegrityError(
                f"{str(path)!r} disagrees with the store beside it: {why}. The store is what counts: remove "
                f"{path.name} and write it again with graphnetz report, or finish the run with graphnetz resume."
            )
    elif not root:
        warnings.warn(f"{str(path)!r} has no digests: nothing can be checked.", NoDigestsWarning, stacklevel=4)


def _short(error: Exception) -> str:
    return f"it cannot be read ({type(error).__name__})" if not isinstance(error, ValueError) else str(error)[:120]
