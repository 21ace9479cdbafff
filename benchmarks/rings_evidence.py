"""Evaluate datasets, from a folder of TU datasets or from the catalogue, and keep what was measured as small JSON.

``python benchmarks/rings_evidence.py train NAME --data DIR --out RUNS [--runs N] [--model GIN]`` trains (hours for
large ones; ``--doubled`` adds the mode ``rgx``, random graphs drawn as the authors' package draws them; ``--fresh``
draws a split per run where the data carry their own), ``... keep NAME --data DIR --out RUNS`` adds the runs that are
there to ``benchmarks/results/rings/NAME.json`` (without ``--out`` it judges again what is kept),
``... models NAME --out RUNS`` keeps the scores of several architectures beside each other (``rings_models.json``),
``... table`` prints all that is kept beside the paper, and ``... ship`` writes what the package says about datasets.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphnetz.benchmark import SearchSpace, run_benchmark
from graphnetz.engine.config import mirrored
from graphnetz.engine.store import Store
from graphnetz.papers.rings import JUDGEMENTS, paper_name
from graphnetz.records import CellResult, RunConfig, Task
from graphnetz.rings import assess, evaluate, perturb_task, perturbation, profile, task_from_source
from graphnetz.rings.decisions import Rule
from graphnetz.rings.evaluate import (
    SAME_FOR_ALL,
    dataset_graphs,
    default_modes,
    measured_codes,
    replication_of,
    shared_splits,
)
from graphnetz.rings.judge import judge, metrics_of
from graphnetz.rings.own_data import feature_width
from graphnetz.rings.presets import PRESETS, Tuning
from graphnetz.rings.study import MODES

KEPT = Path(__file__).resolve().parent / "results" / "rings"
MODELS = KEPT.parent / "rings_models.json"
SHIPPED = Path(__file__).resolve().parents[1] / "src" / "graphnetz" / "datasets" / "fitness.csv"


@perturbation("rgx", mode="graph", random=True)
def ordered_pairs(data: Any, rng: np.random.Generator) -> Any:
    """As many random ordered pairs as there are arcs: nearly twice the edges of an undirected graph."""
    n, m = int(data.num_nodes), data.edge_index.shape[1]
    codes = rng.permutation(n * (n - 1))[:m] if n > 1 else np.empty(0, dtype=np.int64)
    source, target = codes // max(n - 1, 1), codes % max(n - 1, 1)
    data.edge_index = torch.from_numpy(np.stack([source, target + (target >= source)]).astype(np.int64))
    data.edge_attr = None
    return data


def source(options: argparse.Namespace) -> Task:
    """Return a TU folder below ``--data``, or the catalogue's task of that name, with ``--data`` as its mirror."""
    folder = options.data / options.name
    return task_from_source(folder if folder.is_dir() else options.name)


def train(options: argparse.Namespace) -> None:
    """Train what is missing; with ``--first`` from that run on, and judge nothing: `keep` does."""
    task = source(options)
    modes = (*MODES, "rgx") if options.doubled else options.modes
    quick = PRESETS["quick"]
    tuning = replace(quick, search={}, protocol={**quick.protocol, "lr": 1e-2}) if options.one else quick
    tuning = replace(tuning, epochs=options.epochs or quick.epochs)
    if options.first is not None:
        return add_runs(replace(task, metric=task.metric or metrics_of(task)[-1]), tuning, options)
    found = evaluate(
        task, models=options.model, tuning=tuning, runs=options.runs, modes=modes, workers=options.workers,
        resplit=options.fresh, out=options.out, root=options.root,
    )  # fmt: skip
    print(found.paragraph)


def add_runs(task: Task, tuning: Tuning, options: argparse.Namespace) -> None:
    """Train further runs as `evaluate` trains them, without those before."""
    graphs, whole, _ = dataset_graphs(task, options.root)
    modes = options.modes or default_modes(graphs if whole is None else [whole])[0]
    settings = {"vary": tuning.vary, "test_share": tuning.test_share, "splits": options.runs, "resplit": options.fresh}
    run_benchmark(
        tasks=[perturb_task(task, mode, **settings) for mode in modes], models=options.model,
        seeds=range(options.first, options.runs), search=SearchSpace(**tuning.search) if tuning.search else None,
        epochs=tuning.epochs, protocol={**SAME_FOR_ALL, **tuning.protocol}, workers=options.workers,
        out=options.out, root=options.root,
    )  # fmt: skip


