"""This project's kernels against what PyTorch Geometric offers on the CPU, with the equality of results beside it.

    python benchmarks/bench_rivals.py            Cora- and ENZYMES-shaped data, one thread (some minutes)
    python benchmarks/bench_rivals.py --full     all graphs, one and two threads, torch.compile too (hours)
    python benchmarks/bench_rivals.py --write    only write the table into docs/performance.md

Every row is a fresh process in which all sides take turns; it is kept in benchmarks/results/rivals.json, and a second
call goes on where the first stopped (--again measures again). One thread is timed by the processor time of the
process, so that its ratios hold on a busy machine; two threads by the clock, which needs an idle one.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "rivals.json"
PAGE = HERE.parent / "docs" / "performance.md"
MODELS = ("GCN", "GraphSAGE", "GIN", "GAT", "GATv2", "Transformer", "PNA", "GatedGCN", "EdgeCNN")
BUILT_IN = {"GCN": "GCN", "GraphSAGE": "GraphSAGE", "GIN": "GIN", "GAT": "GAT", "Transformer": "GraphTransformer",
            "PNA": "PNA", "GatedGCN": "bgnn.GatedGCN"}  # fmt: skip
"""Models that the project brings; their rival is the same module with the kernels off in a plain loop."""
CSR = ("GCN", "GraphSAGE", "GIN")
"""Layers for which a sparse matrix in place of the edge index saves the messages."""
DGL = ("GCN", "GraphSAGE", "GIN", "GAT", "GATv2")
LARGE = ("arxiv", "products/20")
QUICK, FULL = ("cora", "enzymes"), ("cora", "enzymes", "nci1", "arxiv", "products/20")
SKIPPED = {("arxiv", "EdgeCNN"), ("products/20", "EdgeCNN"), ("products/20", "PNA"), ("products/20", "GATv2"),
           ("products/20", "GatedGCN"), ("products/20", "Transformer"), ("products/20", "GAT")}  # fmt: skip
"""Rows whose plain side holds so many messages that it needs more than 16 GB."""
SECONDS = 0.4
"""Least time of one measurement."""

Epochs = Callable[[int], None]


class Case:
    """One graph and one kind of model: the sides that are compared, each a function that trains some epochs."""

    def __init__(self, graph: str, model: str, *, compiled: bool, dgl: bool) -> None:
        import torch

        from rival_cases import MANY, SINGLE, Net, loaders_of, single_graph, small_graphs

        self.graph, self.model, self.compiled, self.many = graph, model, compiled, graph in MANY
        self.open = contextlib.ExitStack()
        size = (MANY if self.many else SINGLE)[graph]
        self.size, self.dgl = size, dgl
        torch.manual_seed(0)
        self.net = lambda: Net(model, int(size["width"]), int(size["classes"]), pooled=self.many)
        if self.many:
            self.graphs = small_graphs(graph, 0.25 if graph == "nci1" else 1.0)
            order, tenth = torch.randperm(len(self.graphs)).tolist(), len(self.graphs) // 10
            self.splits = {"train": order[2 * tenth :], "val": order[:tenth], "test": order[tenth : 2 * tenth]}
            self.data: Any = loaders_of(self.graphs, self.splits)
        else:
            self.data = single_graph(graph)

    def sides(self) -> dict[str, Epochs]:
        """Sides by name. Those that begin with ``pyg`` know nothing of this project."""
        import torch

        found = {"pyg": self._looped(self.net()), "ours": self._looped(self.net(), fast=True)}
        if not self.many and self.model in CSR:
            found["pyg csr"] = self._looped(self.net(), sparse=True)
        if self.compiled:
            found["pyg compile"] = self._looped(torch.compile(self.net(), dynamic=self.many))
        if not self.many and self.model in DGL and self.dgl:
            from rival_cases import DGLNet, dgl_graph

            size, data = self.size, dgl_graph(self.data, self.model)
            found["dgl"] = self._looped(DGLNet(self.model, int(size["width"]), int(size["classes"])), data=data)
        found["ours engine"] = self._engine(None)
        if self.model in BUILT_IN:
            built = self._engine(BUILT_IN[self.model])
            if built is not None:
                found["pyg built-in"], found["ours built-in"] = built
        return {name: run for name, run in found.items() if run is not None}

    def _looped(self, model: Any, *, fast: bool = False, sparse: bool = False, data: Any = None) -> Epochs:
        import torch

        from graphnetz import kernels
        from rival_cases import graph_epoch, loaders_of, node_epoch

        data = data or (_sparse(self.data) if sparse else self.data)
        if fast:
            data = loaders_of(self.graphs, self.splits) if self.many else data  # the rivals' loaders stay as they are
            self.open.enter_context(kernels.accelerate(model, data))
        optimiser = torch.optim.Adam(model.parameters(), lr=0.01)

        def run(epochs: int) -> None:
            with kernels.enabled(fast):
                for _ in range(epochs):
                    (graph_epoch if self.many else node_epoch)(model, data, optimiser)

        return run

    def _engine(self, built_in: str | None) -> Any:
        """The engine's own loop around the user's module; around a registered model also that model in a plain loop."""
        from graphnetz import kernels
        from graphnetz._core.rng import training_context
        from graphnetz.engine.fitting import build_model, train_once
        from graphnetz.models import MODELS as REGISTERED
        from graphnetz.models import ModelSpec
        from graphnetz.records import GraphList, Protocol
        from graphnetz.tasktypes import TASK_TYPES

        name = "graph_cls" if self.many else "node_cls"
        task = TASK_TYPES[name]
        spec = ModelSpec(_user(self.net, pooled=self.many)) if built_in is None else REGISTERED[built_in]
        if built_in is not None and not spec.serves(name):
            return None
        given = GraphList(self.graphs, splits=[self.splits]) if self.many else self.data
        split = task.split(given, 0)

        def protocol(epochs: int) -> Protocol:
            return Protocol(epochs=epochs, hidden_channels=64, **dict(task.defaults))

        def run(epochs: int) -> None:
            with training_context(0, threads=_threads()):
                train_once(task, spec, split, protocol(epochs), 0)

        if built_in is None:
            return run
        with training_context(0), kernels.enabled(False):
            plain = build_model(task, spec, split, protocol(1))
        return self._looped(plain), run

    def difference(self) -> float:
        """Largest difference between plain and accelerated outputs and gradients, relative to the largest value.

        In float64 on small data, in float32 on large graphs.
        """
        import copy

        import torch

        from graphnetz import kernels

        dtype = torch.float32 if self.graph in LARGE else torch.float64
        batch = copy.copy(next(iter(self.data[0])) if self.many else self.data)
        batch.x = batch.x.to(dtype)
        model = self.net().to(dtype)
        found = []
        for fast in (False, True):
            with kernels.enabled(fast), kernels.accelerate(model, None if self.many else batch):
                out = model(batch)
                rows = torch.sin(torch.arange(out.numel(), dtype=dtype)).view_as(out)
                found.append([out.detach(), *torch.autograd.grad((out * rows).sum(), list(model.parameters()))])
        scale = max(float(part.abs().max()) for part in found[0][1:])
        return max(float((a - b).abs().max()) / scale for a, b in zip(*found, strict=True))


def _user(make: Callable[[], Any], *, pooled: bool) -> Any:
    """The user's module as a class that the engine builds; its widths are those of the data already."""
    from torch import nn

    class User(nn.Module):
        level = "graph" if pooled else "node"

        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
            super().__init__()
            self.inner = make()

        def forward(self, data: Any) -> Any:
            return self.inner(data)

    return User


