"""Small runs to disturb: the store with its exports, and ``graphnetz run`` from the command to the last file."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos import expected, plan
from graphnetz._core.errors import GraphnetzError
from graphnetz._core.paths import write_file
from graphnetz.engine.executors import Executor, drive
from graphnetz.engine.store import Store, to_json
from graphnetz.records import Cell, CellResult

CELLS = 6
Told = Callable[[str], None]


class InProcess(Executor):
    """Cells one after another, with nothing measured: equal runs are equal to the last byte."""

    in_process = True

    def run(self, cells: Sequence[Cell], run_one: Any, **told: Any) -> None:
        for cell in cells:
            if told["on_start"](cell):
                told["on_result"](run_one(cell))
                told["tick"]()


@dataclass(frozen=True)
class Scenario:
    """A run that can be repeated on its folder until it is complete.

    ``run`` raises a `GraphnetzError` when it ends early; ``accepted`` hears of every cell that was committed.
    """

    name: str
    run: Callable[[Path, Told], None]
    files: Callable[[Path], dict[str, bytes]]
    cells: int


def store_run(folder: Path, accepted: Told) -> None:
    """Plan, claim, finish and export; cells cost nothing."""
    cells = plan(CELLS)
    with Store.create(folder) as store:
        store.plan(cells)
        store.write_meta({"config": {"cells": CELLS}})
        write_file(folder / "config.toml", f"cells = {CELLS}\n")
        drive(store, cells, steady, executor=InProcess(), on_result=lambda result: accepted(result.key))
        to_json(store, folder / "results.json")
        write_file(folder / "figures" / "page.svg", b"<svg/>" * 3000)
        store.checkpoint_to_one_file()


def steady(cell: Cell) -> CellResult:
    return expected(cell)


def store_files(folder: Path) -> dict[str, bytes]:
    """The files that a run leaves, without the store and half-written neighbours."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if "sqlite" not in path.name}


RUN = (
    "run", "--suite", "default", "--task", "sbm_communities", "--model", "Majority", "--model", "GCN", "--seeds", "2",
    "--epochs", "1", "--backend", "serial", "--quiet",
)  # fmt: skip


class CommandError(GraphnetzError):
    """The command ended early, with a sentence."""


def command_run(folder: Path, accepted: Told) -> None:
    """``graphnetz run`` as it is, but for the figures, which take most of the time and write like any other file."""
    import graphnetz.engine.run as engine
    import graphnetz.report.write as writers
    from graphnetz.cli.app import run_app

    real = engine.drive

    def told(*arguments: Any, **options: Any) -> None:
        heard = options["on_result"]
        options["on_result"] = lambda result: (accepted(result.key), heard(result))
        real(*arguments, **options)

    errors = io.StringIO()
    figures, writers.write_figures, engine.drive = writers.write_figures, lambda *_: None, told
    folder.parent.mkdir(parents=True, exist_ok=True)
    os.chdir(folder.parent)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = run_app([*RUN, "--out", folder.name])
    finally:
        writers.write_figures, engine.drive = figures, real
    if code != 0:
        said = errors.getvalue().strip()
        if "Traceback" in said or not said:
            raise AssertionError(f"exit code {code} without a sentence: {said[-500:]!r}")
        raise CommandError(said)


def command_files(folder: Path) -> dict[str, bytes]:
    from chaos_runs import result_files

    return {name: body for name, body in result_files(folder).items() if not Path(name).name.startswith(".")
            and "sqlite" not in name}  # fmt: skip


SCENARIOS = {
    "store": Scenario("store", store_run, store_files, CELLS),
    "command": Scenario("command", command_run, command_files, 4),
}


def warm(name: str, folder: Path) -> dict[str, bytes]:
    """Run a scenario undisturbed, so that forked runs find everything imported; return its files."""
    if name == "command":
        from chaos_runs import prepare

        prepare()
    scenario = SCENARIOS[name]
    scenario.run(folder, lambda _: None)
    sys.stdout.flush()
    return scenario.files(folder)
