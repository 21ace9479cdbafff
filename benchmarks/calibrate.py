"""Measure how often what the product says is false, at length.

Prints one line per claim and situation, writes ``benchmarks/results/calibration.json`` and ``docs/calibration.md`` and
exits with 1 when a promise is missed by more than Monte-Carlo error allows. The result file holds no times or paths, so
a second run writes the same bytes.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calibration.claims import rows
from calibration.page import OUTPUTS, entry, read, write
from calibration.rows import NEVER, Measured, Row
from graphnetz.records.analysis import CLAIMS


def contradictions(tables: int, rng: np.random.Generator) -> Measured:
    """Hold every two outputs of random reports against each other, as ``make test`` does with 200 of them."""
    path = Path(__file__).resolve().parents[1] / "tests" / "report" / "test_outputs_agree.py"
    spec = importlib.util.spec_from_file_location("outputs_agree", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Measured(sum(bool(module.contradictions(index)) for index in range(tables)) / tables, tables)


def all_rows() -> tuple[Row, ...]:
    """The rows of every claim, and the check of outputs."""
    return (*rows(), Row(OUTPUTS, "random reports with a contradiction", NEVER, contradictions, 10_000))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the replicates; writes nothing")
    parser.add_argument(
        "--only", choices=[*CLAIMS, OUTPUTS], action="append", help="measure this claim only; writes nothing"
    )
    parser.add_argument(
        "--update", action="store_true", help="with --only: put these rows into the result file and page"
    )
    parser.add_argument(
        "--page", action="store_true", help="write the page again from the result file, measure nothing"
    )
    arguments = parser.parse_args(argv)
    if arguments.page:
        write(read())
        return 0
    chosen = [row for row in all_rows() if not arguments.only or row.claim in arguments.only]
    found = []
    for row in chosen:
        measured = row.run(0.1 if arguments.quick else 1.0)
        found.append(entry(row, measured))
        mark = "held  " if found[-1]["held"] else "MISSED"
        figure = f"{measured.value:.4f} +- {measured.spread:.4f} {measured.note}".rstrip()
        print(f"{mark}  {row.claim} | {row.situation}: {figure} (promised {row.promised})", flush=True)
    missed = sum(not row["held"] for row in found)
    print(f"\n{len(found)} rows, {missed} promises missed.")
    if not arguments.quick and (arguments.update or not arguments.only):
        others = [row for row in read() if row["claim"] not in (arguments.only or (*CLAIMS, OUTPUTS))]
        order = [*CLAIMS, OUTPUTS]
        write(sorted([*others, *found], key=lambda row: order.index(row["claim"])))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