def cells_of(folders: Sequence[Path]) -> list[CellResult]:
    """Finished cells of some run folders, one per mode, model and run."""
    found: dict[tuple[str, str, int], CellResult] = {}
    for folder in folders:
        with Store.open(folder, readonly=True) as store:
            for result in store.results(histories=False):
                found.setdefault((result.task, result.model, result.seed), result)
    return list(found.values())


def kept_cells(path: Path) -> list[CellResult]:
    """Cells as they stand in a kept file; they have lost their seconds."""
    if not path.exists():
        return []
    scores = json.loads(path.read_text(encoding="utf-8"))["scores"]
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for metric, parts in scores.items():
        for part, modes in parts.items():
            for mode, models in modes.items():
                for model, values in models.items():
                    for seed, value in enumerate(values):
                        if value is not None:
                            found.setdefault((mode, model, seed), {})[f"{part}_{metric}"] = value
    return [
        CellResult("", f"{path.stem}@{mode}", model, seed, metrics=metrics)
        for (mode, model, seed), metrics in found.items()
    ]


def preset_words(options: argparse.Namespace) -> str:
    """Say how runs departed from the quick preset."""
    words = ["quick", "one learning rate" if options.one else "", f"{options.epochs} epochs" if options.epochs else ""]
    return ", ".join(filter(None, [*words, "fresh splits" if options.fresh else ""]))


def rule_of(task: Task, splits: int, options: argparse.Namespace) -> Rule:
    """Return the rule that `evaluate` judges by: runs that share a split are one block, and every look has a level."""
    shared = 0 if options.fresh else shared_splits(replication_of(task, options.root), splits)
    return Rule(splits=shared, looks=options.looks)


def keep(options: argparse.Namespace) -> None:
    """Judge what was kept before together with new runs, and write all of it down."""
    task = source(options)
    graphs, _, splits = dataset_graphs(task, options.root)
    metrics = metrics_of(task)
    path = KEPT / f"{task.name}.json"
    before = kept_cells(path)
    earlier = json.loads(path.read_text(encoding="utf-8")) if before else {"hours_in_cells": 0.0}
    if before and ("fresh splits" in earlier["preset"]) != options.fresh:
        raise SystemExit(f"{path.name} was made with other splits; runs of both cannot be mixed.")
    held = {(cell.task, cell.model, cell.seed) for cell in before}
    new = [c for c in cells_of(options.out) if c.ok and (c.task, c.model, c.seed) not in held]
    cells = before + new
    modes = tuple(mode for mode in (*MODES, "rgx") if any(cell.task.endswith(f"@{mode}") for cell in cells))
    gammas = profile(graphs, perturbations=measured_codes(graphs, MODES)[0], name=task.name)
    found = judge(
        task.name,
        cells,
        complementarity=gammas,
        metrics=metrics,
        modes=[m for m in modes if m != "rgx"],
        rule=rule_of(task, splits, options),
    )
    count = max(cell.seed for cell in cells) + 1
    scores: dict[str, Any] = {}
    for cell in cells:
        mode = cell.task.rpartition("@")[2]
        for metric in metrics:
            for part in ("test", "val"):
                row = scores.setdefault(metric, {}).setdefault(part, {}).setdefault(mode, {})
                values = row.setdefault(cell.model, [None] * count)
                values[cell.seed] = round(cell.metrics[f"{part}_{metric}"], 5)
    seconds = [cell.seconds for cell in new if cell.seconds == cell.seconds]
    body = {
        "preset": earlier.get("preset", preset_words(options)),
        "hours_in_cells": round(earlier["hours_in_cells"] + math.fsum(seconds) / 3600, 2),
        "cells": len(cells),
        # Degrees that stand in for missing features are no columns of the data.
        "columns": feature_width(list(task.loader(options.root))) if task.card is None else task.card.features or 0,
        "title": task.name if task.card is None else task.card.title,
        "task_type": task.task_type,
        "facts": found.facts | {"width": feature_width(graphs)},
        "evidence": list(found.evidence),
        "scores": scores,
    }
    KEPT.mkdir(exist_ok=True)
    path.write_text(json.dumps(body) + "\n", encoding="utf-8")


