"""Positional encodings, seconds per epoch and memory per batch of the architectures of Benchmarking GNNs.

Run on an idle machine: ``python benchmarks/bench_bgnn.py [encodings] [epochs]``. One thread, best of five.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch_geometric.transforms import AddLaplacianEigenvectorPE

import graphnetz.kernels as kernels
from graphnetz.datasets.generators import properties, sbm, symmetric
from graphnetz.models import MODELS
from graphnetz.models.budget import width_for
from graphnetz.models.memory import batch_memory
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES
from graphnetz.tasktypes.encodings import LaplacianPE
from graphnetz.tasktypes.loop import OPTIMISERS, _train_epoch

REPEATS = 5


def best(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Smallest processor time of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def encodings() -> None:
    """Our batched solver beside PyTorch Geometric's transform, graph by graph."""
    sets = {
        "CSL (150 x 41 nodes), k = 20": (symmetric.csl(0), 20),
        "CYCLES (300 graphs), k = 20": (symmetric.cycles(0, train=100, val=100, test=100), 20),
        "GraphTheoryProp (300 graphs), k = 12": (properties.graph_theory(0, train=100, val=100, test=100), 12),
        "CLUSTER (100 graphs), k = 20": (sbm.cluster(0, train=40, val=30, test=30), 20),
    }
    print(f"{'graphs':40} {'ours ms':>9} {'PyG ms':>9} {'ratio':>6}")
    for name, (graphs, k) in sets.items():
        small = [graph for graph in graphs if graph.num_nodes > k + 1]
        theirs = AddLaplacianEigenvectorPE(k, attr_name="pe", is_undirected=True)
        ours = best(lambda: LaplacianPE(k).many(small))  # noqa: B023
        other = best(lambda: [theirs(graph.clone()) for graph in small])  # noqa: B023
        print(f"{name:40} {1e3 * ours:9.1f} {1e3 * other:9.1f} {other / ours:6.1f}")


def epochs() -> None:
    """Seconds per epoch with and without kernels, and memory per batch, at 100k parameters."""
    sets = {
        "CSL": ("graph_cls", symmetric.csl(0), 5),
        "CYCLES, 500 graphs": ("graph_cls", symmetric.cycles(0, train=500, val=10, test=10), 25),
        "CLUSTER, 64 graphs": ("node_cls", sbm.cluster(0, train=64, val=4, test=4), 16),
    }
    print(f"{'data':20} {'model':16} {'parameters':>10} {'kernels s':>9} {'plain s':>9} {'MB/batch':>9}")
    for label, (task_type, data, batch_size) in sets.items():
        kind = TASK_TYPES[task_type]
        split = kind.split(data, 0)
        for name in ("bgnn.MLP", "bgnn.GCN", "bgnn.GAT", "bgnn.GIN", "bgnn.GatedGCN"):
            found = width_for(MODELS[name], task_type, split.dims, "100k")
            model = MODELS[name].build(task_type, split.dims, found.width)
            protocol = Protocol(lr=1e-3, batch_size=batch_size)
            optimiser = OPTIMISERS["adam"](list(model.parameters()), lr=1e-3, weight_decay=0.0)
            seconds = []
            for on in (True, False):
                with kernels.enabled(on):
                    seconds.append(best(lambda: _train_epoch(kind, model, split, protocol, optimiser), 3))  # noqa: B023
            memory = batch_memory(kind, model, split, batch_size).total / 1e6
            print(f"{label:20} {name:16} {found.parameters:10,} {seconds[0]:9.3f} {seconds[1]:9.3f} {memory:9.1f}")


def main() -> None:
    """Run the parts named on the command line, or both."""
    torch.set_num_threads(1)
    parts = {"encodings": encodings, "epochs": epochs}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
