"""The first default suite on a two-node Ray cluster of this machine against the local executor: equal to the last byte.

``python benchmarks/ray_suite.py FOLDER [--local RUN] [--task NAME ...] [--epochs N] [--seeds N]``

Runs into ``FOLDER/ray`` and, unless ``--local`` names a finished run folder of the same settings, into
``FOLDER/local``; both resume where they were. Then every cell and every result file is compared. The exit code is
1 when something differs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chaos_runs import differences
from graphnetz.datasets import SUITES
from graphnetz.engine.config import DEFAULT_MODELS
from graphnetz.engine.run import run_benchmark
from graphnetz.engine.store import Store


@contextmanager
def two_nodes() -> Iterator[str]:
    """A Ray cluster of two nodes with one processor each, on loopback; yields its address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        made.add_node(num_cpus=1)
        made.wait_for_nodes()
        yield made.address
    finally:
        ray.shutdown()
        made.shutdown()


def cells_of(folder: Path) -> dict[str, Any]:
    """Everything of a finished cell that must not depend on where it ran, by key."""
    with Store.open(folder, readonly=True) as store:
        return {
            r.key: (r.task, r.model, r.seed, r.status, r.error, r.metrics, r.history, r.parameters, r.environment)
            for r in store.results()
        }


def compare(ray_folder: Path, local_folder: Path) -> list[str]:
    """Name what differs between two run folders; nothing when they agree."""
    there, here = cells_of(ray_folder), cells_of(local_folder)
    wrong = []
    for key in sorted(there.keys() | here.keys()):
        a, b = there.get(key), here.get(key)
        if repr(a) != repr(b):  # repr of a float is exact, and NaN equals NaN
            cell = (a or b)[:3]
            wrong.append(f"{cell}: {'only in one run' if a is None or b is None else 'differs'}")
    return wrong + [f"file {name}" for name in differences(ray_folder, local_folder) if name != "config.toml"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--local", type=Path, help="a finished run of the local executor with the same settings")
    parser.add_argument("--task", action="append", help="only these tasks of the suite")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--root", default="data/benchmark")
    options = parser.parse_args()
    tasks = [task for task in SUITES["first-default"]() if options.task is None or task.name in options.task]
    run: dict[str, Any] = {
        "tasks": tasks, "models": list(DEFAULT_MODELS), "seeds": range(options.seeds), "epochs": options.epochs,
        "root": options.root, "settings": {"suite": "first-default"},
    }  # fmt: skip
    begin = time.monotonic()
    with two_nodes() as address:
        run_benchmark(**run, backend="ray", address=address, out=options.folder / "ray")
    print(f"ray: {time.monotonic() - begin:.0f} s", flush=True)
    local = options.local or options.folder / "local"
    if options.local is None:
        begin = time.monotonic()
        run_benchmark(**run, backend="local", out=local)
        print(f"local: {time.monotonic() - begin:.0f} s", flush=True)
    wrong = compare(options.folder / "ray", local)
    print("\n".join(wrong[:50]) or f"{len(cells_of(local))} cells and all result files are equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
