"""`graphnetz mirror`, `graphnetz published`, and what `doctor --datasets` prints."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, put, say


@app.command()
def mirror(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets (see 'graphnetz list datasets').")] = None,
    to: Annotated[Path | None, typer.Option(help="The folder to fill; files already there stay.")] = None,
    source: Annotated[
        str | None, typer.Option("--mirror", help="Another mirror, folder or URL, asked before the network.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Fetch the raw files of datasets into a folder from which machines without internet can load them."""
    if to is None:
        raise UsageError("Say where the mirror goes: graphnetz mirror NAME... --to DIR.")
    if to.exists() and not to.is_dir():
        raise UsageError(f"--to needs a folder, but {str(to)!r} is a file. Choose another name.")
    if source:
        os.environ["GRAPHNETZ_MIRROR"] = source
    from graphnetz.datasets.sources.mirror import make_mirror

    made = make_mirror(names or [], to)
    if as_json:
        put(json.dumps([dataclasses.asdict(item) for item in made], indent=1))
    for item in made:
        if item.error:
            say(f"{item.name}: {item.error}")
        elif not as_json:
            put(f"{item.name}: {_content(item)}")
    if not as_json and any(item.files for item in made):
        put(f"Use it with --mirror {to} or GRAPHNETZ_MIRROR={to}")
    return FAILED_CELLS if any(item.error for item in made) else OK


def _content(item: Any) -> str:
    if not item.files:
        return "nothing to fetch (generated, bundled or already there)"
    return f"{len(item.files)} files, {item.bytes / 1e6:.1f} MB"


def check_cards(names: list[str], *, mirror: str | None, root: str, download: bool, as_json: bool) -> int:
    """Load datasets one by one and say how each compares with its card.

    Without names everything is tried that needs no network; what is not at hand is then no fault.
    """
    from graphnetz.datasets import CARDS, list_datasets
    from graphnetz.datasets.sources.doctor import check_datasets

    for name in names:
        CARDS[name]  # raises with the closest known name before anything is loaded
    if mirror:
        os.environ["GRAPHNETZ_MIRROR"] = mirror
    if not names and not download:
        os.environ["GRAPHNETZ_OFFLINE"] = "1"
    found = []
    for name in names or list_datasets():
        (check,) = check_datasets([name], root=root)
        found.append(check)
        if not as_json:
            detail = "; ".join(check.differences) or check.message or _size(check.found)
            put(f"[{check.status}] {name}: {detail}", flush=True)
    if as_json:
        put(json.dumps([dataclasses.asdict(check) for check in found], indent=1))
    bad = {"differs", "failed"} | ({"unavailable"} if names else set())
    return FAILED_CELLS if any(check.status in bad for check in found) else OK


def _size(found: dict[str, int]) -> str:
    return ", ".join(f"{value:,} {key}" for key, value in found.items() if value)


@app.command()
def published(
    folder: Annotated[Path, typer.Argument(help="A run folder.")],
    suite: Annotated[str | None, typer.Option(help="The suite to compare with; default: that of the run.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Print a run's numbers beside the published ones of its suite."""
    from graphnetz.analysis.published import beside
    from graphnetz.cli.load import load_report
    from graphnetz.cli.show import print_beside
    from graphnetz.datasets import SUITES

    path = folder / "results.json"
    if not path.is_file():
        raise UsageError(f"{str(folder)!r} holds no results.json. Give the folder of an earlier 'graphnetz run'.")
    report = load_report(folder)
    name = suite or report.config.get("suite") or "cross-category"
    if SUITES[name].published is None:
        raise UsageError(f"Nothing is published about the suite {name!r}. Name another with --suite.")
    rows = lambda: [dataclasses.asdict(row) for row in beside(report, SUITES[name])]  # noqa: E731
    return answer(as_json, rows, lambda: print_beside(report, name))
