"""Time and peak memory against nodes, edges, seeds and cells: measured, written, drawn.

``python benchmarks/scaling.py [--quick]`` writes ``benchmarks/results/scaling.json`` and ``docs/images/scaling.png``.
Every point is a fresh process on one core. Nodes and edges: GCN, 20 epochs on a random graph of average degree 10
(nodes) or of 10,000 nodes (edges), seconds of training only. Seeds: GCN, 30 epochs on a graph of 2,000 nodes, the
whole of `run_benchmark` after imports. Cells: a store is planned, filled with 100-epoch histories and read.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
POINTS = {
    "nodes": [1_000, 3_000, 10_000, 30_000],
    "edges": [20_000, 60_000, 200_000, 600_000],
    "seeds": [1, 3, 10],
    "cells": [100, 1_000, 10_000],
}
QUICK = {axis: values[:2] for axis, values in POINTS.items()}


def random_graph(nodes: int, edges: int):
    """A labelled random graph; ``edges`` counts both directions."""
    import numpy as np
    import torch
    from torch_geometric.data import Data

    rng = np.random.default_rng(0)
    half = rng.integers(0, nodes, (2, edges // 2))
    place = torch.from_numpy(rng.permutation(nodes))
    masks = {f"{part}_mask": place % 3 == k for k, part in enumerate(("train", "val", "test"))}
    return Data(
        x=torch.from_numpy(rng.normal(size=(nodes, 64)).astype(np.float32)),
        edge_index=torch.from_numpy(np.concatenate([half, half[::-1]], axis=1)),
        y=torch.from_numpy(rng.integers(0, 4, nodes)),
        **masks,
    )


def train(nodes: int, edges: int) -> float:
    """Seconds of 20 epochs of GCN."""
    import graphnetz.kernels as kernels
    from graphnetz._core.malloc import reuse_memory
    from graphnetz._core.rng import training_context
    from graphnetz.models import MODELS
    from graphnetz.records import Protocol
    from graphnetz.tasktypes import TASK_TYPES, fit

    kernels.load()
    reuse_memory()
    task = TASK_TYPES["node_cls"]
    with training_context(0):
        split = task.split(random_graph(nodes, edges), 0)
        model = MODELS["GCN"].build("node_cls", split.dims, 64)
        begin = time.perf_counter()
        with kernels.accelerate(model, split.data):
            fit(task, model, split, Protocol(epochs=20))
        return time.perf_counter() - begin


def seeds(count: int) -> float:
    """Seconds of a benchmark of one task, one model and ``count`` seeds on one worker."""
    from graphnetz import models, run_benchmark
    from graphnetz.datasets import task_from_dataset

    task = task_from_dataset("random", "node_cls", random_graph(2000, 20_000), epochs=30)
    begin = time.perf_counter()
    run_benchmark(tasks=[task], models=[models.GCN], seeds=range(count), workers=1, verbose=False)
    return time.perf_counter() - begin


def cells(count: int) -> float:
    """Seconds to plan, fill and read a store."""
    from bench_engine import bench_store

    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        bench_store(Path(folder), count)
        return time.perf_counter() - begin


MEASURES = {
    "nodes": lambda n: train(n, 10 * n),
    "edges": lambda m: train(10_000, m),
    "seeds": seeds,
    "cells": cells,
}


def point(axis: str, value: int) -> dict[str, float]:
    """One point in a fresh process."""
    env = dict(os.environ, OMP_NUM_THREADS="1")
    command = [sys.executable, "-W", "ignore", str(Path(__file__)), "--point", axis, str(value)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def draw(results: dict[str, list[dict[str, float]]], target: Path) -> None:
    """Two rows, time and memory; both axes logarithmic, with the slope of proportional growth for comparison."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure = Figure(figsize=(11, 5), layout="constrained")
    axes = figure.subplots(2, len(results), sharex="col", squeeze=False)
    labels = {"nodes": "nodes (degree 10)", "edges": "edges (10,000 nodes)", "seeds": "seeds", "cells": "cells"}
    for column, (axis, rows) in enumerate(results.items()):
        x = [row["value"] for row in rows]
        for row, (key, name) in enumerate((("seconds", "seconds"), ("peak_mb", "peak memory, MB"))):
            panel = axes[row][column]
            y = [r[key] for r in rows]
            panel.loglog(x, y, marker="o", color="#0b5394", linewidth=1.6)
            if key == "seconds":
                panel.loglog(x, [y[-1] * v / x[-1] for v in x], color="0.6", linestyle=":", label="proportional")
            panel.grid(True, which="major", color="0.9")
            panel.spines[["top", "right"]].set_visible(False)
            panel.set_xticks(x, [f"{v:,}" for v in x])
            panel.xaxis.set_minor_formatter(NullFormatter())
            panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            panel.yaxis.set_minor_formatter(NullFormatter())
            if column == 0:
                panel.set_ylabel(name)
        axes[1][column].set_ylim(bottom=100, top=max(2000.0, *(2 * r["peak_mb"] for r in rows)))
        axes[1][column].set_xlabel(labels[axis])
    axes[0][0].legend(frameon=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two points per axis")
    parser.add_argument("--point", nargs=2, metavar=("AXIS", "VALUE"), help=argparse.SUPPRESS)
    parser.add_argument("--draw", action="store_true", help="only draw what was measured before")
    options = parser.parse_args()
    store = ROOT / "benchmarks" / "results" / "scaling.json"
    if options.point:
        sys.path.insert(0, str(Path(__file__).parent))
        axis, value = options.point[0], int(options.point[1])
        seconds = MEASURES[axis](value)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak = max(peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1e3
        print(json.dumps({"value": value, "seconds": round(seconds, 4), "peak_mb": round(peak)}))
        return
    if options.draw:
        results = json.loads(store.read_text())
    else:
        results = {}
        for axis, values in (QUICK if options.quick else POINTS).items():
            results[axis] = []
            for value in values:
                results[axis].append(point(axis, value))
                print(axis, results[axis][-1], flush=True)
        store.parent.mkdir(parents=True, exist_ok=True)
        store.write_text(json.dumps(results, indent=1) + "\n")
    draw(results, ROOT / "docs" / "images" / "scaling.png")


if __name__ == "__main__":
    main()
