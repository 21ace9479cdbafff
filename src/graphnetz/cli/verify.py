"""`graphnetz submit` and `graphnetz verify`: a run as one file, and the check of one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from graphnetz._core.errors import UsageError
from graphnetz._core.text import counted
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, put, say

RECEIPT = ".verified.json"


@app.command()
def submit(
    folder: Annotated[Path, typer.Argument(help="A finished run folder.")],
    out: Annotated[Path | None, typer.Option(help="The bundle to write; default: FOLDER.zip.")] = None,
    sign: Annotated[Path | None, typer.Option(help="Private key that ssh-keygen signs the bundle with.")] = None,
    predictions: Annotated[
        int | None,
        typer.Option(min=1, help="Bytes of predictions that a task may have; of more, those of some seeds are kept."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Pack a run into one file that others can check: plan, cells, predictions, environments and digests."""
    from graphnetz.engine.bundle import submit as pack
    from graphnetz.report.integrity import read_digests

    if not folder.is_dir():
        raise UsageError(f"There is no folder {str(folder)!r}. Give a finished run folder.")
    made = pack(folder, out=out, sign=sign, predictions=predictions)
    digests = read_digests(folder) or {}
    cells = sum(len(seeds) for models in digests["cells"].values() for seeds in models.values())
    data = {"bundle": str(made), "bytes": made.stat().st_size, "cells": cells, "root": digests["root"],
            "signed": sign is not None}  # fmt: skip
    words = f"{made}: {counted(cells, 'cell')}, digest of the run {digests['root'][:16]}."
    words += f" Check it with: graphnetz verify {made}"
    return answer(as_json, lambda: data, lambda: put(words))


@app.command()
def verify(
    source: Annotated[Path, typer.Argument(help="A bundle from graphnetz submit, or a run folder.")],
    retrain: Annotated[int, typer.Option(min=0, help="Cells to train again, drawn at random; 0: none.")] = 60,
    task: Annotated[list[str] | None, typer.Option(help="Only train cells of this task again; repeat it.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Only train cells of this model again; or path.py:Class, code of its own that may run."),
    ] = None,
    signer: Annotated[Path | None, typer.Option(help="Public key (.pub) that must have signed the bundle.")] = None,
    workers: Annotated[int | None, typer.Option(help="Cells at a time.")] = None,
    mirror: Annotated[str | None, typer.Option(help="Folder or URL asked before the network.")] = None,
    root: Annotated[str, typer.Option(help="Where datasets are kept.")] = "data/benchmark",
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Check digests, compute every metric again from the predictions, and train a random part of the cells again."""
    if not source.exists():
        raise UsageError(f"There is no {str(source)!r}. Give a bundle from graphnetz submit, or a run folder.")
    if mirror:
        os.environ["GRAPHNETZ_MIRROR"] = mirror
    from graphnetz.engine.verify import verify as check

    found = check(
        source, retrain=retrain, tasks=task or (), models=model or (), signer=signer, root=root, workers=workers
    )
    if source.is_file():
        _leave_receipt(source, found)

    def words() -> None:
        for line in found.wrong[:50]:
            say(f"differs: {line}")
        if len(found.wrong) > 50:
            say(f"... and {len(found.wrong) - 50} more.")
        wrong = len(found.wrong)
        last = "Nothing differs." if found.ok else f"{counted(wrong, 'point')} differ{'s' if wrong == 1 else ''}."
        put("\n".join([*found.notes, last]))

    answer(as_json, found.as_dict, words)
    return OK if found.ok else FAILED_CELLS


def _leave_receipt(bundle: Path, found: object) -> None:
    """Note beside a bundle what was verified, for the leaderboard; a bundle that failed loses an earlier note."""
    from graphnetz._core.errors import StoreError
    from graphnetz._core.paths import write_file
    from graphnetz.engine.verify import Verified
    from graphnetz.report.integrity import file_digest

    assert isinstance(found, Verified)
    path = bundle.with_name(bundle.name + RECEIPT)
    if not found.ok:
        path.unlink(missing_ok=True)
        return
    if not found.agreed:  # digests hold, and nothing was trained: an earlier note says more, if it is of this file
        return
    note = {"schema": "graphnetz.verified", "sha256": file_digest(bundle), "root": found.root, "cells": found.cells,
            "retrained": found.agreed, "signed": found.signed}  # fmt: skip
    try:
        write_file(path, json.dumps(note, indent=1) + "\n")
    except StoreError as error:
        say(f"{error} The leaderboard will not know that it was verified.")


def receipt_of(bundle: Path) -> str:
    """Say how far a bundle was verified here; nothing where it was not, or where it is another file by now."""
    from graphnetz.report.integrity import file_digest

    path = bundle.with_name(bundle.name + RECEIPT)
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
        if note["schema"] != "graphnetz.verified" or note["sha256"] != file_digest(bundle):
            return ""
        return f"verified ({int(note['retrained'])} of {int(note['cells'])} cells retrained)"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