def models(options: argparse.Namespace) -> None:
    """Keep the scores of several architectures on one dataset, by metric, part, model and mode."""
    held = json.loads(MODELS.read_text(encoding="utf-8")) if MODELS.exists() else {}
    cells = sorted((cell for cell in cells_of(options.out) if cell.ok), key=lambda cell: cell.seed)
    found: dict[str, Any] = {}
    for cell in cells:
        for metric in ("acc", "auc"):
            for part in ("test", "val"):
                row = found.setdefault(metric, {}).setdefault(part, {}).setdefault(cell.model, {})
                row.setdefault(cell.task.rpartition("@")[2], []).append(round(cell.metrics[f"{part}_{metric}"], 5))
    MODELS.write_text(json.dumps(held | {options.name: found}) + "\n", encoding="utf-8")


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


def splits_in_words(kept: dict[str, Any]) -> str:
    """Say which splits runs took, where the data carry some."""
    fixed = kept["facts"].get("splits", 0)
    return "fresh splits" if "fresh splits" in kept["preset"] else f"{fixed} fixed splits" if fixed else ""


def ship(_: argparse.Namespace) -> None:
    """Write the verdicts into the package, where cards and reports read them."""
    fields = ("dataset", "features", "task_type", "verdict", "structure", "node_features", "runs", "models", "splits")
    rows = []
    for path in sorted(KEPT.glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        facts, modes = kept["facts"], next(iter(kept["scores"].values()))["test"]
        models = sorted({model for row in modes.values() for model in row})
        fewest = min(sum(v is not None for v in row[model]) for row in modes.values() for model in row)
        judged = (facts["verdict"], facts["structure"], facts["features"])
        named = (kept.get("title", facts["dataset"]), kept["columns"], kept.get("task_type", "graph_cls"))
        rows.append((*named, *judged, fewest, " ".join(models), splits_in_words(kept)))
    with SHIPPED.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([fields, *rows])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, function in (("train", train), ("keep", keep), ("models", models), ("table", table), ("ship", ship)):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        if name in ("table", "ship"):
            continue
        command.add_argument("name")
        command.add_argument(
            "--data", type=Path, required=True, help="folder of TU datasets, or a mirror of the catalogue"
        )
        command.add_argument("--root", default="data/benchmark", help="where the catalogue's data are kept")
        command.add_argument("--epochs", type=int, help="fewer than the preset's 50")
        command.add_argument("--one", action="store_true", help="one learning rate, 0.01, in the place of two")
        command.add_argument("--fresh", action="store_true", help="a split per run, also where the data carry some")
        if name == "train":
            command.add_argument("--modes", type=lambda text: tuple(text.split(",")), help="such as o,eg")
            command.add_argument("--out", type=Path, required=True, help="run folder")
            command.add_argument("--runs", type=int, default=20)
            command.add_argument("--first", type=int, help="train runs from this one on, and judge nothing")
            command.add_argument("--model", action="append", default=None)
            command.add_argument("--workers", type=int, default=1)
            command.add_argument("--doubled", action="store_true")
        else:
            command.add_argument("--out", type=Path, action="append", default=[], help="run folders")
            looks = {"type": lambda text: tuple(map(int, text.split(","))), "default": ()}
            command.add_argument("--looks", **looks, help="runs at which was looked, where some were added, as 10,36")
    options = parser.parse_args(argv)
    if getattr(options, "model", ()) is None:
        options.model = ["GIN"]
    with mirrored(RunConfig.read({"mirror": str(options.data)} if hasattr(options, "data") else {})):
        options.function(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
