"""Figures of the engine: store and report at 100,000 cells, scheduling overhead per cell, two workers against one.

``python benchmarks/bench_engine.py [store|report|overhead|speedup|keys] ...``; without names all of them run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import tempfile
import time
from pathlib import Path

from graphnetz.datasets import task_from_dataset
from graphnetz.engine.executors import LocalExecutor, drive
from graphnetz.engine.identity.keys import content_key
from graphnetz.engine.outputs import assemble
from graphnetz.engine.plan import make_plan
from graphnetz.engine.store import Store, to_csv
from graphnetz.engine.worker import Workbench
from graphnetz.models import named_specs
from graphnetz.records import Cell, CellResult, Protocol, Task

EPOCHS = 100
CURVES = [[((k * 7919 + i * 104729) % 99991) / 99991 for i in range(EPOCHS)] for k in range(50)]


def cells_of(n: int) -> list[Cell]:
    protocol = Protocol()
    return [Cell(f"{i:040x}", f"task{i // 1000}", f"model{i // 10 % 100}", i, protocol) for i in range(n)]


def result_of(cell: Cell, epochs: int = EPOCHS, metric: str = "test_acc") -> CellResult:
    curve = CURVES[cell.seed % len(CURVES)][:epochs]
    return CellResult(
        cell.key,
        cell.task,
        cell.model,
        cell.seed,
        metric=metric,
        metrics={metric: curve[-1]},
        history={"loss": curve, "val_acc": curve, metric: curve},
        epochs=epochs,
        seconds=1.0,
    )


def bench_store(folder: Path, n: int = 100_000) -> dict[str, float]:
    """Plan, fill and read a store of ``n`` cells with 100-epoch histories."""
    figures: dict[str, float] = {"cells": n}
    wall, cpu = time.perf_counter(), time.process_time()

    def lap(name: str) -> None:
        nonlocal wall, cpu
        figures[f"{name}_seconds"] = round(time.perf_counter() - wall, 2)
        figures[f"{name}_cpu"] = round(time.process_time() - cpu, 2)
        wall, cpu = time.perf_counter(), time.process_time()

    cells = cells_of(n)
    lap("make")
    with Store.create(folder) as store:
        store.plan(cells)
        lap("plan")
        store.missing([cell.key for cell in cells])
        lap("missing")
        store.adopt(result_of(cell) for cell in cells)
        lap("fill")
        sum(r.value for r in store.results(histories=False))
        lap("read")
        sum(len(r.history["loss"]) for r in store.results())
        lap("read_histories")
        to_csv(store, folder / "cells.csv")
        lap("csv")
        store.checkpoint_to_one_file()
        lap("checkpoint")
        figures["file_mb"] = round(store.path.stat().st_size / 1e6, 1)
    figures["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    return figures


def tiny_task(i: int) -> Task:
    """A labelled ring of 20 nodes, its own data for each task."""
    import torch
    from torch_geometric.data import Data

    nodes = torch.arange(20)
    ring = torch.stack([torch.cat([nodes, (nodes + 1) % 20]), torch.cat([(nodes + 1) % 20, nodes])])
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(i))
    masks = {f"{part}_mask": nodes % 3 == k for k, part in enumerate(("train", "val", "test"))}
    data = Data(x=x, y=nodes % 2, edge_index=ring, **masks)
    return task_from_dataset(f"task{i:03d}", "node_cls", data)


def bench_report(folder: Path, n_tasks: int = 100, n_models: int = 100, n_seeds: int = 10) -> dict[str, float]:
    """The whole way of a plan but the training: real tasks and models are planned, synthetic results are
    stored, read back into a report, and summarised with t intervals."""
    figures: dict[str, float] = {"cells": n_tasks * n_models * n_seeds}
    begin = wall = time.perf_counter()
    first = cpu = time.process_time()

    def lap(name: str) -> None:
        nonlocal wall, cpu
        figures[f"{name}_seconds"] = round(time.perf_counter() - wall, 2)
        figures[f"{name}_cpu"] = round(time.process_time() - cpu, 2)
        wall, cpu = time.perf_counter(), time.process_time()

    tasks = {task.name: task for task in map(tiny_task, range(n_tasks))}
    spec = named_specs(["GCN"])["GCN"]
    specs = {f"model{i:03d}": spec.with_kwargs({"dropout": i / 200}) for i in range(n_models)}
    workbench = Workbench(tasks, specs, str(folder))
    lap("prepare")
    plan = make_plan(workbench, tuple(range(n_seeds)), protocol={"hidden_channels": 8, "epochs": EPOCHS})
    lap("make_plan")
    with Store.create(folder) as store:
        store.plan(plan.cells)
        lap("store_plan")
        store.adopt(result_of(cell, metric=plan.info[cell.task].metric) for cell in plan.cells)
        lap("fill")
        report = assemble(store, plan, workbench, config={}, started=time.time())
        lap("assemble")
    summary = report.summary()
    lap("summary")
    assert len(summary) == n_tasks * n_models
    assert summary["ci_half"].notna().all()
    figures["total_seconds"] = round(time.perf_counter() - begin, 2)
    figures["total_cpu"] = round(time.process_time() - first, 2)
    figures["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    return figures


def bench_overhead(folder: Path, n: int = 1000) -> dict[str, float]:
    """Wall time per cell that does nothing, one worker: claim, hand over, run, return, commit."""
    cells = cells_of(n)
    stamps: list[float] = []
    with Store.create(folder) as store:
        store.plan(cells)
        drive(store, cells, lambda cell: result_of(cell, 1), executor=LocalExecutor(workers=1),
              on_result=lambda _: stamps.append(time.perf_counter()))  # fmt: skip
    gaps = [b - a for a, b in itertools.pairwise(stamps)]
    quantiles = statistics.quantiles(gaps, n=100)
    return {"cells": n, "median_ms": round(1e3 * statistics.median(gaps), 2), "p99_ms": round(1e3 * quantiles[98], 2)}


def spin(cell: Cell) -> CellResult:
    """Two seconds of processor time."""
    begin = time.process_time()
    while time.process_time() - begin < 2.0:
        sum(range(1000))
    return result_of(cell, 1)


def bench_speedup(folder: Path) -> dict[str, float]:
    """Eight cells of 2 s of processor time on one and on two workers, three times; idle machine."""
    ratios = []
    for round_ in range(3):
        seconds = {}
        for workers in (1, 2):
            with Store.create(folder / f"{round_}-{workers}") as store:
                cells = cells_of(8)
                store.plan(cells)
                begin = time.perf_counter()
                drive(store, cells, spin, executor=LocalExecutor(workers=workers))
                seconds[workers] = time.perf_counter() - begin
        ratios.append(seconds[1] / seconds[2])
    return {"median_speedup": round(statistics.median(ratios), 2), "runs": [round(r, 2) for r in ratios]}


def bench_keys(_: Path, n: int = 100_000) -> dict[str, float]:
    """Content keys of a plan."""
    protocol = Protocol().as_dict()
    begin = time.perf_counter()
    for seed in range(n):
        content_key(
            task="t", task_type="node_cls", dataset="d", model="m", model_hash="h", protocol=protocol, seed=seed
        )
    return {"cells": n, "seconds": round(time.perf_counter() - begin, 2)}


BENCHES = {
    "store": bench_store,
    "report": bench_report,
    "overhead": bench_overhead,
    "speedup": bench_speedup,
    "keys": bench_keys,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(BENCHES)}")
    parser.add_argument("--folder", default=None, help="where stores are made; /dev/shm measures without the disk")
    options = parser.parse_args()
    for name in options.names or BENCHES:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            print(json.dumps({"bench": name, **BENCHES[name](Path(folder))}), flush=True)


if __name__ == "__main__":
    main()
