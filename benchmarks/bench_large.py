"""Large graphs: time and memory of sampled and whole-graph training, accuracy of both, and graphs on disk.

``python benchmarks/bench_large.py epoch [--edges 10000000] [--model GCN]`` trains one epoch on sampled neighbours of a
stochastic block model through the engine (split, training, exact evaluation) in one process, and prints seconds and
the peak of anonymous memory from the start of the cell. ``whole`` does the same on the whole graph, three epochs.

``python benchmarks/bench_large.py memory`` prints bytes per arc: of anonymous memory, the edge index of the graph
itself included, in epochs and evaluation (held) and before and after them (building), from two graphs of as many nodes.

``python benchmarks/bench_large.py accuracy [--edges 1000000] [--seeds 3]`` trains on sampled neighbours and on
the whole graph with the same seeds and prints both test accuracies.

``python benchmarks/bench_large.py folders ...`` is `bench_folders.py`: conversion, training and evaluation on disk.

All print one JSON line per measurement; ``--write`` appends them to ``benchmarks/results/large.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from graphnetz.benchmark import run_benchmark
from graphnetz.datasets import task_from_dataset
from graphnetz.kernels.sampling import load_sampling
from graphnetz.tasktypes import loop
from large_graphs import large_sbm

DEGREE = 20
RESULTS = Path(__file__).parent / "results" / "large.jsonl"
SAMPLING = {"batch_nodes": 1024, "fanouts": (10, 10)}


class Clock:
    """Seconds and the peak of anonymous memory of a cell: before its first epoch, in epochs, and in evaluation."""

    def __init__(self) -> None:
        self.seconds = {"build": 0.0, "epoch": 0.0, "evaluate": 0.0, "end": 0.0}
        self.processor, self.peak = dict(self.seconds), dict(self.seconds)
        self.now = "build"
        threading.Thread(target=self._watch, daemon=True).start()
        for name, phase in (("_train_epoch", "epoch"), ("evaluate", "evaluate")):
            setattr(loop, name, self._timed(getattr(loop, name), phase))

    def _watch(self) -> None:
        while True:
            lines = Path("/proc/self/status").read_text().splitlines()
            found = next(line for line in lines if line.startswith("RssAnon"))
            self.peak[self.now] = max(self.peak[self.now], int(found.split()[1]) * 1024)
            time.sleep(0.01)

    def _timed(self, function: Any, phase: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.now, begin, used = phase, time.perf_counter(), time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.now = "end"
                self.seconds[phase] += time.perf_counter() - begin
                self.processor[phase] += time.process_time() - used

        return call


def trained(dataset: Any, model: str, *, epochs: int, seeds: int, sampled: bool) -> Any:
    task = task_from_dataset("sbm", "node_cls", dataset, epochs)
    protocol = {"eval_every": epochs, **(SAMPLING if sampled else {})}
    return run_benchmark(
        tasks=task, models=model, seeds=range(seeds), protocol=protocol, backend="serial", verbose=False
    )


def epoch(edges: int, model: str, *, sampled: bool, nodes: int | None = None) -> dict[str, Any]:
    """One cell; on the whole graph of three epochs, since the first one sorts the arcs the other way round."""
    load_sampling()
    begin, epochs = time.perf_counter(), 1 if sampled else 3
    nodes = nodes or 2 * edges // DEGREE
    dataset = large_sbm(0, num_nodes=nodes, degree=2 * edges / nodes)
    made, cpu, clock = time.perf_counter(), time.process_time(), Clock()
    (result,) = trained(dataset, model, epochs=epochs, seeds=1, sampled=sampled).results
    return {
        "what": "epoch" if sampled else "whole", "model": model, "nodes": dataset.num_nodes,
        "arcs": dataset.num_edges, "generate_s": round(made - begin, 1), "cell_s": round(result.seconds, 1),
        "epoch_s": round(clock.seconds["epoch"] / epochs, 2), "evaluate_s": round(clock.seconds["evaluate"], 2),
        "epoch_cpu_s": round(clock.processor["epoch"] / epochs, 2),
        "evaluate_cpu_s": round(clock.processor["evaluate"], 2),
        "all_s": round(time.perf_counter() - made, 1), "cpu_s": round(time.process_time() - cpu, 1),
        "peak_gb": round(max(clock.peak.values()) / 1e9, 2), "phase_bytes": clock.peak, "status": result.status,
        "test_acc": round(result.metrics["test_acc"], 4),
    }  # fmt: skip


def memory(model: str, *, sampled: bool, nodes: int = 50_000) -> dict[str, Any]:
    """Bytes per arc, the graph's own edge index included: two graphs of as many nodes, each in a process of its own."""
    rows = []
    for edges in (1_000_000, 4_000_000):
        words = [
            sys.executable,
            __file__,
            "epoch" if sampled else "whole",
            "--edges",
            str(edges),
            "--nodes",
            str(nodes),
        ]
        found = subprocess.run([*words, "--model", model], check=True, capture_output=True, text=True)
        rows.append(json.loads(found.stdout))
    arcs = rows[1]["arcs"] - rows[0]["arcs"]
    per = {key: (rows[1]["phase_bytes"][key] - rows[0]["phase_bytes"][key]) / arcs for key in rows[0]["phase_bytes"]}
    return {
        "what": "memory", "sampled": sampled, "model": model, "building": round(max(per["build"], per["end"]), 1),
        "held": round(max(per["epoch"], per["evaluate"]), 1),
    }  # fmt: skip


def accuracy(edges: int, model: str, seeds: int) -> dict[str, Any]:
    dataset = large_sbm(1, num_nodes=2 * edges // DEGREE, degree=DEGREE)
    row: dict[str, Any] = {"what": "accuracy", "model": model, "edges": dataset.num_edges // 2, "seeds": seeds}
    for name, sampled, epochs in (("sampled", True, 6), ("whole", False, 120)):
        cpu = time.process_time()
        report = trained(dataset, model, epochs=epochs, seeds=seeds, sampled=sampled)
        row[name] = [round(result.metrics["test_acc"], 4) for result in report.results]
        row[f"{name}_cpu_s"] = round((time.process_time() - cpu) / seeds, 1)
    means = [sum(row[name]) / seeds for name in ("sampled", "whole")]
    row["difference"] = round(means[0] - means[1], 4)
    return row


def rows(options: argparse.Namespace, model: str) -> Iterator[dict[str, Any]]:
    """The measurements that were asked for."""
    if options.what in ("epoch", "whole"):
        sampled = options.what == "epoch"
        yield epoch(options.edges or 10_000_000, model, sampled=sampled, nodes=options.nodes)
    if options.what == "memory":
        for sampled in (True, False):
            yield memory(model, sampled=sampled)
    if options.what == "accuracy":
        yield accuracy(options.edges or 1_000_000, model, options.seeds)


def main() -> None:
    if sys.argv[1:2] == ["folders"]:
        place = Path(__file__).with_name("bench_folders.py")
        raise SystemExit(subprocess.run([sys.executable, place, *sys.argv[2:]], check=False).returncode)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("epoch", "whole", "memory", "accuracy", "folders"))
    parser.add_argument("--edges", type=int)
    parser.add_argument("--nodes", type=int, help="default: so many that the mean degree is 20")
    parser.add_argument("--model", nargs="+", default=["GCN"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for model in options.model:
        for row in rows(options, model):
            print(json.dumps(row), flush=True)
            if options.write:
                machine = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
                RESULTS.parent.mkdir(exist_ok=True)
                with RESULTS.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(row | machine) + "\n")


if __name__ == "__main__":
    main()
