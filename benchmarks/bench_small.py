"""Micro-benchmarks: the machine's limits, import time, statistics, batches.

``python benchmarks/bench_small.py [limits] [import] [stats] [batches]``.

Kernels have ``bench_kernels.py``, the store and the engine ``bench_engine.py``. Every line is the median of several
runs; imports are fresh processes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

IMPORTS = {
    "command line (--version)": "import sys; sys.argv = ['graphnetz', '--version']\n"
    "from graphnetz.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass",
    "statistics": "import graphnetz.stats",
    "torch": "import torch",
    "torch_geometric": "import torch_geometric",
    "everything a run needs": "import graphnetz.engine.run",
}


def timed(function: Callable[[], object], repeats: int) -> float:
    """Median seconds of ``function``."""
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def bench_import() -> dict[str, object]:
    """Seconds of a fresh interpreter, its own start included, and whether torch was loaded."""
    figures: dict[str, object] = {}
    tell = "\nimport sys; print('torch' in sys.modules)"
    for name, code in IMPORTS.items():
        run = [sys.executable, "-c", code + tell]
        with_torch = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()[-1] == "True"
        seconds = timed(lambda run=run: subprocess.run(run, check=True, capture_output=True), 3)
        figures[name] = {"seconds": round(seconds, 2), "torch": with_torch}
    return figures


def bench_stats() -> dict[str, object]:
    """Milliseconds of the statistics of a table of 10 models, 20 tasks and 10 seeds."""
    import numpy as np

    from graphnetz import stats

    scores = np.random.default_rng(0).normal(0.8, 0.05, (20, 10, 10))
    ranks = stats.rank_rows(scores.mean(axis=2), [True] * len(scores))
    jobs: dict[str, Callable[[], object]] = {
        "t interval": lambda: stats.interval(scores[0, 0]),
        "BCa interval": lambda: stats.interval(scores[0, 0], method="bca"),
        "paired t test": lambda: stats.paired_test(scores[0, 0], scores[0, 1]),
        "Friedman test": lambda: stats.friedman(ranks),
    }
    return {name: round(1e3 * timed(job, 20), 3) for name, job in jobs.items()}


def bench_batches() -> dict[str, object]:
    """Microseconds to select 32 of 188 molecule-sized graphs, by the kernels, plainly, and by collating them."""
    import torch
    from torch_geometric.data import Batch

    import graphnetz.kernels as kernels
    from graphnetz.tasktypes.packing import pack
    from workloads import molecules

    torch.set_num_threads(1)
    graphs = molecules()
    packed, index = pack(graphs), torch.randperm(188)[:32]
    kernels.load()

    def plainly() -> object:
        with kernels.enabled(False):
            return packed.select(index)

    return {
        "kernels": round(1e6 * timed(lambda: packed.select(index), 200)),
        "plain": round(1e6 * timed(plainly, 200)),
        "collated": round(1e6 * timed(lambda: Batch.from_data_list([graphs[i] for i in index.tolist()]), 50)),
    }


def bench_limits() -> dict[str, object]:
    """What one core of this machine can do: copying, gathering rows, multiplying matrices (float32)."""
    import torch

    torch.set_num_threads(1)
    big, rows = torch.ones(64 * 2**20 // 4), torch.ones(5000, 512)
    index = torch.randint(5000, (60_000,), generator=torch.Generator().manual_seed(0))
    a, b, copy, out = torch.ones(2048, 512), torch.ones(512, 512), torch.empty_like(big), torch.empty(2048, 512)
    picked = torch.empty(60_000, 512)
    seconds = {
        "copy": timed(lambda: copy.copy_(big), 9),
        "gather": timed(lambda: torch.index_select(rows, 0, index, out=picked), 9),
        "multiply": timed(lambda: torch.mm(a, b, out=out), 30),
    }
    return {
        "copy_gb_per_s": round(2 * big.nbytes / seconds["copy"] / 1e9, 1),
        "gather_gb_per_s": round(2 * picked.nbytes / seconds["gather"] / 1e9, 1),
        "multiply_gflop_per_s": round(2 * 2048 * 512 * 512 / seconds["multiply"] / 1e9),
    }


BENCHES = {"limits": bench_limits, "import": bench_import, "stats": bench_stats, "batches": bench_batches}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(BENCHES)}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in parser.parse_args().names or BENCHES:
        print(json.dumps({"bench": name, **BENCHES[name]()}), flush=True)


if __name__ == "__main__":
    main()
