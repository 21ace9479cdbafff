"""Speed of RINGS: complementarity of TU datasets and a large graph, permutation tests, memory of a stream.

Run ``python benchmarks/bench_rings.py [--data DIR] [--molecules N]``. Datasets are read from
``../shared/data/TUDataset`` beside the project (or ``--data``) and skipped where absent. Wall-clock
and CPU seconds are printed: on a shared machine the second is the one to read.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch_geometric.data import Data

from graphnetz.rings import complementarity, profile, separability
from graphnetz.rings.complementarity import FIXED

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "TUDataset"
REFERENCE = {"MUTAG": 0.1, "NCI1": 2.0, "2,000 nodes": 2.0, "15 pairs": 1.0}


def timed(label, function, *, repeat=3):
    wall, cpu = [], []
    for _ in range(repeat):
        start, start_cpu = time.perf_counter(), time.process_time()
        function()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    goal = next((value for key, value in REFERENCE.items() if label.startswith(key)), None)
    note = "" if goal is None else f"  goal {goal:g} s: {'met' if min(cpu) < goal else 'MISSED'}"
    print(f"{label:58s} wall {min(wall):8.3f} s   cpu {min(cpu):8.3f} s   first {cpu[0]:7.3f} s{note}")


def tu(name, folder):
    from torch_geometric.datasets import TUDataset

    root = Path(tempfile.mkdtemp(prefix="rings-"))
    shutil.copytree(folder / name, root / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TUDataset(str(root), name, use_node_attr=True)


def molecules(count):
    """Random trees with a few rings, the size of drug-like molecules, made one at a time."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        n = int(rng.integers(12, 40))
        child = np.arange(1, n)
        parent = np.maximum(child - rng.integers(1, 4, size=n - 1), 0)
        ring = rng.integers(n, size=(2, 3))
        edges = np.concatenate([np.stack([child, parent]), ring], axis=1)
        x = np.eye(9, dtype=np.float32)[rng.integers(9, size=n)]
        yield Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(np.concatenate([edges, edges[::-1]], axis=1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--molecules", type=int, default=100_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        measure(options)


def measure(options):
    for name in ("MUTAG", "NCI1"):
        if (options.data / name).is_dir():
            dataset = tu(name, options.data)
            timed(f"{name}, 5 perturbations x t = 1..10", lambda d=dataset: profile(d, perturbations=FIXED))
    graph = nx.barabasi_albert_graph(2000, 3, seed=0)
    edges = np.array(graph.edges).T
    data = Data(
        edge_index=torch.from_numpy(np.concatenate([edges, edges[::-1]], axis=1)),
        x=torch.from_numpy(np.random.default_rng(0).normal(size=(2000, 16))),
    )
    timed("2,000 nodes, 5 perturbations x t = 1..10", lambda: profile(data, perturbations=FIXED))
    rng = np.random.default_rng(0)
    scores = {mode: rng.normal(size=100) for mode in ("o", "eg", "cg", "rg", "cf", "rf")}
    for statistic in ("ks", "ranksum", "signedrank", "bootstrap"):
        label = f"15 pairs x 10,000, 100 runs per mode, {statistic}"
        timed(label, lambda s=statistic: separability(scores, statistic=s))
    start = time.process_time()
    values = complementarity(molecules(options.molecules), t=range(1, 11))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds = time.process_time() - start
    print(
        f"{len(values):,} molecules streamed at t = 1..10: cpu {seconds:.1f} s, peak memory {peak:.2f} GB (goal 2 GB)"
    )


if __name__ == "__main__":
    main()
