"""What it costs to keep cells apart: ``python benchmarks/bench_isolation.py [--rounds N]``.

Milliseconds of processor time, medians: the checks that every cell gets, timed by themselves; and whole cells of a
user's two-layer network trained in the worker, on a copy of the data, and in a child of the worker, interleaved, as
differences from the first. Data: a graph of Cora's size with 100 epochs, and 188 molecule-sized graphs with 40.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, global_mean_pool

from graphnetz import task_from_dataset
from graphnetz._core import malloc
from graphnetz.engine.executors import memory, warm, worker_process
from graphnetz.engine.guard import switched, switches
from graphnetz.engine.worker import Workbench
from graphnetz.models import spec_from
from graphnetz.records import Cell, Protocol, Task


class Network(nn.Module):
    """What a user would bring."""

    task_types = ("node_cls", "graph_cls")

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = GCNConv(in_channels, hidden_channels)
        self.second = GCNConv(hidden_channels, out_channels)

    def forward(self, data: Data) -> torch.Tensor:
        x = self.second(self.first(data.x, data.edge_index).relu(), data.edge_index)
        return global_mean_pool(x, data.batch) if (data.get("num_graphs") or 1) > 1 else x


def one_graph() -> Data:
    rng = torch.Generator().manual_seed(0)
    half, n = torch.randint(2708, (2, 5278), generator=rng), 2708
    data = Data(x=(torch.rand(n, 1433, generator=rng) < 0.013).float(), edge_index=torch.cat([half, half.flip(0)], 1))
    data.y = torch.randint(7, (n,), generator=rng)
    for name, part in (("train_mask", slice(140)), ("val_mask", slice(140, 640)), ("test_mask", slice(1708, n))):
        data[name] = torch.zeros(n, dtype=torch.bool)
        data[name][part] = True
    return data


def many_graphs() -> list[Data]:
    rng = torch.Generator().manual_seed(0)
    found = []
    for i in range(188):
        half = torch.randint(18, (2, 20), generator=rng)
        x = torch.nn.functional.one_hot(torch.randint(7, (18,), generator=rng), 7).float()
        found.append(Data(x=x, edge_index=torch.cat([half, half.flip(0)], 1), y=torch.tensor([i % 2])))
    return found


def spent(act: Callable[[], object]) -> float:
    """Milliseconds of processor time, children that were waited for included."""

    def now() -> float:
        both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(one.ru_utime + one.ru_stime for one in both)

    begin = now()
    act()
    return 1e3 * (now() - begin)


def in_child(act: Callable[[], object]) -> None:
    """What a worker does for a cell of code that is not quiet, without the messages to the driver."""
    gc.freeze()
    child = os.fork()
    if child == 0:
        try:
            known = warm.known()
            act()
            warm.news(known)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def measure(task: Task, *, epochs: int, rounds: int) -> dict[str, float]:
    bench = Workbench({task.name: task}, {"Network": spec_from(Network)}, "data")
    cells = [Cell(f"{i}", task.name, "Network", i % 3, Protocol(epochs=epochs)) for i in range(rounds + 3)]
    for cell in cells[:3]:
        first = worker_process.measured(cell, bench.lent, baseline=0.0)
        assert first.ok, first.error
    gc.collect()
    ways = {
        "worker": lambda cell: worker_process.measured(cell, bench.lent, baseline=0.0),
        "copy": lambda cell: worker_process.measured(cell, bench, baseline=0.0),
        "child": lambda cell: in_child(
            lambda: worker_process.measured(cell, bench.apart, baseline=memory.resident(), forked=True)
        ),
    }
    taken: dict[str, list[float]] = {name: [] for name in ("fork", "looking", *ways)}
    guard = bench._guarded()
    for cell in cells[3:]:
        bench.prepare(cell)
        watch = bench.seen_by(cell).cache["watch"]
        for name, act in ways.items():
            taken[name].append(spent(lambda act=act, cell=cell: act(cell)))
        taken["fork"].append(spent(lambda: in_child(lambda: None)))
        begin = time.process_time()
        with guard.restoring():
            _ = [*watch.changed(), *switched(switches()), *guard.changed()]
        taken["looking"].append(1e3 * (time.process_time() - begin))
    found = {name: statistics.median(taken[name]) for name in ("worker", "looking", "fork")}
    for name in ("copy", "child"):
        pairs = zip(taken[name], taken["worker"], strict=True)
        found[name] = statistics.median(mine - base for mine, base in pairs)
    return found | {"resident": memory.resident() / 1e6}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    torch.set_num_threads(1)
    malloc.reuse_memory()
    worker_process.here()
    tasks = {
        "Cora's size": (task_from_dataset("one", "node_cls", one_graph()), 100),
        "188 graphs": (task_from_dataset("many", "graph_cls", many_graphs()), 40),
    }
    for name, (task, epochs) in tasks.items():
        found = measure(task, epochs=epochs, rounds=options.rounds)
        whole = found["worker"]
        words = [
            f"{key} {found[key]:.1f} ms ({found[key] / whole:.1%})" for key in ("looking", "copy", "child", "fork")
        ]
        print(f"{name}: a cell {whole:.0f} ms; {', '.join(words)}; resident {found['resident']:.0f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
