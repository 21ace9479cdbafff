"""Evaluate datasets of the paper from a folder of TU datasets, and keep what was measured as small JSON.

``python benchmarks/rings_evidence.py train NAME --data DIR --out RUNS [--runs N] [--model GIN]`` trains (hours for
large ones; ``--doubled`` adds the mode ``rgx``, random graphs drawn as the authors' package draws them),
``... keep NAME --data DIR --out RUNS`` writes ``benchmarks/results/rings/NAME.json`` from the runs that are there, and
``... table`` prints all that is kept beside the paper.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphnetz.engine.store import Store
from graphnetz.papers.rings import JUDGEMENTS, paper_name
from graphnetz.records import CellResult
from graphnetz.rings import assess, evaluate, perturbation, profile, task_from_source
from graphnetz.rings.evaluate import dataset_graphs
from graphnetz.rings.judge import judge
from graphnetz.rings.own_data import feature_width
from graphnetz.rings.study import MODES

KEPT = Path(__file__).resolve().parent / "results" / "rings"
METRICS = ("acc", "auc")


@perturbation("rgx", mode="graph", random=True)
def ordered_pairs(data: Any, rng: np.random.Generator) -> Any:
    """As many random ordered pairs as there are arcs: nearly twice the edges of an undirected graph."""
    n, m = int(data.num_nodes), data.edge_index.shape[1]
    codes = rng.permutation(n * (n - 1))[:m] if n > 1 else np.empty(0, dtype=np.int64)
    source, target = codes // max(n - 1, 1), codes % max(n - 1, 1)
    data.edge_index = torch.from_numpy(np.stack([source, target + (target >= source)]).astype(np.int64))
    data.edge_attr = None
    return data


def train(options: argparse.Namespace) -> None:
    """Train what is missing."""
    task = task_from_source(options.data / options.name)
    modes = (*MODES, "rgx") if options.doubled else MODES
    found = evaluate(
        task, models=options.model, runs=options.runs, modes=modes, workers=options.workers, out=options.out
    )
    print(found.paragraph)


def cells_of(folders: Sequence[Path]) -> list[CellResult]:
    """Finished cells of some run folders, one per mode, model and run."""
    found: dict[tuple[str, str, int], CellResult] = {}
    for folder in folders:
        with Store.open(folder, readonly=True) as store:
            for result in store.results(histories=False):
                found.setdefault((result.task, result.model, result.seed), result)
    return list(found.values())


def keep(options: argparse.Namespace) -> None:
    """Judge the runs that every mode has and write them down."""
    task = task_from_source(options.data / options.name)
    graphs, _, _ = dataset_graphs(task, "data")
    cells = [cell for cell in cells_of(options.out) if cell.ok]
    modes = tuple(mode for mode in (*MODES, "rgx") if any(cell.task.endswith(f"@{mode}") for cell in cells))
    gammas = profile(graphs, perturbations=(*MODES, "ef"), name=task.name)
    found = judge(task.name, cells, complementarity=gammas, metrics=METRICS, modes=[m for m in modes if m != "rgx"])
    count = max(cell.seed for cell in cells) + 1
    scores: dict[str, Any] = {}
    for cell in cells:
        mode = cell.task.rpartition("@")[2]
        for metric in METRICS:
            for part in ("test", "val"):
                row = scores.setdefault(metric, {}).setdefault(part, {}).setdefault(mode, {})
                values = row.setdefault(cell.model, [None] * count)
                values[cell.seed] = round(cell.metrics[f"{part}_{metric}"], 5)
    seconds = [cell.seconds for cell in cells if cell.seconds == cell.seconds]
    body = {
        "preset": "quick",
        "hours_in_cells": round(math.fsum(seconds) / 3600, 2),
        "cells": len(cells),
        "facts": found.facts | {"width": feature_width(graphs)},
        "evidence": list(found.evidence),
        "scores": scores,
    }
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{task.name}.json").write_text(json.dumps(body) + "\n", encoding="utf-8")


def table(_: argparse.Namespace) -> None:
    """Print every kept evaluation beside the paper's."""
    for path in sorted(KEPT.glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))["facts"]
        name = paper_name(facts["dataset"], width=facts["width"])
        print(f"{facts['dataset']}: {facts['verdict']}, structure {facts['structure']}, features {facts['features']}")
        print(f"  {facts['relations']}, {facts['runs']} runs, needed {facts['needed']}")
        if name is not None:
            theirs = assess(JUDGEMENTS[name].relations)
            print(f"  paper: {JUDGEMENTS[name].verdict}, structure {theirs.structure}, features {theirs.features}")
            print(f"  {JUDGEMENTS[name].relations}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, function in (("train", train), ("keep", keep), ("table", table)):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        if name == "table":
            continue
        command.add_argument("name")
        command.add_argument("--data", type=Path, required=True, help="folder of TU datasets")
        if name == "train":
            command.add_argument("--out", type=Path, required=True, help="run folder")
            command.add_argument("--runs", type=int, default=20)
            command.add_argument("--model", action="append", default=None)
            command.add_argument("--workers", type=int, default=1)
            command.add_argument("--doubled", action="store_true")
        else:
            command.add_argument("--out", type=Path, action="append", required=True, help="run folders")
    options = parser.parse_args(argv)
    if getattr(options, "model", ()) is None:
        options.model = ["GIN"]
    options.function(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
