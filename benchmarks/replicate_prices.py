"""Core-hours of published protocols, in processor time: ``python benchmarks/replicate_prices.py SUITE SIZE TASK...``.

`graphnetz replicate --dry-run` prices by the clock, which a busy machine slows down. This takes the same probe (one
epoch, twice, in this process), counts processor seconds, and adds to ``benchmarks/results/replicate_prices.json``.
A row says how many cells there are, what one takes to begin and per epoch, the epochs that published runs needed (all
it may use where the paper says nothing; ``"from": "ours"`` where our runs said it since), and the most it may use.
Files and networks come from the folder or address in ``GRAPHNETZ_MIRROR``.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch

import graphnetz.kernels as kernels
from graphnetz.engine.config import resolve
from graphnetz.engine.cost.estimate import _one_epoch, needed_epochs
from graphnetz.records import RunConfig

STORED = Path(__file__).resolve().parent / "results" / "replicate_prices.json"


def prices(suite: str, size: str, task: str) -> list[dict[str, object]]:
    """Price every published model of a task."""
    from graphnetz.datasets import SUITES

    chosen = SUITES[suite]
    full = chosen.full_name(task)
    models = [row.model for row in chosen.published() if row.task == full and row.mean == row.mean]
    with tempfile.TemporaryDirectory() as root:
        settings = {"suite": suite, "task": [task], "model": list(dict.fromkeys(models)), "root": root}
        settings |= {"size": size} if chosen.sizes else {"protocol": "paper"}
        bench, plan = resolve(RunConfig.read(settings)).plan()
        counts, first = Counter(cell.model for cell in plan.cells), {}
        for cell in plan.cells:
            first.setdefault(cell.model, cell)
        found = []
        for model, cell in first.items():
            spent = [_seconds(bench, _one_epoch(cell, turn)) for turn in (1, 2)]
            most = cell.protocol.epochs
            needed = min(needed_epochs(chosen, cell) or most, most)
            row = {"suite": suite, "task": task, "model": model, "cells": counts[model], "epochs": needed, "most": most}
            row |= {"begin_seconds": round(max(spent[0] - spent[1], 0.0), 3), "epoch_seconds": round(spent[1], 3)}
            found.append(row)
            print(found[-1], flush=True)
    return found


def _seconds(bench: object, cell: object) -> float:
    start = time.process_time()
    bench(cell)  # type: ignore[operator]
    return time.process_time() - start


if __name__ == "__main__":
    torch.set_num_threads(1)
    kernels.load()
    held = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else []
    for name in sys.argv[3:]:
        held = [row for row in held if (row["suite"], row["task"]) != (sys.argv[1], name)]
        held += prices(sys.argv[1], sys.argv[2], name)
        STORED.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
