"""Layers that the kernels do not know, through `accelerate` against the plain loop: is anything slower than before?

``python benchmarks/bench_others.py [name ...]``. Every model is two layers of a kind between two linear maps. Plain and
accelerated epochs of training and evaluation take turns, on a Cora-shaped graph and on batches of a tenth of the
ENZYMES-shaped graphs, one thread, by the processor time of the process; the ratio is the median over rounds.
"""

from __future__ import annotations

import copy
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import nn as g

from graphnetz import kernels
from rival_cases import graph_epoch, loaders_of, node_epoch, single_graph, small_graphs

ROUNDS, LEAST = 5, 0.1
WIDE = 32

LAYERS: dict[str, Callable[[], nn.Module]] = {
    "GCN2Conv": lambda: g.GCN2Conv(WIDE, alpha=0.1), "TAGConv": lambda: g.TAGConv(WIDE, WIDE),
    "APPNP": lambda: g.APPNP(5, 0.1), "ARMAConv": lambda: g.ARMAConv(WIDE, WIDE),
    "FiLMConv": lambda: g.FiLMConv(WIDE, WIDE), "GENConv": lambda: g.GENConv(WIDE, WIDE),
    "RGCNConv": lambda: g.RGCNConv(WIDE, WIDE, 2), "MixHopConv": lambda: g.MixHopConv(WIDE, WIDE, powers=[1]),
    "LEConv": lambda: g.LEConv(WIDE, WIDE), "GatedGraphConv": lambda: g.GatedGraphConv(WIDE, 2),
    "SuperGATConv": lambda: g.SuperGATConv(WIDE, WIDE),
    "GPSConv": lambda: g.GPSConv(WIDE, g.GCNConv(WIDE, WIDE), heads=2),
}  # fmt: skip


class Net(nn.Module):
    """A linear map, two layers of one kind, a linear map; pooled for graphs."""

    def __init__(self, kind: str, wide: int, out: int, *, pooled: bool) -> None:
        super().__init__()
        self.kind, self.pooled = kind, pooled
        self.first, self.last = nn.Linear(wide, WIDE), nn.Linear(WIDE, out)
        self.layers = nn.ModuleList(LAYERS[kind]() for _ in range(2))

    def forward(self, data: Any) -> Tensor:
        x = start = self.first(data.x).relu()
        for layer in self.layers:
            if self.kind == "GCN2Conv":
                x = layer(x, start, data.edge_index)
            elif self.kind == "RGCNConv":
                x = layer(x, data.edge_index, (data.edge_index[0] < data.edge_index[1]).long())
            elif self.kind == "GPSConv" and self.pooled:
                x = layer(x, data.edge_index, data.batch)
            else:
                x = layer(x, data.edge_index)
            x = x.relu()
        return self.last(g.global_mean_pool(x, data.batch) if self.pooled else x)


def ratio(kind: str, *, pooled: bool) -> tuple[float, float, str]:
    """Milliseconds of a plain epoch, ratio plain / accelerated, and how many layers ran in kernels."""
    torch.manual_seed(0)
    if pooled:
        graphs = small_graphs("enzymes", 0.1)
        splits = {"train": list(range(len(graphs)))[6:], "val": [0, 1, 2], "test": [3, 4, 5]}
        data: Any = loaders_of(graphs, splits)
        ours = loaders_of(graphs, splits)
        wide, epoch = graphs[0].x.shape[1], graph_epoch
        classes = 1 + max(int(item.y.max()) for item in graphs)
    else:
        data = ours = single_graph("cora")
        wide, epoch, classes = data.x.shape[1], node_epoch, 1 + int(data.y.max())
    net = Net(kind, wide, classes, pooled=pooled)
    twin = copy.deepcopy(net)
    optimisers = [torch.optim.Adam(one.parameters(), lr=0.01) for one in (net, twin)]

    def timed(run: Callable[[], None]) -> float:
        count, begin = 0, time.process_time()
        while count < 2 or time.process_time() - begin < LEAST:
            run()
            count += 1
        return (time.process_time() - begin) / count

    # GPS mixes all nodes of a graph: a Cora-shaped one has seven million pairs, in plain and in ours.
    with kernels.accelerate(twin, ours) as layers:

        def plain() -> None:
            with kernels.enabled(False):
                epoch(net, data, optimisers[0])

        def fast() -> None:
            epoch(twin, ours, optimisers[1])

        plain(), fast()
        pairs = [(timed(plain), timed(fast)) for _ in range(ROUNDS)]
    return 1000 * statistics.median(p for p, _ in pairs), statistics.median(p / f for p, f in pairs), str(layers)


def main() -> None:
    torch.set_num_threads(1)
    print("| layer | graph | plain, ms | ratio | layers in kernels |\n|---|---|---|---|---|")
    for kind in sys.argv[1:] or LAYERS:
        for pooled in (False, True):
            if kind == "GPSConv" and not pooled:
                continue
            milliseconds, times, layers = ratio(kind, pooled=pooled)
            shape = "batches" if pooled else "cora"
            print(
                f"| {kind} | {shape} | {milliseconds:.3g} | {times:.2f} | {str(layers).partition(' (')[0]} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