def _sparse(data: Any) -> Any:
    """The same graph with its transposed adjacency as a CSR matrix in place of the edge index."""
    import copy

    import torch

    other = copy.copy(data)
    size = (data.num_nodes, data.num_nodes)
    ones = torch.ones(data.edge_index.size(1))
    other.edge_index = torch.sparse_coo_tensor(data.edge_index.flip(0), ones, size).coalesce().to_sparse_csr()
    return other


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def _peak() -> float:
    """Most resident memory since the last call of `_forget_peak`, in MB."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024  # type: ignore[index]


def _forget_peak() -> float:
    """Give freed memory back, start a new peak and return what is resident now, in MB."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def measure(graph: str, model: str, threads: int, *, rounds: int, compiled: bool, dgl: bool) -> dict[str, Any]:
    """Milliseconds per epoch of every side (median of ``rounds``), extra memory, and the difference of results."""
    import torch

    from graphnetz import kernels
    from limits import counted

    torch.set_num_threads(threads)
    kernels.load()
    clock = time.process_time if threads == 1 else time.perf_counter
    case = Case(graph, model, compiled=compiled, dgl=dgl)
    sides, epochs, memory = case.sides(), {}, {}
    for name, run in sides.items():
        run(1)  # compiles, sorts, allocates
        before, begin = _forget_peak(), clock()
        run(1)
        spent = clock() - begin
        epochs[name], memory[name] = max(1, round(SECONDS / max(spent, 1e-4))), max(0.0, _peak() - before)
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            begin = clock()
            run(epochs[name])
            times[name].append((clock() - begin) / epochs[name] * 1e3)
    row = {
        name: {"ms": statistics.median(values), "least": min(values), "mb": memory[name]}
        for name, values in times.items()
    }
    return {"sides": row, "difference": case.difference(), "limits": counted(sides) if threads == 1 else {}}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    import torch
    import torch_geometric

    versions = {"torch": torch.__version__, "torch_geometric": torch_geometric.__version__}
    load = round(os.getloadavg()[0], 1)
    return {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": load, **versions}


def collect(options: argparse.Namespace) -> None:
    """Measure the rows that are missing, each in a process of its own."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": {}}
    graphs = options.graphs or (FULL if options.full else QUICK)
    for graph in graphs:
        for model in options.models or MODELS:
            for threads in options.threads or ((1, 2) if options.full else (1,)):
                key = f"{graph} {model} {threads}"
                if (graph, model) in SKIPPED or (key in kept["rows"] and not options.again):
                    continue
                command = [sys.executable, __file__, "--rounds", str(options.rounds)]
                command += ["--row", graph, model, str(threads)]
                command += ["--dgl", str(options.dgl.resolve())] if options.dgl else []
                command += ["--compile"] if options.full and graph == "cora" else []
                done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
                if done.returncode:
                    print(f"{key}: {done.stderr.strip().splitlines()[-1] if done.stderr else 'failed'}", flush=True)
                    continue
                kept["rows"][key] = json.loads(done.stdout.splitlines()[-1])
                kept["machine"] = machine()
                RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
                sides = kept["rows"][key]["sides"]
                print(key, *(f"{name} {side['ms']:.1f}" for name, side in sides.items()), sep=", ", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all graphs, two threads, torch.compile on Cora")
    parser.add_argument("--graphs", nargs="*", choices=FULL)
    parser.add_argument("--models", nargs="*", choices=MODELS)
    parser.add_argument("--threads", nargs="*", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--again", action="store_true", help="measure rows that are already kept")
    parser.add_argument("--write", action="store_true", help="write the table and measure nothing")
    parser.add_argument("--dgl", type=Path, help="folder of DGL (pip install --no-deps --target FOLDER dgl==1.1.3)")
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--row", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if options.row:
        graph, model, threads = options.row
        sys.path += [str(options.dgl)] if options.dgl else []
        chosen = {"rounds": options.rounds, "compiled": options.compile, "dgl": options.dgl is not None}
        print(json.dumps(measure(graph, model, int(threads), **chosen)))
        return
    if not options.write:
        collect(options)
    from rival_table import write_table

    write_table(json.loads(RESULTS.read_text()), PAGE)


if __name__ == "__main__":
    main()
