"""Cells by the million: `graphnetz leaderboard` of Parquet files, and `graphnetz export cells`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import OK, answer, put
from graphnetz.cli.export import AsJson, export

if TYPE_CHECKING:
    from graphnetz.records.board import Board
    from graphnetz.report.columns import Cells

SHOWN = 10


def cells_in(sources: Sequence[Path]) -> list[Path]:
    """Return the Parquet files of sources that are all tables of cells, none where none is."""
    from graphnetz.report.columns import parquet_files

    found = [parquet_files(source) for source in sources]
    if any(found) and not all(found):
        other = next(source for source, files in zip(sources, found, strict=True) if not files)
        raise UsageError(
            f"{str(other)!r} is no table of cells in Parquet, and the other sources are. Give one kind: "
            f"'graphnetz export cells {other} --out cells.parquet' writes the cells of a run so."
        )
    return [file for files in found for file in files]


def board_of_cells(files: Sequence[Path], out: Path, *, as_json: bool) -> int:
    """Write ``board.csv``: one row per model over all tasks and over those of each type and category."""
    from graphnetz._core.paths import write_file
    from graphnetz.analysis.board import boards_of
    from graphnetz.records.analysis import AnalysisOptions
    from graphnetz.report.columns import read_cells
    from graphnetz.report.jsonio import jsonable
    from graphnetz.report.leaderboard import board_csv

    cells = read_cells(files)
    found = boards_of(cells.table, cells.infos, alpha=AnalysisOptions().alpha, runs=cells.runs, single=cells.single)
    write_file(out / "board.csv", board_csv(found))
    rows = lambda: jsonable([asdict(row) for row in found[0].rows])  # noqa: E731
    return answer(as_json, rows, lambda: _print(found[0], cells, out))


def _print(board: Board, cells: Cells, out: Path) -> None:
    from graphnetz._core.text import counted, shorten
    from graphnetz.cli.show import console_of, print_table

    tasks, models, seeds = cells.table.values.shape
    what = f"{counted(seeds, 'seed')}" if cells.single else "means of runs"
    console = console_of(120)
    console.print(
        f"{counted(cells.rows, 'row')} of {counted(cells.files, 'file')}: {counted(tasks, 'task')}, "
        f"{counted(models, 'model')}, {what}."
    )
    rows = [
        (
            shorten(row.model, 60),
            f"{row.place} of {len(board.rows):,}",
            f"{row.rank:.2f}",
            f"{row.score:.3f}",
            row.tasks,
        )
        for row in board.rows[:SHOWN]
    ]
    print_table(console, ("model", "place", "mean rank", "score", "tasks"), rows, right=("mean rank", "score", "tasks"))
    if len(board.rows) > SHOWN:
        console.print(f"and {len(board.rows) - SHOWN:,} more, in {out / 'board.csv'}")
    for words in filter(None, (board.reason, board.left_out)):
        console.print(f"{words[0].upper()}{words[1:].rstrip('.')}.")
    console.print(f"Written: {out / 'board.csv'}")


@export.command("cells")
def export_cells(
    folder: Annotated[Path, typer.Argument(help="A run folder with its store.")],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("cells.parquet"),
    as_json: AsJson = False,
) -> int:
    """Write cells of a run as Parquet.

    One row per finished cell: a folder of such files is what 'graphnetz leaderboard' reads without a store.
    """
    from graphnetz._core.paths import refuse_links
    from graphnetz._core.text import counted
    from graphnetz.engine.store import Store, to_parquet

    refuse_links(folder)
    with Store.open(folder, readonly=True) as store:
        to_parquet(store, out)
        count = sum(1 for _ in store.results(histories=False))
    answer(as_json, lambda: {"file": str(out), "cells": count}, lambda: put(f"{out}: {counted(count, 'cell')}."))
    return OK
