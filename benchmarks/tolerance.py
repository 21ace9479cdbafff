"""How far results may lie apart on other processors, which `graphnetz verify` allows: ``benchmarks/tolerance.py``.

The same cells are trained in fresh processes that use other vector instructions of torch, of NumPy and of the compiled
kernels, or two threads. Prints, for shares (accuracy, AUC and the like) and for other metrics, the gaps to the first
process, and keeps them in ``benchmarks/results/tolerance.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results") / "tolerance.json"
WAYS: dict[str, dict[str, str]] = {
    "as it is": {},
    "torch without vectors": {"ATEN_CPU_CAPABILITY": "default"},
    "torch with AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "kernels for a generic processor": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": "{}"},
    "MKL and oneDNN with SSE4.2": {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "SSE41",
                                   "OPENBLAS_CORETYPE": "Nehalem"},
    "two threads": {"THREADS": "2"},
}  # fmt: skip
TASKS = ("sbm_communities", "breast_cancer_knn", "ising_energy", "les_miserables", "kinship_rules")
MODELS = ("GCN", "GAT", "GIN", "GraphSAGE", "MLP")
SHARES = ("acc", "f1", "auc", "ap", "hits", "mrr", "balanced")


def train(seeds: int) -> dict[str, dict[str, float]]:
    """Train the cells in this process; return their test metrics."""
    from graphnetz import run_benchmark

    threads = int(os.environ.get("THREADS", "1"))
    report = run_benchmark(tasks=list(TASKS), models=list(MODELS), seeds=seeds, backend="serial", verbose=False,
                           threads=threads, root=os.environ["TOLERANCE_ROOT"])  # fmt: skip
    return {
        f"{r.task} {r.model} {r.seed}": {
            k: v for k, v in r.metrics.items() if k.startswith("test_") and "loss" not in k
        }
        for r in report.results
        if r.ok
    }


def gaps(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """How far shares (absolute) and other metrics (relative) lie apart."""
    found: dict[str, list[float]] = {"shares": [], "others": []}
    for cell, metrics in first.items():
        for name, value in metrics.items():
            gap = abs(other[cell][name] - value)
            share = any(word in name for word in SHARES)
            found["shares" if share else "others"].append(gap if share else gap / max(abs(value), 1e-12))
    same = sum(other[cell] == metrics for cell, metrics in first.items())
    told: dict[str, Any] = {"cells": len(first), "equal": same}
    for kind, values in found.items():
        values.sort()
        top = values[-1] if values else 0.0
        told[kind] = {
            "values": len(values),
            "largest": top,
            "q99": values[int(0.99 * (len(values) - 1))] if values else 0,
        }
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, default=Path(".cache/tolerance"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(train(options.seeds)))
        return 0
    scratch = options.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    body: dict[str, Any] = {}
    first: dict[str, Any] = {}
    for name, variables in WAYS.items():
        kept = scratch / f"{name.replace(' ', '_')}-{options.seeds}.json"
        if not kept.exists():
            given = {key: value.format(scratch / "numba") for key, value in variables.items()}
            environment = (
                os.environ
                | given
                | {"TOLERANCE_ROOT": str(scratch / "data"), "OMP_NUM_THREADS": given.get("THREADS", "1")}
            )
            done = subprocess.run([sys.executable, __file__, "--one", "--seeds", str(options.seeds)], env=environment,
                                  stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
            kept.write_text(done.stdout.splitlines()[-1])
        found = json.loads(kept.read_text())
        first = first or found
        body[name] = gaps(first, found)
        told = body[name]
        apart = f"shares at most {told['shares']['largest']:.4f} apart, others {told['others']['largest']:.2%}"
        print(f"{name}: {told['equal']} of {told['cells']} cells equal; {apart}", flush=True)
    RESULTS.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
