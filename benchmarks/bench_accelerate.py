"""How a user's two-GCNConv module compares with the built-in GCN, through the same engine.

Both train on Cora (nodes and links) and ENZYMES, one after the other in one process, and the least CPU time of several
rounds is compared. With --check the script fails when a ratio is above its limit.

    python benchmarks/bench_accelerate.py --folder ../shared/data --check
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.datasets import Planetoid, TUDataset
from torch_geometric.nn import GCNConv, global_mean_pool

from graphnetz import kernels
from graphnetz._core.malloc import reuse_memory
from graphnetz._core.rng import training_context
from graphnetz.engine.fitting import train_once
from graphnetz.models import MODELS, ModelSpec
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES


class UserGCN(nn.Module):
    """What a tutorial writes."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(in_channels, hidden_channels)
        self.conv2 = GCNConv(hidden_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        x = self.conv1(data.x, data.edge_index).relu()
        return self.conv2(x, data.edge_index)


class UserGraphGCN(nn.Module):
    """The same with pooling."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.inner = UserGCN(in_channels, hidden_channels, hidden_channels)
        self.head = nn.Linear(hidden_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        return self.head(global_mean_pool(self.inner(data), data.batch))


WORKLOADS = {"node_cls": (UserGCN, 40, 1.5), "link_pred": (UserGCN, 10, 1.3), "graph_cls": (UserGraphGCN, 3, 1.3)}
"""The user's module, epochs per round, and the largest ratio to the built-in GCN's time."""


def load(kind: str, folder: Path) -> Any:
    if kind == "graph_cls":
        return list(TUDataset(str(folder / "TUDataset"), "ENZYMES"))
    return Planetoid(str(folder / "Planetoid"), "Cora")[0]


def measure(kind: str, folder: Path, rounds: int) -> tuple[float, float, float]:
    """Milliseconds of CPU per epoch: the built-in GCN, the user's module, and that without the kernels."""
    module, epochs, _ = WORKLOADS[kind]
    task = TASK_TYPES[kind]
    protocol = Protocol(epochs=epochs, hidden_channels=64, **dict(task.defaults))
    sides = [(MODELS["GCN"], True), (ModelSpec(module), True), (ModelSpec(module), False)]
    best = [float("inf")] * 3
    with training_context(0):
        split = task.split(load(kind, folder), 0)
        for number in range(rounds + 1):
            for side, (spec, fast) in enumerate(sides):
                with kernels.enabled(fast):
                    begin = time.process_time()
                    train_once(task, spec, split, protocol, 0)
                    spent = time.process_time() - begin
                if number:  # the first round compiles, sorts and allocates
                    best[side] = min(best[side], spent / epochs * 1e3)
    return best[0], best[1], best[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where Planetoid and TUDataset are kept")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--check", action="store_true", help="fail above the limits")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kernels.load()
    reuse_memory()
    above = []
    print(f"{'task':12s}{'built-in ms':>12s}{'user ms':>10s}{'plain ms':>10s}{'ratio':>8s}{'limit':>7s}")
    for kind, (_, _, limit) in WORKLOADS.items():
        own, user, plain = measure(kind, options.folder, options.rounds)
        print(f"{kind:12s}{own:12.2f}{user:10.2f}{plain:10.2f}{user / own:8.2f}{limit:7.1f}", flush=True)
        if user / own > limit:
            above.append(kind)
    if options.check and above:
        raise SystemExit(f"Above the limit: {', '.join(above)}.")


if __name__ == "__main__":
    main()
