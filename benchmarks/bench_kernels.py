"""Milliseconds per epoch of four encoders: plain PyG layers against the kernels, on one thread.

Run ``python benchmarks/bench_kernels.py [--repeats 3] [--epochs 5]``. Both sides train the same
architecture with the same parameters; runs are interleaved and timed by the CPU time of the process,
so that the ratios hold on a busy machine too. The workloads are

- ``cora``: 2,708 nodes, 10,556 arcs, 1,433 features of which 1.3 % are not zero, 140 training nodes,
  7 classes; one step, then validation and test accuracy;
- ``links``: 5,000 nodes, 30,000 edges, three log-degree features; one step on all edges and as many
  negatives, then ROC-AUC of 3,000 held-out pairs;
- ``onehot``: the same with one-hot features, which a plain layer multiplies and aggregates densely.

Both sides do one evaluation pass per epoch. The kernels' side is the whole fast path: besides the layers
it restricts the ``cora`` step to the receptive field, draws its own dropout, and uses the fused optimiser,
the pair decoder and the sorted ROC-AUC.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, TransformerConv

from graphnetz import kernels as gk
from graphnetz._core.malloc import reuse_memory

ACTIVATION: dict[str, Callable[[Tensor], Tensor]] = {"gcn": F.relu, "sage": F.relu, "gat": F.elu, "transformer": F.relu}
INPUT_DROPOUT = {"gat": 0.6}
HIDDEN_DROPOUT = {"sage": 0.5, "gat": 0.6, "transformer": 0.1}


def layers(name: str, width: int, out: int, hidden: int = 64) -> nn.ModuleList:
    pairs = {
        "gcn": lambda: (GCNConv(width, hidden), GCNConv(hidden, out)),
        "sage": lambda: (SAGEConv(width, hidden), SAGEConv(hidden, out)),
        "gat": lambda: (
            GATConv(width, hidden, heads=8, dropout=0.6),
            GATConv(8 * hidden, out, heads=1, concat=False, dropout=0.6),
        ),
        "transformer": lambda: (
            TransformerConv(width, hidden, heads=4, dropout=0.1),
            TransformerConv(4 * hidden, out, heads=1, concat=False, dropout=0.1),
        ),
    }
    torch.manual_seed(0)
    return nn.ModuleList(pairs[name]())


class Plain(nn.Module):
    def __init__(self, name: str, width: int, out: int) -> None:
        super().__init__()
        self.name, self.convs = name, layers(name, width, out)

    def forward(self, x: Tensor, graph: Tensor) -> Tensor:
        x = F.dropout(x, INPUT_DROPOUT.get(self.name, 0.0), self.training)
        x = ACTIVATION[self.name](self.convs[0](x, graph))
        x = F.dropout(x, HIDDEN_DROPOUT.get(self.name, 0.0), self.training)
        return self.convs[1](x, graph)


def cora_like(rng: np.random.Generator) -> dict[str, Tensor]:
    nodes, width = 2708, 1433
    half = rng.integers(0, nodes, (2, 5278))
    x = torch.from_numpy((rng.random((nodes, width)) < 0.0127).astype(np.float32))
    x = x / x.sum(1, keepdim=True).clamp(min=1.0)
    places = torch.from_numpy(rng.permutation(nodes))
    return {
        "x": x,
        "edge_index": torch.from_numpy(np.concatenate([half, half[::-1]], axis=1)),
        "y": torch.from_numpy(rng.integers(0, 7, nodes)),
        "train": places[:140],
        "valid": places[140:640],
        "test": places[640:1640],
    }


def links_like(rng: np.random.Generator, *, onehot: bool = False) -> dict[str, Tensor]:
    nodes = 5000
    half = rng.integers(0, nodes, (2, 30_000))
    ends = torch.from_numpy(half)
    degrees = torch.stack([torch.bincount(row, minlength=nodes) for row in (*ends, ends.reshape(-1))], dim=1)
    return {
        "x": torch.eye(nodes) if onehot else degrees.float().log1p(),
        "edge_index": torch.from_numpy(np.concatenate([half, half[::-1]], axis=1)),
        "positive": torch.from_numpy(half),
        "held": torch.from_numpy(rng.integers(0, nodes, (2, 3000))),
    }


def node_epoch(model: Plain, data: dict[str, Tensor], optimiser: torch.optim.Optimizer, fast: bool) -> None:
    model.train()
    optimiser.zero_grad()
    if fast:
        out = model(data["field_x"], data["field"].edges(list(model.convs)))
        loss = F.cross_entropy(out, data["y"][data["train"]])
    else:
        out = model(data["x"], data["edge_index"])
        loss = F.cross_entropy(out[data["train"]], data["y"][data["train"]])
    loss.backward()
    optimiser.step()
    model.eval()
    with torch.no_grad():
        best = model(data["x"], data["edge_index"]).argmax(1)
        for part in ("valid", "test"):
            float((best[data[part]] == data["y"][data[part]]).float().mean())


def link_epoch(model: Plain, data: dict[str, Tensor], optimiser: torch.optim.Optimizer, fast: bool) -> None:
    model.train()
    optimiser.zero_grad()
    z = model(data["x"], data["edge_index"])
    pairs = torch.cat([data["positive"], torch.randint(z.size(0), data["positive"].shape)], dim=1)
    score = gk.pair_scores(z, pairs) if fast else (z[pairs[0]] * z[pairs[1]]).sum(-1)
    target = torch.zeros(pairs.size(1))
    target[: data["positive"].size(1)] = 1.0
    F.binary_cross_entropy_with_logits(score, target).backward()
    optimiser.step()
    model.eval()
    with torch.no_grad():
        z = model(data["x"], data["edge_index"])
        scores = (z[data["held"][0]] * z[data["held"][1]]).sum(-1).numpy()
        truth = np.arange(scores.size) % 2
        (gk.roc_auc if fast else roc_auc_score)(truth, scores)


WORKLOADS = {
    "cora": (cora_like, node_epoch, 7),
    "links": (links_like, link_epoch, 64),
    "onehot": (functools.partial(links_like, onehot=True), link_epoch, 64),
}


def measure(workload: str, name: str, *, epochs: int, repeats: int) -> tuple[float, float]:
    """Median CPU milliseconds per epoch of (plain, fast), interleaved."""
    build, epoch, out = WORKLOADS[workload]
    data = build(np.random.default_rng(0))
    if "train" in data:
        field = gk.receptive_field(data["edge_index"], data["train"], num_layers=2, num_nodes=data["x"].size(0))
        data["field"], data["field_x"] = field, field.inputs(gk.input_features(data["x"]))
    sides = []
    times: tuple[list[float], list[float]] = ([], [])
    with contextlib.ExitStack() as stack:
        for fast in (False, True):
            model = Plain(name, data["x"].size(1), out)
            if fast:
                stack.enter_context(gk.accelerate(model, Data(x=data["x"])))
            optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4, fused=fast)
            sides.append((model, optimiser, fast))
            epoch(model, data, optimiser, fast)  # compiles, sorts, allocates
        for _ in range(repeats):
            for model, optimiser, fast in sides:
                started = time.process_time()
                for _ in range(epochs):
                    epoch(model, data, optimiser, fast)
                times[fast].append((time.process_time() - started) / epochs * 1e3)
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workload", choices=[*WORKLOADS], action="append")
    parser.add_argument("--model", choices=[*ACTIVATION], action="append")
    parser.add_argument("--reuse-memory", action="store_true", help="keep freed arrays; speeds up both sides")
    options = parser.parse_args()
    torch.set_num_threads(1)
    gk.load()
    if options.reuse_memory:
        reuse_memory()
    print(f"{'workload':9s}{'model':13s}{'plain ms':>10s}{'kernels ms':>12s}{'ratio':>8s}")
    for workload in options.workload or WORKLOADS:
        for name in options.model or ACTIVATION:
            plain, fast = measure(workload, name, epochs=options.epochs, repeats=options.repeats)
            print(f"{workload:9s}{name:13s}{plain:10.1f}{fast:12.2f}{plain / fast:8.1f}", flush=True)


if __name__ == "__main__":
    main()
