"""Decide sooner: ``seeds="auto"`` against 30 fixed seeds, on the list in ``decide_sooner.toml``.

``run DIR`` trains every cell of the fixed design once (resumable).
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
STUDY = HERE / "decide_sooner.toml"


def study() -> dict:
    return tomllib.loads(STUDY.read_text(encoding="utf-8"))


def run(folder: Path, workers: int | None) -> None:
    from graphnetz.benchmark.run import run_benchmark
    from graphnetz.datasets import SUITES

    plan = study()
    tasks = {task.name: task for task in SUITES[plan["suite"]]()}
    seeds = range(plan["first_seed"], plan["first_seed"] + plan["max_seeds"])
    run_benchmark(
        tasks=[tasks[name] for name in plan["tasks"]],
        models=plan["models"],
        seeds=seeds,
        out=folder,
        workers=workers,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    run(options.folder, options.workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
