"""Sampled training on large graphs: time and memory of an epoch, and accuracy against the whole graph.

``python benchmarks/bench_large.py epoch [--edges 10000000] [--model GCN]`` trains one epoch on a stochastic
block model through the engine (split, training, exact evaluation) in one process on one thread, and prints
seconds and the peak of resident memory, generation included.

``python benchmarks/bench_large.py accuracy [--edges 1000000] [--seeds 3]`` trains on sampled neighbours and on
the whole graph with the same seeds and prints both test accuracies.

Both print one JSON line per measurement; ``--write`` appends them to ``benchmarks/results/large.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from graphnetz.benchmark import run_benchmark
from graphnetz.datasets import task_from_dataset
from large_graphs import large_sbm

DEGREE = 20
RESULTS = Path(__file__).parent / "results" / "large.jsonl"
SAMPLING = {"batch_nodes": 1024, "fanouts": (10, 10)}


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def trained(dataset: Any, model: str, *, epochs: int, seeds: int, sampled: bool) -> Any:
    task = task_from_dataset("sbm", "node_cls", dataset, epochs)
    protocol = {"eval_every": epochs, **(SAMPLING if sampled else {})}
    return run_benchmark(
        tasks=task, models=model, seeds=range(seeds), protocol=protocol, backend="serial", verbose=False
    )


def epoch(edges: int, model: str) -> dict[str, Any]:
    begin = time.perf_counter()
    dataset = large_sbm(0, num_nodes=2 * edges // DEGREE, degree=DEGREE)
    made = time.perf_counter()
    cpu = time.process_time()
    report = trained(dataset, model, epochs=1, seeds=1, sampled=True)
    (result,) = report.results
    return {
        "what": "epoch", "model": model, "nodes": dataset.num_nodes, "edges": dataset.num_edges // 2,
        "generate_s": round(made - begin, 1), "cell_s": round(result.seconds, 1),
        "all_s": round(time.perf_counter() - made, 1), "cpu_s": round(time.process_time() - cpu, 1),
        "peak_gb": round(peak_gigabytes(), 2), "status": result.status,
        "test_acc": round(result.metrics["test_acc"], 4),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("epoch", "accuracy"))
    parser.add_argument("--edges", type=int)
    parser.add_argument("--model", nargs="+", default=["GCN"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for model in options.model:
        if options.what == "epoch":
            row = epoch(options.edges or 10_000_000, model)
        else:
            row = accuracy(options.edges or 1_000_000, model, options.seeds)
        print(json.dumps(row), flush=True)
        if options.write:
            machine = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
            RESULTS.parent.mkdir(exist_ok=True)
            with RESULTS.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row | machine) + "\n")


if __name__ == "__main__":
    main()
